// SPDX-License-Identifier: Apache-2.0
// Bits of the number formats, and the two ways in which an operation is rounded: `round_small`, plain double arithmetic
// that vectorises (round to nearest even), and `Exact`, integers wide enough for any operation in any rounding mode.
#pragma once

#include <bit>
#include <cstdint>

#include "domain/format.h"

namespace plumb::domain::ieee {

// Numbers of one format: p significant bits (the hidden one counted), smallest normal exponent, layout.
struct Layout {
  int width = 0;     // bits in storage
  int fraction = 0;  // fraction bits in storage
  int bias = 0;
  std::uint64_t infinity = 0;   // the bits of +inf; e4m3 has none: the bits of its NaN
  std::uint64_t largest = 0;    // the largest finite value
  std::uint64_t canonical = 0;  // the NaN that operations return
};

constexpr Layout layout(Format format) {
  switch (format) {
    case Format::F16:
      return {16, 10, 15, 0x7C00, 0x7BFF, 0x7FFF};
    case Format::BF16:
      return {16, 7, 127, 0x7F80, 0x7F7F, 0x7FFF};
    case Format::Tf32:
      return {32, 23, 127, 0x7F800000, 0x7F7FE000, 0x7FFFE000};
    case Format::F32:
      return {32, 23, 127, 0x7F800000, 0x7F7FFFFF, 0x7FFFFFFF};
    case Format::F64:
      return {64, 52, 1023, 0x7FF0000000000000, 0x7FEFFFFFFFFFFFFF, 0xFFF8000000000000};
    case Format::E4M3:
      return {8, 3, 7, 0x7F, 0x7E, 0x7F};
    case Format::E5M2:
      return {8, 2, 15, 0x7C, 0x7B, 0x7F};
  }
  return {};
}

constexpr std::uint64_t sign_bit(Format format) { return 1ULL << (layout(format).width - 1); }
constexpr std::uint64_t magnitude(Format format, std::uint64_t bits) { return bits & (sign_bit(format) - 1); }
constexpr bool is_nan(Format format, std::uint64_t bits) {
  if (format == Format::E4M3) return magnitude(format, bits) == 0x7F;
  return magnitude(format, bits) > layout(format).infinity;
}
constexpr bool is_infinite(Format format, std::uint64_t bits) {
  return format != Format::E4M3 && magnitude(format, bits) == layout(format).infinity;
}
constexpr bool is_negative(Format format, std::uint64_t bits) { return (bits & sign_bit(format)) != 0; }
// A subnormal becomes zero of its sign.
constexpr std::uint64_t flush(Format format, std::uint64_t bits) {
  return magnitude(format, bits) < 1ULL << layout(format).fraction ? bits & sign_bit(format) : bits;
}

// `ftz` looks at the result as rounded with an unbounded exponent: this is the smallest size of an exact result that
// still rounds (to nearest) to the smallest normal number. Measured on sm_90.
constexpr double smallest_kept(Format format) {
  return format == Format::F16 ? 0x1.ffep-15 : format == Format::BF16 ? 0x1.ffp-127 : 0x1.ffffffp-127;
}

inline float f32(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
inline double f64(std::uint64_t bits) { return std::bit_cast<double>(bits); }
inline std::uint64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }
inline std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

// Exact; a NaN stays a NaN.
inline float float_from_f16(std::uint64_t bits) {
  const std::uint32_t magnitude_bits = (bits & 0x7FFF) << 13;
  // 2^112 moves the exponent to f32's bias, subnormals included.
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude_bits) * 0x1p112F);
  const std::uint32_t special = magnitude_bits | 0x7F800000;
  const std::uint32_t value = magnitude_bits >= 0x7C00U << 13 ? special : finite;
  return std::bit_cast<float>(static_cast<std::uint32_t>(value | (bits & 0x8000) << 16));
}
inline float float_from_bf16(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
}
inline float float_from_fp8(Format format, std::uint64_t bits) {
  if (format == Format::E5M2) return float_from_f16(bits << 8);  // e5m2 is f16 without its low byte
  const auto magnitude_bits = static_cast<std::uint32_t>(bits & 0x7F);
  const std::uint32_t finite = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude_bits << 20) * 0x1p120F);
  const std::uint32_t value = magnitude_bits == 0x7F ? 0x7FC00000 : finite;
  return std::bit_cast<float>(static_cast<std::uint32_t>(value | (bits & 0x80) << 24));
}

