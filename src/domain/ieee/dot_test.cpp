// SPDX-License-Identifier: Apache-2.0
// Matrix products against the tensor-core model written out in 256-bit-safe integers, one output at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "domain/ieee/fused.h"
#include "domain/ieee/ieee.h"

namespace plumb::domain {
namespace {

using Real = Ieee::Real;

struct Parts {
  bool is_negative = false, is_zero = false, is_infinite = false, is_nan = false;
  int exponent = 0;              // of the unit bit
  std::int64_t significand = 0;  // with `fraction` fraction bits
  int fraction = 0;
};

Parts take_apart(Format format, std::uint64_t bits) {
  int fraction = 0, exponent_bits = 0;
  switch (format) {
    case Format::F16:
      fraction = 10, exponent_bits = 5;
      break;
    case Format::BF16:
      fraction = 7, exponent_bits = 8;
      break;
    case Format::Tf32:
      fraction = 10, exponent_bits = 8, bits >>= 13;
      break;
    case Format::F32:
      fraction = 23, exponent_bits = 8;
      break;
    case Format::E4M3:
      fraction = 3, exponent_bits = 4;
      break;
    default:
      fraction = 2, exponent_bits = 5;
      break;
  }
  Parts parts;
  parts.fraction = fraction;
  const int top = (1 << exponent_bits) - 1, bias = top >> 1;
  const int field = static_cast<int>(bits >> fraction) & top;
  const std::int64_t low = static_cast<std::int64_t>(bits) & ((1LL << fraction) - 1);
  parts.is_negative = (bits >> (fraction + exponent_bits) & 1) != 0;
  if (format == Format::E4M3) {
    parts.is_nan = field == top && low == 7;
  } else if (field == top) {
    parts.is_nan = low != 0, parts.is_infinite = low == 0;
  }
  parts.exponent = field == 0 ? 1 - bias : field - bias;
  parts.significand = field == 0 ? low : low | 1LL << fraction;
  parts.is_zero = parts.significand == 0;
  return parts;
}

struct Term {
  bool is_negative;
  int exponent;
  std::int64_t significand;
  int fraction;
};

std::uint64_t f16_of(long double x) {
  // To nearest even by scaling to the step at x's size.
  const long double size = std::fabs(x);
  const std::uint64_t sign = std::signbit(x) ? 0x8000 : 0;
  if (size == 0) return 0;
  if (size >= 65520) return sign | 0x7C00;
  const int exponent = std::max(std::ilogb(size), -14);
  const auto steps = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  if (steps == 0) return 0;
  return sign | ((static_cast<std::uint64_t>(exponent + 14) << 10) + steps);
}

// sum of a[i] * b[i] + c with F fraction bits kept below the largest exponent.
std::uint64_t step(Format fa, Format fb, Format acc, const std::vector<Real>& a, const std::vector<Real>& b, Real c,
                   int kept, int result_fraction) {
  std::vector<Term> terms;
  bool is_nan = false, is_positive = false, is_negative = false;
  const auto infinity = [&](bool negative) { (negative ? is_negative : is_positive) = true; };
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Parts x = take_apart(fa, a[i]), y = take_apart(fb, b[i]);
    const bool negative = x.is_negative != y.is_negative;
    is_nan |= x.is_nan || y.is_nan || (x.is_infinite && y.is_zero) || (x.is_zero && y.is_infinite);
    if (x.is_infinite || y.is_infinite) infinity(negative);
    if (x.is_zero || y.is_zero) continue;
    terms.push_back({negative, x.exponent + y.exponent, x.significand * y.significand, x.fraction + y.fraction});
  }
  const Parts z = take_apart(acc, c);
  is_nan |= z.is_nan;
  if (z.is_infinite) infinity(z.is_negative);
  if (!z.is_zero) terms.push_back({z.is_negative, z.exponent, z.significand, z.fraction});
  const bool is_half = acc == Format::F16;
  if (is_nan || (is_positive && is_negative)) return is_half ? 0x7FFF : 0x7FFFFFFF;
  if (is_positive || is_negative) {
    return (is_half ? 0x7C00U : 0x7F800000U) | (is_negative ? (is_half ? 0x8000U : 0x80000000U) : 0U);
  }
  if (terms.empty()) return 0;
  int top = terms[0].exponent;
  for (const Term& term : terms) top = std::max(top, term.exponent);
  __int128 sum = 0;
  for (const Term& term : terms) {
    const int shift = kept - (top - term.exponent) - term.fraction;
    __int128 aligned = term.significand;
    aligned = shift >= 0 ? aligned << shift : (-shift > 100 ? 0 : aligned >> -shift);
    sum += term.is_negative ? -aligned : aligned;
  }
  const bool negative = sum < 0;
  auto size = static_cast<std::uint64_t>(negative ? -sum : sum);
  if (size == 0) return 0;
  int exponent = top - kept;  // of the lowest bit of `size`
  if (is_half) return f16_of(std::ldexp(static_cast<long double>(negative ? -1.0L : 1.0L) * size, exponent));
  const int length = 64 - __builtin_clzll(size);
  int drop = std::max(0, length - (result_fraction + 1));
  drop = std::max(drop, -149 - exponent);
  size = drop > 63 ? 0 : size >> drop;
  if (size == 0) return 0;
  exponent += drop;
  const int size_length = 64 - __builtin_clzll(size);
  if (exponent + size_length > 128) return negative ? 0xFF800000 : 0x7F800000;
  const double value = std::ldexp(static_cast<double>(size), exponent);
  return ieee::bits_of(static_cast<float>(negative ? -value : value));
}

std::uint64_t expected(const DotShape& s, const std::vector<Real>& a, const std::vector<Real>& b, Real c) {
  const bool is_fp8 = s.a == Format::E4M3 || s.a == Format::E5M2;
  if (!is_fp8) return step(s.a, s.b, s.acc, a, b, c, 25, 23);
  if (s.kind == DotKind::Wgmma) return step(s.a, s.b, s.acc, a, b, c, 13, 13);
  const auto half = [](Format f, Real bits) -> Real {
    if (f == Format::E5M2) return (bits & 0x7F) > 0x7C ? 0x7FFF : bits << 8;
    const Parts p = take_apart(f, bits);
    if (p.is_nan) return 0x7FFF;
    const std::uint64_t size = f16_of(std::ldexp(static_cast<long double>(p.significand), p.exponent - p.fraction));
    return size | (p.is_negative ? 0x8000 : 0);
  };
  Real total = 0;
  for (unsigned part = 0; part < 2; ++part) {
    std::vector<Real> x, y;
    for (std::size_t k = 0; k < a.size(); ++k) {
      if ((k % 4) / 2 != part) continue;
      x.push_back(half(s.a, a[k])), y.push_back(half(s.b, b[k]));
    }
    total = step(Format::F16, Format::F16, s.acc, x, y, total, 25, 23);
  }
  if (s.acc == Format::F16) {
    const Parts x = take_apart(Format::F16, c), y = take_apart(Format::F16, total);
    const auto value = [](const Parts& p) {
      const long double size = p.is_nan        ? std::nanl("")
                               : p.is_infinite ? HUGE_VALL
                                               : std::ldexp(static_cast<long double>(p.significand), p.exponent - 10);
      return p.is_negative ? -size : size;
    };
    const long double sum = value(x) + value(y);
    if (std::isnan(sum)) return 0x7FFF;
    if (sum == 0) return std::signbit(sum) ? 0x8000 : 0;
    return f16_of(sum);
  }
  const float sum = ieee::f32(c) + ieee::f32(total);
  return std::isnan(sum) ? 0x7FFFFFFF : ieee::bits_of(sum);
}

int width_of(Format format) { return static_cast<int>(8 * byte_size(format)); }

// Bits of a class of inputs: 0 near one, 1 over six octaves, 2 all bit patterns, 3 zeros and subnormals, 4 the edges of
// the format, 5 special values.
Real draw(std::mt19937_64& random, Format format, int kind) {
  const Real raw = random() & (width_of(format) == 64 ? ~0ULL : (1ULL << width_of(format)) - 1);
  if (kind == 2) return raw;
  const ieee::Layout l = ieee::layout(format);
  const std::uint64_t sign = raw & ieee::sign_bit(format), fraction = raw & ((1ULL << l.fraction) - 1);
  const std::uint64_t r = random();
  std::uint64_t exponent = static_cast<std::uint64_t>(l.bias);
  if (kind == 0) exponent -= r & 1;
  if (kind == 1) exponent = exponent - 6 + r % 13;
  if (kind == 3) return (r & 1) != 0 ? sign : sign | fraction;
  if (kind == 4) exponent = (r & 1) != 0 ? 1 + (r >> 1 & 1) : (l.infinity >> l.fraction) - 1 - (r >> 1 & 1);
  if (kind == 5 && (r & 7) == 0) return sign | l.infinity;
  if (kind == 5 && (r & 7) == 1) return l.canonical & (ieee::sign_bit(format) - 1);
  return sign | exponent << l.fraction | fraction;
}

void compare(const DotShape& shape) {
  const Ieee dom;
  std::mt19937_64 random(shape.k + 100 * static_cast<unsigned>(shape.a) + static_cast<unsigned>(shape.acc));
  std::vector<Real> a(shape.m * shape.k), b(shape.k * shape.n), c(shape.m * shape.n), d(c.size());
  for (int trial = 0; trial < 60; ++trial) {
    const int kind = trial % 6;
    for (Real& x : a) x = draw(random, shape.a, (random() & 7) == 0 ? static_cast<int>(random() % 5) : kind);
    for (Real& x : b) x = draw(random, shape.b, kind);
    for (Real& x : c) x = draw(random, shape.acc, kind);
    if (kind == 5) {  // special values are rare, or nothing else would be seen
      for (Real& x : a) x = (random() & 31) == 0 ? x : draw(random, shape.a, 1);
      for (Real& x : b) x = (random() & 31) == 0 ? x : draw(random, shape.b, 1);
    }
    dom.dot(shape, a.data(), b.data(), c.data(), d.data());
    for (unsigned m = 0; m < shape.m; ++m) {
      for (unsigned n = 0; n < shape.n; ++n) {
        const std::vector<Real> row(a.begin() + m * shape.k, a.begin() + (m + 1) * shape.k);
        std::vector<Real> column;
        for (unsigned k = 0; k < shape.k; ++k) column.push_back(b[k * shape.n + n]);
        ASSERT_EQ(d[m * shape.n + n], expected(shape, row, column, c[m * shape.n + n]))
            << "kind " << kind << " row " << m << " column " << n;
      }
    }
    // Cancelling accumulators, and the result over the accumulator.
    std::vector<Real> e = d;
    for (Real& x : e) x ^= ieee::sign_bit(shape.acc);
    const std::vector<Real> before = e;
    dom.dot(shape, a.data(), b.data(), e.data(), e.data());
    const std::vector<Real> row(a.begin(), a.begin() + shape.k);
    std::vector<Real> column;
    for (unsigned k = 0; k < shape.k; ++k) column.push_back(b[k * shape.n]);
    ASSERT_EQ(e[0], expected(shape, row, column, before[0])) << "cancelling, kind " << kind;
  }
}

TEST(Dot, SixteenBitProductsMatchTheTensorCoreModel) {
  for (const DotKind kind : {DotKind::MmaSync, DotKind::Wgmma}) {
    for (const unsigned k : {8U, 16U}) {
      compare({16, 8, k, Format::F16, Format::F16, Format::F32, kind});
      compare({16, 8, k, Format::F16, Format::F16, Format::F16, kind});
      compare({16, 8, k, Format::BF16, Format::BF16, Format::F32, kind});
    }
  }
}
TEST(Dot, Tf32ProductsMatchTheTensorCoreModel) {
  for (const unsigned k : {4U, 8U}) compare({16, 8, k, Format::Tf32, Format::Tf32, Format::F32, DotKind::MmaSync});
}
TEST(Dot, Fp8ProductsMatchTheirExpansionAndTheNativeUnit) {
  for (const Format a : {Format::E4M3, Format::E5M2}) {
    for (const Format b : {Format::E4M3, Format::E5M2}) {
      for (const Format acc : {Format::F32, Format::F16}) {
        compare({16, 8, 16, a, b, acc, DotKind::MmaSync});
        compare({16, 8, 32, a, b, acc, DotKind::MmaSync});
        compare({64, 16, 32, a, b, acc, DotKind::Wgmma});
      }
    }
  }
}
// tcgen05 keeps as many bits of 8-bit floats as of the others.
TEST(Dot, FusedProductsOf8BitFloatsKeepAllBits) {
  std::mt19937_64 random(5);
  for (const Format acc : {Format::F32, Format::F16}) {
    const DotShape s{16, 8, 32, Format::E4M3, Format::E5M2, acc, DotKind::Wgmma};
    std::vector<Real> a(s.m * s.k), b(s.k * s.n), c(s.m * s.n), d(c.size());
    for (int kind = 0; kind < 6; ++kind) {
      for (Real& x : a) x = draw(random, s.a, kind);
      for (Real& x : b) x = draw(random, s.b, kind == 5 ? 1 : kind);
      for (Real& x : c) x = draw(random, s.acc, kind);
      ieee::fused_dot(s, a.data(), b.data(), c.data(), d.data());
      for (unsigned i = 0; i < d.size(); ++i) {
        const std::vector<Real> row(a.begin() + i / s.n * s.k, a.begin() + (i / s.n + 1) * s.k);
        std::vector<Real> column;
        for (unsigned k = 0; k < s.k; ++k) column.push_back(b[k * s.n + i % s.n]);
        ASSERT_EQ(d[i], step(s.a, s.b, s.acc, row, column, c[i], 25, 23)) << "kind " << kind;
      }
    }
  }
}

TEST(Dot, TilesThatAreNoMultipleOfTheBlockingAreWhole) {
  compare({24, 12, 5, Format::F16, Format::F16, Format::F32, DotKind::MmaSync});
}

TEST(Dot, AlignmentKeepsTwentyFiveBits) {
  const Ieee dom;
  // big + small - big: small = big * 2^-n survives up to n = 25.
  for (int n = 20; n <= 30; ++n) {
    const Real one = 0x3F80, minus = 0xBF80, small = ieee::bits_of(std::ldexp(1.0F, -n)) >> 16;
    const Real a[4] = {one, one, minus, 0}, b[4] = {one, small, one, 0}, zero = 0;
    Real out = 1;
    dom.dot({1, 1, 4, Format::BF16, Format::BF16, Format::F32, DotKind::MmaSync}, a, b, &zero, &out);
    EXPECT_EQ(ieee::f32(out), n <= 25 ? std::ldexp(1.0F, -n) : 0.0F) << n;
  }
}

TEST(Dot, F64IsAChainOfFusedSteps) {
  const Ieee dom;
  std::mt19937_64 random(1);
  const auto number = [&] { return std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -63); };
  std::vector<Real> a(32), b(32), c(64), d(64);
  for (Real& x : a) x = ieee::bits_of(number());
  for (Real& x : b) x = ieee::bits_of(number());
  for (Real& x : c) x = ieee::bits_of(number());
  dom.dot({8, 8, 4, Format::F64, Format::F64, Format::F64, DotKind::MmaSync}, a.data(), b.data(), c.data(), d.data());
  for (unsigned m = 0; m < 8; ++m) {
    for (unsigned n = 0; n < 8; ++n) {
      double sum = ieee::f64(c[m * 8 + n]);
      for (unsigned k = 0; k < 4; ++k) sum = std::fma(ieee::f64(a[m * 4 + k]), ieee::f64(b[k * 8 + n]), sum);
      ASSERT_EQ(ieee::f64(d[m * 8 + n]), sum);
    }
  }
}

