// SPDX-License-Identifier: Apache-2.0
// Real functions that are equal however they are put together, and ones that are not.
#include <gtest/gtest.h>

#include "domain/field/lab_test.h"

namespace plumb::domain {
namespace {

using Real = Lab::Real;

std::vector<Real> softmax(Lab& lab, const std::vector<Real>& x, bool subtract_maximum) {
  const Real most = lab.largest(x);
  std::vector<Real> powers;
  powers.reserve(x.size());
  for (const Real& v : x) powers.push_back(lab.exp(subtract_maximum ? lab.sub(v, most) : v));
  const Real total = lab.sum(powers);
  for (Real& v : powers) v = lab.div(v, total);
  return powers;
}

// Running maximum and sum over tiles, as online softmax keeps them.
struct Running {
  Real most, total, weighted;
};
Running online(Lab& lab, const std::vector<Real>& x, const std::vector<Real>& v, std::size_t tile) {
  Running r{Lab::c(-INFINITY), Lab::c(0), Lab::c(0)};
  for (std::size_t first = 0; first < x.size(); first += tile) {
    const std::vector<Real> part(x.begin() + first, x.begin() + std::min(first + tile, x.size()));
    const Real most = lab.max(r.most, lab.largest(part));
    const Real decay = lab.exp(lab.sub(r.most, most));
    r.total = lab.mul(r.total, decay);
    r.weighted = lab.mul(r.weighted, decay);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const Real p = lab.exp(lab.sub(part[i], most));
      r.total = lab.add(r.total, p);
      r.weighted = lab.fma(p, v[first + i], r.weighted);
    }
    r.most = most;
  }
  return r;
}

TEST(FieldIdentity, PolynomialsMultiplyOut) {
  Lab lab;
  const Real a = lab.x(0), b = lab.x(1), s = lab.add(a, b);
  const Real expanded = lab.add(lab.add(lab.mul(a, a), lab.mul(lab.c(2), lab.mul(a, b))), lab.mul(b, b));
  EXPECT_TRUE(lab.same(lab.mul(s, s), expanded));
  const Real wrong = lab.add(lab.add(lab.mul(a, a), lab.mul(a, b)), lab.mul(b, b));
  EXPECT_EQ(lab.compare(lab.mul(s, s), wrong), Comparison::Different);
}

TEST(FieldIdentity, SoftmaxIsTheSameWithAndWithoutMaximum) {
  Lab lab;
  const auto x = lab.xs(0, 17);
  const auto plain = softmax(lab, x, false), shifted = softmax(lab, x, true);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(lab.same(plain[i], shifted[i])) << i;
  EXPECT_EQ(lab.compare(plain[0], plain[1]), Comparison::Different);
}

TEST(FieldIdentity, SoftmaxWithoutMaximumIsMarkedUnguarded) {
  Lab lab;
  const auto x = lab.xs(0, 9);
  const auto shifted = softmax(lab, x, true);
  EXPECT_EQ(lab.field.facts().unguarded_exponentials, 0u);
  EXPECT_EQ(lab.field.signature(shifted[0]).flags & Signature::kUnguardedExp, 0);
  const auto plain = softmax(lab, x, false);
  EXPECT_EQ(lab.field.facts().unguarded_exponentials, 9u);
  EXPECT_NE(lab.field.signature(plain[0]).flags & Signature::kUnguardedExp, 0);
}

TEST(FieldIdentity, AMissingADoubledOrAWronglyScaledKeyIsDifferent) {
  Lab lab;
  const auto x = lab.xs(0, 33);
  const Real right = softmax(lab, x, true)[3];
  auto missing = x;
  missing.pop_back();
  EXPECT_EQ(lab.compare(right, softmax(lab, missing, true)[3]), Comparison::Different);
  auto doubled = x;
  doubled.push_back(x[5]);
  EXPECT_EQ(lab.compare(right, softmax(lab, doubled, true)[3]), Comparison::Different);
  auto scaled = x;
  scaled[7] = lab.mul(scaled[7], lab.c(0.5F));
  EXPECT_EQ(lab.compare(right, softmax(lab, scaled, true)[3]), Comparison::Different);
}

TEST(FieldIdentity, OnlineSoftmaxMergesWhateverTheTiles) {
  Lab lab;
  const auto x = lab.xs(0, 24), v = lab.xs(100, 24);
  const Running whole = online(lab, x, v, 24);
  const Real right = lab.div(whole.weighted, whole.total);
  for (const std::size_t tile : {1U, 4U, 5U}) {
    const Running r = online(lab, x, v, tile);
    EXPECT_TRUE(lab.same(right, lab.div(r.weighted, r.total))) << tile;
    EXPECT_TRUE(lab.same(whole.most, r.most)) << tile;
  }
  EXPECT_EQ(lab.field.facts().unguarded_exponentials, 0u);
  auto swapped = v;
  std::swap(swapped[3], swapped[4]);
  const Running r = online(lab, x, swapped, 4);
  EXPECT_EQ(lab.compare(right, lab.div(r.weighted, r.total)), Comparison::Different);
}

TEST(FieldIdentity, SplitSoftmaxMergesByTheirMaxima) {
  Lab lab;
  const auto x = lab.xs(0, 20), v = lab.xs(100, 20);
  const Running whole = online(lab, x, v, 20);
  const Running left = online(lab, {x.begin(), x.begin() + 8}, {v.begin(), v.begin() + 8}, 4);
  const Running right = online(lab, {x.begin() + 8, x.end()}, {v.begin() + 8, v.end()}, 6);
  const Real most = lab.max(left.most, right.most);
  const Real a = lab.exp(lab.sub(left.most, most)), b = lab.exp(lab.sub(right.most, most));
  const Real weighted = lab.fma(left.weighted, a, lab.mul(right.weighted, b));
  const Real total = lab.fma(left.total, a, lab.mul(right.total, b));
  EXPECT_TRUE(lab.same(lab.div(whole.weighted, whole.total), lab.div(weighted, total)));
}

TEST(FieldIdentity, LogSumExpIsTheSameAcrossBasesMaximaAndSplits) {
  Lab lab({.seed = 7, .constants = Constants::Ideal});
  const auto x = lab.xs(0, 12);
  const Running one = online(lab, x, x, 12), many = online(lab, x, x, 5);
  const Real right = lab.add(one.most, lab.log(one.total));
  EXPECT_TRUE(lab.same(right, lab.add(many.most, lab.log(many.total))));
  // Base two: m2 = max(x log2e), l = sum of 2^(x log2e - m2), (m2 + log2 l) ln 2.
  const Real log2e = lab.c(1.44269504F), ln2 = lab.c(0.693147181F);
  std::vector<Real> scaled;
  scaled.reserve(x.size());
  for (const Real& v : x) scaled.push_back(lab.mul(v, log2e));
  const Real most = lab.largest(scaled);
  Real total = lab.c(0);
  for (const Real& v : scaled) total = lab.add(total, lab.ex2(lab.sub(v, most)));
  EXPECT_TRUE(lab.same(right, lab.mul(lab.add(most, lab.lg2(total)), ln2)));
  // And with no maximum at all, where only the contract differs.
  Real naive = lab.c(0);
  for (const Real& v : x) naive = lab.add(naive, lab.exp(v));
  EXPECT_TRUE(lab.same(right, lab.log(naive)));
  auto missing = x;
  missing.pop_back();
  const Running short_one = online(lab, missing, missing, 12);
  EXPECT_EQ(lab.compare(right, lab.add(short_one.most, lab.log(short_one.total))), Comparison::Different);
}

TEST(FieldIdentity, LogOfAProductIsTheSumOfLogs) {
  Lab lab;
  const Real a = lab.exp(lab.x(0)), b = lab.add(lab.mul(lab.x(1), lab.x(1)), lab.c(1));
  EXPECT_TRUE(lab.same(lab.log(lab.mul(a, b)), lab.add(lab.log(a), lab.log(b))));
  EXPECT_TRUE(lab.same(lab.log(lab.div(a, b)), lab.sub(lab.log(a), lab.log(b))));
  EXPECT_TRUE(lab.same(lab.log(lab.rcp(b)), lab.neg(lab.log(b))));
  EXPECT_TRUE(lab.same(lab.log(a), lab.x(0)));
  EXPECT_TRUE(lab.same(lab.exp(lab.log(b)), b));
  EXPECT_EQ(lab.compare(lab.log(b), lab.lg2(b)), Comparison::Different);
}

TEST(FieldIdentity, ExponentsOfALogarithmComeBackThroughDiscreteLogarithms) {
  Lab lab;
  const Real b = lab.add(lab.mul(lab.x(1), lab.x(1)), lab.c(1)), a = lab.x(0);
  // e^(2 log b + a c) = b^2 e^(a c): the sum has no tag of its own, its lower residues carry the logarithm.
  const Real twice = lab.mul(lab.log(b), lab.c(2));
  const Real mixed = lab.add(lab.mul(twice, lab.c(1)), lab.mul(a, lab.x(2)));
  EXPECT_TRUE(lab.same(lab.exp(mixed), lab.mul(lab.mul(b, b), lab.exp(lab.mul(a, lab.x(2))))));
}

TEST(FieldIdentity, SigmoidAndTanhFormsAgree) {
  Lab lab;
  const Real x = lab.x(0), one = lab.c(1);
  const Real sigmoid = lab.rcp(lab.add(one, lab.exp(lab.neg(x))));
  EXPECT_TRUE(lab.same(sigmoid, lab.div(lab.exp(x), lab.add(lab.exp(x), one))));
  EXPECT_TRUE(lab.same(sigmoid, lab.fma(lab.c(0.5F), lab.tanh(lab.mul(x, lab.c(0.5F))), lab.c(0.5F))));
  EXPECT_TRUE(lab.same(lab.tanh(lab.neg(x)), lab.neg(lab.tanh(x))));
  EXPECT_TRUE(lab.same(lab.mul(x, sigmoid), lab.div(x, lab.add(one, lab.exp(lab.neg(x))))));
  EXPECT_EQ(lab.compare(sigmoid, lab.rcp(lab.add(one, lab.exp(x)))), Comparison::Different);
}

TEST(FieldIdentity, NormsAgreeWhicheverRootIsTaken) {
  Lab lab;
  const auto x = lab.xs(0, 16);
  Real squares = lab.c(0);
  for (const Real& v : x) squares = lab.fma(v, v, squares);
  const Real mean = lab.add(lab.mul(squares, lab.c(0.0625F)), lab.c(1e-6F));
  const Real first = lab.mul(x[2], lab.rsqrt(mean));
  EXPECT_TRUE(lab.same(first, lab.div(x[2], lab.sqrt(mean))));
  EXPECT_TRUE(lab.same(first, lab.mul(x[2], lab.rcp(lab.sqrt(mean)))));
  EXPECT_TRUE(lab.same(lab.mul(mean, lab.rsqrt(mean)), lab.sqrt(mean)));
  EXPECT_TRUE(lab.same(lab.mul(lab.rsqrt(mean), lab.rsqrt(mean)), lab.rcp(mean)));
  EXPECT_TRUE(lab.same(lab.mul(lab.sqrt(mean), lab.sqrt(mean)), mean));
  EXPECT_TRUE(lab.field.facts().radicands.empty());
  const Real other = lab.add(lab.mul(squares, lab.c(0.0625F)), lab.c(1e-5F));
  EXPECT_EQ(lab.compare(first, lab.mul(x[2], lab.rsqrt(other))), Comparison::Different);
}

TEST(FieldIdentity, VarianceIsTheMeanOfSquaresMinusTheSquareOfTheMean) {
  Lab lab;
  const auto x = lab.xs(0, 8);
  const Real mean = lab.mul(lab.sum(x), lab.c(0.125F));
  Real two_pass = lab.c(0), squares = lab.c(0);
  for (const Real& v : x) {
    const Real d = lab.sub(v, mean);
    two_pass = lab.fma(d, d, two_pass);
    squares = lab.fma(v, v, squares);
  }
  const Real one_pass = lab.sub(lab.mul(squares, lab.c(0.125F)), lab.mul(mean, mean));
  EXPECT_TRUE(lab.same(lab.mul(two_pass, lab.c(0.125F)), one_pass));
  // Only the first is seen to be no less than zero.
  EXPECT_EQ(lab.field.sign(Lab::kF, two_pass), Sign::NonNegative);
  EXPECT_EQ(lab.field.sign(Lab::kF, one_pass), Sign::Unknown);
}

TEST(FieldIdentity, SumsDoNotDependOnOrder) {
  Lab lab;
  const auto x = lab.xs(0, 100);
  std::vector<Real> reversed(x.rbegin(), x.rend());
  EXPECT_TRUE(lab.same(lab.sum(x), lab.sum(reversed)));
  EXPECT_TRUE(lab.same(lab.sum(x), lab.field.sum(Lab::kF, x.data(), x.size())));
  reversed[50] = x[0];
  EXPECT_EQ(lab.compare(lab.sum(x), lab.sum(reversed)), Comparison::Different);
}

TEST(FieldConstants, ATruncatedLogarithmIsDifferentAndFlagged) {
  Lab ideal({.seed = 7, .constants = Constants::Ideal});
  const Real x = ideal.x(0);
  EXPECT_TRUE(ideal.same(ideal.exp(x), ideal.ex2(ideal.mul(x, ideal.c(1.44269504F)))));
  ASSERT_EQ(ideal.context.assumptions().size(), 1u);
  EXPECT_NE(ideal.context.assumptions()[0].text.find("log2(e)"), std::string::npos);
  EXPECT_TRUE(ideal.context.near_misses().empty());
  EXPECT_EQ(ideal.compare(ideal.exp(x), ideal.ex2(ideal.mul(x, ideal.c(1.4427F)))), Comparison::Different);
  ASSERT_EQ(ideal.context.near_misses().size(), 1u);
  EXPECT_NE(ideal.context.near_misses()[0].text.find("log2(e)"), std::string::npos);
  EXPECT_EQ(ideal.compare(ideal.mul(x, ideal.c(0.044715F)), ideal.mul(x, ideal.c(0.0447F))), Comparison::Different);
}

TEST(FieldConstants, ExactModeTakesLiteralsAtTheirWord) {
  Lab lab;
  const Real x = lab.x(0);
  EXPECT_EQ(lab.compare(lab.exp(x), lab.ex2(lab.mul(x, lab.c(1.44269504F)))), Comparison::Different);
  EXPECT_TRUE(lab.context.assumptions().empty());
  EXPECT_TRUE(lab.same(lab.div(x, lab.c(8)), lab.mul(x, lab.c(0.125F))));
  EXPECT_EQ(lab.compare(lab.div(x, lab.c(3)), lab.mul(x, lab.c(1.0F / 3))), Comparison::Different);
  EXPECT_TRUE(lab.same(lab.mul(lab.div(x, lab.c(3)), lab.c(3)), x));
}

TEST(FieldConstants, AReciprocalOfTheTaskIsUnifiedWithAReport) {
  FieldOptions options{.seed = 7, .constants = Constants::Ideal, .ideals = {{1.0 / 3072, "1/3072"}}};
  Lab lab(options);
  EXPECT_TRUE(lab.same(lab.div(lab.x(0), lab.c(3072)), lab.mul(lab.x(0), lab.c(1.0F / 3072))));
  ASSERT_EQ(lab.context.assumptions().size(), 1u);
  EXPECT_NE(lab.context.assumptions()[0].text.find("1/3072"), std::string::npos);
}

TEST(FieldConstants, AFoldedScaleAndBaseChangeIsOneProduct) {
  const double root = 1 / std::sqrt(128.0 * 2 * 3);
  Lab lab({.seed = 7, .constants = Constants::Ideal, .ideals = {{root, "1/sqrt(768)"}}});
  const Real x = lab.x(0);
  const Real two_steps = lab.exp(lab.mul(x, lab.c(static_cast<float>(root))));
  const Real folded = lab.ex2(lab.mul(x, lab.c(static_cast<float>(root / std::log(2.0)))));
  EXPECT_TRUE(lab.same(two_steps, folded));
}

TEST(FieldConstants, ConcreteArithmeticFoldsOnlyWhenExact) {
  Lab lab;
  EXPECT_TRUE(lab.add(lab.c(1), lab.c(2)).is_concrete());
  EXPECT_FALSE(lab.add(lab.c(1), lab.c(1e-10F)).is_concrete());
  EXPECT_FALSE(lab.div(lab.c(1), lab.c(3)).is_concrete());
  EXPECT_TRUE(lab.same(lab.mul(lab.div(lab.c(1), lab.c(3)), lab.c(3)), lab.c(1)));
  const Real nan = lab.sub(lab.c(INFINITY), lab.c(INFINITY));
  ASSERT_TRUE(nan.is_concrete());
  EXPECT_TRUE(std::isnan(std::bit_cast<float>(static_cast<std::uint32_t>(nan.bits))));
}

}  // namespace
}  // namespace plumb::domain
