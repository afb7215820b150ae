// SPDX-License-Identifier: Apache-2.0
// References here know nothing of bits.h: a result is computed in long double (exact for the formats up to bf16) and
// rounded by scaling and truncation.
#include "domain/ieee/ieee.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "domain/ieee/lanes.h"

namespace plumb::domain {
namespace {

constexpr FloatMode kRn{};
constexpr std::uint64_t kNan32 = 0x7FFFFFFF, kNan16 = 0x7FFF;

struct Small {
  Format format;
  int exponent_bits, fraction_bits;
};
const Small kF16{Format::F16, 5, 10}, kBf16{Format::BF16, 8, 7}, kE5M2{Format::E5M2, 5, 2}, kE4M3{Format::E4M3, 4, 3};

long double value(const Small& f, std::uint64_t bits) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> f.fraction_bits) & ((1 << f.exponent_bits) - 1);
  const int fraction = static_cast<int>(bits & ((1ULL << f.fraction_bits) - 1));
  const bool is_negative = (bits >> (f.exponent_bits + f.fraction_bits) & 1) != 0;
  long double magnitude = 0;
  const bool is_top = exponent == (1 << f.exponent_bits) - 1;
  if (f.format == Format::E4M3 ? is_top && fraction == 7 : is_top && fraction != 0) {
    return std::numeric_limits<long double>::quiet_NaN();
  }
  if (is_top && f.format != Format::E4M3) {
    magnitude = std::numeric_limits<long double>::infinity();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<long double>(fraction), 1 - bias - f.fraction_bits);
  } else {
    magnitude =
        std::ldexp(static_cast<long double>(fraction + (1 << f.fraction_bits)), exponent - bias - f.fraction_bits);
  }
  return is_negative ? -magnitude : magnitude;
}

// To nearest even; overflow to infinity.
std::uint64_t nearest(const Small& f, long double x) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const std::uint64_t sign = std::signbit(x) ? 1ULL << (f.exponent_bits + f.fraction_bits) : 0;
  const std::uint64_t infinity = ((1ULL << f.exponent_bits) - 1) << f.fraction_bits;
  const long double magnitude = std::fabs(x);
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0) return sign;
  int exponent = std::ilogb(magnitude);
  if (exponent < 1 - bias) exponent = 1 - bias;
  const long double scaled = std::ldexp(magnitude, f.fraction_bits - exponent);
  long double whole = std::floor(scaled);
  const long double rest = scaled - whole;
  if (rest > 0.5L || (rest == 0.5L && std::fmod(whole, 2.0L) == 1.0L)) whole += 1;
  const auto steps = static_cast<std::uint64_t>(whole);
  const std::uint64_t bits = (static_cast<std::uint64_t>(exponent + bias - 1) << f.fraction_bits) + steps;
  return sign | (bits > infinity && f.format != Format::E4M3 ? infinity : bits);
}

std::uint64_t canonical_or(const Small& f, long double x) { return std::isnan(x) ? kNan16 : nearest(f, x); }

class SmallFormats : public testing::TestWithParam<Small> {};
INSTANTIATE_TEST_SUITE_P(All, SmallFormats, testing::Values(kF16, kBf16),
                         [](const auto& parameter) { return std::string(name(parameter.param.format)); });

TEST_P(SmallFormats, EveryValueWidensToF32Exactly) {
  const Ieee dom;
  const Small f = GetParam();
  for (std::uint64_t bits = 0; bits < 65536; ++bits) {
    const std::uint64_t wide = dom.convert(Format::F32, f.format, bits, kRn);
    const long double expected = value(f, bits);
    if (std::isnan(expected)) {
      ASSERT_EQ(wide, f.format == Format::F16 ? kNan32 : bits << 16);
    } else {
      ASSERT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(wide)), static_cast<float>(expected)) << bits;
      ASSERT_EQ(dom.convert(f.format, Format::F32, wide, kRn), bits);
    }
  }
}

TEST_P(SmallFormats, ArithmeticIsRoundedOnce) {
  const Ieee dom;
  const Small f = GetParam();
  std::mt19937_64 random(1);
  for (std::uint64_t a = 0; a < 65536; ++a) {
    for (int trial = 0; trial < 6; ++trial) {
      const std::uint64_t r = random();
      std::uint64_t b = r & 0xFFFF, c = r >> 16 & 0xFFFF;
      if (trial < 3) b = (a + (r >> 32 & 0xFF) * 64 - 0x2000) & 0xFFFF;  // near in size: rounding matters
      const long double x = value(f, a), y = value(f, b), z = value(f, c);
      ASSERT_EQ(dom.add(f.format, a, b, kRn), canonical_or(f, x + y)) << a << ' ' << b;
      ASSERT_EQ(dom.sub(f.format, a, b, kRn), canonical_or(f, x - y)) << a << ' ' << b;
      ASSERT_EQ(dom.mul(f.format, a, b, kRn), canonical_or(f, x * y)) << a << ' ' << b;
      ASSERT_EQ(dom.div(f.format, a, b, kRn), canonical_or(f, x / y)) << a << ' ' << b;
      if (f.format == Format::BF16 && std::fabs(std::logb(x * y) - std::logb(z)) > 40) continue;  // not exact below
      ASSERT_EQ(dom.fma(f.format, a, b, c, kRn), canonical_or(f, x * y + z)) << a << ' ' << b << ' ' << c;
    }
  }
}

