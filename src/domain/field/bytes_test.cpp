// SPDX-License-Identifier: Apache-2.0
// Bytes, words and memory of abstract values.
#include <gtest/gtest.h>

#include "domain/field/lab_test.h"

namespace plumb::domain {
namespace {

using Real = Lab::Real;

struct Words : Lab {
  Words() : Lab({.seed = 7}, Format::BF16) {}
  Word word(std::uint64_t index) { return field.to_word(Format::BF16, x(index)); }
  Word pair(std::uint64_t low, std::uint64_t high) {
    Word both = word(low);
    const Word upper = word(high);
    both.tags[2] = upper.tags[0];
    both.tags[3] = upper.tags[1];
    return both;
  }
  static Word number(std::uint64_t bits) { return {bits, {}}; }
  std::optional<Word> op(BitOp o, Word a, Word b, Word c = {}, unsigned width = 32, std::uint32_t immediate = 0) {
    Word out;
    if (!field.bit_op(o, width, a, b, c, out, immediate)) return std::nullopt;
    return out;
  }
  Real wide(Real v) { return field.convert(Format::F32, Format::BF16, v, {}); }
  bool is(Format f, const std::optional<Word>& w, Real expected) {
    return w && field.compare_outputs(f, field.from_word(f, *w), expected) == Comparison::Equal;
  }
};

TEST(FieldBytes, AWordGivesBackItsValue) {
  Words w;
  EXPECT_TRUE(w.is(Format::BF16, w.word(3), w.x(3)));
  EXPECT_FALSE(w.is(Format::BF16, w.word(3), w.x(4)));
  const Word concrete = w.field.to_word(Format::F32, w.c(1.5F));
  EXPECT_EQ(concrete.bits, 0x3fc00000u);
}

TEST(FieldBytes, PackedPairsComeApartByMasksShiftsAndPermutes) {
  Words w;
  const Word both = w.pair(1, 2);
  EXPECT_TRUE(w.is(Format::BF16, w.op(BitOp::And, both, w.number(0xffff)), w.x(1)));
  EXPECT_TRUE(w.is(Format::BF16, w.op(BitOp::ShrU, both, w.number(16)), w.x(2)));
  EXPECT_TRUE(w.is(Format::BF16, w.op(BitOp::Prmt, both, w.number(0), w.number(0x4432)), w.x(2)));
  EXPECT_TRUE(w.is(Format::BF16, w.op(BitOp::BfeU, both, w.number(16), w.number(16)), w.x(2)));
  const auto low = w.op(BitOp::And, both, w.number(0xffff)), high = w.op(BitOp::And, both, w.number(0xffff0000));
  for (const BitOp merge : {BitOp::Or, BitOp::Add, BitOp::Xor}) {
    const auto again = w.op(merge, *low, *high);
    ASSERT_TRUE(again);
    EXPECT_TRUE(w.is(Format::BF16, w.op(BitOp::ShrU, *again, w.number(16)), w.x(2)));
  }
  const auto swapped = w.op(BitOp::FunnelLeft, both, both, w.number(16));
  EXPECT_TRUE(w.is(Format::BF16, swapped, w.x(2)));
}

TEST(FieldBytes, ABfloatInTheUpperHalfIsItsF32) {
  Words w;
  const Word both = w.pair(1, 2);
  EXPECT_TRUE(w.is(Format::F32, w.op(BitOp::Shl, both, w.number(16)), w.wide(w.x(1))));
  EXPECT_TRUE(w.is(Format::F32, w.op(BitOp::And, both, w.number(0xffff0000)), w.wide(w.x(2))));
  EXPECT_TRUE(w.is(Format::F32, w.op(BitOp::Prmt, both, w.number(0), w.number(0x1044)), w.wide(w.x(1))));
  EXPECT_TRUE(w.is(Format::F32, w.op(BitOp::Lop3, both, w.number(0xffff0000), w.number(0), 32, 0xc0), w.wide(w.x(2))));
  EXPECT_FALSE(w.field.faulted());
  const Real mixed = w.field.from_word(Format::F32, both);
  EXPECT_EQ(w.field.take_fault().code, &kFieldMixedBytes);
  (void)mixed;
}

TEST(FieldBytes, TheUpperHalfOfAnF32IsTruncated) {
  Words w;
  const Real product = w.mul(w.wide(w.x(1)), w.wide(w.x(2)));
  const auto half = w.op(BitOp::ShrU, w.field.to_word(Format::F32, product), w.number(16));
  ASSERT_TRUE(half);
  const Real narrow = w.field.from_word(Format::BF16, *half);
  const Real rounded = w.field.convert(Format::BF16, Format::F32, product, {});
  EXPECT_EQ(w.field.compare_outputs(Format::BF16, narrow, rounded), Comparison::Equal);
  EXPECT_NE(w.field.signature(narrow).flags & Signature::kTruncated, 0);
  EXPECT_EQ(w.field.signature(rounded).flags & Signature::kTruncated, 0);
  EXPECT_EQ(w.field.signature(narrow).count(RoundingClass::BF16), 1);
}

TEST(FieldBytes, SignBitIdiomsAreNegationAndAbsoluteValue) {
  Words w;
  const Real product = w.mul(w.wide(w.x(1)), w.wide(w.x(2)));
  const Word word = w.field.to_word(Format::F32, product);
  EXPECT_TRUE(w.is(Format::F32, w.op(BitOp::Xor, word, w.number(0x80000000)), w.neg(product)));
  EXPECT_TRUE(w.is(Format::F32, w.op(BitOp::And, word, w.number(0x7fffffff)), w.abs(product)));
  EXPECT_TRUE(w.is(Format::F32, w.op(BitOp::Or, word, w.number(0x80000000)), w.neg(w.abs(product))));
  const auto pair = w.op(BitOp::Xor, w.pair(1, 2), w.number(0x80008000));
  ASSERT_TRUE(pair);
  const Real minus = w.field.neg(Format::BF16, w.x(2), {});
  EXPECT_TRUE(w.is(Format::BF16, w.op(BitOp::ShrU, *pair, w.number(16)), minus));
}

TEST(FieldBytes, OtherBitArithmeticIsNotGuessed) {
  const std::uint64_t masks[] = {0x7f800000, 0x80000000, 0x7ffffffe, 0x007fffff};
  for (const std::uint64_t mask : masks) {
    Words w;
    const Word word = w.field.to_word(Format::F32, w.wide(w.x(1)));
    EXPECT_FALSE(w.op(BitOp::And, word, w.number(mask))) << std::hex << mask;
    EXPECT_EQ(w.field.take_fault().code, &kFieldBitView);
  }
  Words w;
  const Word word = w.field.to_word(Format::F32, w.wide(w.x(1)));
  EXPECT_FALSE(w.op(BitOp::Add, word, w.number(0x800000)));
  EXPECT_FALSE(w.op(BitOp::ShrU, word, w.number(23)));
  EXPECT_FALSE(w.op(BitOp::ShrS, word, w.number(16)));
  EXPECT_FALSE(w.op(BitOp::Not, word, w.number(0)));
  EXPECT_FALSE(w.op(BitOp::Shl, w.number(1), word));
  // The sign bit of half a value, or of a byte that is not its top.
  EXPECT_FALSE(w.op(BitOp::Xor, *w.op(BitOp::ShrU, word, w.number(16)), w.number(0x8000)));
  EXPECT_FALSE(w.op(BitOp::Xor, word, w.number(0x80)));
}

TEST(FieldBytes, OneFormatIsNotReadAsAnother) {
  Words w;
  w.field.from_word(Format::F16, w.word(1));
  EXPECT_EQ(w.field.take_fault().code, &kFieldBitView);
}

TEST(FieldBytes, BothSidesOfAProofShareInputs) {
  FieldContext context({.seed = 3});
  Memory first(true), second(true);
  for (Memory* memory : {&first, &second}) memory->add("a", 64, Init::Abstract, Format::F32);
  Field left(context), right(context);
  for (std::uint64_t offset = 0; offset < 64; offset += 4) {
    const Real a = left.read(*first.find("a"), offset, Format::F32);
    EXPECT_EQ(a.id, right.read(*second.find("a"), offset, Format::F32).id);
    if (offset != 0) {
      EXPECT_NE(a.id, left.read(*first.find("a"), offset - 4, Format::F32).id);
    }
  }
}

TEST(FieldBytes, StoredValuesOutliveTheirUnit) {
  Lab lab;
  Buffer& out = lab.memory.add("out", 64, Init::Undefined, Format::F32);
  const Real x = lab.x(0), y = lab.x(1);
  const Real results[] = {lab.mul(x, y), lab.largest(lab.xs(0, 5)), lab.log(lab.exp(lab.mul(x, x))),
                          lab.log(lab.add(lab.exp(x), lab.exp(y))), lab.rsqrt(lab.exp(x))};
  std::array<std::uint32_t, kLanes> before[5];
  for (unsigned i = 0; i < 5; ++i) {
    const Word word = lab.field.to_word(Lab::kF, results[i]);
    const std::byte zero[4] = {};
    lab.field.store(out, 4 * i, 4, zero, word.tags);
    before[i] = lab.field.residues(Lab::kF, results[i]);
  }
  lab.field.end_unit();
  lab.field.begin_unit();
  for (int i = 0; i < 1000; ++i) lab.add(lab.x(7), lab.x(8 + i));  // over the unit's values
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(lab.field.residues(Lab::kF, lab.field.read(out, 4 * i, Lab::kF)), before[i]) << i;
  }
  EXPECT_EQ(lab.field.read(out, 20, Lab::kF).id, kUndefined);
}

TEST(FieldBytes, UndefinedBytesSpreadUntilTheyAreDroppedOrDecide) {
  Lab lab;
  Buffer& out = lab.memory.add("out", 64, Init::Undefined, Format::F32);
  const Real u = lab.field.read(out, 0, Lab::kF), x = lab.x(0);
  EXPECT_EQ(lab.add(u, x).id, kUndefined);
  EXPECT_EQ(lab.mul(x, u).id, kUndefined);
  EXPECT_EQ(lab.exp(u).id, kUndefined);
  EXPECT_EQ(lab.max(u, x).id, kUndefined);
  EXPECT_EQ(lab.fma(x, x, u).id, kUndefined);
  EXPECT_TRUE(lab.same(lab.select(lab.field.boolean(false), u, x), x));
  EXPECT_EQ(lab.compare(u, x), Comparison::Undefined);
  EXPECT_EQ(lab.compare(u, u), Comparison::Equal);
  EXPECT_FALSE(lab.field.faulted());
  lab.less(u, x);
  EXPECT_EQ(lab.field.take_fault().code, &kFieldUndefined);
}

}  // namespace
}  // namespace plumb::domain
