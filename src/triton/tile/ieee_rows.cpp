// SPDX-License-Identifier: Apache-2.0
#include "triton/tile/ieee_rows.h"

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

}  // namespace plumb::triton