TEST_P(SmallFormats, InlineAndExactPathsAgree) {
  const Ieee dom;
  const Format f = GetParam().format;
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 200000; ++trial) {
    const std::uint64_t r = random();
    const std::uint64_t a = r & 0xFFFF, b = r >> 16 & 0xFFFF, c = r >> 32 & 0xFFFF;
    FloatMode mode;
    mode.ftz = f == Format::F16 && (r >> 48 & 1) != 0, mode.sat = (r >> 49 & 3) == 0, mode.relu = (r >> 51 & 3) == 0;
    ASSERT_EQ(dom.add(f, a, b, mode), ieee::add(f, a, b, mode));
    ASSERT_EQ(dom.mul(f, a, b, mode), ieee::mul(f, a, b, mode));
    ASSERT_EQ(dom.fma(f, a, b, c, mode), ieee::fma(f, a, b, c, mode)) << a << ' ' << b << ' ' << c;
    ASSERT_EQ(dom.min(f, a, b, mode), ieee::min_max(f, a, b, false, mode));
    ASSERT_EQ(dom.max(f, a, b, mode), ieee::min_max(f, a, b, true, mode));
  }
}

TEST_P(SmallFormats, NarrowingFromF32IsRoundedOnceInEveryDirection) {
  const Ieee dom;
  const Small f = GetParam();
  std::mt19937 random(3);
  for (int trial = 0; trial < 400000; ++trial) {
    std::uint32_t bits = random();
    if (trial % 4 == 0) bits &= 0xFFFFF000;  // ties
    const float x = std::bit_cast<float>(bits);
    const std::uint64_t down = dom.convert(f.format, Format::F32, bits, {.round = Round::Rm});
    const std::uint64_t up = dom.convert(f.format, Format::F32, bits, {.round = Round::Rp});
    const std::uint64_t zero = dom.convert(f.format, Format::F32, bits, {.round = Round::Rz});
    if (std::isnan(x)) {
      ASSERT_EQ(down, kNan16);
      ASSERT_EQ(dom.convert(f.format, Format::F32, bits, kRn), kNan16);
      continue;
    }
    ASSERT_EQ(dom.convert(f.format, Format::F32, bits, kRn), nearest(f, x)) << bits;
    ASSERT_LE(value(f, down), x);
    ASSERT_GE(value(f, up), x);
    const bool is_exact = value(f, nearest(f, x)) == x;
    ASSERT_EQ(down == up, is_exact);
    // Neighbours: nothing lies between.
    if (!is_exact && up != 0x8000) {
      ASSERT_EQ((up & 0x7FFF) - (down & 0x7FFF), x > 0 ? 1U : ~std::uint64_t{0});
    }
    ASSERT_EQ(zero, x > 0 || is_exact ? down : up);
  }
}

TEST(Ieee, Fp8ConversionsAreExactOneWayAndSaturateTheOther) {
  const Ieee dom;
  const FloatMode saturating{.satfinite = true};
  for (const Small& f : {kE4M3, kE5M2}) {
    for (std::uint64_t bits = 0; bits < 256; ++bits) {
      const long double x = value(f, bits);
      const std::uint64_t half = dom.convert(Format::F16, f.format, bits, kRn);
      if (std::isnan(x)) {
        ASSERT_EQ(half, kNan16);
      } else {
        ASSERT_EQ(half, nearest(kF16, x)) << bits;
        if (!std::isinf(x)) {
          ASSERT_EQ(dom.convert(f.format, Format::F16, half, saturating), bits);
        }
      }
    }
    const long double largest = f.format == Format::E4M3 ? 448 : 57344;
    for (std::uint64_t half = 0; half < 65536; ++half) {
      const long double x = value(kF16, half);
      std::uint64_t expected = 0x7F;
      if (!std::isnan(x)) {
        expected = std::fabs(x) > largest ? (f.format == Format::E4M3 ? 0x7E : 0x7B) : nearest(f, std::fabs(x));
        if (std::signbit(x)) expected |= 0x80;
      }
      ASSERT_EQ(dom.convert(f.format, Format::F16, half, saturating), expected) << half;
      FloatMode relu = saturating;
      relu.relu = true;
      ASSERT_EQ(dom.convert(f.format, Format::F16, half, relu), std::isnan(x) ? 0x7F : std::signbit(x) ? 0 : expected);
    }
  }
}