TEST(Dot, TritonDotIsCloseToTheExactProduct) {
  const Ieee dom;
  std::mt19937_64 random(2);
  const unsigned m = 5, n = 19, k = 37;
  for (const Format format : {Format::F16, Format::BF16, Format::F32, Format::E5M2}) {
    std::vector<Real> a(m * k), b(k * n), c(m * n), d(m * n);
    for (Real& x : a) x = draw(random, format, 1);
    for (Real& x : b) x = draw(random, format, 1);
    for (Real& x : c) x = draw(random, Format::F32, 1);
    dom.dot({m, n, k, format, format, Format::F32, DotKind::TritonDot}, a.data(), b.data(), c.data(), d.data());
    for (unsigned i = 0; i < m; ++i) {
      for (unsigned j = 0; j < n; ++j) {
        double sum = ieee::f32(c[i * n + j]), size = std::fabs(sum);
        for (unsigned l = 0; l < k; ++l) {
          const double term = ieee::to_double(format, a[i * k + l]) * ieee::to_double(format, b[l * n + j]);
          sum += term, size += std::fabs(term);
        }
        ASSERT_NEAR(ieee::f32(d[i * n + j]), sum, size * k * 0x1p-24);
      }
    }
  }
}

TEST(Sum, IsPairwiseAndEmptySumsAreZero) {
  const Ieee dom;
  EXPECT_EQ(dom.sum(Format::F32, nullptr, 0), 0U);
  std::vector<Real> values(1 << 20, ieee::bits_of(0.1F));
  const double exact = static_cast<double>(0.1F) * static_cast<double>(values.size());
  EXPECT_NEAR(ieee::f32(dom.sum(Format::F32, values.data(), values.size())), exact, exact * 0x1p-23);
}

}  // namespace
}  // namespace plumb::domain
