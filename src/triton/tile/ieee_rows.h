// SPDX-License-Identifier: Apache-2.0
// The commonest loops over IEEE values, compiled for several x86-64 levels. What they compute is the domain's own
// functions, element by element.
#pragma once

#include <cstddef>

#include "domain/ieee/ieee.h"

namespace plumb::triton {

enum class RealOp : std::uint8_t { Add, Sub, Mul, Div, Min, Max };

// out[i] = a[i * a_step] op b[i * b_step] on f32, rounded to nearest even; steps are 0 or 1, both 0
// only when n is 1. `out` may be an operand.
void f32_row(RealOp op, std::size_t n, const domain::Ieee::Real* a, std::size_t a_step, const domain::Ieee::Real* b,
             std::size_t b_step, domain::Ieee::Real* out);
// out[i] = in[i] converted to nearest even. False when the pair of formats has no such loop.
bool convert_row(domain::Format to, domain::Format from, std::size_t n, const domain::Ieee::Real* in,
                 domain::Ieee::Real* out);

}  // namespace plumb::triton
