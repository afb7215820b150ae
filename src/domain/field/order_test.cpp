// SPDX-License-Identifier: Apache-2.0
// Maxima, absolute values, predicates and selects.
#include <gtest/gtest.h>

#include <algorithm>

#include "domain/field/lab_test.h"

namespace plumb::domain {
namespace {

using Real = Lab::Real;

TEST(FieldOrder, MaximaAreSets) {
  Lab lab;
  auto x = lab.xs(0, 40);
  const Real right = lab.largest(x);
  std::reverse(x.begin(), x.end());
  x.push_back(x[3]);
  EXPECT_TRUE(lab.same(right, lab.largest(x)));
  const Real left = lab.largest({x.begin(), x.begin() + 25}), overlapping = lab.largest({x.begin() + 10, x.end()});
  EXPECT_TRUE(lab.same(right, lab.max(left, overlapping)));
  EXPECT_EQ(lab.compare(right, lab.min(left, overlapping)), Comparison::Different);
}

TEST(FieldOrder, AMaximumWithoutOneOf4096ElementsIsDifferent) {
  Lab lab;
  auto x = lab.xs(0, 4096);
  const Real right = lab.largest(x);
  EXPECT_TRUE(
      lab.same(right, lab.max(lab.largest({x.begin() + 100, x.end()}), lab.largest({x.begin(), x.begin() + 100}))));
  x.erase(x.begin() + 1234);
  EXPECT_EQ(lab.compare(right, lab.largest(x)), Comparison::Different);
}

TEST(FieldOrder, MaximaMoveWithShiftAndPositiveScale) {
  Lab lab;
  for (const std::size_t count : {2U, 3U, 9U}) {
    const auto x = lab.xs(10 * count, count);
    const Real d = lab.x(99), k = lab.c(0.18033688F);
    std::vector<Real> shifted, scaled, negated;
    for (const Real& v : x) {
      shifted.push_back(lab.add(v, d));
      scaled.push_back(lab.mul(v, k));
      negated.push_back(lab.neg(v));
    }
    EXPECT_TRUE(lab.same(lab.largest(shifted), lab.add(lab.largest(x), d))) << count;
    EXPECT_TRUE(lab.same(lab.largest(scaled), lab.mul(lab.largest(x), k))) << count;
    Real least = x[0], most = negated[0];
    for (const Real& v : x) least = lab.min(least, v);
    for (const Real& v : negated) most = lab.max(most, v);
    EXPECT_TRUE(lab.same(least, lab.neg(most))) << count;
    EXPECT_EQ(lab.compare(least, most), Comparison::Different);
    EXPECT_EQ(lab.compare(lab.largest(scaled), lab.largest(x)), Comparison::Different);
  }
}

TEST(FieldOrder, AScaledMaximumGuardsScaledElements) {
  Lab lab;
  const auto x = lab.xs(0, 16);
  const Real k = lab.c(0.125F);
  const Real most = lab.mul(lab.largest(x), k);
  lab.ex2(lab.fma(x[4], k, lab.neg(most)));
  lab.ex2(lab.mul(lab.sub(x[5], lab.largest(x)), k));
  const Real running = lab.max(lab.mul(lab.largest(lab.xs(12, 8)), k), most);
  lab.ex2(lab.sub(most, running));
  lab.ex2(lab.sub(lab.mul(x[9], k), running));
  EXPECT_EQ(lab.field.facts().unguarded_exponentials, 0u);
  lab.ex2(lab.fma(lab.x(77), k, lab.neg(most)));
  EXPECT_EQ(lab.field.facts().unguarded_exponentials, 1u);
  lab.ex2(lab.fma(x[4], lab.c(0.25F), lab.neg(most)));
  EXPECT_EQ(lab.field.facts().unguarded_exponentials, 2u);
  lab.ex2(lab.sub(most, lab.mul(x[9], k)));
  EXPECT_EQ(lab.field.facts().unguarded_exponentials, 3u);
  EXPECT_EQ(lab.field.facts().exponentials, 7u);
}

TEST(FieldOrder, ReluHasOneMeaningInAllItsForms) {
  Lab lab;
  const Real x = lab.x(0), zero = lab.c(0);
  const Real relu = lab.max(x, zero);
  EXPECT_TRUE(lab.same(relu, lab.mul(lab.add(x, lab.abs(x)), lab.c(0.5F))));
  EXPECT_TRUE(lab.same(relu, lab.select(lab.greater(x, zero), x, zero)));
  EXPECT_TRUE(lab.same(relu, lab.select(lab.less(x, zero), zero, x)));
  EXPECT_TRUE(lab.same(relu, lab.select(lab.field.logical_not(lab.greater(x, zero)), zero, x)));
  EXPECT_TRUE(lab.same(relu, lab.field.add(Lab::kF, x, lab.c(0), {.relu = true})));
  EXPECT_TRUE(lab.same(relu, lab.neg(lab.min(lab.neg(x), zero))));
  EXPECT_EQ(lab.compare(relu, lab.select(lab.less(x, zero), x, zero)), Comparison::Different);
  EXPECT_EQ(lab.compare(relu, lab.abs(x)), Comparison::Different);
  EXPECT_EQ(lab.field.sign(Lab::kF, relu), Sign::NonNegative);
}

TEST(FieldOrder, AbsoluteValuesScaleAndSquare) {
  Lab lab;
  const Real x = lab.x(0), y = lab.x(1), k = lab.c(3);
  EXPECT_TRUE(lab.same(lab.abs(lab.mul(x, k)), lab.mul(lab.abs(x), k)));
  EXPECT_TRUE(lab.same(lab.abs(lab.mul(x, lab.c(-3))), lab.mul(lab.abs(x), k)));
  EXPECT_TRUE(lab.same(lab.abs(lab.sub(x, y)), lab.abs(lab.sub(y, x))));
  EXPECT_TRUE(lab.same(lab.mul(lab.abs(x), lab.abs(x)), lab.mul(x, x)));
  EXPECT_TRUE(lab.same(lab.abs(x), lab.select(lab.less(x, lab.c(0)), lab.neg(x), x)));
  EXPECT_TRUE(lab.same(lab.abs(lab.mul(x, x)), lab.mul(x, x)));
  EXPECT_EQ(lab.compare(lab.abs(x), x), Comparison::Different);
}

TEST(FieldOrder, ClampsNestEitherWay) {
  Lab lab;
  const Real x = lab.x(0), low = lab.c(-2), high = lab.c(6);
  const Real clamped = lab.min(lab.max(x, low), high);
  EXPECT_TRUE(lab.same(clamped, lab.max(lab.min(x, high), low)));
  EXPECT_EQ(lab.compare(clamped, lab.min(lab.max(x, low), lab.c(5))), Comparison::Different);
  EXPECT_EQ(lab.compare(clamped, lab.max(x, low)), Comparison::Different);
  EXPECT_TRUE(lab.same(lab.min(lab.max(x, lab.c(0)), lab.c(1)), lab.field.add(Lab::kF, x, lab.c(0), {.sat = true})));
}

TEST(FieldOrder, SelectsThatAreNoMaximumKeepTheirPredicate) {
  Lab lab;
  const Real x = lab.x(0), a = lab.x(1), b = lab.x(2), zero = lab.c(0);
  const Real chosen = lab.select(lab.greater(x, zero), a, b);
  EXPECT_TRUE(lab.same(chosen, lab.select(lab.field.logical_not(lab.greater(x, zero)), b, a)));
  EXPECT_TRUE(lab.same(chosen, lab.select(lab.greater(lab.mul(x, lab.c(2)), zero), a, b)));
  EXPECT_TRUE(lab.same(chosen, lab.select(lab.less(lab.neg(x), zero), a, b)));
  EXPECT_EQ(lab.compare(chosen, lab.select(lab.greater(lab.x(5), zero), a, b)), Comparison::Different);
  EXPECT_EQ(lab.compare(chosen, lab.select(lab.less(x, zero), a, b)), Comparison::Different);
  EXPECT_TRUE(lab.same(a, lab.select(lab.greater(x, zero), a, a)));
}

TEST(FieldOrder, PredicatesFollowBooleanAlgebra) {
  Lab lab;
  const Real x = lab.x(0), y = lab.x(1), a = lab.x(2), b = lab.x(3), zero = lab.c(0);
  Field& f = lab.field;
  const Field::Bool p = lab.greater(x, zero), q = lab.greater(y, zero);
  const Real both = lab.select(f.logical_and(p, q), a, b);
  const Real de_morgan = lab.select(f.logical_not(f.logical_or(f.logical_not(p), f.logical_not(q))), a, b);
  EXPECT_TRUE(lab.same(both, de_morgan));
  EXPECT_EQ(lab.compare(both, lab.select(f.logical_or(p, q), a, b)), Comparison::Different);
  EXPECT_EQ(f.decide(f.logical_and(p, f.logical_not(p))), std::optional(false));
  EXPECT_EQ(f.decide(f.logical_or(p, f.logical_not(p))), std::optional(true));
  EXPECT_EQ(f.decide(f.logical_and(p, lab.less(x, zero))), std::optional(false));
  EXPECT_EQ(f.decide(f.logical_xor(p, p)), std::optional(false));
  EXPECT_EQ(f.decide(p), std::nullopt);
}

TEST(FieldOrder, FactsDecideComparisons) {
  Lab lab;
  const Real x = lab.x(0), square = lab.mul(x, x), zero = lab.c(0);
  const auto compare = [&](Compare op, Real a, Real b) {
    return lab.field.decide(lab.field.compare(Lab::kF, op, a, b, {}));
  };
  EXPECT_EQ(compare(Compare::Ge, square, zero), std::optional(true));
  EXPECT_EQ(compare(Compare::Gt, lab.exp(x), zero), std::optional(true));
  EXPECT_EQ(compare(Compare::Eq, x, x), std::optional(true));
  EXPECT_EQ(compare(Compare::Neu, x, x), std::optional(false));
  EXPECT_EQ(compare(Compare::Eq, x, lab.c(-INFINITY)), std::optional(false));
  EXPECT_EQ(compare(Compare::Gt, x, lab.c(-INFINITY)), std::optional(true));
  EXPECT_EQ(compare(Compare::Lt, lab.c(INFINITY), x), std::optional(false));
  EXPECT_EQ(compare(Compare::Nan, x, x), std::optional(false));
  EXPECT_EQ(compare(Compare::Lt, x, lab.x(1)), std::nullopt);
}

TEST(FieldOrder, InfinitiesAreIdentitiesAndMasks) {
  Lab lab;
  const Real x = lab.x(0), minus = lab.c(-INFINITY);
  EXPECT_TRUE(lab.same(lab.max(minus, x), x));
  const Real masked = lab.exp(lab.sub(minus, lab.max(x, lab.x(1))));
  EXPECT_TRUE(masked.is_concrete());
  EXPECT_EQ(masked.bits, 0u);
  EXPECT_TRUE(lab.same(lab.div(x, lab.c(INFINITY)), lab.c(0)));
  EXPECT_FALSE(lab.field.faulted());
  lab.mul(x, minus);
  EXPECT_EQ(lab.field.take_fault().code, &kFieldInfinity);
  EXPECT_FALSE(lab.field.faulted());
}

TEST(FieldOrder, ASentinelIsMinusInfinityOnlyWhereAskedAndReported) {
  const auto tail = [](Lab& lab) {
    const Real x = lab.x(0), masked = lab.c(-1e6F);
    const Real most = lab.max(x, masked);
    return lab.add(lab.exp(lab.sub(x, most)), lab.exp(lab.sub(masked, most)));
  };
  Lab exact;
  EXPECT_EQ(exact.compare(tail(exact), exact.c(1)), Comparison::Different);
  Lab lenient({.seed = 7, .sentinels = true});
  EXPECT_TRUE(lenient.same(tail(lenient), lenient.c(1)));
  ASSERT_EQ(lenient.context.assumptions().size(), 1u);
  EXPECT_EQ(lenient.context.assumptions()[0].kind, "sentinel");
}

}  // namespace
}  // namespace plumb::domain
