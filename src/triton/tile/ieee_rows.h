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

// out[i], which is in[i] rounded to a narrower format, becomes the neighbour of in[i] on its other side. Exact and
// infinite ones stay, and so does what would become infinite.
void flip_row(domain::Format to, domain::Format from, std::size_t n, const domain::Ieee::Real* in,
              domain::Ieee::Real* out);

// out[i] = f(in[i]) on f32.
enum class RealFunction : std::uint8_t { Exp, Exp2, Abs };
void f32_function_row(RealFunction function, std::size_t n, const domain::Ieee::Real* in, domain::Ieee::Real* out);
// What Ieee::sum gives for f32: neighbours are added, then neighbouring sums. n is a power of two.
domain::Ieee::Real f32_sum(std::size_t n, const domain::Ieee::Real* in);
// out[i] = a[i * a_step] op b[i * b_step] on f32, as 0 or 1; steps as above.
void f32_compare_row(domain::Compare op, std::size_t n, const domain::Ieee::Real* a, std::size_t a_step,
                     const domain::Ieee::Real* b, std::size_t b_step, std::int64_t* out);

// How many of the first n addresses are `step` apart, at least 1; and how many of the first n flags are set.
std::size_t run_of_addresses(const std::int64_t* addresses, std::size_t n, std::int64_t step);
std::size_t run_of_flags(const std::int64_t* flags, std::size_t n);
// Elements of 1, 2, 4 or 8 bytes to the low bits of 64 and back; `is_signed` extends the sign.
void widen_row(unsigned size, bool is_signed, std::size_t n, const std::byte* in, std::uint64_t* out);
void narrow_row(unsigned size, std::size_t n, const std::uint64_t* in, std::byte* out);

}  // namespace plumb::triton