float random_float(std::mt19937_64& random) {
  const std::uint64_t r = random();
  std::uint32_t bits = static_cast<std::uint32_t>(r);
  if ((r >> 32 & 3) != 0) bits = (bits & 0x807FFFFF) | (0x70 + (bits >> 23 & 0x1F)) << 23;  // sizes near 1
  return std::bit_cast<float>(bits);
}

std::uint64_t bits32(float x) { return std::isnan(x) ? kNan32 : std::bit_cast<std::uint32_t>(x); }

TEST(Ieee, F32ArithmeticMatchesTheHost) {
  const Ieee dom;
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 500000; ++trial) {
    const float a = random_float(random), b = random_float(random), c = random_float(random);
    const std::uint64_t x = std::bit_cast<std::uint32_t>(a), y = std::bit_cast<std::uint32_t>(b),
                        z = std::bit_cast<std::uint32_t>(c);
    ASSERT_EQ(dom.add(Format::F32, x, y, kRn), bits32(a + b));
    ASSERT_EQ(dom.sub(Format::F32, x, y, kRn), bits32(a - b));
    ASSERT_EQ(dom.mul(Format::F32, x, y, kRn), bits32(a * b));
    ASSERT_EQ(dom.div(Format::F32, x, y, kRn), bits32(a / b));
    ASSERT_EQ(dom.fma(Format::F32, x, y, z, kRn), bits32(std::fmaf(a, b, c))) << a << ' ' << b << ' ' << c;
    ASSERT_EQ(ieee::add(Format::F32, x, y, kRn), bits32(a + b));
    ASSERT_EQ(ieee::mul(Format::F32, x, y, kRn), bits32(a * b));
    ASSERT_EQ(ieee::div(Format::F32, x, y, kRn), bits32(a / b));
    ASSERT_EQ(ieee::fma(Format::F32, x, y, z, kRn), bits32(std::fmaf(a, b, c)));
    ASSERT_EQ(dom.sqrt(Format::F32, x, kRn), bits32(std::sqrt(a)));
    ASSERT_EQ(dom.rcp(Format::F32, x, kRn), bits32(1.0F / a));
  }
}

TEST(Ieee, F32FmaNearTiesIsRoundedOnce) {
  const Ieee dom;
  std::mt19937 random(5);
  for (int trial = 0; trial < 500000; ++trial) {
    // c dwarfs the product by 2^24 and a bit: the sum falls on or beside a tie.
    const std::uint32_t r = random();
    const float a = 1.0F + static_cast<float>(r & 7) * 0x1p-23F, b = 1.0F + static_cast<float>(r >> 3 & 7) * 0x1p-23F;
    const float c = std::ldexp(1.0F + static_cast<float>(r >> 6 & 7) * 0x1p-23F, static_cast<int>(r >> 9 & 63) - 8);
    const float sign = (r >> 15 & 1) != 0 ? -1.0F : 1.0F;
    ASSERT_EQ(dom.fma(Format::F32, bits32(a), bits32(b), bits32(sign * c), kRn), bits32(std::fmaf(a, b, sign * c)));
  }
}

TEST(Ieee, DirectedRoundingBracketsTheExactResult) {
  const Ieee dom;
  std::mt19937_64 random(6);
  for (int trial = 0; trial < 200000; ++trial) {
    const float a = random_float(random), b = random_float(random);
    if (!std::isfinite(a) || !std::isfinite(b) || b == 0) continue;
    const std::uint64_t x = bits32(a), y = bits32(b);
    const auto check = [&](auto op, std::uint64_t near) {
      const std::uint64_t down = op(Round::Rm), up = op(Round::Rp), zero = op(Round::Rz);
      ASSERT_TRUE(near == down || near == up);
      const std::uint64_t inward = (near >> 31) != 0 ? up : down;
      ASSERT_EQ(zero, inward);
      if (down != up) {
        ASSERT_EQ(std::nextafter(ieee::f32(down), INFINITY), ieee::f32(up)) << a << ' ' << b;
      }
    };
    check([&](Round r) { return dom.add(Format::F32, x, y, {.round = r}); }, bits32(a + b));
    check([&](Round r) { return dom.mul(Format::F32, x, y, {.round = r}); }, bits32(a * b));
    check([&](Round r) { return dom.div(Format::F32, x, y, {.round = r}); }, bits32(a / b));
    check([&](Round r) { return dom.sqrt(Format::F32, x & kNan32, {.round = r}); }, bits32(std::sqrt(std::fabs(a))));
    const long double sum = static_cast<long double>(a) * b + 1.0L;
    const std::uint64_t down = dom.fma(Format::F32, x, y, 0x3F800000, {.round = Round::Rm});
    const std::uint64_t up = dom.fma(Format::F32, x, y, 0x3F800000, {.round = Round::Rp});
    ASSERT_LE(ieee::f32(down), sum);
    ASSERT_GE(ieee::f32(up), sum);
  }
}

