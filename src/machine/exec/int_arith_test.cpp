// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic and logic against 128-bit arithmetic and bit loops written another way, on edge values and random
// ones; and the folded or measured values that the PTX reference pages list.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "machine/exec/lane_kernel.h"

namespace plumb::machine {
namespace {

using test::Inputs;
using test::Result;
using test::run_lanes;
using Int = __int128;

std::vector<Inputs> samples() {
  const std::uint64_t edges[] = {0,
                                 1,
                                 2,
                                 7,
                                 31,
                                 32,
                                 33,
                                 63,
                                 64,
                                 255,
                                 256,
                                 0x7f,
                                 0x80,
                                 0x7fff,
                                 0x8000,
                                 0xffff,
                                 0x10000,
                                 0x7fffffff,
                                 0x80000000,
                                 0xffffffff,
                                 0x100000000,
                                 0x7fffffffffffffff,
                                 0x8000000000000000,
                                 ~0ULL,
                                 0xfffffffffffffffe};
  std::vector<Inputs> out;
  for (const std::uint64_t a : edges) {
    for (const std::uint64_t b : edges) out.push_back({a, b, a ^ (b << 1)});
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 600; ++i) out.push_back({random(), random() >> (i % 60), random() >> (i % 64)});
  return out;
}

// The low `bits` of a word as an integer.
Int value(std::uint64_t word, unsigned bits, bool is_signed) {
  Int out = word;
  if (bits < 64) out &= (Int{1} << bits) - 1;
  if (is_signed && (out >> (bits - 1) & 1) != 0) out -= Int{1} << bits;
  return out;
}
std::uint64_t wrap(Int x, unsigned bits) {
  const auto low = static_cast<std::uint64_t>(x);
  return bits == 64 ? low : low & ((1ULL << bits) - 1);
}

struct TypeCase {
  const char* name;
  unsigned bits;
  bool is_signed;
};
constexpr TypeCase kTypes[] = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                               {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};

std::string reg(unsigned bits, int index) {
  return (bits == 64 ? "%x" : bits == 32 ? "%r" : "%h") + std::to_string(index);
}
std::string dest(unsigned bits) { return bits == 64 ? "%d" : bits == 32 ? "%e" : "%s"; }
Result result_of(unsigned bits) { return bits == 64 ? Result::B64 : bits == 32 ? Result::B32 : Result::B16; }

using Binary = std::function<Int(Int, Int, const TypeCase&)>;

void expect_binary(const std::string& opcode, const TypeCase& type, const Binary& expected) {
  const std::vector<Inputs> inputs = samples();
  const std::string line =
      opcode + "." + type.name + " " + dest(type.bits) + ", " + reg(type.bits, 1) + ", " + reg(type.bits, 2) + ";";
  const std::vector<std::uint64_t> got = run_lanes(line, inputs, result_of(type.bits));
  ASSERT_EQ(got.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Int a = value(inputs[i][0], type.bits, type.is_signed), b = value(inputs[i][1], type.bits, type.is_signed);
    ASSERT_EQ(got[i], wrap(expected(a, b, type), type.bits))
        << line << std::hex << " a=" << inputs[i][0] << " b=" << inputs[i][1];
  }
}

TEST(IntArith, SumsDifferencesAndProductsWrap) {
  for (const TypeCase& type : kTypes) {
    expect_binary("add", type, [](Int a, Int b, const TypeCase&) { return a + b; });
    expect_binary("sub", type, [](Int a, Int b, const TypeCase&) { return a - b; });
    expect_binary("min", type, [](Int a, Int b, const TypeCase&) { return std::min(a, b); });
    expect_binary("max", type, [](Int a, Int b, const TypeCase&) { return std::max(a, b); });
    expect_binary("mul.lo", type, [](Int a, Int b, const TypeCase&) {
      return static_cast<Int>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b));
    });
  }
}

TEST(IntArith, HighProductsAreExact) {
  for (const TypeCase& type : kTypes) {
    expect_binary("mul.hi", type, [](Int a, Int b, const TypeCase& t) {
      if (t.bits < 64 || t.is_signed) return (a * b) >> t.bits;
      return static_cast<Int>((static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)) >> 64);
    });
  }
}

TEST(IntArith, DivisionTruncatesAndByZeroGivesAllOnes) {
  for (const TypeCase& type : kTypes) {
    expect_binary("div", type, [](Int a, Int b, const TypeCase&) { return b == 0 ? Int{-1} : a / b; });
    expect_binary("rem", type, [](Int a, Int b, const TypeCase&) { return b == 0 ? Int{-1} : a % b; });
  }
}

