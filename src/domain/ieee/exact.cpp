// SPDX-License-Identifier: Apache-2.0
// Arithmetic of any format in any rounding mode, on integers: operands become exact numbers, and one function rounds.
#include <cmath>
#include <utility>

#include "domain/ieee/bits.h"

namespace plumb::domain::ieee {
namespace {

using u128 = unsigned __int128;

constexpr std::uint64_t kQuiet64 = 0x0008000000000000;

int bit_length(u128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  if (high != 0) return 128 - std::countl_zero(high);
  return 64 - std::countl_zero(static_cast<std::uint64_t>(value));
}

// Significant fraction bits: tf32 keeps 10 of the 23 that its storage has.
int kept_fraction(Format format) { return format == Format::Tf32 ? 10 : layout(format).fraction; }

std::uint64_t finish_any(Format format, std::uint64_t bits, FloatMode mode) {
  switch (format) {
    case Format::F16:
      return finish<Format::F16>(bits, mode);
    case Format::BF16:
      return finish<Format::BF16>(bits, mode);
    case Format::Tf32:
      return finish<Format::Tf32>(bits, mode);
    case Format::F32:
      return finish<Format::F32>(bits, mode);
    case Format::F64:
      return finish<Format::F64>(bits, mode);
    case Format::E4M3:
      return finish<Format::E4M3>(bits, mode);
    case Format::E5M2:
      return finish<Format::E5M2>(bits, mode);
  }
  return bits;
}

std::uint64_t nan_result(Format format, FloatMode mode) { return mode.sat ? 0 : layout(format).canonical; }

std::uint64_t infinity_result(Format format, bool is_negative, FloatMode mode) {
  const Layout l = layout(format);
  if (format == Format::E4M3 && !mode.satfinite) return nan_result(format, mode);
  const std::uint64_t bits = mode.satfinite ? l.largest : l.infinity;
  return finish_any(format, is_negative ? bits | sign_bit(format) : bits, mode);
}

std::uint64_t overflow_result(Format format, bool is_negative, FloatMode mode) {
  const bool is_up =
      mode.round == Round::Rn || mode.round == Round::Rna || mode.round == (is_negative ? Round::Rm : Round::Rp);
  if (is_up) return infinity_result(format, is_negative, mode);
  const std::uint64_t bits = layout(format).largest;
  return finish_any(format, is_negative ? bits | sign_bit(format) : bits, mode);
}

// Whether a number with this remainder (compared with half a unit: -1, 0, 1) moves away from zero.
bool rounds_up(Round round, bool is_negative, bool is_odd, bool is_inexact, int against_half) {
  switch (round) {
    case Round::Rn:
      return against_half > 0 || (against_half == 0 && is_odd);
    case Round::Rna:
      return against_half >= 0;
    case Round::Rz:
      return false;
    case Round::Rm:
      return is_inexact && is_negative;
    case Round::Rp:
      return is_inexact && !is_negative;
  }
  return false;
}

// value >> shift with one rounding of what falls out.
u128 shift_rounded(u128 value, int shift, bool sticky, Round round, bool is_negative) {
  u128 kept = 0, remainder = value;
  int against_half = -1;
  if (shift <= 127) {
    kept = value >> shift;
    remainder = value - (kept << shift);
    const u128 half = static_cast<u128>(1) << (shift - 1);
    against_half = remainder > half || (remainder == half && sticky) ? 1 : remainder == half ? 0 : -1;
  }
  const bool is_inexact = remainder != 0 || sticky;
  if (!is_inexact) return kept;
  return kept + (rounds_up(round, is_negative, (kept & 1) != 0, is_inexact, against_half) ? 1 : 0);
}

Exact shifted_to_top(Exact value) {
  const int shift = 125 - bit_length(value.significand);
  value.significand <<= shift;
  value.exponent -= shift;
  return value;
}

// The exact sum, or the sum cut to 124 bits with `sticky`. Operands have at most 106 bits and no `sticky`.
Exact sum(Exact a, Exact b, Round round) {
  if (a.significand == 0 && b.significand == 0) {
    a.is_negative = a.is_negative == b.is_negative ? a.is_negative : round == Round::Rm;
    return a;
  }
  if (a.significand == 0) return b;
  if (b.significand == 0) return a;
  a = shifted_to_top(a), b = shifted_to_top(b);
  if (a.exponent < b.exponent || (a.exponent == b.exponent && a.significand < b.significand)) std::swap(a, b);
  const int distance = a.exponent - b.exponent;
  const u128 small = distance > 127 ? 0 : b.significand >> distance;
  const bool is_cut = distance > 127 || (small << distance) != b.significand;
  Exact result = a;
  result.sticky = is_cut;
  if (a.is_negative == b.is_negative) {
    result.significand = a.significand + small;
  } else {
    result.significand = a.significand - small - (is_cut ? 1 : 0);
    if (result.significand == 0 && !is_cut) result.is_negative = round == Round::Rm;
  }
  return result;
}

Exact product(const Exact& a, const Exact& b) {
  return Exact{.is_negative = a.is_negative != b.is_negative,
               .exponent = a.exponent + b.exponent,
               .significand = a.significand * b.significand};
}

std::uint64_t flush_input(Format format, std::uint64_t bits, FloatMode mode) {
  return mode.ftz ? flush(format, bits) : bits;
}

// The f64 result of an operation with a NaN among its operands, in the order in which the hardware looks.
std::uint64_t first_nan64(std::uint64_t first, std::uint64_t second, std::uint64_t third) {
  for (const std::uint64_t bits : {first, second, third}) {
    if (is_nan(Format::F64, bits)) return bits | kQuiet64;
  }
  return layout(Format::F64).canonical;
}

std::uint64_t nan_of(Format format, FloatMode mode, std::uint64_t first, std::uint64_t second, std::uint64_t third) {
  return format == Format::F64 ? first_nan64(first, second, third) : nan_result(format, mode);
}

}  // namespace

Exact exact(Format format, std::uint64_t bits) {
  const Layout l = layout(format);
  const std::uint64_t value = magnitude(format, bits);
  std::uint64_t fraction = value & ((1ULL << l.fraction) - 1);
  if (format == Format::Tf32) fraction &= ~0x1FFFULL;
  const int exponent = static_cast<int>(value >> l.fraction);
  Exact result;
  result.is_negative = is_negative(format, bits);
  result.significand = exponent == 0 ? fraction : fraction | 1ULL << l.fraction;
  result.exponent = (exponent == 0 ? 1 : exponent) - l.bias - l.fraction;
  return result;
}

std::uint64_t round_exact(Format format, const Exact& value, FloatMode mode) {
  const Layout l = layout(format);
  const int fraction = kept_fraction(format);
  const std::uint64_t sign = value.is_negative ? sign_bit(format) : 0;
  if (value.significand == 0 && !value.sticky) return finish_any(format, sign, mode);
  const int smallest = 1 - l.bias;
  int exponent = value.exponent + bit_length(value.significand) - 1;
  if (mode.ftz && exponent < smallest) {  // zero unless the result, rounded with an unbounded exponent, is normal
    const int shift = exponent - fraction - value.exponent;
    const bool is_carried =
        shift > 0 &&
        (shift_rounded(value.significand, shift, value.sticky, mode.round, value.is_negative) >> (fraction + 1)) != 0;
    return finish_any(format, exponent + 1 == smallest && is_carried ? sign | 1ULL << l.fraction : sign, mode);
  }
  if (value.significand == 0 || exponent < smallest) exponent = smallest;
  if (exponent > l.bias + 1) return overflow_result(format, value.is_negative, mode);
  const int shift = exponent - fraction - value.exponent;
  const u128 kept = shift <= 0 ? value.significand << -shift
                               : shift_rounded(value.significand, shift, value.sticky, mode.round, value.is_negative);
  // The hidden bit of a normal number adds the 1 that its exponent field is above that of a subnormal.
  std::uint64_t bits = (static_cast<std::uint64_t>(exponent - smallest) << fraction) + static_cast<std::uint64_t>(kept);
  bits <<= l.fraction - fraction;
  if (bits > l.largest) return overflow_result(format, value.is_negative, mode);
  return finish_any(format, sign | bits, mode);
}

std::uint64_t add(Format format, std::uint64_t a, std::uint64_t b, FloatMode mode) {
  a = flush_input(format, a, mode), b = flush_input(format, b, mode);
  if (is_nan(format, a) || is_nan(format, b)) return nan_of(format, mode, b, a, a);
  const bool a_infinite = is_infinite(format, a), b_infinite = is_infinite(format, b);
  if (a_infinite && b_infinite && is_negative(format, a) != is_negative(format, b)) return nan_result(format, mode);
  if (a_infinite || b_infinite) return infinity_result(format, is_negative(format, a_infinite ? a : b), mode);
  if (format == Format::F64 && mode.round == Round::Rn) return finish<Format::F64>(bits_of(f64(a) + f64(b)), mode);
  return round_exact(format, sum(exact(format, a), exact(format, b), mode.round), mode);
}

std::uint64_t sub(Format format, std::uint64_t a, std::uint64_t b, FloatMode mode) {
  if (is_nan(format, b)) return nan_of(format, mode, b, a, a);  // keeps the sign of b's NaN
  return add(format, a, b ^ sign_bit(format), mode);
}

std::uint64_t mul(Format format, std::uint64_t a, std::uint64_t b, FloatMode mode) {
  a = flush_input(format, a, mode), b = flush_input(format, b, mode);
  if (is_nan(format, a) || is_nan(format, b)) return nan_of(format, mode, b, a, a);
  if (is_infinite(format, a) || is_infinite(format, b)) {
    if (magnitude(format, a) == 0 || magnitude(format, b) == 0) return nan_result(format, mode);
    return infinity_result(format, is_negative(format, a) != is_negative(format, b), mode);
  }
  if (format == Format::F64 && mode.round == Round::Rn) return finish<Format::F64>(bits_of(f64(a) * f64(b)), mode);
  return round_exact(format, product(exact(format, a), exact(format, b)), mode);
}

std::uint64_t fma(Format format, std::uint64_t a, std::uint64_t b, std::uint64_t c, FloatMode mode) {
  a = flush_input(format, a, mode), b = flush_input(format, b, mode), c = flush_input(format, c, mode);
  if (is_nan(format, a) || is_nan(format, b) || is_nan(format, c)) return nan_of(format, mode, b, c, a);
  const bool is_product_negative = is_negative(format, a) != is_negative(format, b);
  if (is_infinite(format, a) || is_infinite(format, b)) {
    if (magnitude(format, a) == 0 || magnitude(format, b) == 0) return nan_result(format, mode);
    if (is_infinite(format, c) && is_negative(format, c) != is_product_negative) return nan_result(format, mode);
    return infinity_result(format, is_product_negative, mode);
  }
  if (is_infinite(format, c)) return infinity_result(format, is_negative(format, c), mode);
  if (format == Format::F64 && mode.round == Round::Rn) {
    return finish<Format::F64>(bits_of(std::fma(f64(a), f64(b), f64(c))), mode);
  }
  return round_exact(format, sum(product(exact(format, a), exact(format, b)), exact(format, c), mode.round), mode);
}

std::uint64_t div(Format format, std::uint64_t a, std::uint64_t b, FloatMode mode) {
  a = flush_input(format, a, mode), b = flush_input(format, b, mode);
  if (is_nan(format, a) || is_nan(format, b)) return nan_of(format, mode, a, b, b);
  const bool is_result_negative = is_negative(format, a) != is_negative(format, b);
  const bool a_infinite = is_infinite(format, a), b_infinite = is_infinite(format, b);
  const bool a_zero = magnitude(format, a) == 0, b_zero = magnitude(format, b) == 0;
  if ((a_infinite && b_infinite) || (a_zero && b_zero)) return nan_result(format, mode);
  if (a_infinite || b_zero) return infinity_result(format, is_result_negative, mode);
  const Exact x = exact(format, a), y = exact(format, b);
  Exact quotient{.is_negative = is_result_negative};
  if (!a_zero && !b_infinite) {
    const int x_shift = 124 - bit_length(x.significand), y_shift = 53 - bit_length(y.significand);
    const u128 numerator = x.significand << x_shift, denominator = y.significand << y_shift;
    quotient.significand = numerator / denominator;
    quotient.sticky = numerator % denominator != 0;
    quotient.exponent = x.exponent - x_shift - (y.exponent - y_shift);
  }
  return round_exact(format, quotient, mode);
}

std::uint64_t sqrt(Format format, std::uint64_t a, FloatMode mode) {
  a = flush_input(format, a, mode);
  if (is_nan(format, a)) return nan_of(format, mode, a, a, a);
  if (magnitude(format, a) == 0) return finish_any(format, a, mode);
  if (is_negative(format, a)) return nan_result(format, mode);
  if (is_infinite(format, a)) return infinity_result(format, false, mode);
  Exact x = exact(format, a);
  int shift = 120 - bit_length(x.significand);
  if (((x.exponent - shift) & 1) != 0) ++shift;
  const u128 radicand = x.significand << shift;
  auto root = static_cast<u128>(std::sqrt(static_cast<double>(radicand)));  // within a few units; made exact below
  while (root * root > radicand) --root;
  while ((root + 1) * (root + 1) <= radicand) ++root;
  const Exact result{.sticky = root * root != radicand, .exponent = (x.exponent - shift) / 2, .significand = root};
  return round_exact(format, result, mode);
}

std::uint64_t from_integer(Format format, bool is_negative, std::uint64_t magnitude_value, FloatMode mode) {
  if (magnitude_value == 0) return 0;
  return round_exact(format, Exact{.is_negative = is_negative, .significand = magnitude_value}, mode);
}

std::uint64_t to_integer(Format format, std::uint64_t bits, unsigned width, bool is_signed, Round round) {
  const std::uint64_t top = 1ULL << (width - 1);
  const auto extended = [&](std::uint64_t value) {  // from `width` bits
    if (width == 64) return value;
    const std::uint64_t low = value & ((top << 1) - 1);
    return is_signed && (low & top) != 0 ? low | ~((top << 1) - 1) : low;
  };
  if (is_nan(format, bits)) return width == 64 || format == Format::F64 ? extended(top) : 0;
  const bool is_below = is_negative(format, bits);
  const u128 limit = is_signed ? (is_below ? top : top - 1) : (is_below ? 0 : extended(~0ULL));
  u128 value = limit + 1;
  if (!is_infinite(format, bits)) {
    const Exact x = exact(format, bits);
    if (x.exponent < 0) {
      value = shift_rounded(x.significand, -x.exponent, false, round, is_below);
    } else if (x.significand == 0) {
      value = 0;
    } else if (bit_length(x.significand) + x.exponent <= 65) {
      value = x.significand << x.exponent;
    }
  }
  const auto clamped = static_cast<std::uint64_t>(value > limit ? limit : value);
  return extended(is_below ? 0 - clamped : clamped);
}

std::uint64_t round_to_integral(Format format, std::uint64_t bits, Round round) {
  if (is_nan(format, bits)) return nan_of(format, {}, bits, bits, bits);
  if (is_infinite(format, bits)) return bits;
  Exact x = exact(format, bits);
  if (x.exponent >= 0 || x.significand == 0) return bits;
  x.significand = shift_rounded(x.significand, -x.exponent, false, round, x.is_negative);
  x.exponent = 0;
  return round_exact(format, x, {});
}

std::uint64_t min_max(Format format, std::uint64_t a, std::uint64_t b, bool is_max, FloatMode mode) {
  a = flush_input(format, a, mode), b = flush_input(format, b, mode);
  const bool a_nan = is_nan(format, a), b_nan = is_nan(format, b);
  if ((a_nan && b_nan) || (mode.nan && (a_nan || b_nan))) return nan_of(format, mode, b, a, a);
  if (a_nan) return finish_any(format, b, mode);
  if (b_nan) return finish_any(format, a, mode);
  const auto key = [&](std::uint64_t bits) {  // ordered as the numbers, -0 below +0
    const auto size = static_cast<std::int64_t>(magnitude(format, bits));
    return is_negative(format, bits) ? -size - 1 : size;
  };
  return finish_any(format, (key(a) > key(b)) == is_max ? a : b, mode);
}

namespace {

// What a NaN becomes when its format changes.
std::uint64_t convert_nan(Format to, Format from, std::uint64_t bits, FloatMode mode) {
  if (mode.sat) return 0;
  const bool from_half = from == Format::F16 || from == Format::BF16;
  if (to == Format::F64 && (from == Format::F32 || from_half)) {
    const int distance = 52 - layout(from).fraction;
    const std::uint64_t fraction = bits & ((1ULL << layout(from).fraction) - 1);
    const std::uint64_t sign = is_negative(from, bits) ? sign_bit(to) : 0;
    return sign | 0x7FF8000000000000 | fraction << distance;
  }
  if (from == Format::F64 && (to == Format::F32 || to == Format::F16 || to == Format::BF16)) {
    const int fraction = layout(to).fraction;
    const std::uint64_t payload = (bits & 0x000FFFFFFFFFFFFF) >> (52 - fraction);
    const std::uint64_t sign = is_negative(from, bits) ? sign_bit(to) : 0;
    return sign | layout(to).infinity | 1ULL << (fraction - 1) | payload;
  }
  if (to == Format::F32 && from == Format::BF16 && !mode.ftz) return bits << 16;
  if (to == Format::F32 && from == Format::Tf32) return bits;
  if (to == Format::Tf32 && mode.round == Round::Rna) return (bits & 0xFFFFE000) - (mode.satfinite ? 0x2000 : 0);
  return layout(to).canonical;
}

}  // namespace

std::uint64_t convert(Format to, Format from, std::uint64_t bits, FloatMode mode) {
  const bool is_copy = to == from && (to == Format::F32 || to == Format::F64);
  if (is_copy && !mode.ftz && !mode.sat && !mode.relu) return bits;
  if (from == Format::F32 && mode.ftz) {
    if (to != Format::F16) bits = flush(from, bits);  // to f16 a subnormal is rounded as it is: measured
    if (is_nan(from, bits)) bits = layout(from).canonical;
  }
  mode.ftz = mode.ftz && to == Format::F32;
  if (is_nan(from, bits)) return convert_nan(to, from, bits, mode);
  if (is_infinite(from, bits)) return infinity_result(to, is_negative(from, bits), mode);
  return round_exact(to, exact(from, bits), mode);
}

}  // namespace plumb::domain::ieee