TEST(Ieee, F64DirectedResultsMatchLongDouble) {
  const Ieee dom;
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 200000; ++trial) {
    const double a = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random()) >> 11), -50);
    const double b = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random()) >> 11), -47);
    if (b == 0) continue;
    const std::uint64_t x = ieee::bits_of(a), y = ieee::bits_of(b);
    const long double sum = static_cast<long double>(a) + b;  // 64 bits hold sums of these exactly
    ASSERT_EQ(ieee::f64(dom.add(Format::F64, x, y, kRn)), a + b);
    ASSERT_LE(ieee::f64(dom.add(Format::F64, x, y, {.round = Round::Rm})), sum);
    ASSERT_GE(ieee::f64(dom.add(Format::F64, x, y, {.round = Round::Rp})), sum);
    const double quotient = a / b;
    const double below = ieee::f64(dom.div(Format::F64, x, y, {.round = Round::Rm}));
    const double above = ieee::f64(dom.div(Format::F64, x, y, {.round = Round::Rp}));
    ASSERT_TRUE(quotient == below || quotient == above);
    ASSERT_EQ(ieee::f64(ieee::div(Format::F64, x, y, kRn)), quotient);
    ASSERT_EQ(ieee::f64(dom.sqrt(Format::F64, x & ~(1ULL << 63), kRn)), std::sqrt(std::fabs(a)));
    const double product = a * b, error = std::fma(a, b, -product);
    const double low = ieee::f64(dom.mul(Format::F64, x, y, {.round = Round::Rm}));
    ASSERT_EQ(low, error < 0 ? std::nextafter(product, -INFINITY) : product);
    const double fused = std::fma(a, b, -product);
    ASSERT_EQ(ieee::f64(dom.fma(Format::F64, x, y, ieee::bits_of(-product), {.round = Round::Rz})), fused);
  }
}

TEST(Ieee, NanResultsAreTheMeasuredOnes) {
  const Ieee dom;
  const std::uint64_t inf = 0x7F800000, one = 0x3F800000;
  for (const std::uint64_t nan : {0x7FC00000ULL, 0xFFC00123ULL, 0x7F800001ULL}) {
    EXPECT_EQ(dom.add(Format::F32, nan, one, kRn), kNan32);
    EXPECT_EQ(dom.neg(Format::F32, nan, kRn), kNan32);
    EXPECT_EQ(dom.abs(Format::F32, nan, kRn), kNan32);
    EXPECT_EQ(dom.rcp(Format::F32, nan, {.approximate = true}), kNan32);
    EXPECT_EQ(dom.add(Format::F32, nan, one, {.sat = true}), 0U);
    EXPECT_EQ(dom.convert(Format::F16, Format::F32, nan, kRn), kNan16);
    EXPECT_EQ(dom.convert(Format::BF16, Format::F32, nan, kRn), kNan16);
    EXPECT_EQ(dom.convert(Format::F32, Format::F32, nan, kRn), nan);
    EXPECT_EQ(dom.convert(Format::F32, Format::F32, nan, {.ftz = true}), kNan32);
    EXPECT_EQ(dom.convert(Format::Tf32, Format::F32, nan, kRn), 0x7FFFE000U);
    EXPECT_EQ(dom.convert(Format::E4M3, Format::F32, nan, {.satfinite = true}), 0x7FU);
  }
  EXPECT_EQ(dom.sub(Format::F32, inf, inf, kRn), kNan32);
  EXPECT_EQ(dom.mul(Format::F32, inf, 0, kRn), kNan32);
  EXPECT_EQ(dom.fma(Format::F32, inf, one, 0xFF800000, kRn), kNan32);
  EXPECT_EQ(dom.div(Format::F32, 0, 0, kRn), kNan32);
  EXPECT_EQ(dom.sqrt(Format::F32, 0xBF800000, {.approximate = true}), kNan32);
  EXPECT_EQ(dom.lg2(Format::F32, 0xBF800000, {.approximate = true}), kNan32);
  EXPECT_EQ(dom.sin(Format::F32, inf, {.approximate = true}), kNan32);
  // f64 keeps a payload: b over a, fma b over c over a, div a over b; an invalid operation gives the negative one.
  const std::uint64_t p = 0x7FF0000000000001, q = 0xFFF8000000000002, r = 0x7FF8000000000003, two = 0x4000000000000000;
  EXPECT_EQ(dom.add(Format::F64, p, q, kRn), q);
  EXPECT_EQ(dom.add(Format::F64, p, two, kRn), 0x7FF8000000000001U);
  EXPECT_EQ(dom.sub(Format::F64, two, q, kRn), q);
  EXPECT_EQ(dom.fma(Format::F64, p, q, r, kRn), q);
  EXPECT_EQ(dom.fma(Format::F64, p, two, r, kRn), r);
  EXPECT_EQ(dom.div(Format::F64, p, q, kRn), 0x7FF8000000000001U);
  EXPECT_EQ(dom.mul(Format::F64, 0, 0x7FF0000000000000, kRn), 0xFFF8000000000000U);
  EXPECT_EQ(dom.abs(Format::F64, q, kRn), q);
  EXPECT_EQ(dom.neg(Format::F64, p, kRn), 0x7FF8000000000001U);
  EXPECT_EQ(dom.min(Format::F64, p, q, kRn), q);
  EXPECT_EQ(dom.convert(Format::F16, Format::F64, 0x7FF8000000000000, kRn), 0x7E00U);
  EXPECT_EQ(dom.convert(Format::BF16, Format::F64, 0x7FF8000000000000, kRn), 0x7FC0U);
  EXPECT_EQ(dom.convert(Format::F16, Format::F64, 0xFFF4123456789ABC, kRn), 0xFF04U);
  EXPECT_EQ(dom.convert(Format::BF16, Format::F64, 0xFFF4123456789ABC, kRn), 0xFFE0U);
  EXPECT_EQ(dom.convert(Format::F32, Format::F64, 0xFFF8000000000001, kRn), 0xFFC00000U);
  EXPECT_EQ(dom.convert(Format::F64, Format::F32, 0xFFC00123, kRn), 0xFFF8002460000000U);
  EXPECT_EQ(dom.rcp(Format::F64, r, {.ftz = true, .approximate = true}), 0x7FFFFFFF00000000U);
}

