// SPDX-License-Identifier: Apache-2.0
// Planted mistakes that are near a true identity. Each test has the identity, which holds, and the mistake, which does
// not. (A code with its sign flipped stands with the integers.)
#include <gtest/gtest.h>

#include "domain/field/lab_test.h"

namespace plumb::domain {
namespace {

using Real = Lab::Real;

constexpr float kLog2E = 1.44269504F, kLn2 = 0.693147181F;

Lab ideal() { return Lab({.seed = 7, .constants = Constants::Ideal}); }

// Running softmax of `x` over `v` in tiles; the sum or the weighted sum may miss its rescale at one tile.
struct Forgets {
  std::size_t total_at = ~std::size_t{0}, weighted_at = ~std::size_t{0};
};
Real attention(Lab& lab, const std::vector<Real>& x, const std::vector<Real>& v, std::size_t tile,
               Forgets forgets = {}) {
  Real most = Lab::c(-INFINITY), total = Lab::c(0), weighted = Lab::c(0);
  for (std::size_t first = 0; first < x.size(); first += tile) {
    const std::vector<Real> part(x.begin() + static_cast<std::ptrdiff_t>(first),
                                 x.begin() + static_cast<std::ptrdiff_t>(std::min(first + tile, x.size())));
    const Real next = lab.max(most, lab.largest(part)), decay = lab.exp(lab.sub(most, next));
    if (first / tile != forgets.total_at) total = lab.mul(total, decay);
    if (first / tile != forgets.weighted_at) weighted = lab.mul(weighted, decay);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const Real p = lab.exp(lab.sub(part[i], next));
      total = lab.add(total, p);
      weighted = lab.fma(p, v[first + i], weighted);
    }
    most = next;
  }
  return lab.div(weighted, total);
}

TEST(FieldTraps, MaximumAndExponentialChangePlacesOnlyWithOneScale) {
  Lab lab = ideal();
  const auto x = lab.xs(0, 12);
  const Real scale = lab.c(0.125F), folded = lab.c(0.125F * kLog2E);
  std::vector<Real> scaled;
  for (const Real& each : x) scaled.push_back(lab.mul(each, scale));
  Real total = lab.c(0);
  for (const Real& each : scaled) total = lab.add(total, lab.exp(lab.sub(each, lab.largest(scaled))));
  const Real expected = lab.add(lab.largest(scaled), lab.log(total));
  const auto reordered = [&](Real exponent_scale, Real maximum_scale) {
    const Real most = lab.mul(lab.largest(x), maximum_scale);
    Real sum = lab.c(0);
    for (const Real& each : x) sum = lab.add(sum, lab.ex2(lab.sub(lab.mul(each, exponent_scale), most)));
    return lab.mul(lab.add(most, lab.lg2(sum)), lab.c(kLn2));
  };
  EXPECT_TRUE(lab.same(expected, reordered(folded, folded)));
  EXPECT_EQ(lab.compare(expected, reordered(lab.c(kLog2E), folded)), Comparison::Different);
  EXPECT_EQ(lab.compare(expected, reordered(scale, scale)), Comparison::Different);
  // The maximum that is subtracted and the one that is added back.
  const Real mixed = lab.add(lab.largest(x), lab.log(total));
  EXPECT_EQ(lab.compare(expected, mixed), Comparison::Different);
}

TEST(FieldTraps, AnExponentialsBaseIsNotNearlyE) {
  Lab lab = ideal();
  const auto x = lab.xs(0, 6);
  const auto share = [&](float log2e) {
    Real total = lab.c(0);
    for (const Real& each : x) total = lab.add(total, lab.ex2(lab.mul(lab.sub(each, x[0]), lab.c(log2e))));
    return lab.rcp(total);
  };
  Real total = lab.c(0);
  for (const Real& each : x) total = lab.add(total, lab.exp(lab.sub(each, x[0])));
  EXPECT_TRUE(lab.same(lab.rcp(total), share(kLog2E)));
  for (const float wrong : {kLog2E * (1 + 1e-4F), kLog2E * (1 - 1e-4F)}) {
    EXPECT_EQ(lab.compare(lab.rcp(total), share(wrong)), Comparison::Different) << wrong;
  }
  EXPECT_EQ(lab.context.near_misses().size(), 2u);
}

TEST(FieldTraps, ABiasIsAddedOnce) {
  Lab lab;
  const auto x = lab.xs(0, 8), w = lab.xs(50, 8);
  const Real bias = lab.x(99);
  Real from_zero = lab.c(0), from_bias = bias;
  for (std::size_t i = 0; i < x.size(); ++i) {
    from_zero = lab.fma(x[i], w[i], from_zero);
    from_bias = lab.fma(x[i], w[i], from_bias);
  }
  EXPECT_TRUE(lab.same(lab.add(from_zero, bias), from_bias));
  EXPECT_EQ(lab.compare(lab.add(from_bias, bias), from_bias), Comparison::Different);
  EXPECT_EQ(lab.compare(from_zero, from_bias), Comparison::Different);
}

TEST(FieldTraps, AnOnlineSoftmaxRescalesAtEveryTile) {
  Lab lab;
  const auto x = lab.xs(0, 20), v = lab.xs(100, 20);
  const Real expected = attention(lab, x, v, 20);
  EXPECT_TRUE(lab.same(expected, attention(lab, x, v, 4)));
  for (const std::size_t tile : {1U, 2U, 4U}) {
    EXPECT_EQ(lab.compare(expected, attention(lab, x, v, 4, {.total_at = tile})), Comparison::Different) << tile;
    EXPECT_EQ(lab.compare(expected, attention(lab, x, v, 4, {.weighted_at = tile})), Comparison::Different) << tile;
    // Forgotten in both, the tiles before still weigh too much.
    EXPECT_EQ(lab.compare(expected, attention(lab, x, v, 4, {tile, tile})), Comparison::Different) << tile;
  }
  // At the first tile there is nothing to rescale.
  EXPECT_TRUE(lab.same(expected, attention(lab, x, v, 4, {0, 0})));
}

TEST(FieldTraps, ACausalMaskEndsAtTheDiagonal) {
  Lab lab;
  const auto x = lab.xs(0, 16), v = lab.xs(100, 16);
  const auto row = [&](std::size_t keys) {
    std::vector<Real> masked = x;
    for (std::size_t j = keys; j < masked.size(); ++j) masked[j] = lab.c(-INFINITY);
    return attention(lab, masked, v, 4);
  };
  const std::size_t query = 9;
  const std::vector<Real> seen(x.begin(), x.begin() + query + 1), values(v.begin(), v.begin() + query + 1);
  const Real expected = attention(lab, seen, values, query + 1);
  EXPECT_TRUE(lab.same(expected, row(query + 1)));
  EXPECT_EQ(lab.compare(expected, row(query)), Comparison::Different);
  EXPECT_EQ(lab.compare(expected, row(query + 2)), Comparison::Different);
}

}  // namespace
}  // namespace plumb::domain
