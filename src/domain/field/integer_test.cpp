// SPDX-License-Identifier: Apache-2.0
// Integers of data: whichever way a code is taken out of its word, the number is the same, and no other way is.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "domain/codes.h"
#include "domain/field/lab_test.h"

namespace plumb::domain {
namespace {

using Real = Field::Real;

// What the machine does on known bits of 32-bit words.
std::uint64_t on_bits(BitOp op, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const auto x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b), z = static_cast<std::uint32_t>(c);
  switch (op) {
    case BitOp::And:
      return x & y;
    case BitOp::Or:
      return x | y;
    case BitOp::Xor:
      return x ^ y;
    case BitOp::Shl:
      return x << y;
    case BitOp::ShrU:
      return x >> y;
    case BitOp::ShrS:
      return static_cast<std::uint32_t>(static_cast<std::int32_t>(x) >> y);
    case BitOp::Add:
      return x + y;
    case BitOp::Sub:
      return x - y;
    case BitOp::Mul:
      return x * y;
    case BitOp::Mad:
      return x * y + z;
    case BitOp::MinU:
      return std::min(x, y);
    case BitOp::MaxU:
      return std::max(x, y);
    case BitOp::MinS:
      return static_cast<std::uint32_t>(std::min(static_cast<std::int32_t>(x), static_cast<std::int32_t>(y)));
    case BitOp::MaxS:
      return static_cast<std::uint32_t>(std::max(static_cast<std::int32_t>(x), static_cast<std::int32_t>(y)));
    default:
      ADD_FAILURE() << "not used on known bits";
      return 0;
  }
}

struct Integers {
  explicit Integers(unsigned bytes = 4, FieldOptions options = {.seed = 11})
      : context(std::move(options)),
        memory(true),
        buffer(&memory.add("w", 1 << 12, Init::Abstract, Format::F32)),
        field(context),
        size(bytes) {
    buffer->tensor = 1;
    buffer->integer_bytes = static_cast<std::uint8_t>(bytes);
    field.begin_unit();
  }

  Word word(std::uint64_t index) {
    std::byte raw[8] = {};
    Word out;
    field.load(*buffer, index * size, size, raw, out.tags);
    return out;
  }
  static Word known(std::uint64_t bits) { return {bits, {}}; }
  std::optional<Word> try_op(BitOp op, Word a, Word b, Word c = {}, std::uint32_t immediate = 0) {
    Word out;
    const bool is_good = field.int_op(
        op, 32, 32, a, b, c, immediate,
        [op](std::uint64_t x, std::uint64_t y, std::uint64_t z) { return on_bits(op, x, y, z); }, out);
    return is_good ? std::optional(out) : std::nullopt;
  }
  Word op(BitOp o, Word a, std::uint64_t b) { return op(o, a, known(b)); }
  Word op(BitOp o, Word a, Word b, Word c = {}, std::uint32_t immediate = 0) {
    const auto out = try_op(o, a, b, c, immediate);
    EXPECT_TRUE(out.has_value()) << field.take_fault().text;
    return out.value_or(Word{});
  }
  Real number(const Word& w, unsigned bits = 32, bool is_signed = true) { return field.integer(w, bits, is_signed); }
  bool same(Real a, Real b) { return field.compare_integers(a, b) == Comparison::Equal; }
  bool same(const Word& a, const Word& b) { return same(number(a), number(b)); }
  Real half(const Word& w) { return field.from_word(Format::F16, w); }
  bool same_half(Real a, Real b) { return field.compare_outputs(Format::F16, a, b) == Comparison::Equal; }
  Real half_of_number(const Word& w) { return field.from_integer(Format::F16, number(w), {}); }
  Real sub_half(Real a, std::uint64_t bits) { return field.sub(Format::F16, a, {kNoValue, bits}, {}); }

  // Code `i` of four bits, less the zero point.
  Word code(std::uint64_t index, unsigned i, std::uint32_t zero = 8) {
    return op(BitOp::Sub, op(BitOp::And, op(BitOp::ShrS, word(index), 4 * i), 15), zero);
  }