// The value as a double, exact for every format (low 13 bits of tf32 dropped).
inline double to_double(Format format, std::uint64_t bits) {
  switch (format) {
    case Format::F16:
      return float_from_f16(bits);
    case Format::BF16:
      return float_from_bf16(bits);
    case Format::Tf32:
      return f32(bits & 0xFFFFE000);
    case Format::F32:
      return f32(bits);
    case Format::F64:
      return f64(bits);
    case Format::E4M3:
    case Format::E5M2:
      return float_from_fp8(format, bits);
  }
  return 0;
}

// Round to nearest even of a double to f16 or bf16, overflow to infinity; `value` is not a NaN.
// Adding and subtracting 1.5 * 2^k rounds at the last kept bit, which for subnormals is the format's smallest step.
template <Format format>
inline std::uint64_t round_small(double value) {
  static_assert(format == Format::F16 || format == Format::BF16);
  constexpr int kFraction = layout(format).fraction;
  constexpr std::uint64_t kSmallest = static_cast<std::uint64_t>(1023 + 1 - layout(format).bias) << 52;
  constexpr double kTooLarge = format == Format::F16 ? 65520.0 : 0x1.FFp127;  // half a step above the largest
  const std::uint64_t exponent = bits_of(value) & 0x7FF0000000000000;
  const std::uint64_t step = exponent > kSmallest ? exponent : kSmallest;
  const double magic = f64((step + (static_cast<std::uint64_t>(52 - kFraction) << 52)) | 0x0008000000000000);
  const double rounded = (value + magic) - magic;
  const double limited = value >= kTooLarge || value <= -kTooLarge ? 0.0 : rounded;
  const std::uint64_t sign = bits_of(value) >> 48 & 0x8000;
  std::uint64_t result = 0;
  if constexpr (format == Format::F16) {
    result = (bits_of(static_cast<float>(limited) * 0x1p-112F) & 0x7FFFFFFF) >> 13;
  } else {
    result = (bits_of(static_cast<float>(limited)) & 0x7FFFFFFF) >> 16;
  }
  return sign | (value >= kTooLarge || value <= -kTooLarge ? layout(format).infinity : result);
}

// a + b rounded to odd: of the two doubles that enclose an inexact sum, the one with the odd significand. A second
// rounding to 51 bits or fewer, in any mode, then equals one rounding of the exact sum. No step may underflow.
inline double odd_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  const std::uint64_t bits = bits_of(sum);
  const bool is_inexact = error > 0 || error < 0;  // false when the sum is not finite: error is a NaN then
  const bool is_away = (error > 0) == (sum > 0);
  const std::uint64_t moved = is_away ? bits + 1 : bits - 1;
  return f64(is_inexact && (bits & 1) == 0 ? moved : bits);
}