TEST(Ieee, ZerosMinMaxAndModifiersAreTheMeasuredOnes) {
  const Ieee dom;
  const std::uint64_t minus_zero = 0x80000000, nan = 0x7FC00001, subnormal = 0x80000001;
  EXPECT_EQ(dom.min(Format::F32, 0, minus_zero, kRn), minus_zero);
  EXPECT_EQ(dom.min(Format::F32, minus_zero, 0, kRn), minus_zero);
  EXPECT_EQ(dom.max(Format::F32, 0, minus_zero, kRn), 0U);
  EXPECT_EQ(dom.max(Format::F32, minus_zero, 0, kRn), 0U);
  EXPECT_EQ(dom.min(Format::F32, nan, subnormal, kRn), subnormal);
  EXPECT_EQ(dom.min(Format::F32, subnormal, nan, {.ftz = true}), minus_zero);
  EXPECT_EQ(dom.max(Format::F32, nan, nan, kRn), kNan32);
  EXPECT_EQ(dom.max(Format::F32, nan, 0x3F800000, {.nan = true}), kNan32);
  EXPECT_EQ(dom.min(Format::F16, 0, 0x8000, kRn), 0x8000U);
  EXPECT_EQ(dom.max(Format::BF16, 0x8000, 0, kRn), 0U);
  EXPECT_EQ(dom.add(Format::F32, subnormal, minus_zero, {.ftz = true}), minus_zero);
  EXPECT_EQ(dom.add(Format::F32, 1, 0x00800000, {.ftz = true}), 0x00800000U);
  EXPECT_EQ(dom.add(Format::F32, 0xBF800000, 0, {.sat = true}), 0U);
  EXPECT_EQ(dom.add(Format::F32, 0x40000000, 0, {.sat = true}), 0x3F800000U);
  EXPECT_EQ(dom.add(Format::F32, minus_zero, minus_zero, {.sat = true}), 0U);
  EXPECT_EQ(dom.add(Format::BF16, 1, 1, kRn), 2U);
  EXPECT_EQ(dom.fma(Format::F16, 0x8000, 0x3C00, 0x8000, {.relu = true}), 0U);
  EXPECT_EQ(dom.convert(Format::F16, Format::F32, 0x80000000, {.relu = true}), 0U);
  EXPECT_EQ(dom.convert(Format::F16, Format::F32, 0xFF800000, {.satfinite = true}), 0xFBFFU);
  EXPECT_EQ(dom.convert(Format::F16, Format::F32, 0x477FF000, kRn), 0x7C00U);  // 65520
  EXPECT_EQ(dom.convert(Format::Tf32, Format::F32, 0x3F801000, {.round = Round::Rna}), 0x3F802000U);
  EXPECT_EQ(dom.convert(Format::Tf32, Format::F32, 0x3F801000, kRn), 0x3F800000U);
  EXPECT_EQ(dom.convert(Format::Tf32, Format::F32, 0x7F7FFFFF, {.round = Round::Rz}), 0x7F7FE000U);
  EXPECT_EQ(dom.convert(Format::Tf32, Format::F32, 0x7F7FFFFF, {.round = Round::Rna}), 0x7F800000U);
  EXPECT_EQ(dom.convert(Format::Tf32, Format::F32, 0x7F7FFFFF, {.round = Round::Rna, .satfinite = true}), 0x7F7FE000U);
  EXPECT_EQ(dom.convert(Format::Tf32, Format::F32, 0x7F800001, {.round = Round::Rna}), 0x7F800000U);
  EXPECT_EQ(dom.convert(Format::E4M3, Format::F32, ieee::bits_of(464.0F), {.satfinite = true}), 0x7EU);
}

