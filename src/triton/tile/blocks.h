// SPDX-License-Identifier: Apache-2.0
// Making blocks: from constants, by casts, by changes of shape.
#pragma once

#include <memory>

#include "triton/tile/context.h"
#include "triton/tile/spread.h"

namespace plumb::triton {

template <class D>
std::shared_ptr<Block<D>> new_block(Type type, const Shape& shape);

// A Python number as a rank-0 block of a type, and of the type that Triton's to_tensor gives it.
template <class D>
BlockPtr<D> constant(Context<D>& context, const Value<D>& number, DType type);
template <class D>
BlockPtr<D> to_block(Context<D>& context, const Value<D>& value);
// Bits of a literal in a float type: rounded to f32 first, as Triton does, unless it is f64.
std::uint64_t literal_bits(DType type, double value);

template <class D>
BlockPtr<D> cast(Context<D>& context, const BlockPtr<D>& block, Type to, domain::Round round = domain::Round::Rn);
template <class D>
BlockPtr<D> bitcast(Context<D>& context, const BlockPtr<D>& block, Type to);

// The elements at offset + sum of index * strides.
template <class D>
BlockPtr<D> restride(const Block<D>& block, const Shape& shape, const Strides& strides, std::int64_t offset = 0);
// Same elements, row-major, in another shape of the same size.
template <class D>
BlockPtr<D> reshaped(const BlockPtr<D>& block, const Shape& shape);
// Stretched by Triton's broadcasting; a scalar fills the shape. Fails when it does not fit.
template <class D>
BlockPtr<D> broadcast_to(Context<D>& context, const BlockPtr<D>& block, const Shape& shape);
template <class D>
Shape common_shape(Context<D>& context, const Block<D>& a, const Block<D>& b);

// Marks the elements of `out` whose operands are undefined.
template <class D>
void spread_undefined(Block<D>& out, const Block<D>& a);
template <class D>
void spread_undefined(Block<D>& out, const Block<D>& a, const Block<D>& b);

// Conditions that are all decided become integers.
template <class D>
void settle(Context<D>& context, Block<D>& block);
// An int1 block as conditions of the domain.
template <class D>
std::vector<typename Block<D>::Condition> conditions(Context<D>& context, const Block<D>& block);
// Integers as words of their type's width, known or not.
template <class D>
std::vector<domain::Word> words(const Block<D>& block);
// Words that are all known become integers; where there are both, the elements without a tag are those in `ints`.
template <class D>
void settle_words(Block<D>& block);
// The one element of a scalar int1 or integer: fails when it is abstract or undefined.
template <class D>
std::int64_t known_integer(Context<D>& context, const Block<D>& block, const char* what);

}  // namespace plumb::triton