TEST(IntArith, SaturatingSumsClamp) {
  const TypeCase s32 = kTypes[3];
  const auto clamp = [](Int x) {
    return std::clamp<Int>(x, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  };
  expect_binary("add.sat", s32, [&](Int a, Int b, const TypeCase&) { return clamp(a + b); });
  expect_binary("sub.sat", s32, [&](Int a, Int b, const TypeCase&) { return clamp(a - b); });
}

TEST(IntArith, WideProductsKeepEveryBit) {
  const std::vector<Inputs> inputs = samples();
  const std::vector<std::uint64_t> s = run_lanes("mul.wide.s32 %d, %r1, %r2;", inputs, Result::B64);
  const std::vector<std::uint64_t> m = run_lanes("mad.wide.u32 %d, %r1, %r2, %x3;", inputs, Result::B64);
  const std::vector<std::uint64_t> h = run_lanes("mad.wide.s16 %e, %h1, %h2, %r3;", inputs, Result::B32);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& [a, b, c] = inputs[i];
    ASSERT_EQ(s[i], wrap(value(a, 32, true) * value(b, 32, true), 64));
    ASSERT_EQ(m[i], wrap(value(a, 32, false) * value(b, 32, false) + Int{c}, 64));
    ASSERT_EQ(h[i], wrap(value(a, 16, true) * value(b, 16, true) + value(c, 32, true), 32));
  }
}

TEST(IntArith, MultiplyAddTakesTheHalfThatItNames) {
  const std::vector<Inputs> inputs = samples();
  const std::vector<std::uint64_t> low = run_lanes("mad.lo.s32 %e, %r1, %r2, %r3;", inputs);
  const std::vector<std::uint64_t> high = run_lanes("mad.hi.u32 %e, %r1, %r2, %r3;", inputs);
  const std::vector<std::uint64_t> sat = run_lanes("mad.hi.sat.s32 %e, %r1, %r2, %r3;", inputs);
  const std::vector<std::uint64_t> sad = run_lanes("sad.s32 %e, %r1, %r2, %r3;", inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Int a = value(inputs[i][0], 32, true), b = value(inputs[i][1], 32, true), c = value(inputs[i][2], 32, true);
    const Int ua = value(inputs[i][0], 32, false), ub = value(inputs[i][1], 32, false);
    ASSERT_EQ(low[i], wrap(a * b + c, 32));
    ASSERT_EQ(high[i], wrap((ua * ub >> 32) + c, 32));
    ASSERT_EQ(sat[i], wrap(std::clamp<Int>((a * b >> 32) + c, -(Int{1} << 31), (Int{1} << 31) - 1), 32));
    ASSERT_EQ(sad[i], wrap(c + (a > b ? a - b : b - a), 32));
  }
}

TEST(IntArith, AbsAndNegWrapAtTheSmallest) {
  const std::vector<Inputs> inputs = samples();
  const std::vector<std::uint64_t> abs = run_lanes("abs.s64 %d, %x1;", inputs, Result::B64);
  const std::vector<std::uint64_t> neg = run_lanes("neg.s16 %s, %h1;", inputs, Result::B16);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Int a = value(inputs[i][0], 64, true);
    ASSERT_EQ(abs[i], wrap(a < 0 ? -a : a, 64));
    ASSERT_EQ(neg[i], wrap(-value(inputs[i][0], 16, true), 16));
  }
}

// bit i of a word
bool bit(std::uint64_t word, std::uint64_t i) { return (word >> i & 1) != 0; }

TEST(IntArith, BitCountsAgreeWithBitLoops) {
  const std::vector<Inputs> inputs = samples();
  const std::vector<std::uint64_t> popc = run_lanes("popc.b64 %e, %x1;", inputs);
  const std::vector<std::uint64_t> clz = run_lanes("clz.b32 %e, %r1;", inputs);
  const std::vector<std::uint64_t> brev = run_lanes("brev.b64 %d, %x1;", inputs, Result::B64);
  const std::vector<std::uint64_t> bfind = run_lanes("bfind.s32 %e, %r1;", inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::uint64_t a = inputs[i][0];
    unsigned ones = 0, zeros = 0;
    std::uint64_t reversed = 0;
    for (unsigned k = 0; k < 64; ++k) ones += bit(a, k), reversed |= std::uint64_t{bit(a, k)} << (63 - k);
    while (zeros < 32 && !bit(a, 31 - zeros)) ++zeros;
    std::uint32_t found = ~0u;
    for (unsigned k = 0; k < 32; ++k) {
      if (bit(a, k) != bit(a, 31)) found = k;
    }
    ASSERT_EQ(popc[i], ones);
    ASSERT_EQ(clz[i], zeros);
    ASSERT_EQ(brev[i], reversed);
    ASSERT_EQ(bfind[i], found) << std::hex << a;
  }
}

struct Known {
  const char* line;
  Inputs in;
  std::uint64_t out;
};