TEST(Ieee, ApproximateFunctionsHaveTheMeasuredSpecialCases) {
  const Ieee dom;
  const FloatMode plain{.approximate = true}, ftz{.ftz = true, .approximate = true};
  EXPECT_EQ(dom.ex2(Format::F32, 0x80000001, ftz), 0x3F800000U);
  EXPECT_EQ(dom.ex2(Format::F32, 0xFF800000, ftz), 0U);
  EXPECT_EQ(dom.ex2(Format::F32, ieee::bits_of(-127.0F), ftz), 0U);
  EXPECT_EQ(dom.ex2(Format::F32, ieee::bits_of(-127.0F), plain), 0x00400000U);
  EXPECT_EQ(dom.lg2(Format::F32, 0x00800000, plain), 0xC2FBFFFFU);
  EXPECT_EQ(dom.lg2(Format::F32, 0x80000001, ftz), 0xFF800000U);
  EXPECT_EQ(dom.lg2(Format::F32, 0x80000001, plain), kNan32);
  EXPECT_EQ(dom.rcp(Format::F32, 0x00000001, plain), 0x7F800000U);
  EXPECT_EQ(dom.rcp(Format::F32, 0x7F7FFFFF, plain), 0x00200000U);
  EXPECT_EQ(dom.rcp(Format::F32, 0x7F7FFFFF, ftz), 0U);
  EXPECT_EQ(dom.rcp(Format::F32, ieee::bits_of(3.0F), plain), 0x3EAAAAABU);
  EXPECT_EQ(dom.rsqrt(Format::F32, 0x80000001, plain), kNan32);
  EXPECT_EQ(dom.rsqrt(Format::F32, 0x80000001, ftz), 0xFF800000U);
  EXPECT_EQ(dom.sqrt(Format::F32, 0x80000000, plain), 0x80000000U);
  EXPECT_EQ(dom.tanh(Format::F32, 0x00000123, plain), 0x00000123U);
  EXPECT_EQ(dom.tanh(Format::F32, 0xFF800000, plain), 0xBF800000U);
  EXPECT_EQ(dom.sin(Format::F32, 0x80000000, plain), 0x80000000U);
  EXPECT_EQ(dom.cos(Format::F32, 0, plain), 0x3F800000U);
  EXPECT_EQ(dom.ex2(Format::F16, 0x3800, plain), 0x3DA8U);  // sqrt(2) = 1.41421 cut to 1.41406
}

TEST(Ieee, ApproximateFunctionsStayWithinPtxBounds) {
  const Ieee dom;
  std::mt19937_64 random(8);
  const FloatMode plain{.approximate = true};
  const auto relative = [](std::uint64_t bits, long double exact) {
    return static_cast<double>(std::fabs((static_cast<long double>(ieee::f32(bits)) - exact) / exact));
  };
  for (int trial = 0; trial < 50000; ++trial) {
    const float x =
        std::ldexp(1.0F + static_cast<float>(random() & 0x7FFFFF) * 0x1p-23F, static_cast<int>(random() % 12) - 6);
    const std::uint64_t bits = bits32(x);
    EXPECT_LT(relative(dom.ex2(Format::F32, bits, plain), std::exp2(static_cast<long double>(x))), 0x1.01p-24);
    EXPECT_LT(relative(dom.rcp(Format::F32, bits, plain), 1 / static_cast<long double>(x)), 0x1.01p-24);
    EXPECT_LT(relative(dom.rsqrt(Format::F32, bits, plain), 1 / std::sqrt(static_cast<long double>(x))), 0x1.01p-24);
    EXPECT_LT(relative(dom.exp(Format::F32, bits), std::exp(static_cast<long double>(x))), 0x1.01p-24);
    EXPECT_LT(relative(dom.tanh(Format::F32, bits, plain), std::tanh(static_cast<long double>(x))), 0x1.01p-24);
    EXPECT_LT(relative(dom.erf(Format::F32, bits), std::erf(static_cast<long double>(x))), 0x1.01p-24);
  }
}