  FieldContext context;
  Memory memory;
  Buffer* buffer;
  Field field;
  unsigned size;
};

TEST(FieldIntegers, EveryRouteToACodeIsTheSameNumber) {
  Integers w;
  const Word packed = w.word(3);
  for (unsigned i = 0; i < 8; ++i) {
    const Word expected = w.code(3, i);
    const Word extracted = w.op(BitOp::BfeU, packed, Integers::known(4 * i), Integers::known(4));
    EXPECT_TRUE(w.same(w.op(BitOp::Add, extracted, 0xfffffff8), expected)) << i;
    // A code less eight is the code with its top bit flipped, extended by its sign.
    const Word flipped = w.op(BitOp::Xor, packed, 0x88888888);
    EXPECT_TRUE(w.same(w.op(BitOp::BfeS, flipped, Integers::known(4 * i), Integers::known(4)), expected)) << i;
    const Word shifted = w.op(BitOp::ShrS, w.op(BitOp::Shl, flipped, 28 - 4 * i), 28);
    EXPECT_TRUE(w.same(shifted, expected)) << i;
    // The f16 of 1024 + code, less 1032.
    const Word magic = w.op(BitOp::Or, w.op(BitOp::And, w.op(BitOp::ShrU, packed, 4 * i), 15), 0x6400);
    EXPECT_TRUE(w.same_half(w.sub_half(w.half(magic), 0x6408), w.half_of_number(expected))) << i;
  }
  EXPECT_FALSE(w.field.faulted());
}

TEST(FieldIntegers, TwoCodesAtOnceByLop3AreTheTwo) {
  Integers w;
  constexpr std::uint32_t kAndOr = (0xf0 & 0xcc) | 0xaa;
  const Word both = w.op(BitOp::Lop3, w.word(0), Integers::known(0x000f000f), Integers::known(0x64006400), kAndOr);
  const Word upper = w.op(BitOp::ShrU, both, 16);
  EXPECT_TRUE(w.same_half(w.sub_half(w.half(both), 0x6408), w.half_of_number(w.code(0, 0))));
  EXPECT_TRUE(w.same_half(w.sub_half(w.half(upper), 0x6408), w.half_of_number(w.code(0, 4))));
  EXPECT_FALSE(w.same_half(w.sub_half(w.half(upper), 0x6408), w.half_of_number(w.code(0, 1))));
  // The codes above them without a shift: sixteen times as large.
  const Word high = w.op(BitOp::Lop3, w.word(0), Integers::known(0x00f000f0), Integers::known(0x64006400), kAndOr);
  const Real scaled = w.field.fma(Format::F16, w.half(high), {kNoValue, 0x2c00}, {kNoValue, 0xd480}, {});
  EXPECT_TRUE(w.same_half(scaled, w.half_of_number(w.code(0, 1))));
}

TEST(FieldIntegers, AnotherCodeZeroPointOrWordIsAnotherNumber) {
  Integers w;
  const Word expected = w.code(5, 2);
  EXPECT_FALSE(w.same(w.code(5, 3), expected));
  EXPECT_FALSE(w.same(w.code(4, 2), expected));
  EXPECT_FALSE(w.same(w.code(5, 2, 7), expected));
  EXPECT_FALSE(w.same(w.op(BitOp::And, w.op(BitOp::ShrS, w.word(5), 8), 15), expected));
  EXPECT_FALSE(w.same(w.op(BitOp::And, w.op(BitOp::ShrS, w.word(5), 8), 7), w.op(BitOp::Add, expected, 8)));
}

TEST(FieldIntegers, ATableOfCodesIsTheFunctionThatItTabulates) {
  Integers w;
  const Word code = w.op(BitOp::And, w.op(BitOp::ShrU, w.word(1), 12), 15);
  const auto table = [&](std::uint32_t flipped_code) {
    Word out = Integers::known(0);
    for (std::uint32_t c = 0; c < 16; ++c) {
      const std::uint32_t value = c == flipped_code ? 8 - c : c - 8;
      const Field::Bool is_code = w.field.compare(Compare::Eq, 32, false, code, Integers::known(c));
      out = w.field.select(32, is_code, Integers::known(value), out);
    }
    return out;
  };
  EXPECT_TRUE(w.same(table(16), w.code(1, 3)));
  // A quantised weight with its sign flipped for one code.
  for (const std::uint32_t flipped : {0U, 5U, 15U}) EXPECT_FALSE(w.same(table(flipped), w.code(1, 3))) << flipped;
  EXPECT_TRUE(w.same(table(8), w.code(1, 3)));  // whose sign is zero's
}

TEST(FieldIntegers, ASignBitIsPlusOrMinusOne) {
  Integers w;
  const Word bit = w.op(BitOp::And, w.op(BitOp::ShrU, w.word(0), 7), 1);
  const Word number = w.op(BitOp::Sub, w.op(BitOp::Mul, bit, 2), 1);
  const Real expected = w.field.from_integer(Format::BF16, w.number(number), {});
  const auto read = [&](std::uint32_t base) {
    return w.field.from_word(Format::BF16, w.op(BitOp::Xor, w.op(BitOp::Shl, bit, 15), base));
  };
  EXPECT_EQ(w.field.compare_outputs(Format::BF16, read(0xbf80), expected), Comparison::Equal);
  EXPECT_EQ(w.field.compare_outputs(Format::BF16, read(0x3f80), expected), Comparison::Different);
  const Field::Bool is_set = w.field.compare(Compare::Ne, 32, false, bit, Integers::known(0));
  const Real chosen = w.field.select(Format::BF16, is_set, {kNoValue, 0x3f80}, {kNoValue, 0xbf80});
  EXPECT_EQ(w.field.compare_outputs(Format::BF16, chosen, expected), Comparison::Equal);
}

TEST(FieldIntegers, BytesAreExtendedByTheirSignWhicheverWay) {
  Integers w(1);
  const Word byte = w.word(9);
  const Word extended = w.op(BitOp::BfeS, byte, Integers::known(0), Integers::known(8));
  EXPECT_TRUE(w.same(w.number(extended), w.number(byte, 8)));
  EXPECT_TRUE(w.same(w.op(BitOp::ShrS, w.op(BitOp::Shl, byte, 24), 24), extended));
  EXPECT_TRUE(w.same(w.op(BitOp::Sub, w.op(BitOp::Xor, byte, 0x80), 0x80), extended));
  EXPECT_FALSE(w.same(w.number(byte, 8, false), w.number(byte, 8)));
  const Word replicated = w.op(BitOp::Prmt, byte, Integers::known(0), Integers::known(0x8880));
  EXPECT_TRUE(w.same(replicated, extended));
}

TEST(FieldIntegers, SumsOfProductsAreEqualInAnyOrderAndGrouping) {
  Integers w(1);
  std::vector<Real> a, b;
  for (unsigned i = 0; i < 8; ++i) {
    a.push_back(w.number(w.word(i), 8));
    b.push_back(w.number(w.word(100 + i), 8));
  }
  const Real zero{}, seed = w.number(Integers::known(77));
  Real whole, first, second, swapped;
  w.field.int_dot(1, 1, 8, a.data(), b.data(), &seed, &whole, false);
  w.field.int_dot(1, 1, 4, a.data() + 4, b.data() + 4, &zero, &first, true);
  w.field.int_dot(1, 1, 4, a.data(), b.data(), &first, &second, true);
  const Word sum = w.op(BitOp::Add, w.field.integer_word(second, 4), 77);
  EXPECT_TRUE(w.same(w.number(sum), whole));
  EXPECT_FALSE(w.same(second, whole));
  std::swap(b[0], b[1]);
  w.field.int_dot(1, 1, 8, a.data(), b.data(), &seed, &swapped, false);
  EXPECT_FALSE(w.same(swapped, whole));
}

TEST(FieldIntegers, ASumThatMayHaveWrappedIsNoFloatAndNoWiderNumber) {
  Integers w;
  const Word product = w.op(BitOp::Mul, w.word(0), w.word(1));
  EXPECT_TRUE(w.same(w.field.integer(product, 32, true, true),
                     w.field.integer(w.op(BitOp::Mul, w.word(1), w.word(0)), 32, true, true)));
  w.field.integer(product, 32, true);
  EXPECT_EQ(w.field.take_fault().code, &kFieldInteger);
  w.field.integer(product, 8, true);
  EXPECT_EQ(w.field.take_fault().code, &kFieldInteger);
  EXPECT_FALSE(w.try_op(BitOp::ShrU, product, Integers::known(3)));
  EXPECT_EQ(w.field.take_fault().code, &kFieldInteger);
}

TEST(FieldIntegers, LongSumsAreNumbersAndShortOnesBits) {
  Integers w;
  const Word sum = w.op(BitOp::Add, w.word(0), w.word(1));
  EXPECT_TRUE(w.same(w.field.integer(w.op(BitOp::Sub, sum, w.word(1)), 32, true, true), w.number(w.word(0))));
  // Eight codes at once, none of which borrows from the next.
  const Word high = w.op(BitOp::Or, w.op(BitOp::And, w.word(2), 0x07070707), 0x08080808);
  const Word less = w.op(BitOp::Sub, high, 0x04040404);
  const Word second = w.op(BitOp::And, w.op(BitOp::ShrU, less, 8), 0xff);
  const Word expected = w.op(BitOp::Add, w.op(BitOp::And, w.op(BitOp::ShrU, w.word(2), 8), 7), 4);
  EXPECT_TRUE(w.same(second, expected));
  EXPECT_FALSE(w.field.faulted());
}

TEST(FieldIntegers, PatternsThatAreNoNumberForSomeInputsAreRefused) {
  Integers w(1);
  w.field.from_word(Format::E4M3, w.word(0));
  EXPECT_EQ(w.field.take_fault().code, &kFieldInteger);
  Integers packed;
  packed.field.from_word(Format::F32, packed.word(0));
  EXPECT_EQ(packed.field.take_fault().code, &kFieldInteger);
}

TEST(FieldIntegers, NumbersThatAFormatDoesNotHoldCountARounding) {
  Integers bytes(1), words;
  const auto roundings = [](Integers& w, Format f, const Word& word, unsigned bits) {
    const Signature s = w.field.signature(w.field.from_integer(f, w.number(word, bits), {}));
    return s.count(RoundingClass::BF16) + s.count(RoundingClass::F16) + s.count(RoundingClass::F32);
  };
  EXPECT_EQ(roundings(bytes, Format::BF16, bytes.word(0), 8), 0);
  EXPECT_EQ(roundings(words, Format::F16, words.code(0, 0), 32), 0);
  EXPECT_EQ(roundings(words, Format::F32, words.word(0), 32), 1);
}

TEST(FieldIntegers, WhatAFormatHoldsForEveryCodeIsNoRounding) {
  Integers w;
  const auto rounded = [&](Real x) {
    const Signature s = w.field.signature(x);
    return s.count(RoundingClass::F16) + s.count(RoundingClass::BF16) + s.count(RoundingClass::F32);
  };
  const Word code = w.op(BitOp::And, w.word(0), 15);
  const Real magic = w.half(w.op(BitOp::Or, code, 0x6400));  // 1024 + code
  EXPECT_EQ(rounded(w.sub_half(magic, 0x6408)), 0);          // less 1032
  EXPECT_EQ(rounded(w.sub_half(magic, 0x3800)), 1);          // less 1/2: f16 has none of 2^-1 above 1024
  const Real high = w.half(w.op(BitOp::Or, w.op(BitOp::Shl, code, 4), 0x6400));  // 1024 + 16 code
  EXPECT_EQ(rounded(w.field.fma(Format::F16, high, {kNoValue, 0x2c00}, {kNoValue, 0xd480}, {})), 0);
  const Real number = w.field.from_integer(Format::F32, w.number(w.code(0, 0)), {});
  EXPECT_EQ(rounded(w.field.convert(Format::BF16, Format::F32, number, {})), 0);
  EXPECT_EQ(rounded(w.field.convert(Format::BF16, Format::F32, w.field.neg(Format::F32, number, {}), {})), 0);
  const Real square = w.field.mul(Format::F32, number, number, {});
  EXPECT_EQ(rounded(w.field.convert(Format::BF16, Format::F32, square, {})), 0);
  const Real cube = w.field.mul(Format::F32, square, number, {});  // up to 512
  EXPECT_EQ(rounded(w.field.convert(Format::BF16, Format::F32, cube, {})), 1);
  EXPECT_EQ(rounded(w.field.mul(Format::F16, w.half_of_number(w.code(0, 0)), {kNoValue, 0x2e66}, {})), 1);  // 0.1
  const Field::Bool is_set = w.field.compare(Compare::Lt, 32, false, code, Integers::known(8));
  const Real sign = w.field.select(Format::F32, is_set, Lab::c(1), Lab::c(-1));
  EXPECT_EQ(rounded(w.field.convert(Format::BF16, Format::F32, sign, {})), 0);
}

TEST(FieldIntegers, ElementsThatAreZeroAreSo) {
  Integers w(4, {.seed = 11, .is_zero = [](std::uint32_t, std::uint64_t index) { return index == 1; }});
  EXPECT_TRUE(w.same(w.number(w.word(1)), Real{}));
  EXPECT_FALSE(w.same(w.number(w.word(2)), Real{}));
}

TEST(FieldIntegers, StoredNumbersOutliveTheirUnit) {
  Integers w;
  Buffer& out = w.memory.add("out", 64, Init::Undefined, Format::F32);
  out.integer_bytes = 4;
  const Word code = w.code(0, 3);
  const std::byte none[4] = {};
  w.field.store(out, 8, 4, none, code.tags);
  EXPECT_TRUE(w.same(w.field.read_integer(out, 8, 4), w.number(code)));
  w.field.end_unit();
  w.field.begin_unit();
  EXPECT_TRUE(w.same(w.field.read_integer(out, 8, 4), w.number(w.code(0, 3))));
  EXPECT_FALSE(w.same(w.field.read_integer(out, 8, 4), w.number(w.code(0, 2))));
  EXPECT_EQ(w.field.compare_integers(w.field.read_integer(out, 12, 4), Real{}), Comparison::Undefined);
}

TEST(FieldIntegers, TheBitsOfFloatsStayUnknown) {
  Lab lab;
  Word out;
  const Word word = lab.field.to_word(Format::F32, lab.x(0));
  const bool is_good = lab.field.int_op(
      BitOp::ShrU, 32, 32, word, {23, {}}, {}, 0,
      [](std::uint64_t a, std::uint64_t b, std::uint64_t) { return a >> b; }, out);
  EXPECT_FALSE(is_good);
  EXPECT_EQ(lab.field.take_fault().code, &kFieldBitView);
}

TEST(FieldIntegers, AProductWithAPowerOfTwoIsAShift) {
  Integers w;
  const Word packed = w.word(0), product = w.op(BitOp::Mul, packed, 16);
  EXPECT_TRUE(w.same(product, w.op(BitOp::Shl, packed, 4)));
  EXPECT_FALSE(w.same(product, w.op(BitOp::Shl, packed, 5)));
  EXPECT_TRUE(w.same(w.op(BitOp::Mul, Integers::known(1U << 31), packed), w.op(BitOp::Shl, packed, 31)));
  // Its bits are known still.
  constexpr std::uint32_t kAndOr = (0xf0 & 0xcc) | 0xaa;
  const Word magic = w.op(BitOp::Lop3, product, Integers::known(0x00f000f0), Integers::known(0x64006400), kAndOr);
  const Word expected =
      w.op(BitOp::Lop3, w.op(BitOp::Shl, packed, 4), Integers::known(0x00f000f0), Integers::known(0x64006400), kAndOr);
  EXPECT_TRUE(w.same(magic, expected));
  EXPECT_FALSE(w.field.faulted());
}

TEST(FieldIntegers, FieldsThatDoNotMeetAreMergedByAnySum) {
  Integers w;
  const Word low = w.op(BitOp::And, w.word(0), 0x0f0f0f0f), high = w.op(BitOp::And, w.word(1), 0x0f0f0f0f);
  const Word expected = w.op(BitOp::Or, w.op(BitOp::Shl, high, 4), low);
  const Word by_mad = w.op(BitOp::Mad, high, Integers::known(16), low);
  const Word by_add = w.op(BitOp::Add, w.op(BitOp::Mul, high, 16), low);
  for (const Word& word : {by_mad, by_add}) {
    EXPECT_TRUE(w.same(word, expected));
    EXPECT_TRUE(w.same(w.op(BitOp::ShrU, word, 13), w.op(BitOp::ShrU, expected, 13)));
  }
  EXPECT_FALSE(w.same(w.op(BitOp::Mad, low, Integers::known(16), high), expected));
  EXPECT_FALSE(w.same(w.op(BitOp::Mad, high, Integers::known(32), low), expected));
  // Two copies of a code at once.
  const Word code = w.op(BitOp::And, w.word(2), 15);
  EXPECT_TRUE(w.same(w.op(BitOp::Mul, code, 0x00010001), w.op(BitOp::Or, w.op(BitOp::Shl, code, 16), code)));
  EXPECT_FALSE(w.field.faulted());
}

TEST(FieldIntegers, TheExtremeOfASetDoesNotDependOnItsOrder) {
  Integers w;
  const auto fold = [&](BitOp op, const std::vector<unsigned>& order) {
    Word out = w.word(order[0]);
    for (std::size_t i = 1; i < order.size(); ++i) out = w.op(op, out, w.word(order[i]));
    return out;
  };
  const auto is_same = [&](const Word& a, const Word& b, bool is_signed) {
    return w.same(w.number(a, 32, is_signed), w.number(b, 32, is_signed));
  };
  for (const BitOp op : {BitOp::MaxS, BitOp::MinS, BitOp::MaxU, BitOp::MinU}) {
    const bool is_signed = op == BitOp::MaxS || op == BitOp::MinS;
    const Word forwards = fold(op, {0, 1, 2, 3, 4});
    const Word tree = w.op(op, fold(op, {4, 1, 4}), fold(op, {3, 2, 0}));
    EXPECT_TRUE(is_same(forwards, tree, is_signed));
    EXPECT_FALSE(is_same(forwards, fold(op, {0, 1, 2, 3}), is_signed));
    EXPECT_FALSE(is_same(forwards, fold(op, {0, 1, 2, 3, 5}), is_signed));
    EXPECT_TRUE(is_same(fold(op, {0, 1}), fold(op, {1, 0}), is_signed));
    EXPECT_FALSE(is_same(fold(op, {0, 1}), w.word(0), is_signed));
  }
  EXPECT_FALSE(is_same(fold(BitOp::MaxS, {0, 1, 2}), fold(BitOp::MinS, {0, 1, 2}), true));
  EXPECT_FALSE(w.field.faulted());
  // A signed extreme is no unsigned number: it may be negative.
  w.number(fold(BitOp::MaxS, {0, 1, 2}), 32, false);
  EXPECT_EQ(w.field.take_fault().code, &kFieldInteger);
}

TEST(FieldIntegers, AnExtremeWithTheFirstOrLastNumberIsTheOtherOrThat) {
  Integers w;
  constexpr std::uint32_t kLeast = 0x80000000, kMost = 0x7fffffff;
  const Word x = w.word(0);
  EXPECT_TRUE(w.same(w.op(BitOp::MaxS, x, kLeast), x));
  EXPECT_TRUE(w.same(w.op(BitOp::MinS, Integers::known(kMost), x), x));
  EXPECT_TRUE(w.same(w.op(BitOp::MinS, x, kLeast), Integers::known(kLeast)));
  EXPECT_TRUE(w.same(w.op(BitOp::MaxU, x, 0), x));
  EXPECT_FALSE(w.same(w.op(BitOp::MaxS, x, kLeast + 1), x));
  EXPECT_FALSE(w.same(w.op(BitOp::MaxS, x, 0), x));
  EXPECT_FALSE(w.field.faulted());
  // Of 64 bits a double does not tell the last numbers apart.
  Integers wide(8);
  const Word y = wide.word(0);
  const auto extreme = [&](BitOp op, std::uint64_t known) {
    Word out;
    const auto none = [](std::uint64_t, std::uint64_t, std::uint64_t) { return std::uint64_t{0}; };
    const bool is_good = wide.field.int_op(op, 64, 64, y, Integers::known(known), {}, 0, none, out);
    return is_good ? std::optional(out) : std::nullopt;
  };
  const auto is_y = [&](const std::optional<Word>& word) {
    return word && wide.same(wide.number(*word, 64), wide.number(y, 64));
  };
  EXPECT_TRUE(is_y(extreme(BitOp::MaxS, std::uint64_t{1} << 63)));
  EXPECT_FALSE(is_y(extreme(BitOp::MaxS, (std::uint64_t{1} << 63) + 1)));
  EXPECT_FALSE(is_y(extreme(BitOp::MinS, (std::uint64_t{1} << 63) - 2)));
  EXPECT_FALSE(wide.field.faulted());
  EXPECT_FALSE(extreme(BitOp::MaxU, (std::uint64_t{1} << 63) + 1));
}

TEST(FieldIntegers, AnExtremeOfWhatMayHaveWrappedIsRefused) {
  Integers w;
  const Word sum = w.op(BitOp::Add, w.word(0), w.word(1));
  EXPECT_FALSE(w.try_op(BitOp::MaxS, sum, w.word(2)));
  EXPECT_EQ(w.field.take_fault().code, &kFieldInteger);
  // Bytes made wide cannot have wrapped.
  Integers bytes(1);
  const auto wide = [&](unsigned i) {
    return bytes.op(BitOp::BfeS, bytes.word(i), Integers::known(0), Integers::known(8));
  };
  const Word total = bytes.op(BitOp::Add, wide(0), wide(1));
  const Word one = bytes.op(BitOp::MaxS, total, wide(2)), other = bytes.op(BitOp::MaxS, wide(2), total);
  EXPECT_TRUE(bytes.same(one, other));
  // Nor can a sum of their extremes.
  const Word more = bytes.op(BitOp::Add, one, bytes.op(BitOp::MinS, wide(3), wide(4)));
  EXPECT_FALSE(bytes.same(more, one));
  EXPECT_FALSE(bytes.field.faulted());
}

TEST(FieldIntegers, AnExtremeThatIsStoredKeepsItsBound) {
  Integers w(1);
  Buffer& out = w.memory.add("out", 64, Init::Undefined, Format::F32);
  out.integer_bytes = 4;
  const auto wide = [&](unsigned i) { return w.op(BitOp::BfeS, w.word(i), Integers::known(0), Integers::known(8)); };
  const Word extreme = w.op(BitOp::MaxS, wide(0), wide(1));
  const std::byte none[4] = {};
  w.field.store(out, 0, 4, none, extreme.tags);
  w.field.end_unit();
  w.field.begin_unit();
  std::byte raw[4] = {};
  Word again;
  w.field.load(out, 0, 4, raw, again.tags);
  // As a float, which asks for the bound.
  const Real kept = w.field.from_integer(Format::F32, w.number(again), {});
  const Real made = w.field.from_integer(Format::F32, w.number(w.op(BitOp::MaxS, wide(1), wide(0))), {});
  EXPECT_EQ(w.field.compare_outputs(Format::F32, kept, made), Comparison::Equal);
  EXPECT_FALSE(w.field.faulted());
}

}  // namespace
}  // namespace plumb::domain
