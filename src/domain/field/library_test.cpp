// SPDX-License-Identifier: Apache-2.0
// The bodies of libdevice's logarithms, step by step as compiled code has them, are logarithms; and with any one of
// their constants changed they are not.
#include <gtest/gtest.h>

#include <vector>

#include "domain/field/lab_test.h"

namespace plumb::domain {
namespace {

using Real = Field::Real;

// The constants of a body in the order in which it uses them: the split, the polynomial with the highest first, what
// m - 1 and k are multiplied by at last.
using Body = std::vector<std::uint32_t>;
const Body kNatural = {0x3f2aaaab, 0xbe055027, 0x3e1039f6, 0xbdf8cdcc, 0x3e0f2955, 0xbe2ad8b9,
                       0x3e4ced0b, 0xbe7fff22, 0x3eaaaa78, 0xbf000000, 0x3f800000, 0x3f317218};
const Body kBinary = {0x3f3504f3, 0x3dc6b27f, 0xbe2c7f30, 0x3e2fcf2a, 0xbe374e43, 0x3e520bf4, 0xbe763c8b,
                      0x3e93bf99, 0xbeb8aa49, 0x3ef6384a, 0xbf38aa3b, 0x3fb8aa3b, 0x3f800000};

Word number(std::uint32_t bits) {
  Word word;
  word.bits = bits;
  return word;
}

Word step(Lab& lab, BitOp op, const Word& a, const Word& b) {
  Word out;
  const IntFunction on_bits = [](std::uint64_t, std::uint64_t, std::uint64_t) -> std::uint64_t {
    ADD_FAILURE() << "these bits are not known";
    return 0;
  };
  lab.field.int_op(op, 32, 32, a, b, {}, 0, on_bits, out);
  return out;
}

Real bits(std::uint32_t value) { return {kNoValue, value}; }

// A fault of a step ends it: empty.
std::optional<Real> run(Lab& lab, Real x, const Body& body, float rescale = 8388608, float binades = -23) {
  const Field::Bool is_tiny = lab.less(x, lab.c(0x1p-126F));
  const Real y = lab.select(is_tiny, lab.mul(x, lab.c(rescale)), x);
  const Real bias = lab.select(is_tiny, lab.c(binades), lab.c(0));
  const Word word = lab.field.to_word(Lab::kF, y);
  const Word exponent =
      step(lab, BitOp::And, step(lab, BitOp::Add, word, number(0U - body.front())), number(0xff800000));
  if (lab.field.faulted()) {
    lab.field.take_fault();
    return std::nullopt;
  }
  const Real m = lab.field.from_word(Lab::kF, step(lab, BitOp::Sub, word, exponent));
  const Real k = lab.field.from_integer(Lab::kF, lab.field.integer(exponent, 32, true), {});
  const Real u = lab.add(m, lab.c(-1));
  Real t = bits(body[1]);
  for (std::size_t i = 2; i + 2 < body.size(); ++i) t = lab.fma(t, u, bits(body[i]));
  const Real fraction = lab.fma(u, bits(body[body.size() - 2]), lab.mul(u, lab.mul(u, t)));
  const Real result = lab.fma(lab.fma(k, lab.c(0x1p-23F), bias), bits(body.back()), fraction);
  EXPECT_FALSE(lab.field.faulted()) << lab.field.take_fault().text;
  return result;
}

Real logarithm(Lab& lab, Real x, const Body& body) { return &body == &kNatural ? lab.log(x) : lab.lg2(x); }

TEST(FieldLibrary, BodiesOfLogarithmsAreLogarithms) {
  for (const Constants constants : {Constants::Exact, Constants::Ideal}) {
    for (const Body* body : {&kNatural, &kBinary}) {
      Lab lab({.seed = 7, .constants = constants});
      const Real x = lab.x(0);
      const std::optional<Real> y = run(lab, x, *body);
      ASSERT_TRUE(y);
      EXPECT_TRUE(lab.same(*y, logarithm(lab, x, *body)));
      EXPECT_FALSE(lab.same(*y, logarithm(lab, lab.x(1), *body)));
      EXPECT_FALSE(lab.context.assumptions().empty());
    }
  }
}

TEST(FieldLibrary, AShiftMovesOutOfABody) {
  Lab lab;
  const Real x = lab.x(0), y = lab.x(1), shift = lab.x(2);
  const Real shifted = lab.add(lab.exp(lab.sub(x, shift)), lab.exp(lab.sub(y, shift)));
  const Real sum = lab.log(lab.add(lab.exp(x), lab.exp(y)));
  EXPECT_TRUE(lab.same(lab.add(*run(lab, shifted, kNatural), shift), sum));
  EXPECT_FALSE(lab.same(lab.add(*run(lab, shifted, kNatural), x), sum));
}

TEST(FieldLibrary, BothLogarithmsOfOneNumberInOneUnitStayApart) {
  Lab lab({.seed = 7, .constants = Constants::Ideal});
  const Real x = lab.x(0);
  const Real natural = *run(lab, x, kNatural), binary = *run(lab, x, kBinary);
  EXPECT_FALSE(lab.same(natural, binary));
  EXPECT_TRUE(lab.same(lab.mul(binary, bits(0x3f317218)), natural));  // log2(x) ln 2
}

TEST(FieldLibrary, NoOtherConstantIsTheRoutines) {
  for (const Body* body : {&kNatural, &kBinary}) {
    for (std::size_t i = 0; i < body->size(); ++i) {
      Body changed = *body;
      changed[i] += 1;
      Lab lab;
      const std::optional<Real> y = run(lab, lab.x(0), changed);
      EXPECT_TRUE(!y || !lab.same(*y, logarithm(lab, lab.x(0), *body))) << i;
    }
    Lab lab;
    const Real x = lab.x(0);
    EXPECT_FALSE(lab.same(*run(lab, x, *body, 4194304), logarithm(lab, x, *body)));
    EXPECT_FALSE(lab.same(*run(lab, x, *body, 8388608, -22), logarithm(lab, x, *body)));
  }
}

TEST(FieldLibrary, ThePolynomialOfOneRoutineDoesNotFitTheSplitOfTheOther) {
  Body mixed = kNatural;
  mixed.front() = kBinary.front();
  Lab lab;
  const std::optional<Real> y = run(lab, lab.x(0), mixed);
  EXPECT_TRUE(!y || !lab.same(*y, lab.log(lab.x(0))));
}

}  // namespace
}  // namespace plumb::domain