TEST(Ieee, PowersOfTwoAreCorrectlyRoundedOverTheWholeRange) {
  const Ieee dom;
  for (std::uint32_t bits = 0; bits < 0x43200000; bits += 1009) {  // up to 160
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      const float x = std::bit_cast<float>(bits | sign);
      const long double exact = std::exp2(static_cast<long double>(x));
      ASSERT_EQ(dom.ex2(Format::F32, bits | sign, {.approximate = true}), bits32(static_cast<float>(exact))) << x;
      const std::uint64_t natural = dom.exp(Format::F32, bits | sign);
      const float base_e = static_cast<float>(std::exp(static_cast<long double>(x)));
      ASSERT_NEAR(static_cast<double>(natural), static_cast<double>(bits32(base_e)), 1) << x;
    }
  }
  EXPECT_EQ(dom.ex2(Format::F32, 0x7FC00001, {}), kNan32);
  EXPECT_EQ(dom.exp(Format::F32, 0xFF800000), 0U);
  EXPECT_EQ(dom.exp(Format::F32, 0x7F800000), 0x7F800000U);
}

TEST(Ieee, LanesGiveWhatSingleOperationsGive) {
  const Ieee dom;
  std::mt19937_64 random(12);
  std::vector<std::uint32_t> a(4096), b(a), c(a), out(a);
  for (std::vector<std::uint32_t>* lanes : {&a, &b, &c}) {
    for (std::uint32_t& bits : *lanes) bits = std::bit_cast<std::uint32_t>(random_float(random));
  }
  for (std::size_t i = 0; i < 512; ++i) {  // products that nearly cancel, subnormal results
    c[i] = static_cast<std::uint32_t>(dom.mul(Format::F32, a[i], b[i], kRn)) ^ 0x80000000;
    a[i + 512] = a[i + 512] % 0x1000000;
  }
  for (const bool ftz : {false, true}) {
    const FloatMode mode{.ftz = ftz};
    const auto check = [&](const char* name, auto lanes, auto single) {
      lanes();
      for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(out[i], single(i)) << name << std::hex << ' ' << a[i] << ' ' << b[i] << ' ' << c[i];
      }
    };
    const std::size_t n = a.size();
    check(
        "add", [&] { ieee::add_lanes(a.data(), b.data(), out.data(), n, ftz); },
        [&](std::size_t i) { return dom.add(Format::F32, a[i], b[i], mode); });
    check(
        "sub", [&] { ieee::sub_lanes(a.data(), b.data(), out.data(), n, ftz); },
        [&](std::size_t i) { return dom.sub(Format::F32, a[i], b[i], mode); });
    check(
        "mul", [&] { ieee::mul_lanes(a.data(), b.data(), out.data(), n, ftz); },
        [&](std::size_t i) { return dom.mul(Format::F32, a[i], b[i], mode); });
    check(
        "min", [&] { ieee::min_lanes(a.data(), b.data(), out.data(), n, ftz); },
        [&](std::size_t i) { return dom.min(Format::F32, a[i], b[i], mode); });
    check(
        "max", [&] { ieee::max_lanes(a.data(), b.data(), out.data(), n, ftz); },
        [&](std::size_t i) { return dom.max(Format::F32, a[i], b[i], mode); });
    check(
        "fma", [&] { ieee::fma_lanes(a.data(), b.data(), c.data(), out.data(), n, ftz); },
        [&](std::size_t i) { return dom.fma(Format::F32, a[i], b[i], c[i], mode); });
    check(
        "ex2", [&] { ieee::ex2_lanes(a.data(), out.data(), n, ftz); },
        [&](std::size_t i) { return dom.ex2(Format::F32, a[i], mode); });
  }
}