// Values that ptxas folds or that were measured on a card.
TEST(IntArith, AgreesWithFoldedAndMeasuredValues) {
  const Known cases[] = {
      {"bfe.s32 %e, %r1, %r2, %r3;", {0xFFFFF8F0, 4, 8}, 0xFFFFFF8F},
      {"bfe.s32 %e, %r1, %r2, %r3;", {0xA0000000, 28, 8}, 0xFFFFFFFA},
      {"bfe.s32 %e, %r1, %r2, %r3;", {0xA0000000, 40, 4}, 0xFFFFFFFF},
      {"bfe.s32 %e, %r1, %r2, %r3;", {0xA0000000, 4, 0}, 0},
      {"bfe.u32 %e, %r1, %r2, %r3;", {0xA0000000, 28, 8}, 0xA},
      {"bfi.b32 %e, %r1, 0, %r2, %r3;", {0xFF, 28, 8}, 0xF0000000},
      {"bfind.u32.shiftamt %e, %r1;", {0x10, 0, 0}, 27},
      {"bfind.s32 %e, %r1;", {0xFFFFFFFE, 0, 0}, 0},
      {"bfind.s32 %e, %r1;", {0xFFFFFFFF, 0, 0}, 0xFFFFFFFF},
      {"fns.b32 %e, %r1, %r2, %r3;", {0xF0, 0, 2}, 5},
      {"fns.b32 %e, %r1, %r2, %r3;", {0xF0, 32, 1}, 0xFFFFFFFF},
      {"mul24.lo.u32 %e, %r1, %r2;", {0x01FFFFFF, 3, 0}, 0x02FFFFFD},
      {"mul24.hi.u32 %e, %r1, %r2;", {0x01FFFFFF, 0x800000, 0}, 0x7FFFFF80},
      {"shf.l.clamp.b32 %e, %r1, %r2, %r3;", {0x11111111, 0x22222222, 8}, 0x22222211},
      {"shf.r.clamp.b32 %e, %r1, %r2, %r3;", {0x11111111, 0x22222222, 8}, 0x22111111},
      {"shf.l.clamp.b32 %e, %r1, %r2, %r3;", {0x11111111, 0x22222222, 40}, 0x11111111},
      {"shf.r.clamp.b32 %e, %r1, %r2, %r3;", {0x11111111, 0x22222222, 40}, 0x22222222},
      {"shf.l.wrap.b32 %e, %r1, %r2, %r3;", {0x11111111, 0x22222222, 40}, 0x22222211},
      {"shf.r.wrap.b32 %e, %r1, %r2, %r3;", {0x11111111, 0x22222222, 40}, 0x22111111},
      {"shl.b32 %e, %r1, %r2;", {0xFFFFFFFF, 32, 0}, 0},
      {"shl.b16 %s, %h1, %r2; cvt.u32.u16 %e, %s;", {0xFFFF, 17, 0}, 0},
      {"shr.s32 %e, %r1, %r2;", {0x80000000, 99, 0}, 0xFFFFFFFF},
      {"shr.u32 %e, %r1, %r2;", {0x80000000, 31, 0}, 1},
      {"rem.s32 %e, %r1, %r2;", {0xFFFFFFF9, 2, 0}, 0xFFFFFFFF},
      {"dp4a.s32.u32 %e, %r1, %r2, %r3;", {0xFF01FF01, 0x02020202, 10}, 10},
      {"dp2a.hi.s32.s32 %e, %r1, %r2, %r3;", {0x0001FFFF, 0x05030000, 1}, 3},
      {"bmsk.clamp.b32 %e, %r1, %r2;", {4, 8, 0}, 0xFF0},
      {"szext.clamp.s32 %e, %r1, %r2;", {0x88, 8, 0}, 0xFFFFFF88},
      {"cnot.b32 %e, %r1;", {0, 0, 0}, 1},
      {"prmt.b32 %e, %r1, %r2, %r3;", {0x33221100, 0x77665544, 0x7531}, 0x77553311},
      {"prmt.b32 %e, %r1, %r2, 0xB210;", {0x83221100, 0x77665544, 0}, 0xFF221100},
      {"prmt.b32.rc16 %e, %r1, %r2, %r3;", {0x33221100, 0x77665544, 1}, 0x33223322},
      {"prmt.b32.f4e %e, %r1, %r2, %r3;", {0x33221100, 0x77665544, 3}, 0x66554433},
      {"prmt.b32.ecl %e, %r1, %r2, %r3;", {0x33221100, 0x77665544, 2}, 0x33222222},
  };
  for (const Known& known : cases) {
    const std::vector<std::uint64_t> got = run_lanes(known.line, {known.in});
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0], known.out) << known.line << std::hex << " " << known.in[0] << " " << known.in[1];
  }
}

