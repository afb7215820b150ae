// SPDX-License-Identifier: Apache-2.0
#include "domain/field/number.h"

#include <cmath>
#include <limits>

#include "domain/ieee/bits.h"

namespace plumb::domain::field {

double to_double(Format f, std::uint64_t bits) {
  if (f == Format::F32) return ieee::f32(bits);
  if (f == Format::F64) return ieee::f64(bits);
  if (f == Format::Tf32) return ieee::f32(bits & ~std::uint64_t{0x1fff});
  const double sign = ieee::is_negative(f, bits) ? -1 : 1;
  if (ieee::is_nan(f, bits)) return std::numeric_limits<double>::quiet_NaN();
  if (ieee::is_infinite(f, bits)) return sign * std::numeric_limits<double>::infinity();
  const ieee::Layout layout = ieee::layout(f);
  const std::uint64_t magnitude = ieee::magnitude(f, bits);
  const std::uint64_t fraction = magnitude & ((1ULL << layout.fraction) - 1);
  const auto exponent = static_cast<int>(magnitude >> layout.fraction);
  const std::uint64_t significand = exponent == 0 ? fraction : fraction | 1ULL << layout.fraction;
  const int power = (exponent == 0 ? 1 : exponent) - layout.bias - layout.fraction;
  return sign * std::ldexp(static_cast<double>(significand), power);
}

std::optional<RoundingClass> rounding_class(Format f) {
  switch (f) {
    case Format::F16:
      return RoundingClass::F16;
    case Format::BF16:
      return RoundingClass::BF16;
    case Format::Tf32:
      return RoundingClass::Tf32;
    case Format::F32:
      return RoundingClass::F32;
    case Format::E4M3:
    case Format::E5M2:
      return RoundingClass::Fp8;
    case Format::F64:
      break;
  }
  return std::nullopt;
}

}  // namespace plumb::domain::field
