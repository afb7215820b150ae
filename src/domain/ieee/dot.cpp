// SPDX-License-Identifier: Apache-2.0
// Matrix products. The tensor-core model (docs/numbers.md, "matrix products"): one step aligns the exact products and
// the accumulator to the largest exponent, drops what lies more than F bits below it, adds exactly and rounds once.
// Here a tile of 16 x 8 outputs is one vector loop: a product is exact in `Value`, scaling by a power of two and
// converting to an integer drops the right bits, and the sum of the integers is exact.
#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "domain/ieee/clones.h"
#include "domain/ieee/fused.h"
#include "domain/ieee/ieee.h"

namespace plumb::domain {
namespace {

using ieee::bits_of;
using Real = Ieee::Real;

constexpr unsigned kRows = 16, kColumns = 8, kDepth = 64;  // of one tile; a step is at most kDepth deep
constexpr int kNone = -4096;                               // exponent of a zero, below all others

// Eight numbers side by side. GCC's vectors: in the loops here the side-by-side loop is the inner one.
using Ints = std::int32_t __attribute__((vector_size(32)));
using Floats = float __attribute__((vector_size(32)));
using Doubles = double __attribute__((vector_size(64)));
using Longs = std::int64_t __attribute__((vector_size(64)));
// Memory holds them at an element's alignment: both are copies.
#define PLUMB_LOAD(Type, from)                       \
  ({                                                 \
    Type loaded;                                     \
    __builtin_memcpy(&loaded, from, sizeof(loaded)); \
    loaded;                                          \
  })
#define PLUMB_STORE(Type, to, vector)              \
  do {                                             \
    const Type stored = (vector);                  \
    __builtin_memcpy(to, &stored, sizeof(stored)); \
  } while (false)
// 2^exponent in each lane.
#define PLUMB_POWERS(exponents) ((Doubles)((__builtin_convertvector(exponents, Longs) + 1023) << 52))

// Eight numbers split into value and exponent of the unit bit; zeros, infinities and NaNs have value 0 and kNone.
struct Split {
  Floats value;
  Ints exponent;
};
template <Format format>
[[gnu::always_inline]] inline void split(const Real* bits, Split& out) {
  constexpr ieee::Layout l = ieee::layout(format);
  Ints low = __builtin_convertvector(PLUMB_LOAD(Longs, bits), Ints);
  if (format == Format::Tf32) low &= ~0x1FFF;
  const Ints magnitude = low & static_cast<std::int32_t>(ieee::sign_bit(format) - 1);
  const Ints field = magnitude >> l.fraction;
  const Ints is_absent = (magnitude >= static_cast<std::int32_t>(l.infinity)) | (magnitude == 0);
  const Ints unit = field - l.bias - (field == 0);  // a comparison that holds is -1
  Floats value;
  if constexpr (l.width == 32) {
    value = (Floats)low;
  } else {
    // f32's exponent has eight bits: the others are moved to its bias by a power of two, subnormals included.
    constexpr float kScale = format == Format::BF16 ? 1.0F : format == Format::E4M3 ? 0x1p120F : 0x1p112F;
    value = (Floats)(magnitude << (23 - l.fraction)) * kScale;
    value = (Floats)((Ints)value | (low ^ magnitude) << (32 - l.width));
  }
  out.value = is_absent ? Floats{} : value;
  out.exponent = is_absent ? Ints{} + kNone : unit;
}

// The numbers of a tile, and whether products of two such operands, and their scaling, are exact in float.
struct Operand {
  alignas(64) float value[kDepth * kRows];
  alignas(64) std::int32_t exponent[kDepth * kRows];
  bool is_narrow = true;
};

// rows x columns numbers of `in`, `stride` apart between rows, to rows of `width`; what is missing becomes zero.
template <Format format>
[[gnu::always_inline]] inline void split_rows(const Real* in, unsigned stride, unsigned rows, unsigned columns,
                                              unsigned width, Operand& out) {
  Ints wide{};
  for (unsigned row = 0; row < rows; ++row) {
    for (unsigned column = 0; column < width; column += 8) {
      const Real* from = in + static_cast<std::size_t>(row) * stride + column;
      Real padded[8] = {};
      if (column + 8 > columns) {
        for (unsigned i = column; i < columns; ++i) padded[i - column] = from[i - column];
        from = padded;
      }
      Split numbers;
      split<format>(from, numbers);
      wide |= (numbers.exponent != kNone) & ((numbers.exponent < -50) | (numbers.exponent > 62));
      PLUMB_STORE(Floats, out.value + row * width + column, numbers.value);
      PLUMB_STORE(Ints, out.exponent + row * width + column, numbers.exponent);
    }
  }
  out.is_narrow = true;
  for (unsigned i = 0; i < 8; ++i) out.is_narrow = out.is_narrow && wide[i] == 0;
}

// `width` is a multiple of 8.
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

PLUMB_CLONES bool has_special(Format format, const Real* in, std::size_t count) {
  const Real mask = ieee::sign_bit(format) - 1, infinity = ieee::layout(format).infinity;
  Real found = 0;
  for (std::size_t i = 0; i < count; ++i) found |= (in[i] & mask) >= infinity ? 1 : 0;
  return found != 0;
}

// How a step ends.
struct Ending {
  int aligned = 25;          // F: fraction bits kept below the largest exponent
  bool is_half = false;      // f16 result, to nearest even; otherwise f32, truncated
  int result_fraction = 23;  // fraction bits of an f32 result
};

// One row of a tile: out[j] = step(a[0..depth), b[0..depth)[j], c[j]).
template <class Value, bool IsHalf>
[[gnu::always_inline]] inline void step_row(const float* a, const std::int32_t* a_exponent, const Operand& b,
                                            unsigned depth, const Ending& ending, const Real* c, Real* out) {
  using Values = std::conditional_t<sizeof(Value) == 4, Floats, Doubles>;
  constexpr int kLargestScale = sizeof(Value) == 4 ? 125 : 1000;
  Split accumulator;
  split<IsHalf ? Format::F16 : Format::F32>(c, accumulator);
  Ints top = accumulator.exponent;
  for (unsigned k = 0; k < depth; ++k) {
    const Ints exponent = PLUMB_LOAD(Ints, b.exponent + k * kColumns) + a_exponent[k];
    top = top > exponent ? top : exponent;
  }
  top = top > -600 ? top : Ints{} - 600;  // all terms are zero
  // Where the limit bites there are no products: those of `Value` have larger exponents.
  Ints shift = ending.aligned - top;
  const Doubles c_scale = PLUMB_POWERS(shift);
  shift = shift < kLargestScale ? shift : Ints{} + kLargestScale;
  const Values scale = __builtin_convertvector(PLUMB_POWERS(shift), Values);
  // |c| < 2^26 and |product| < 2^27 after scaling: sixteen products fit in two sums of 32 bits.
  const Doubles c_scaled = __builtin_convertvector(accumulator.value, Doubles) * c_scale;
  Doubles total = __builtin_convertvector(__builtin_convertvector(c_scaled, Ints), Doubles);
  for (unsigned first = 0; first < depth; first += 16) {
    const unsigned last = std::min(first + 16, depth);
    Ints even{}, odd{};
    for (unsigned k = first; k < last; k += 2) {
      const Floats x = PLUMB_LOAD(Floats, b.value + k * kColumns), y = PLUMB_LOAD(Floats, b.value + (k + 1) * kColumns);
      const Values p = static_cast<Value>(a[k]) * __builtin_convertvector(x, Values) * scale;
      const Values q = static_cast<Value>(a[k + 1]) * __builtin_convertvector(y, Values) * scale;
      even += __builtin_convertvector(p, Ints);
      odd += __builtin_convertvector(q, Ints);
    }
    total += __builtin_convertvector(even, Doubles) + __builtin_convertvector(odd, Doubles);
  }
  const Doubles unscale = PLUMB_POWERS(top - ending.aligned);
  if constexpr (IsHalf) {
    double value[kColumns];
    PLUMB_STORE(Doubles, value, total * unscale);
    for (unsigned j = 0; j < kColumns; ++j) {
      const Real bits = ieee::round_small<Format::F16>(value[j]);
      out[j] = (bits & 0x7FFF) == 0 ? 0 : bits;  // no step leaves a negative zero
    }
    return;
  }
  const std::int64_t kept = -(std::int64_t{1} << (52 - ending.result_fraction));
  Doubles value = (Doubles)((Longs)total & kept) * unscale;
  if constexpr (sizeof(Value) == 8) {
    // Below the smallest normal number the result is cut to steps of 2^-149. (Products of narrow operands are larger,
    // and a subnormal accumulator alone is exact.)
    for (unsigned j = 0; j < kColumns; ++j) {
      if (value[j] < 0x1p-126 && value[j] > -0x1p-126) {
        value[j] = static_cast<double>(static_cast<std::int32_t>(value[j] * 0x1p149)) * 0x1p-149;
      }
    }
  }
  const Ints bits = (Ints) __builtin_convertvector(value, Floats);
  PLUMB_STORE(Longs, out, __builtin_convertvector(bits, Longs) & 0xFFFFFFFF);
}

template <class Value, bool IsHalf>
[[gnu::always_inline]] inline void step_rows(const Operand& a, const Operand& b, unsigned rows, unsigned depth,
                                             unsigned a_width, const Ending& ending, const Real* c, Real* out,
                                             std::size_t stride) {
  for (unsigned row = 0; row < rows; ++row) {
    step_row<Value, IsHalf>(a.value + row * a_width, a.exponent + row * a_width, b, depth, ending, c + row * stride,
                            out + row * stride);
  }
}

// `stride`: between rows of c and of out; a_width: between rows of a.
PLUMB_CLONES void step_tile(const Operand& a, const Operand& b, unsigned rows, unsigned depth, unsigned a_width,
                            const Ending& ending, const Real* c, Real* out, std::size_t stride) {
  const bool is_narrow = a.is_narrow && b.is_narrow;
  if (ending.is_half) {
    if (is_narrow) return step_rows<float, true>(a, b, rows, depth, a_width, ending, c, out, stride);
    return step_rows<double, true>(a, b, rows, depth, a_width, ending, c, out, stride);
  }
  if (is_narrow) return step_rows<float, false>(a, b, rows, depth, a_width, ending, c, out, stride);
  step_rows<double, false>(a, b, rows, depth, a_width, ending, c, out, stride);
}
#undef PLUMB_LOAD
#undef PLUMB_STORE
#undef PLUMB_POWERS

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
  const unsigned depth = (s.k + 1) & ~1U, a_width = (s.k + 7) & ~7U;
  const std::size_t size = std::size_t{s.m} * s.n;
  const bool is_special = has_special(s.acc, s.c, size) || has_special(s.a_format, s.a, std::size_t{s.m} * s.k) ||
                          has_special(s.b_format, s.b, std::size_t{s.k} * s.n);
  std::vector<Real> c_before;  // `out` may alias `c`, which the patch looks at
  if (is_special) c_before.assign(s.c, s.c + size);
  // Every operand is split once: A's blocks of rows first, B's blocks of columns as they come.
  Operand first, b;
  std::vector<Operand> others((s.m - 1) / kRows);
  const auto block = [&](unsigned row0) -> Operand& { return row0 == 0 ? first : others[row0 / kRows - 1]; };
  for (unsigned row0 = 0; row0 < s.m; row0 += kRows) {
    split_operand(s.a_format, s.a + row0 * s.k, s.k, std::min(kRows, s.m - row0), s.k, a_width, block(row0));
  }
  for (unsigned column0 = 0; column0 < s.n; column0 += kColumns) {
    const unsigned columns = std::min(kColumns, s.n - column0);
    split_operand(s.b_format, s.b + column0, s.n, s.k, columns, kColumns, b);
    for (unsigned i = s.k * kColumns; i < depth * kColumns; ++i) b.value[i] = 0, b.exponent[i] = kNone;
    for (unsigned row0 = 0; row0 < s.m; row0 += kRows) {
      const unsigned rows = std::min(kRows, s.m - row0);
      const std::size_t corner = row0 * s.n + column0;
      if (columns == kColumns) {
        step_tile(block(row0), b, rows, depth, a_width, s.ending, s.c + corner, s.out + corner, s.n);
        continue;
      }
      Real tile[kRows * kColumns] = {};
      for (unsigned row = 0; row < rows; ++row) {
        std::copy_n(s.c + corner + row * s.n, columns, tile + row * kColumns);
      }
      step_tile(block(row0), b, rows, depth, a_width, s.ending, tile, tile, kColumns);
      for (unsigned row = 0; row < rows; ++row) {
        std::copy_n(tile + row * kColumns, columns, s.out + corner + row * s.n);
      }
    }
  }
  if (!is_special) return;
  Step patched = s;
  patched.c = c_before.data();
  patch_special(patched);
}

bool is_fp8(Format format) { return format == Format::E4M3 || format == Format::E5M2; }

Real f16_from_fp8(Format format, Real bits) {
  if (ieee::is_nan(format, bits)) return 0x7FFF;
  if (format == Format::E5M2) return bits << 8;
  // Every number of e4m3 is a normal one of f16, or zero.
  const std::uint64_t size = bits_of(ieee::float_from_fp8(format, bits & 0x7F));
  return (bits & 0x80) << 8 | (size == 0 ? 0 : (size - (112ULL << 23)) >> 13);
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

void ieee::fused_dot(const DotShape& shape, const Real* a, const Real* b, const Real* c, Real* out) {
  const Ending ending{.is_half = shape.acc == Format::F16};
  run_step(Step{shape.a, shape.b, shape.acc, shape.m, shape.n, shape.k, a, b, c, out, ending});
}

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
