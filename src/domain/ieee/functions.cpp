// SPDX-License-Identifier: Apache-2.0
// The one-argument functions: computed in double, rounded once, with the special cases that were measured on sm_90.
#include <cmath>
#include <limits>

#include "domain/ieee/bits.h"

namespace plumb::domain::ieee {
namespace {

double value_of(Function function, double x) {
  switch (function) {
    case Function::Rcp:
      return 1.0 / x;
    case Function::Rsqrt:
      return 1.0 / std::sqrt(x);
    case Function::SqrtApprox:
      return std::sqrt(x);
    case Function::Ex2:
      return std::exp2(x);
    case Function::Lg2:
      return std::log2(x);
    case Function::Exp:
      return std::exp(x);
    case Function::Log:
      return std::log(x);
    case Function::Sin:
      return std::sin(x);
    case Function::Cos:
      return std::cos(x);
    case Function::Tanh:
      return std::tanh(x);
    case Function::Erf:
      return std::erf(x);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::uint64_t rounded(Format format, double value, FloatMode mode) {
  if (value != value) return mode.sat ? 0 : layout(format).canonical;
  if (mode.ftz && format != Format::F64 && std::fabs(value) < smallest_kept(format)) value = std::copysign(0.0, value);
  switch (format) {
    case Format::F32:
      return finish<Format::F32>(bits_of(static_cast<float>(value)), mode);
    case Format::F16:
      return finish<Format::F16>(round_small<Format::F16>(value), mode);
    case Format::BF16:
      return finish<Format::BF16>(round_small<Format::BF16>(value), mode);
    default:
      return convert(format, Format::F64, bits_of(value), mode);
  }
}

// f64 in and out. The approximate `ftz` forms look at the upper word of the operand only and leave a zero lower word.
std::uint64_t apply64(Function function, std::uint64_t bits, FloatMode mode) {
  const bool is_upper_only = mode.approximate && mode.ftz;
  if (is_upper_only) {
    bits = flush(Format::F64, bits & 0xFFFFFFFF00000000);
    if (is_nan(Format::F64, bits)) return 0x7FFFFFFF00000000;
  }
  if (is_nan(Format::F64, bits)) return bits | 0x0008000000000000;
  const double result = value_of(function, f64(bits));
  if (result != result) return is_upper_only ? 0x7FFFFFFF00000000 : layout(Format::F64).canonical;
  return is_upper_only ? flush(Format::F64, bits_of(result) & 0xFFFFFFFF00000000) : bits_of(result);
}

}  // namespace

std::uint64_t apply(Function function, Format format, std::uint64_t bits, FloatMode mode) {
  if (format == Format::F64) return apply64(function, bits, mode);
  if (mode.ftz) bits = flush(format, bits);
  if (function == Function::Lg2 && format == Format::F32 && mode.approximate && bits == 0x00800000) return 0xC2FBFFFF;
  if (function == Function::Sin && format == Format::F32 && mode.approximate) bits = flush(format, bits);
  const double value = value_of(function, to_double(format, bits));
  if (function == Function::Ex2 && format == Format::F16 && mode.approximate && value == value) {
    mode.round = Round::Rz;
    return value > 65535 ? layout(format).infinity : convert(format, Format::F64, bits_of(value), mode);
  }
  return rounded(format, value, mode);
}

std::uint64_t div_approx(Format format, std::uint64_t a, std::uint64_t b, FloatMode mode) {
  if (format == Format::F64) return div(format, a, b, mode);
  if (mode.ftz) a = flush(format, a), b = flush(format, b);
  return rounded(format, to_double(format, a) / to_double(format, b), mode);
}

}  // namespace plumb::domain::ieee
