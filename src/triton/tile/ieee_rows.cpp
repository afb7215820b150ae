// SPDX-License-Identifier: Apache-2.0
#include "triton/tile/ieee_rows.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "domain/ieee/clones.h"

namespace plumb::triton {
namespace {

using domain::FloatMode;
using domain::Format;
using domain::Ieee;
using Real = Ieee::Real;

template <class F>
[[gnu::always_inline]] inline void row(std::size_t n, const Real* a, std::size_t a_step, const Real* b,
                                       std::size_t b_step, Real* out, F f) {
  if (a_step != 0 && b_step != 0) {
    for (std::size_t i = 0; i < n; ++i) out[i] = f(a[i], b[i]);
  } else if (a_step != 0) {
    const Real y = *b;
    for (std::size_t i = 0; i < n; ++i) out[i] = f(a[i], y);
  } else {
    const Real x = *a;
    for (std::size_t i = 0; i < n; ++i) out[i] = f(x, b[i]);
  }
}

#define PLUMB_ROW(name, call)                                                                                   \
  [[gnu::flatten]] PLUMB_CLONES void name(const Ieee& d, std::size_t n, const Real* a, std::size_t a_step,      \
                                          const Real* b, std::size_t b_step, Real* out) {                       \
    row(n, a, a_step, b, b_step, out, [&d](Real x, Real y) { return d.call(Format::F32, x, y, FloatMode{}); }); \
  }
PLUMB_ROW(add_row, add)
PLUMB_ROW(sub_row, sub)
PLUMB_ROW(mul_row, mul)
PLUMB_ROW(div_row, div)
PLUMB_ROW(min_row, min)
PLUMB_ROW(max_row, max)
#undef PLUMB_ROW

#define PLUMB_CONVERSION(name, to, from)                                                                  \
  [[gnu::flatten]] PLUMB_CLONES void name(const Ieee& d, std::size_t n, const Real* in, Real* out) {      \
    for (std::size_t i = 0; i < n; ++i) out[i] = d.convert(Format::to, Format::from, in[i], FloatMode{}); \
  }
PLUMB_CONVERSION(f32_from_bf16, F32, BF16)
PLUMB_CONVERSION(f32_from_f16, F32, F16)
PLUMB_CONVERSION(bf16_from_f32, BF16, F32)
PLUMB_CONVERSION(f16_from_f32, F16, F32)
#undef PLUMB_CONVERSION

#define PLUMB_FUNCTION(name, call)                                                                   \
  [[gnu::flatten]] PLUMB_CLONES void name(const Ieee& d, std::size_t n, const Real* in, Real* out) { \
    for (std::size_t i = 0; i < n; ++i) out[i] = d.call;                                             \
  }
PLUMB_FUNCTION(exp_row, exp(Format::F32, in[i]))
PLUMB_FUNCTION(exp2_row, ex2(Format::F32, in[i], FloatMode{}))
PLUMB_FUNCTION(abs_row, abs(Format::F32, in[i], FloatMode{}))
#undef PLUMB_FUNCTION

PLUMB_CLONES void add_neighbours(std::size_t n, const float* in, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = in[2 * i] + in[2 * i + 1];
}
PLUMB_CLONES void as_floats(std::size_t n, const Real* in, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = std::bit_cast<float>(static_cast<std::uint32_t>(in[i]));
}

template <class F>
[[gnu::always_inline]] inline void compare_row(std::size_t n, const Real* a, std::size_t a_step, const Real* b,
                                               std::size_t b_step, std::int64_t* out, F f) {
  const auto value = [](Real bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); };
  if (a_step != 0 && b_step != 0) {
    for (std::size_t i = 0; i < n; ++i) out[i] = f(value(a[i]), value(b[i]));
  } else if (a_step != 0) {
    const float y = value(*b);
    for (std::size_t i = 0; i < n; ++i) out[i] = f(value(a[i]), y);
  } else {
    const float x = value(*a);
    for (std::size_t i = 0; i < n; ++i) out[i] = f(x, value(b[i]));
  }
}
#define PLUMB_COMPARE(name, op)                                                                            \
  [[gnu::flatten]] PLUMB_CLONES void name(std::size_t n, const Real* a, std::size_t a_step, const Real* b, \
                                          std::size_t b_step, std::int64_t* out) {                         \
    compare_row(n, a, a_step, b, b_step, out, [](float x, float y) { return x op y ? 1 : 0; });            \
  }
PLUMB_COMPARE(lt_row, <)
PLUMB_COMPARE(le_row, <=)
PLUMB_COMPARE(gt_row, >)
PLUMB_COMPARE(ge_row, >=)
PLUMB_COMPARE(eq_row, ==)
PLUMB_COMPARE(ne_row, !=)
#undef PLUMB_COMPARE

template <class T>
[[gnu::always_inline]] inline void widen(std::size_t n, const std::byte* in, std::uint64_t* out) {
  for (std::size_t i = 0; i < n; ++i) {
    T value;
    std::memcpy(&value, in + i * sizeof(T), sizeof(T));
    out[i] = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
}
template <class T>
[[gnu::always_inline]] inline void narrow(std::size_t n, const std::uint64_t* in, std::byte* out) {
  for (std::size_t i = 0; i < n; ++i) {
    const T value = static_cast<T>(in[i]);
    std::memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

void f32_row(RealOp op, std::size_t n, const Real* a, std::size_t a_step, const Real* b, std::size_t b_step,
             Real* out) {
  const Ieee d{};
  switch (op) {
    case RealOp::Add:
      return add_row(d, n, a, a_step, b, b_step, out);
    case RealOp::Sub:
      return sub_row(d, n, a, a_step, b, b_step, out);
    case RealOp::Mul:
      return mul_row(d, n, a, a_step, b, b_step, out);
    case RealOp::Div:
      return div_row(d, n, a, a_step, b, b_step, out);
    case RealOp::Min:
      return min_row(d, n, a, a_step, b, b_step, out);
    case RealOp::Max:
      return max_row(d, n, a, a_step, b, b_step, out);
  }
}

bool convert_row(Format to, Format from, std::size_t n, const Real* in, Real* out) {
  const Ieee d{};
  if (to == Format::F32 && from == Format::BF16) return f32_from_bf16(d, n, in, out), true;
  if (to == Format::F32 && from == Format::F16) return f32_from_f16(d, n, in, out), true;
  if (to == Format::BF16 && from == Format::F32) return bf16_from_f32(d, n, in, out), true;
  if (to == Format::F16 && from == Format::F32) return f16_from_f32(d, n, in, out), true;
  return false;
}

void flip_row(Format to, Format from, std::size_t n, const Real* in, Real* out) {
  constexpr Real kTf32Step = Real{1} << 13;
  const Real step = to == Format::Tf32 ? kTf32Step : 1;
  for (std::size_t i = 0; i < n; ++i) {
    const double exact = domain::ieee::to_double(from, in[i]), rounded = domain::ieee::to_double(to, out[i]);
    if (!std::isfinite(exact) || !std::isfinite(rounded) || exact == rounded) continue;
    // Nothing is smaller than zero: a number rounded to it goes to the smallest one of its sign.
    const Real sign = std::signbit(exact) ? domain::ieee::sign_bit(to) : 0;
    const Real magnitude = domain::ieee::magnitude(to, out[i]);
    const Real other = (std::abs(rounded) > std::abs(exact) ? magnitude - step : magnitude + step) | sign;
    if (std::isfinite(domain::ieee::to_double(to, other))) out[i] = other;
  }
}

void f32_function_row(RealFunction function, std::size_t n, const Real* in, Real* out) {
  const Ieee d{};
  switch (function) {
    case RealFunction::Exp:
      return exp_row(d, n, in, out);
    case RealFunction::Exp2:
      return exp2_row(d, n, in, out);
    case RealFunction::Abs:
      return abs_row(d, n, in, out);
  }
}

Real f32_sum(std::size_t n, const Real* in) {
  if (n == 1) return in[0];
  std::vector<float> values(n), sums(n / 2 + 1);
  as_floats(n, in, values.data());
  for (; n > 1; n /= 2) {
    add_neighbours(n / 2, values.data(), sums.data());
    values.swap(sums);
  }
  const Ieee d{};
  const Real zero = 0x80000000;  // x + -0 is x, a NaN the canonical one
  return d.add(Format::F32, std::bit_cast<std::uint32_t>(values[0]), zero, FloatMode{});
}

void f32_compare_row(domain::Compare op, std::size_t n, const Real* a, std::size_t a_step, const Real* b,
                     std::size_t b_step, std::int64_t* out) {
  using domain::Compare;
  switch (op) {
    case Compare::Lt:
      return lt_row(n, a, a_step, b, b_step, out);
    case Compare::Le:
      return le_row(n, a, a_step, b, b_step, out);
    case Compare::Gt:
      return gt_row(n, a, a_step, b, b_step, out);
    case Compare::Ge:
      return ge_row(n, a, a_step, b, b_step, out);
    case Compare::Eq:
      return eq_row(n, a, a_step, b, b_step, out);
    default:
      return ne_row(n, a, a_step, b, b_step, out);  // Neu: true for a NaN
  }
}

PLUMB_CLONES std::size_t run_of_addresses(const std::int64_t* addresses, std::size_t n, std::int64_t step) {
  constexpr std::size_t kGroup = 32;
  std::size_t done = 1;
  while (done + kGroup <= n) {
    std::int64_t differs = 0;
    for (std::size_t k = done; k < done + kGroup; ++k) differs |= (addresses[k] - addresses[k - 1]) ^ step;
    if (differs != 0) break;
    done += kGroup;
  }
  while (done < n && addresses[done] - addresses[done - 1] == step) ++done;
  return done;
}

PLUMB_CLONES std::size_t run_of_flags(const std::int64_t* flags, std::size_t n) {
  constexpr std::size_t kGroup = 32;
  std::size_t done = 0;
  while (done + kGroup <= n) {
    std::int64_t all = 1;
    for (std::size_t k = done; k < done + kGroup; ++k) all &= flags[k];
    if (all == 0) break;
    done += kGroup;
  }
  while (done < n && flags[done] != 0) ++done;
  return done;
}

PLUMB_CLONES void widen_row(unsigned size, bool is_signed, std::size_t n, const std::byte* in, std::uint64_t* out) {
  switch (size) {
    case 1:
      return is_signed ? widen<std::int8_t>(n, in, out) : widen<std::uint8_t>(n, in, out);
    case 2:
      return is_signed ? widen<std::int16_t>(n, in, out) : widen<std::uint16_t>(n, in, out);
    case 4:
      return is_signed ? widen<std::int32_t>(n, in, out) : widen<std::uint32_t>(n, in, out);
    default:
      std::memcpy(out, in, n * 8);
  }
}

PLUMB_CLONES void narrow_row(unsigned size, std::size_t n, const std::uint64_t* in, std::byte* out) {
  switch (size) {
    case 1:
      return narrow<std::uint8_t>(n, in, out);
    case 2:
      return narrow<std::uint16_t>(n, in, out);
    case 4:
      return narrow<std::uint32_t>(n, in, out);
    default:
      std::memcpy(out, in, n * 8);
  }
}

}  // namespace plumb::triton
