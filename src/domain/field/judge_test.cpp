// SPDX-License-Identifier: Apache-2.0
// Comparison, definedness, degrees, rounding counts and failure bounds.
#include <gtest/gtest.h>

#include "domain/field/lab_test.h"
#include "domain/field/worker.h"

namespace plumb::domain {

struct FieldTestAccess {
  static field::Worker& worker(Field& field) { return *field.inner_; }
};

namespace {

using Real = Lab::Real;

// x with the residue of some repetitions replaced by zero: the accident of a denominator.
Real with_zero_lanes(Lab& lab, Real x, unsigned repetitions) {
  field::Worker& w = FieldTestAccess::worker(lab.field);
  ValueId id;
  field::Value& v = w.allocate(id);
  v = w.get(x.id);
  for (unsigned r = 0; r < kRepetitions; ++r) {
    if ((repetitions >> r & 1) != 0) v.residues.lane[r] = 0;
  }
  return {id};
}

TEST(FieldJudge, SeedsReproduceAndDiffer) {
  const auto fingerprint = [](std::uint64_t seed) {
    Lab lab({.seed = seed});
    return lab.field.residues(Lab::kF, lab.exp(lab.mul(lab.x(0), lab.largest(lab.xs(1, 5)))));
  };
  EXPECT_EQ(fingerprint(1), fingerprint(1));
  EXPECT_NE(fingerprint(1), fingerprint(2));
  const FieldContext first({.seed = 1}), second({.seed = 2});
  EXPECT_FALSE(std::equal(first.primes().begin(), first.primes().end(), second.primes().begin()));
  for (unsigned r = 0; r < kRepetitions; ++r) EXPECT_EQ(first.primes()[r], 2 * first.primes()[r + 4] + 1);
}

TEST(FieldJudge, AConstantBuiltAgainstOtherPrimesIsSeen) {
  // p of another run, written as a product of sums of floats, is zero there and not here.
  const std::uint32_t p = FieldContext({.seed = 99}).primes()[0];
  Lab lab({.seed = 100});
  const Real high = lab.mul(lab.c(static_cast<float>(p >> 12)), lab.c(4096));
  const Real prime = lab.fma(lab.x(0), lab.add(high, lab.c(static_cast<float>(p & 4095))), lab.x(1));
  EXPECT_EQ(lab.compare(prime, lab.x(1)), Comparison::Different);
  Lab other({.seed = 99});
  const Real again = other.mul(other.c(static_cast<float>(p >> 12)), other.c(4096));
  const Real zero = other.mul(other.x(0), other.add(again, other.c(static_cast<float>(p & 4095))));
  EXPECT_EQ(other.field.residues(Lab::kF, zero)[0], 0u);
  EXPECT_EQ(other.compare(zero, other.c(0)), Comparison::Different);  // the other repetitions see it
}

TEST(FieldJudge, AnAccidentalZeroInvalidatesItsLaneAlone) {
  Lab lab;
  const Real y = with_zero_lanes(lab, lab.x(1), 1), z = lab.x(2);
  const Real quotient = lab.div(lab.x(0), y);
  EXPECT_TRUE(lab.same(lab.mul(z, quotient), lab.div(lab.mul(lab.x(0), z), y)));
  EXPECT_EQ(lab.compare(quotient, lab.div(lab.x(3), y)), Comparison::Different);
  const Real worse = lab.div(lab.x(0), with_zero_lanes(lab, lab.x(1), 3));
  EXPECT_EQ(lab.compare(worse, worse), Comparison::TooFewLanes);
  EXPECT_EQ(lab.compare(lab.exp(quotient), lab.exp(quotient)), Comparison::Equal);
  const Real root = lab.sqrt(quotient);
  EXPECT_EQ(lab.compare(root, root), Comparison::TooFewLanes);
}

TEST(FieldJudge, AnIdenticallyZeroDenominatorIsNotANumber) {
  Lab lab;
  const Real x = lab.x(0);
  const Real poison = lab.div(x, lab.sub(x, x));
  EXPECT_EQ(lab.compare(poison, x), Comparison::NotANumber);
  EXPECT_EQ(lab.compare(lab.add(poison, x), x), Comparison::NotANumber);
  EXPECT_EQ(lab.compare(lab.rcp(lab.mul(x, lab.c(0))), x), Comparison::NotANumber);
  EXPECT_EQ(lab.compare(lab.div(x, lab.c(0)), lab.div(x, lab.c(0))), Comparison::NotANumber);
}

TEST(FieldJudge, AnAddedSingularityIsReported) {
  Lab lab;
  Field other(lab.context);
  const Real x = lab.x(0), y = lab.x(1);
  EXPECT_TRUE(lab.same(lab.div(x, x), lab.c(1)));
  const Facts candidate = lab.field.facts();
  EXPECT_EQ(lab.context.added_singularities(other.facts(), candidate).size(), 1u);
  EXPECT_TRUE(lab.context.added_singularities(candidate, candidate).empty());
  // A constant multiple of a denominator of the spec, and a denominator known to be positive, are none.
  other.div(Lab::kF, y, x, {});
  EXPECT_TRUE(lab.context.added_singularities(other.facts(), candidate).empty());
  lab.div(x, lab.mul(x, lab.c(-2)));
  lab.div(x, lab.add(lab.exp(x), lab.c(1)));
  lab.div(x, lab.add(lab.mul(x, x), lab.c(1e-6F)));
  lab.rsqrt(lab.add(lab.mul(x, x), lab.c(1e-6F)));
  EXPECT_TRUE(lab.context.added_singularities(other.facts(), lab.field.facts()).empty());
  lab.sqrt(x);
  lab.log(y);
  EXPECT_EQ(lab.context.added_singularities(other.facts(), lab.field.facts()).size(), 2u);
  EXPECT_NE(lab.field.signature(lab.rcp(x)).flags & Signature::kUnprovenDomain, 0);
}

TEST(FieldJudge, DegreesSaturateBeforeRepeatedSquaringFoolsTheBound) {
  Lab lab;
  Real x = lab.x(0);
  const Facts none;
  EXPECT_FALSE(lab.context.failure_bound(2 * lab.field.degree(x), none, none).is_refused);
  for (int i = 0; i < 40; ++i) x = lab.mul(x, x);
  EXPECT_EQ(lab.field.degree(x), std::ldexp(1.0, 40));
  EXPECT_TRUE(lab.context.failure_bound(lab.field.degree(x), none, none).is_refused);
}

TEST(FieldJudge, DegreesFollowTheDenominators) {
  Lab lab;
  const Real l = lab.add(lab.x(0), lab.x(1));
  Real shared = lab.c(0), apart = lab.c(0);
  for (unsigned i = 0; i < 8; ++i) {
    shared = lab.add(shared, lab.div(lab.x(10 + i), l));
    apart = lab.add(apart, lab.div(lab.x(10 + i), lab.x(30 + i)));
  }
  EXPECT_EQ(lab.field.degree(shared), 2);
  EXPECT_EQ(lab.field.degree(apart), 16);
}

TEST(FieldJudge, TheBoundNamesWhatItRestsOn) {
  Lab lab;
  Facts plain;
  const FailureBound product = lab.context.failure_bound(4, plain, plain);
  EXPECT_LT(product.log2_probability, -40);
  EXPECT_FALSE(product.is_conjectural);
  Facts powers = plain;
  powers.exponentials = 10;
  powers.largest_exponent_degree = 3;
  EXPECT_TRUE(lab.context.failure_bound(4, plain, powers).is_conjectural);
  Facts atoms = plain;
  atoms.atoms = 1 << 20;
  atoms.largest_degree = 256;
  EXPECT_GT(lab.context.failure_bound(4, atoms, atoms).log2_probability, -40);
  EXPECT_GT(lab.context.failure_bound(1 << 12, plain, plain).log2_probability, product.log2_probability);
}

TEST(FieldJudge, RoundingCountsFollowPaths) {
  Lab lab;
  const Real x = lab.x(0), y = lab.x(1);
  const Real narrow = lab.field.convert(Format::BF16, Lab::kF, lab.mul(x, y), {});
  const Real wide = lab.field.convert(Lab::kF, Format::BF16, narrow, {});
  EXPECT_TRUE(lab.same(wide, lab.mul(x, y)));
  const Signature s = lab.field.signature(lab.fma(wide, wide, x));
  EXPECT_EQ(s.count(RoundingClass::BF16), 2);
  EXPECT_EQ(s.count(RoundingClass::F32), 3);
  EXPECT_EQ(lab.field.signature(lab.neg(x)).count(RoundingClass::F32), 0);
  EXPECT_EQ(lab.field.signature(lab.max(lab.mul(x, y), x)).count(RoundingClass::F32), 1);
  const Real approximate = lab.field.ex2(Lab::kF, x, {.ftz = true, .approximate = true});
  EXPECT_EQ(lab.field.signature(approximate).flags & (Signature::kApproximate | Signature::kFlushed),
            Signature::kApproximate | Signature::kFlushed);
}

// Each of these is put together anew from what its operand was made of.
TEST(FieldJudge, NormalFormsKeepTheRoundingsOfTheirOperands) {
  Lab lab;
  const auto rounded = [&](Real v) {
    return lab.field.convert(Format::F32, Format::BF16, lab.field.convert(Format::BF16, Format::F32, v, {}), {});
  };
  const auto count = [&](Real v) { return lab.field.signature(v).count(RoundingClass::BF16); };
  const Real x = lab.x(1), y = lab.x(2), square = lab.add(lab.mul(x, x), lab.c(1));
  const Real log = rounded(lab.lg2(square)), most = rounded(lab.mul(lab.max(x, y), lab.c(3)));
  const Real root = rounded(lab.sqrt(square)), size = rounded(lab.abs(x));
  EXPECT_EQ(count(lab.mul(log, lab.c(0.5F))), 1);
  EXPECT_EQ(count(lab.neg(log)), 1);
  EXPECT_EQ(count(lab.add(log, x)), 1);
  EXPECT_EQ(count(lab.ex2(log)), 1);
  EXPECT_EQ(count(lab.mul(most, lab.c(0.5F))), 1);
  EXPECT_EQ(count(lab.neg(most)), 1);
  EXPECT_EQ(count(lab.mul(root, root)), 1);
  EXPECT_EQ(count(lab.rcp(root)), 1);
  EXPECT_EQ(count(lab.div(square, root)), 1);
  EXPECT_EQ(count(lab.mul(size, size)), 1);
  const Real inverse = rounded(lab.rsqrt(square));
  EXPECT_EQ(count(lab.mul(inverse, inverse)), 1);
  EXPECT_EQ(count(lab.mul(inverse, square)), 1);
  EXPECT_EQ(count(lab.mul(lab.lg2(square), lab.c(0.5F))), 0);
}

TEST(FieldJudge, NarrowDivisionsShowUnlessTheDivisorIsKnownToBeMiddling) {
  Lab lab;
  const FloatMode narrow{.ftz = true, .approximate = true, .narrow = true};
  const auto shows = [&](Real divisor) {
    return (lab.field.signature(lab.field.rcp(Lab::kF, divisor, narrow)).flags & Signature::kNarrowDivision) != 0;
  };
  const Real x = lab.x(0), y = lab.x(1);
  EXPECT_TRUE(shows(x));
  EXPECT_TRUE(shows(lab.mul(x, x)));
  EXPECT_TRUE(shows(lab.exp(x)));
  EXPECT_TRUE(shows(lab.mul(lab.exp(x), lab.c(2))));
  EXPECT_TRUE(shows(lab.add(lab.exp(x), lab.c(0.5F))));  // not known to be one or more
  EXPECT_TRUE(shows(lab.add(x, lab.c(1))));
  EXPECT_FALSE(shows(lab.add(lab.exp(x), lab.c(1))));
  EXPECT_FALSE(shows(lab.add(lab.mul(x, x), lab.c(1))));
  EXPECT_TRUE(shows(lab.rcp(lab.add(lab.exp(x), lab.c(1)))));
  const Real most = lab.max(x, y);
  EXPECT_FALSE(shows(lab.add(lab.exp(lab.sub(x, most)), lab.exp(lab.sub(y, most)))));
  EXPECT_TRUE(shows(lab.add(lab.exp(x), lab.exp(y))));
  const Real quotient = lab.field.div(Lab::kF, x, y, {.approximate = true});
  EXPECT_EQ(lab.field.signature(quotient).flags & Signature::kNarrowDivision, 0);
  EXPECT_NE(lab.field.signature(lab.field.div(Lab::kF, x, y, narrow)).flags & Signature::kNarrowDivision, 0);
  EXPECT_EQ(lab.field.signature(lab.field.ex2(Lab::kF, x, narrow)).flags & Signature::kNarrowDivision, 0);
  // tanh.approx is as good as a number of f16; what was computed before in full is not touched by it.
  const Real full = lab.field.tanh(Lab::kF, x, {}), coarse = lab.field.tanh(Lab::kF, x, narrow);
  EXPECT_TRUE(lab.same(full, coarse));
  EXPECT_EQ(lab.field.signature(full).count(RoundingClass::F16), 0);
  EXPECT_EQ(lab.field.signature(coarse).count(RoundingClass::F16), 1);
  EXPECT_EQ(lab.field.signature(lab.field.sin(Lab::kF, x, narrow)).count(RoundingClass::F16), 1);
}

TEST(FieldJudge, WhatIsAtLeastOneStaysSoOnlyWhereItDoes) {
  Lab lab;
  const Real x = lab.x(0), above = lab.add(lab.mul(x, x), lab.c(1));
  const auto sign = [&](Real a) { return lab.field.sign(Lab::kF, a); };
  EXPECT_EQ(sign(above), Sign::AtLeastOne);
  EXPECT_EQ(sign(lab.mul(above, above)), Sign::AtLeastOne);
  EXPECT_EQ(sign(lab.mul(above, lab.c(0.5F))), Sign::Positive);
  EXPECT_EQ(sign(lab.div(above, above)), Sign::Positive);
  EXPECT_EQ(sign(lab.rcp(above)), Sign::Positive);
  EXPECT_EQ(sign(lab.neg(above)), Sign::Negative);
  EXPECT_EQ(sign(lab.sub(above, lab.c(0.5F))), Sign::Unknown);
  EXPECT_EQ(sign(lab.max(above, x)), Sign::AtLeastOne);
  EXPECT_NE(sign(lab.min(above, lab.c(0.5F))), Sign::AtLeastOne);
}

TEST(FieldJudge, NothingIsRoundedTwiceOrInPlace) {
  Lab lab;
  const Real x = lab.x(0);
  lab.add(x, lab.c(0));
  lab.mul(x, lab.c(1));
  lab.fma(x, lab.c(1), lab.c(0));
  lab.max(x, lab.c(-INFINITY));
  EXPECT_EQ(lab.field.signature(x).count(RoundingClass::F32), 0);
  EXPECT_EQ(lab.field.signature(lab.fma(x, lab.x(1), lab.c(0))).count(RoundingClass::F32), 1);
  const Real square = lab.mul(x, x);
  lab.mul(lab.sqrt(square), lab.sqrt(square));
  EXPECT_EQ(lab.field.signature(square).count(RoundingClass::F32), 1);
}

TEST(FieldJudge, ProbedInputsAreZero) {
  Lab lab({.seed = 7, .is_zero = [](std::uint32_t, std::uint64_t index) { return index % 2 == 1; }});
  EXPECT_TRUE(lab.same(lab.add(lab.x(0), lab.x(1)), lab.x(0)));
  EXPECT_TRUE(lab.same(lab.mul(lab.x(2), lab.x(3)), lab.c(0)));
  EXPECT_EQ(lab.compare(lab.add(lab.x(0), lab.x(2)), lab.x(0)), Comparison::Different);
}

struct Dot : Lab {
  Dot() : Lab({.seed = 7}, Format::BF16) {}
  std::vector<Real> run(const DotShape& s, const std::vector<Real>& a, const std::vector<Real>& b,
                        const std::vector<Real>& d) {
    std::vector<Real> out(s.m * s.n);
    field.dot(s, a.data(), b.data(), d.data(), out.data());
    return out;
  }
  // One output by multiply-adds.
  Real entry(const DotShape& s, const std::vector<Real>& a, const std::vector<Real>& b, unsigned i, unsigned j) {
    Real total = c(0);
    for (unsigned l = 0; l < s.k; ++l) {
      total = fma(field.convert(kF, s.a, a[i * s.k + l], {}), field.convert(kF, s.b, b[l * s.n + j], {}), total);
    }
    return total;
  }
};

TEST(FieldDot, IsTheSumOfProductsInAnySteps) {
  Dot lab;
  const DotShape whole{.m = 16, .n = 8, .k = 48, .a = Format::BF16, .b = Format::BF16, .kind = DotKind::TritonDot};
  DotShape step = whole;
  step.k = 16;
  step.kind = DotKind::MmaSync;
  const auto a = lab.xs(0, 16 * 48), b = lab.xs(1000, 48 * 8);
  const std::vector<Real> zero(16 * 8, lab.c(0));
  const auto once = lab.run(whole, a, b, zero);
  auto stepped = zero;
  for (unsigned first = 0; first < 48; first += 16) {
    std::vector<Real> left, right(b.begin() + first * 8, b.begin() + (first + 16) * 8);
    for (unsigned i = 0; i < 16; ++i)
      left.insert(left.end(), a.begin() + i * 48 + first, a.begin() + i * 48 + first + 16);
    stepped = lab.run(step, left, right, stepped);
  }
  for (unsigned i = 0; i < 16; ++i) {
    for (unsigned j = 0; j < 8; ++j) {
      EXPECT_TRUE(lab.same(once[i * 8 + j], lab.entry(whole, a, b, i, j)));
      EXPECT_TRUE(lab.same(once[i * 8 + j], stepped[i * 8 + j]));
    }
  }
  EXPECT_EQ(lab.compare(once[0], once[1]), Comparison::Different);
  EXPECT_EQ(lab.field.degree(once[0]), 2);
  EXPECT_EQ(lab.field.signature(stepped[0]).count(RoundingClass::TensorCore), 6);
  EXPECT_EQ(lab.field.signature(once[0]).count(RoundingClass::TensorCore), 6);
  EXPECT_EQ(lab.field.signature(once[0]).count(RoundingClass::F32), 0);
}

// Results are computed when they are read, a chain of steps at once: wherever one reads, the values are the same.
TEST(FieldDot, IntermediateResultsCanBeReadKeptAndContinued) {
  Dot lab;
  const DotShape s{.m = 4, .n = 4, .k = 8, .a = Format::BF16, .b = Format::BF16};
  const auto a = lab.xs(0, 32), b = lab.xs(100, 32), d = lab.xs(200, 32);
  const std::vector<Real> zero(16, lab.c(0));
  const auto first = lab.run(s, a, b, zero);
  const auto second = lab.run(s, b, d, first), third = lab.run(s, a, d, second);
  EXPECT_TRUE(lab.same(third[5],
                       lab.add(lab.add(lab.entry(s, a, b, 1, 1), lab.entry(s, b, d, 1, 1)), lab.entry(s, a, d, 1, 1))));
  EXPECT_TRUE(lab.same(first[7], lab.entry(s, a, b, 1, 3)));
  EXPECT_TRUE(lab.same(second[7], lab.add(lab.entry(s, a, b, 1, 3), lab.entry(s, b, d, 1, 3))));
  const auto fourth = lab.run(s, d, d, second);  // another continuation of the same sums
  EXPECT_TRUE(lab.same(fourth[0], lab.add(second[0], lab.entry(s, d, d, 0, 0))));
  std::vector<Real> scaled;
  scaled.reserve(third.size());
  for (const Real& v : third) scaled.push_back(lab.mul(v, lab.c(3)));
  EXPECT_TRUE(lab.same(lab.run(s, a, b, scaled)[2], lab.add(lab.mul(third[2], lab.c(3)), first[2])));
  auto swapped = second;
  std::swap(swapped[0], swapped[1]);
  EXPECT_TRUE(lab.same(lab.run(s, d, d, swapped)[0], lab.add(second[1], lab.entry(s, d, d, 0, 0))));
  EXPECT_EQ(lab.field.signature(third[0]).count(RoundingClass::TensorCore), 6);
}

TEST(FieldDot, AResultFeedsTheNextProductAndOutlivesItsUnit) {
  Dot lab;
  Buffer& out = lab.memory.add("out", 64, Init::Undefined, Format::F32);
  const DotShape s{.m = 4, .n = 4, .k = 4, .a = Format::BF16, .b = Format::BF16};
  const auto a = lab.xs(0, 16), b = lab.xs(100, 16);
  const std::vector<Real> zero(16, lab.c(0));
  std::vector<Real> narrow;
  for (const Real& v : lab.run(s, a, b, zero)) narrow.push_back(lab.field.convert(Format::BF16, Lab::kF, v, {}));
  const auto chained = lab.run(s, narrow, b, zero);
  Real expected = lab.c(0);
  for (unsigned l = 0; l < 4; ++l) {
    expected = lab.fma(lab.entry(s, a, b, 2, l), lab.field.convert(Lab::kF, Format::BF16, b[l * 4 + 1], {}), expected);
  }
  EXPECT_TRUE(lab.same(chained[9], expected));
  EXPECT_EQ(lab.field.degree(chained[9]), 3);
  const auto before = lab.field.residues(Lab::kF, chained[9]);
  const Word word = lab.field.to_word(Lab::kF, chained[9]);
  const std::byte bytes[4] = {};
  lab.field.store(out, 0, 4, bytes, word.tags);
  lab.field.end_unit();
  lab.field.begin_unit();
  const auto other = lab.run(s, b, a, zero);
  EXPECT_TRUE(lab.same(other[0], lab.entry(s, b, a, 0, 0)));
  EXPECT_EQ(lab.field.residues(Lab::kF, lab.field.read(out, 0, Lab::kF)), before);
}

TEST(FieldDot, NarrowAccumulatorsShow) {
  Dot lab;
  const DotShape s{.m = 4, .n = 4, .k = 16, .a = Format::F16, .b = Format::F16, .acc = Format::F16};
  std::vector<Real> a;
  for (const Real& v : lab.xs(0, 64)) a.push_back(lab.field.convert(Format::F16, Format::BF16, v, {}));
  const auto out = lab.run(s, a, a, std::vector<Real>(16, {kNoValue, 0}));
  EXPECT_GT(lab.field.signature(out[0]).count(RoundingClass::F16), 0);
  EXPECT_EQ(lab.field.signature(out[0]).count(RoundingClass::TensorCore), 0);
}

TEST(FieldDot, ProductsOfEightBitsKeepFewUnlessTheSourceForbidsIt) {
  Dot lab;
  DotShape s{.m = 4, .n = 4, .k = 64, .a = Format::E4M3, .b = Format::E4M3, .kind = DotKind::TritonDot};
  std::vector<Real> a;
  for (const Real& v : lab.xs(0, 256)) a.push_back(lab.field.convert(Format::E4M3, Format::BF16, v, {}));
  const std::vector<Real> zero(16, lab.c(0));
  // Roundings beyond those of the operands, after two steps of a chain.
  const auto counts = [&](DotKind kind, std::uint32_t promoted_k) {
    s.kind = kind;
    s.promoted_k = promoted_k;
    const Signature made = lab.field.signature(lab.run(s, a, a, lab.run(s, a, a, zero))[0]);
    return std::pair<int, int>(made.count(RoundingClass::Tf32), made.count(RoundingClass::TensorCore));
  };
  EXPECT_EQ(counts(DotKind::Wgmma, 0), std::pair(4, 0));
  EXPECT_EQ(counts(DotKind::TritonDot, 0), std::pair(8, 0));   // four steps of 32
  EXPECT_EQ(counts(DotKind::TritonDot, 64), std::pair(4, 0));  // two, and no more of the next
  EXPECT_EQ(counts(DotKind::TritonDot, 1), std::pair(2, 0));   // a step at least
  EXPECT_EQ(counts(DotKind::MmaSync, 0), std::pair(0, 4));
}

TEST(FieldDot, MaskedAndUndefinedOperandsStayInTheirRowsAndColumns) {
  Dot lab;
  const DotShape s{.m = 2, .n = 2, .k = 3, .a = Format::BF16, .b = Format::BF16};
  auto a = lab.xs(0, 6), b = lab.xs(10, 6);
  const std::vector<Real> zero(4, lab.c(0));
  a[2] = lab.c(0);
  EXPECT_TRUE(lab.same(lab.run(s, a, b, zero)[0], lab.entry(s, a, b, 0, 0)));
  a[2] = {kUndefined, 0};
  const auto out = lab.run(s, a, b, zero);
  EXPECT_EQ(out[0].id, kUndefined);
  EXPECT_EQ(out[1].id, kUndefined);
  EXPECT_TRUE(lab.same(out[2], lab.entry(s, a, b, 1, 0)));
}

TEST(FieldDot, SignsOfNonNegativeOperandsCarryOver) {
  Dot lab;
  const DotShape s{.m = 1, .n = 1, .k = 2, .a = Format::F32, .b = Format::F32, .kind = DotKind::TritonDot};
  const Real x = lab.field.convert(Format::F32, Format::BF16, lab.x(0), {});
  const std::vector<Real> squares = {lab.mul(x, x), lab.exp(x)};
  EXPECT_EQ(lab.field.sign(Lab::kF, lab.run(s, squares, squares, {lab.c(0)})[0]), Sign::NonNegative);
  const std::vector<Real> mixed = {lab.mul(x, x), x};
  EXPECT_EQ(lab.field.sign(Lab::kF, lab.run(s, squares, mixed, {lab.c(0)})[0]), Sign::Unknown);
}

}  // namespace
}  // namespace plumb::domain
