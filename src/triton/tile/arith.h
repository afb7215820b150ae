// SPDX-License-Identifier: Apache-2.0
// Operators between values: compile-time Python arithmetic on numbers, Triton's promotion and arithmetic on blocks.
#pragma once

#include "triton/tile/blocks.h"
#include "triton/tile/ieee_rows.h"
#include "triton/tile/int_ops.h"

namespace plumb::triton {

template <class D>
Value<D> binary(Context<D>& context, BinaryOp op, const Value<D>& a, const Value<D>& b);
template <class D>
Value<D> compare(Context<D>& context, CompareOp op, const Value<D>& a, const Value<D>& b);
template <class D>
Value<D> unary(Context<D>& context, UnaryOp op, const Value<D>& a);
// `and`, `or` of run-time operands: both int1.
template <class D>
Value<D> logical(Context<D>& context, BoolOp op, const Value<D>& a, const Value<D>& b);
template <class D>
BlockPtr<D> select(Context<D>& context, const Value<D>& condition, const Value<D>& x, const Value<D>& y);

// Triton's compiler may take the approximate instruction (division, roots, exponentials). The field domain is told so,
// that a candidate may too; where results are bits they are the correctly rounded ones.
template <class D>
constexpr domain::FloatMode approximate() {
  return domain::FloatMode{.approximate = D::kHasTags};
}

// Python's truth of a compile-time value; fails for a block.
template <class D>
bool truth(Context<D>& context, const Value<D>& value);

// Both operands as blocks of one type; Python scalars are weak when `is_weak`.
template <class D>
struct Pair {
  BlockPtr<D> a, b;
  Type type;
  Shape shape;
};
template <class D>
Pair<D> combine(Context<D>& context, const Value<D>& a, const Value<D>& b, bool is_weak, bool is_division);

// Operations between blocks that have one type already.
template <class D>
BlockPtr<D> int_operation(Context<D>& context, IntOp op, const Pair<D>& pair);

template <class D>
BlockPtr<D> real_operation(Context<D>& context, RealOp op, const Pair<D>& pair, domain::FloatMode mode = {});

}  // namespace plumb::triton