TEST(Ieee, FloatToIntegerRoundsThenClamps) {
  const Ieee dom;
  const auto to = [&](float x, unsigned width, bool is_signed, Round round) {
    return *dom.to_int(Format::F32, bits32(x), width, is_signed, round);
  };
  EXPECT_EQ(to(-1.0F, 32, false, Round::Rz), 0U);
  EXPECT_EQ(to(1e30F, 32, true, Round::Rz), 0x7FFFFFFFU);
  EXPECT_EQ(to(-1e30F, 32, true, Round::Rz), 0xFFFFFFFF80000000U);
  EXPECT_EQ(to(2.5F, 32, true, Round::Rn), 2U);
  EXPECT_EQ(to(-2.5F, 32, true, Round::Rm), static_cast<std::uint64_t>(-3));
  EXPECT_EQ(to(-2.5F, 32, true, Round::Rp), static_cast<std::uint64_t>(-2));
  EXPECT_EQ(to(-2.7F, 8, true, Round::Rz), static_cast<std::uint64_t>(-2));
  EXPECT_EQ(to(300.0F, 8, false, Round::Rz), 255U);
  EXPECT_EQ(to(300.0F, 8, true, Round::Rz), 127U);
  EXPECT_EQ(to(1e30F, 64, false, Round::Rz), ~0ULL);
  EXPECT_EQ(to(0x1p63F, 64, true, Round::Rz), 0x7FFFFFFFFFFFFFFFU);
  EXPECT_EQ(to(-0x1p63F, 64, true, Round::Rz), 1ULL << 63);
  EXPECT_EQ(to(0x1p63F, 64, false, Round::Rz), 1ULL << 63);
  EXPECT_EQ(to(1e-30F, 32, true, Round::Rp), 1U);
  EXPECT_EQ(*dom.to_int(Format::F32, 0x7FC00000, 32, true, Round::Rz), 0U);
  EXPECT_EQ(*dom.to_int(Format::F32, 0x7FC00000, 64, false, Round::Rz), 1ULL << 63);
  EXPECT_EQ(*dom.to_int(Format::F64, 0x7FF8000000000000, 8, false, Round::Rz), 0x80U);
  EXPECT_EQ(*dom.to_int(Format::F64, 0x7FF8000000000000, 8, true, Round::Rz), 0xFFFFFFFFFFFFFF80U);
  std::mt19937_64 random(9);
  for (int trial = 0; trial < 200000; ++trial) {
    const float x = random_float(random);
    if (!(std::fabs(x) < 0x1p62F)) continue;
    ASSERT_EQ(to(x, 64, true, Round::Rz), static_cast<std::uint64_t>(static_cast<std::int64_t>(x)));
    ASSERT_EQ(to(x, 64, true, Round::Rn), static_cast<std::uint64_t>(std::llrint(x)));
    ASSERT_EQ(to(x, 64, true, Round::Rm), static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(x))));
  }
}

TEST(Ieee, IntegerToFloatIsRoundedOnce) {
  const Ieee dom;
  std::mt19937_64 random(10);
  for (int trial = 0; trial < 200000; ++trial) {
    const std::uint64_t r = random() >> (random() & 63);
    const auto s = static_cast<std::int64_t>((trial & 1) != 0 ? 0 - r : r);
    ASSERT_EQ(dom.from_uint(Format::F32, r, kRn), bits32(static_cast<float>(r)));
    ASSERT_EQ(dom.from_int(Format::F32, s, kRn), bits32(static_cast<float>(s)));
    ASSERT_EQ(dom.from_uint(Format::F64, r, kRn), ieee::bits_of(static_cast<double>(r)));
    ASSERT_EQ(dom.from_int(Format::F16, s, kRn), nearest(kF16, static_cast<long double>(s)));
    ASSERT_EQ(dom.from_int(Format::BF16, s, kRn), nearest(kBf16, static_cast<long double>(s)));
  }
  EXPECT_EQ(dom.from_uint(Format::F16, 70000, {.round = Round::Rz}), 0x7BFFU);
  EXPECT_EQ(dom.from_uint(Format::F16, 70000, {.round = Round::Rp}), 0x7C00U);
}

TEST(Ieee, RoundingToIntegralKeepsTheSignOfZero) {
  const Ieee dom;
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 200000; ++trial) {
    const float x = random_float(random);
    const std::uint64_t bits = std::bit_cast<std::uint32_t>(x);
    ASSERT_EQ(dom.floor(Format::F32, bits), bits32(std::floor(x)));
    ASSERT_EQ(dom.ceil(Format::F32, bits), bits32(std::ceil(x)));
    ASSERT_EQ(dom.trunc(Format::F32, bits), bits32(std::trunc(x)));
    ASSERT_EQ(dom.rint(Format::F32, bits), bits32(std::nearbyint(x)));
  }
  EXPECT_EQ(dom.rint(Format::F16, 0xB400), 0x8000U);  // -0.25
}

TEST(Ieee, ComparisonsTreatNanByTheirSuffix) {
  const Ieee dom;
  const std::uint64_t nan = 0x7FC00000, one = 0x3F800000;
  EXPECT_FALSE(dom.compare(Format::F32, Compare::Ne, nan, one, kRn));
  EXPECT_TRUE(dom.compare(Format::F32, Compare::Neu, nan, one, kRn));
  EXPECT_TRUE(dom.compare(Format::F32, Compare::Ltu, nan, one, kRn));
  EXPECT_FALSE(dom.compare(Format::F32, Compare::Ge, nan, one, kRn));
  EXPECT_TRUE(dom.compare(Format::F32, Compare::Nan, nan, one, kRn));
  EXPECT_TRUE(dom.compare(Format::F32, Compare::Num, one, one, kRn));
  EXPECT_TRUE(dom.compare(Format::F32, Compare::Eq, 0, 0x80000000, kRn));
  EXPECT_FALSE(dom.compare(Format::F32, Compare::Eq, 0, 1, kRn));
  EXPECT_TRUE(dom.compare(Format::F32, Compare::Eq, 0, 1, {.ftz = true}));
  EXPECT_TRUE(dom.compare(Format::F16, Compare::Lt, 0xBC00, 0x3C00, kRn));
}

}  // namespace
}  // namespace plumb::domain