TEST(Logic, Lop3IsTheTableBitByBit) {
  const std::vector<Inputs> inputs = samples();
  for (const unsigned table : {0xEAu, 0x96u, 0x80u, 0x1Bu, 0xCAu, 0x40u, 0xE8u, 0u, 0xFFu}) {
    const std::vector<std::uint64_t> got =
        run_lanes("lop3.b32 %e, %r1, %r2, %r3, " + std::to_string(table) + ";", inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::uint64_t expected = 0;
      for (unsigned k = 0; k < 32; ++k) {
        const unsigned row = 4 * bit(inputs[i][0], k) + 2 * bit(inputs[i][1], k) + bit(inputs[i][2], k);
        expected |= std::uint64_t{bit(table, row)} << k;
      }
      ASSERT_EQ(got[i], expected) << table;
    }
  }
}

TEST(Logic, WordsAndPredicates) {
  const std::vector<Inputs> inputs = samples();
  const std::vector<std::uint64_t> words = run_lanes(
      "and.b64 %x1, %x1, %x2; or.b64 %x1, %x1, %x3; not.b64 %x2, %x2; xor.b64 %d, %x1, %x2;", inputs, Result::B64);
  const std::vector<std::uint64_t> preds = run_lanes(
      "setp.lt.u32 %p0, %r1, %r2; setp.lt.s32 %p1, %r1, %r2; xor.pred %p2, %p0, %p1; not.pred %p3, %p1;\n"
      "and.pred %p3, %p3, %p0; or.pred %p2, %p2, !%p3; selp.u32 %e, 1, 0, %p2;",
      inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& [a, b, c] = inputs[i];
    ASSERT_EQ(words[i], ((a & b) | c) ^ ~b);
    const bool below = value(a, 32, false) < value(b, 32, false), less = value(a, 32, true) < value(b, 32, true);
    ASSERT_EQ(preds[i], ((below != less) || !(!less && below)) ? 1u : 0u);
  }
}

TEST(Compare, IntegersWithBooleanAndBothResults) {
  const std::vector<Inputs> inputs = samples();
  const std::vector<std::uint64_t> got = run_lanes(
      "setp.ne.b32 %p0, %r3, 0; setp.ge.and.s32 %p1|%p2, %r1, %r2, %p0; selp.u32 %e, 1, 0, %p1;\n"
      "selp.u32 %n5, 2, 0, %p2; or.b32 %e, %e, %n5; setp.hi.u64 %p3, %x1, %x2; selp.u32 %n5, 4, 0, %p3;\n"
      "or.b32 %e, %e, %n5; set.lt.u32.s16 %n6, %h1, %h2; and.b32 %n6, %n6, 8; or.b32 %e, %e, %n6;\n"
      "slct.u32.s32 %n7, 16, 0, %r1; or.b32 %e, %e, %n7;",
      inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& [a, b, c] = inputs[i];
    const bool third = value(c, 32, false) != 0, ge = value(a, 32, true) >= value(b, 32, true);
    std::uint64_t expected = (ge && third ? 1 : 0) | (!ge && third ? 2 : 0) | (a > b ? 4 : 0);
    expected |= value(a, 16, true) < value(b, 16, true) ? 8 : 0;
    expected |= value(a, 32, true) >= 0 ? 16 : 0;
    ASSERT_EQ(got[i], expected);
  }
}

TEST(Compare, FloatsAreFalseOnNanUnlessUnordered) {
  const std::uint64_t nan = 0x7fc00000, one = 0x3f800000, two = 0x40000000, minus_zero = 0x80000000;
  const std::string line =
      "setp.lt.f32 %p0, %r1, %r2; selp.u32 %e, 1, 0, %p0; setp.ltu.f32 %p0, %r1, %r2; selp.u32 %n5, 2, 0, %p0;\n"
      "or.b32 %e, %e, %n5; setp.ne.f32 %p0, %r1, %r2; selp.u32 %n5, 4, 0, %p0; or.b32 %e, %e, %n5;\n"
      "setp.nan.f32 %p0, %r1, %r2; selp.u32 %n5, 8, 0, %p0; or.b32 %e, %e, %n5;\n"
      "setp.eq.f32 %p0, %r1, %r2; selp.u32 %n5, 16, 0, %p0; or.b32 %e, %e, %n5;\n"
      "setp.neu.f32 %p0, %r1, %r2; selp.u32 %n5, 32, 0, %p0; or.b32 %e, %e, %n5;";
  const std::vector<std::uint64_t> got =
      run_lanes(line, {{one, two, 0}, {two, one, 0}, {nan, one, 0}, {0, minus_zero, 0}});
  EXPECT_EQ(got, (std::vector<std::uint64_t>{1 | 2 | 4 | 32, 4 | 32, 2 | 8 | 32, 16}));
}

}  // namespace
}  // namespace plumb::machine
