// SPDX-License-Identifier: Apache-2.0
// Matrix products. The tensor-core model (docs/numbers.md, "matrix products"): one step aligns the exact products and
// the accumulator to the largest exponent, drops what lies more than F bits below it, adds exactly and rounds once.
// Here a tile of 16 x 8 outputs is one vector loop: a product is exact in `Value`, scaling by a power of two and
// converting to an integer drops the right bits, and the sum of the integers is exact.
#include <algorithm>
#include <array>
#include <vector>

#include "domain/ieee/clones.h"
#include "domain/ieee/ieee.h"

namespace plumb::domain {
namespace {

using ieee::bits_of;
using ieee::f64;
using Real = Ieee::Real;

constexpr unsigned kRows = 16, kColumns = 8, kDepth = 64;  // of one tile; a step is at most kDepth deep
constexpr int kNone = -4096;                               // exponent of a zero, below all others

// An operand split into value and exponent of the unit bit; zeros, infinities and NaNs have value 0 and kNone.
struct Operand {
  alignas(64) float value[kDepth * kRows];
  alignas(64) std::int32_t exponent[kDepth * kRows];
  bool has_special = false;  // an infinity or a NaN
  bool is_narrow = true;     // products of two narrow operands, and their scaling, are exact in float
};

template <Format format>
[[gnu::always_inline]] inline void split(Real bits, float& value, std::int32_t& exponent, std::uint32_t& flags) {
  constexpr ieee::Layout l = ieee::layout(format);
  const auto low = static_cast<std::uint32_t>(format == Format::Tf32 ? bits & 0xFFFFE000 : bits);
  const std::uint32_t magnitude = low & static_cast<std::uint32_t>(ieee::sign_bit(format) - 1);
  const auto field = static_cast<std::int32_t>(magnitude >> l.fraction);
  const bool is_special = magnitude >= l.infinity;
  const bool is_absent = is_special || magnitude == 0;
  const std::int32_t unit = (field == 0 ? 1 : field) - l.bias;
  float exact = 0;
  if constexpr (format == Format::F16) exact = ieee::float_from_f16(low);
  else if constexpr (format == Format::BF16) exact = ieee::float_from_bf16(low);
  else if constexpr (format == Format::Tf32) exact = std::bit_cast<float>(low);
  else exact = ieee::float_from_fp8(format, low);
  value = is_absent ? 0.0F : exact;
  exponent = is_absent ? kNone : unit;
  flags |= (is_special ? 1U : 0U) | (!is_absent && (unit < -50 || unit > 62) ? 2U : 0U);
}

// rows x columns numbers of `in`, `stride` apart between rows, to rows of `width`; what is missing becomes zero.
template <Format format>
[[gnu::always_inline]] inline void split_rows(const Real* in, unsigned stride, unsigned rows, unsigned columns,
                                              unsigned width, Operand& out) {
  std::uint32_t flags = 0;
  for (unsigned row = 0; row < rows; ++row) {
    const Real* from = in + static_cast<std::size_t>(row) * stride;
    float* value = out.value + row * width;
    std::int32_t* exponent = out.exponent + row * width;
    for (unsigned column = 0; column < columns; ++column) {
      split<format>(from[column], value[column], exponent[column], flags);
    }
    for (unsigned column = columns; column < width; ++column) value[column] = 0, exponent[column] = kNone;
  }
  out.has_special = (flags & 1) != 0;
  out.is_narrow = (flags & 2) == 0;
}

PLUMB_CLONES void split_operand(Format format, const Real* in, unsigned stride, unsigned rows, unsigned columns,
                                unsigned width, Operand& out) {
  switch (format) {
    case Format::F16:
      return split_rows<Format::F16>(in, stride, rows, columns, width, out);
    case Format::BF16:
      return split_rows<Format::BF16>(in, stride, rows, columns, width, out);
    case Format::E4M3:
      return split_rows<Format::E4M3>(in, stride, rows, columns, width, out);
    case Format::E5M2:
      return split_rows<Format::E5M2>(in, stride, rows, columns, width, out);
    default:
      return split_rows<Format::Tf32>(in, stride, rows, columns, width, out);
  }
}

// How a step ends.
struct Ending {
  int aligned = 25;          // F: fraction bits kept below the largest exponent
  bool is_half = false;      // f16 result, to nearest even; otherwise f32, truncated
  int result_fraction = 23;  // fraction bits of an f32 result
};

// 2^exponent, for exponents of normal doubles.
[[gnu::always_inline]] inline double power(int exponent) {
  return f64(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

[[gnu::always_inline]] inline Real end_single(double total, int exponent, const Ending& ending) {
  // Truncate to the significant bits kept, then below the smallest normal number to steps of 2^-149.
  const std::uint64_t dropped = (1ULL << (52 - ending.result_fraction)) - 1;
  const double value = f64(bits_of(total) & ~dropped) * power(exponent - ending.aligned);
  const bool is_subnormal = value < 0x1p-126 && value > -0x1p-126;
  const double steps = is_subnormal ? value * 0x1p149 : 0.0;
  const double low = static_cast<double>(static_cast<std::int32_t>(steps)) * 0x1p-149;
  return bits_of(static_cast<float>(is_subnormal ? low : value));
}

// One row of a tile: out[j] = step(a[0..depth), b[0..depth)[j], c[j]).
template <class Value>
[[gnu::always_inline]] inline void step_row(const float* a, const std::int32_t* a_exponent, const Operand& b,
                                            unsigned depth, const double* c, const std::int32_t* c_exponent,
                                            const Ending& ending, Real* out) {
  constexpr int kLargestScale = sizeof(Value) == 4 ? 125 : 1000;
  std::int32_t top[kColumns];
  for (unsigned j = 0; j < kColumns; ++j) top[j] = c_exponent[j];
  for (unsigned k = 0; k < depth; ++k) {
    const std::int32_t* b_exponent = b.exponent + k * kColumns;
    for (unsigned j = 0; j < kColumns; ++j) top[j] = std::max(top[j], a_exponent[k] + b_exponent[j]);
  }
  Value scale[kColumns];
  double c_scaled[kColumns];
  for (unsigned j = 0; j < kColumns; ++j) {
    top[j] = std::max(top[j], -600);  // all terms are zero
    // Where the limit bites there are no products: those of `Value` have larger exponents.
    scale[j] = static_cast<Value>(power(std::min(ending.aligned - top[j], kLargestScale)));
    c_scaled[j] = c[j] * power(ending.aligned - top[j]);
  }
  std::int32_t even[kColumns] = {}, odd[kColumns] = {};  // |product| < 2^27: eight of them fit in each
  double total[kColumns];
  for (unsigned j = 0; j < kColumns; ++j) total[j] = static_cast<double>(static_cast<std::int32_t>(c_scaled[j]));
  for (unsigned first = 0; first < depth; first += 16) {
    for (unsigned j = 0; j < kColumns; ++j) even[j] = odd[j] = 0;
    const unsigned last = std::min(first + 16, depth);
    for (unsigned k = first; k + 1 < last + (last & 1); k += 2) {
      const float* x = b.value + k * kColumns;
      for (unsigned j = 0; j < kColumns; ++j) {
        even[j] += static_cast<std::int32_t>(static_cast<Value>(a[k]) * static_cast<Value>(x[j]) * scale[j]);
      }
      for (unsigned j = 0; j < kColumns; ++j) {
        odd[j] +=
            static_cast<std::int32_t>(static_cast<Value>(a[k + 1]) * static_cast<Value>(x[kColumns + j]) * scale[j]);
      }
    }
    for (unsigned j = 0; j < kColumns; ++j) {
      total[j] += static_cast<double>(even[j]) + static_cast<double>(odd[j]);
    }
  }
  if (ending.is_half) {
    for (unsigned j = 0; j < kColumns; ++j) {
      const double value = total[j] * power(top[j] - ending.aligned);
      const Real bits = ieee::round_small<Format::F16>(value);
      out[j] = (bits & 0x7FFF) == 0 ? 0 : bits;  // no step leaves a negative zero
    }
  } else {
    for (unsigned j = 0; j < kColumns; ++j) out[j] = end_single(total[j], top[j], ending);
  }
}

PLUMB_CLONES void step_tile(const Operand& a, const Operand& b, unsigned depth, const double* c,
                            const std::int32_t* c_exponent, const Ending& ending, Real* out) {
  if (a.is_narrow && b.is_narrow) {
    for (unsigned row = 0; row < kRows; ++row) {
      step_row<float>(a.value + row * depth, a.exponent + row * depth, b, depth, c + row * kColumns,
                      c_exponent + row * kColumns, ending, out + row * kColumns);
    }
  } else {
    for (unsigned row = 0; row < kRows; ++row) {
      step_row<double>(a.value + row * depth, a.exponent + row * depth, b, depth, c + row * kColumns,
                       c_exponent + row * kColumns, ending, out + row * kColumns);
    }
  }
}

// The result of a step with an infinity or a NaN among its inputs: empty when these do not reach this output.
struct SpecialSum {
  bool has_nan = false, has_positive = false, has_negative = false;

  void term(bool is_nan, bool is_infinite, bool is_negative) {
    has_nan |= is_nan;
    has_positive |= is_infinite && !is_negative;
    has_negative |= is_infinite && is_negative;
  }
  std::optional<Real> result(Format acc) const {
    const ieee::Layout l = ieee::layout(acc);
    if (has_nan || (has_positive && has_negative)) return l.canonical;
    if (has_positive) return l.infinity;
    if (has_negative) return l.infinity | ieee::sign_bit(acc);
    return std::nullopt;
  }
};

// Operands of one step: whole matrices, of which tiles are taken.
struct Step {
  Format a_format, b_format, acc;
  unsigned m, n, k;
  const Real* a;
  const Real* b;
  const Real* c;
  Real* out;
  Ending ending;
};

void patch_special(const Step& s) {
  const auto at = [](Format f, Real bits) { return f == Format::Tf32 ? bits & 0xFFFFE000 : bits; };
  for (unsigned row = 0; row < s.m; ++row) {
    for (unsigned column = 0; column < s.n; ++column) {
      SpecialSum sum;
      const Real c = s.c[row * s.n + column];
      sum.term(ieee::is_nan(s.acc, c), ieee::is_infinite(s.acc, c), ieee::is_negative(s.acc, c));
      for (unsigned k = 0; k < s.k; ++k) {
        const Real x = s.a[row * s.k + k], y = s.b[k * s.n + column];
        const Real x_cut = at(s.a_format, x), y_cut = at(s.b_format, y);
        const bool x_infinite = ieee::is_infinite(s.a_format, x_cut), y_infinite = ieee::is_infinite(s.b_format, y_cut);
        const bool x_zero = ieee::magnitude(s.a_format, x_cut) == 0, y_zero = ieee::magnitude(s.b_format, y_cut) == 0;
        const bool nan = ieee::is_nan(s.a_format, x_cut) || ieee::is_nan(s.b_format, y_cut) || (x_infinite && y_zero) ||
                         (x_zero && y_infinite);
        sum.term(nan, x_infinite || y_infinite, ieee::is_negative(s.a_format, x) != ieee::is_negative(s.b_format, y));
      }
      if (const std::optional<Real> special = sum.result(s.acc)) s.out[row * s.n + column] = *special;
    }
  }
}

void run_step(const Step& s) {
  const unsigned depth = (s.k + 1) & ~1U;
  Operand a, b;
  alignas(64) double c[kRows * kColumns];
  alignas(64) std::int32_t c_exponent[kRows * kColumns];
  alignas(64) Real out[kRows * kColumns];
  std::vector<Real> c_before;  // `out` may alias `c`, which the patch looks at
  bool has_special = false;
  for (std::size_t i = 0; i < std::size_t{s.m} * s.n; ++i) {
    has_special |= ieee::magnitude(s.acc, s.c[i]) >= ieee::layout(s.acc).infinity;
  }
  for (unsigned row0 = 0; row0 < s.m; row0 += kRows) {
    const unsigned rows = std::min(kRows, s.m - row0);
    split_operand(s.a_format, s.a + row0 * s.k, s.k, rows, s.k, depth, a);
    for (unsigned i = rows * depth; i < kRows * depth; ++i) a.value[i] = 0, a.exponent[i] = kNone;
    has_special |= a.has_special;
    for (unsigned column0 = 0; column0 < s.n; column0 += kColumns) {
      const unsigned columns = std::min(kColumns, s.n - column0);
      split_operand(s.b_format, s.b + column0, s.n, s.k, columns, kColumns, b);
      for (unsigned i = s.k * kColumns; i < depth * kColumns; ++i) b.value[i] = 0, b.exponent[i] = kNone;
      if (!has_special && b.has_special) has_special = true;
      if (has_special && c_before.empty()) c_before.assign(s.c, s.c + std::size_t{s.m} * s.n);
      for (unsigned row = 0; row < kRows; ++row) {
        for (unsigned column = 0; column < kColumns; ++column) {
          const bool is_inside = row < rows && column < columns;
          const Real bits = is_inside ? s.c[(row0 + row) * s.n + column0 + column] : 0;
          const ieee::Layout l = ieee::layout(s.acc);
          const std::uint64_t size = ieee::magnitude(s.acc, bits);
          const auto field = static_cast<std::int32_t>(size >> l.fraction);
          const bool is_absent = size == 0 || size >= l.infinity;
          c[row * kColumns + column] = is_absent ? 0.0 : ieee::to_double(s.acc, bits);
          c_exponent[row * kColumns + column] = is_absent ? kNone : (field == 0 ? 1 : field) - l.bias;
        }
      }
      step_tile(a, b, depth, c, c_exponent, s.ending, out);
      for (unsigned row = 0; row < rows; ++row) {
        std::copy_n(out + row * kColumns, columns, s.out + (row0 + row) * s.n + column0);
      }
    }
  }
  if (has_special) {
    Step patched = s;
    patched.c = c_before.data();
    patch_special(patched);
  }
}

bool is_fp8(Format format) { return format == Format::E4M3 || format == Format::E5M2; }

Real f16_from_fp8(Format format, Real bits) {
  if (ieee::is_nan(format, bits)) return 0x7FFF;
  if (format == Format::E5M2) return bits << 8;
  return ieee::round_small<Format::F16>(ieee::float_from_fp8(format, bits));
}

// mma.sync on fp8 operands: two f16 steps over half of k each, from zero, then one rounded addition of c.
void expanded_fp8(const DotShape& shape, const Real* a, const Real* b, const Real* c, Real* out) {
  const unsigned half = shape.k / 2;
  std::vector<Real> x(std::size_t{shape.m} * half), y(std::size_t{half} * shape.n);
  std::vector<Real> sum(std::size_t{shape.m} * shape.n, 0);
  for (unsigned part = 0; part < 2; ++part) {
    for (unsigned i = 0; i < half; ++i) {
      const unsigned k = i / 2 * 4 + i % 2 + 2 * part;  // k mod 4 in {0, 1}, then in {2, 3}
      for (unsigned m = 0; m < shape.m; ++m) x[m * half + i] = f16_from_fp8(shape.a, a[m * shape.k + k]);
      for (unsigned n = 0; n < shape.n; ++n) y[i * shape.n + n] = f16_from_fp8(shape.b, b[k * shape.n + n]);
    }
    run_step(Step{Format::F16, Format::F16, shape.acc, shape.m, shape.n, half, x.data(), y.data(), sum.data(),
                  sum.data(), Ending{.is_half = shape.acc == Format::F16}});
  }
  const Ieee ieee_domain;
  for (std::size_t i = 0; i < sum.size(); ++i) out[i] = ieee_domain.add(shape.acc, c[i], sum[i], {});
}

void fused_f64(const DotShape& shape, const Real* a, const Real* b, const Real* c, Real* out) {
  for (unsigned m = 0; m < shape.m; ++m) {
    for (unsigned n = 0; n < shape.n; ++n) {
      Real sum = c[m * shape.n + n];
      for (unsigned k = 0; k < shape.k; ++k) {
        sum = ieee::fma(Format::F64, a[m * shape.k + k], b[k * shape.n + n], sum, {});
      }
      out[m * shape.n + n] = sum;
    }
  }
}

void tensor_core(const DotShape& shape, const Real* a, const Real* b, const Real* c, Real* out) {
  if (shape.acc == Format::F64) return fused_f64(shape, a, b, c, out);
  const bool is_narrow = is_fp8(shape.a);
  if (is_narrow && shape.kind == DotKind::MmaSync) return expanded_fp8(shape, a, b, c, out);
  Ending ending{.is_half = shape.acc == Format::F16};
  if (is_narrow) ending.aligned = ending.result_fraction = 13;
  run_step(Step{shape.a, shape.b, shape.acc, shape.m, shape.n, shape.k, a, b, c, out, ending});
}

// One row of sums; four values of k at a time keep the accumulators in registers, in the order of rising k.
PLUMB_CLONES void accumulate_row(float* __restrict sum, const float* __restrict a, const float* __restrict b,
                                 std::size_t n, std::size_t k) {
  std::size_t i = 0;
  for (; i + 4 <= k; i += 4) {
    const float a0 = a[i], a1 = a[i + 1], a2 = a[i + 2], a3 = a[i + 3];
    const float* row = b + i * n;
    for (std::size_t j = 0; j < n; ++j) {
      sum[j] = (((sum[j] + a0 * row[j]) + a1 * row[n + j]) + a2 * row[2 * n + j]) + a3 * row[3 * n + j];
    }
  }
  for (; i < k; ++i) {
    for (std::size_t j = 0; j < n; ++j) sum[j] += a[i] * b[i * n + j];
  }
}

PLUMB_CLONES void to_floats(Format format, const Real* in, std::size_t count, float* out) {
  if (format == Format::F16) {
    for (std::size_t i = 0; i < count; ++i) out[i] = ieee::float_from_f16(in[i]);
  } else if (format == Format::BF16) {
    for (std::size_t i = 0; i < count; ++i) out[i] = ieee::float_from_bf16(in[i]);
  } else if (format == Format::F32) {
    for (std::size_t i = 0; i < count; ++i) out[i] = ieee::f32(in[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(ieee::to_double(format, in[i]));
  }
}

void triton_dot(const DotShape& shape, const Real* a, const Real* b, const Real* c, Real* out) {
  if (shape.acc == Format::F64 || shape.a == Format::F64) return fused_f64(shape, a, b, c, out);
  const std::size_t m = shape.m, n = shape.n, k = shape.k;
  std::vector<float> x(m * k), y(k * n), sum(n);
  to_floats(shape.a, a, m * k, x.data());
  to_floats(shape.b, b, k * n, y.data());
  const Ieee ieee_domain;
  for (std::size_t row = 0; row < m; ++row) {
    to_floats(shape.acc, c + row * n, n, sum.data());
    accumulate_row(sum.data(), x.data() + row * k, y.data(), n, k);
    for (std::size_t j = 0; j < n; ++j) {
      const Real bits = ieee::finish<Format::F32>(bits_of(sum[j]), {});
      out[row * n + j] = shape.acc == Format::F32 ? bits : ieee_domain.convert(shape.acc, Format::F32, bits, {});
    }
  }
}

}  // namespace

void Ieee::dot(const DotShape& shape, const Real* a, const Real* b, const Real* c, Real* out) const {
  if (shape.kind == DotKind::TritonDot) return triton_dot(shape, a, b, c, out);
  tensor_core(shape, a, b, c, out);
}

Ieee::Real Ieee::sum(Format f, const Real* in, std::size_t n) const {
  if (n == 0) return 0;
  if (n == 1) return in[0];
  const std::size_t half = n / 2;
  return add(f, sum(f, in, half), sum(f, in + half, n - half), FloatMode{});
}

}  // namespace plumb::domain