// 2^x for |x| <= 200, saturating beyond; a NaN stays one. Relative error below 2^-50: rounding to f32 is correct but
// for arguments whose power lies within that of a tie.
inline double exp2_near(double x) {
  constexpr double kCoefficients[] = {// ln(2)^n / n! from n = 12 down
                                      0x1.c3bd650fc2986p-36,
                                      0x1.e8cac7351bb25p-32,
                                      0x1.e4cf5158b8ecap-28,
                                      0x1.b5253d395e7c4p-24,
                                      0x1.62c0223a5c824p-20,
                                      0x1.ffcbfc588b0c7p-17,
                                      0x1.430912f86c787p-13,
                                      0x1.5d87fe78a6731p-10,
                                      0x1.3b2ab6fba4e77p-7,
                                      0x1.c6b08d704a0c0p-5,
                                      0x1.ebfbdff82c58fp-3,
                                      0x1.62e42fefa39efp-1,
                                      1.0};
  constexpr double kRounder = 0x1.8p52;  // adding it leaves the nearest integer in the low bits
  x = x > 200.0 ? 200.0 : x;
  x = x < -200.0 ? -200.0 : x;
  const double shifted = x + kRounder;
  const double rest = x - (shifted - kRounder);
  double power = kCoefficients[0];
  for (int i = 1; i < 13; ++i) power = power * rest + kCoefficients[i];
  const double scaled = f64(bits_of(power) + (bits_of(shifted) << 52));
  return x == x ? scaled : x;
}

// A finite number sign * significand * 2^exponent; `sticky`: a positive amount below one significand unit was dropped.
struct Exact {
  bool is_negative = false;
  bool sticky = false;
  int exponent = 0;
  unsigned __int128 significand = 0;
};

Exact exact(Format format, std::uint64_t bits);  // of a finite value
// One rounding. Obeys round, ftz, sat, relu and satfinite of the mode; a zero keeps the sign that `value` has.
std::uint64_t round_exact(Format format, const Exact& value, FloatMode mode);

// Result modifiers of a value that is already in the format: ftz, sat, relu.
template <Format format>
inline std::uint64_t finish(std::uint64_t bits, FloatMode mode) {
  constexpr std::uint64_t kCanonical = layout(format).canonical;
  const bool nan = is_nan(format, bits);
  if (mode.ftz) bits = flush(format, bits);
  if constexpr (format != Format::F64) bits = nan ? kCanonical : bits;
  if (mode.sat) {
    constexpr std::uint64_t kOne = static_cast<std::uint64_t>(layout(format).bias) << layout(format).fraction;
    bits = nan || is_negative(format, bits) ? 0 : bits > kOne ? kOne : bits;
  }
  if (mode.relu) bits = !nan && is_negative(format, bits) ? 0 : bits;
  return bits;
}

// Any format, any mode, any operands; the slow and complete versions.
std::uint64_t add(Format format, std::uint64_t a, std::uint64_t b, FloatMode mode);
std::uint64_t sub(Format format, std::uint64_t a, std::uint64_t b, FloatMode mode);
std::uint64_t mul(Format format, std::uint64_t a, std::uint64_t b, FloatMode mode);
std::uint64_t fma(Format format, std::uint64_t a, std::uint64_t b, std::uint64_t c, FloatMode mode);
std::uint64_t div(Format format, std::uint64_t a, std::uint64_t b, FloatMode mode);
std::uint64_t sqrt(Format format, std::uint64_t a, FloatMode mode);
std::uint64_t convert(Format to, Format from, std::uint64_t bits, FloatMode mode);
std::uint64_t from_integer(Format format, bool is_negative, std::uint64_t magnitude, FloatMode mode);
std::uint64_t to_integer(Format format, std::uint64_t bits, unsigned width, bool is_signed, Round round);
std::uint64_t round_to_integral(Format format, std::uint64_t bits, Round round);
std::uint64_t min_max(Format format, std::uint64_t a, std::uint64_t b, bool is_max, FloatMode mode);

// One-argument functions, computed in double and rounded once.
enum class Function : std::uint8_t { Rcp, Rsqrt, SqrtApprox, Ex2, Lg2, Exp, Log, Sin, Cos, Tanh, Erf };
std::uint64_t apply(Function function, Format format, std::uint64_t bits, FloatMode mode);
std::uint64_t div_approx(Format format, std::uint64_t a, std::uint64_t b, FloatMode mode);

}  // namespace plumb::domain::ieee
