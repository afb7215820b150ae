// SPDX-License-Identifier: Apache-2.0
// Integer operations on blocks: concrete in every domain, wrapped at the type's width.
#pragma once

#include <cstdint>

#include "triton/frontend/tree.h"
#include "triton/type.h"

namespace plumb::triton {

enum class IntOp : std::uint8_t { Add, Sub, Mul, Div, Rem, Shl, Shr, And, Or, Xor, Min, Max, MulHigh };

// An operand: its elements and shape.
struct IntBlock {
  const std::int64_t* data = nullptr;
  const Shape& shape;
};

// out[i] = a[i] op b[i] at `type`. Where Triton leaves the result undefined (division by zero, the overflowing
// division, shifts by the width or more) the result is 0 and undefined[i] is set; true when there is any. `undefined`
// has the block's size and may be null for operations that are always defined.
bool int_binary(IntOp op, DType type, const Shape& shape, IntBlock a, IntBlock b, std::int64_t* out,
                std::uint8_t* undefined);
// Comparisons, by the type's signedness; out is 0 or 1.
void int_compare(CompareOp op, DType type, const Shape& shape, IntBlock a, IntBlock b, std::int64_t* out);
constexpr bool may_be_undefined(IntOp op) {
  return op == IntOp::Div || op == IntOp::Rem || op == IntOp::Shl || op == IntOp::Shr;
}

// c[m x n] += a[m x k] * b[k x n], wrapped to 32 bits.
void int_dot(std::uint32_t m, std::uint32_t n, std::uint32_t k, const std::int64_t* a, const std::int64_t* b,
             std::int64_t* c);

}  // namespace plumb::triton
