// SPDX-License-Identifier: Apache-2.0
// Program ids, making blocks, casts, and changes of shape.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "triton/tile/arith.h"
#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"

namespace plumb::triton {
namespace {

template <class D>
Value<D> scalar(DType type, std::int64_t value) {
  auto block = new_block<D>({type, false}, {});
  block->ints[0] = value;
  return BlockPtr<D>(std::move(block));
}

template <class D>
unsigned grid_axis(Context<D>& context, const Value<D>& value) {
  const Int128 axis = constexpr_integer(context, value, "the axis");
  if (axis < 0 || axis > 2) context.fail(kType, "the axis of a grid is 0, 1 or 2");
  return static_cast<unsigned>(axis);
}

// A scalar splat to a shape; `value` is a number or a scalar block.
template <class D>
Value<D> filled(Context<D>& context, const Shape& shape, const Value<D>& value, const Type& type) {
  BlockPtr<D> one;
  if (value.is_number() && !type.is_pointer) {
    one = constant(context, value, type.element);
  } else {
    one = cast(context, to_block(context, value), type);
  }
  if (one->size() != 1) context.fail(kType, "a block is filled with a scalar");
  return broadcast_to(context, reshaped(one, Shape{}), shape);
}

template <class D>
BlockPtr<D> permuted(Context<D>& context, const Block<D>& block, const std::vector<unsigned>& order) {
  const Strides own = row_major(block.shape);
  Shape shape;
  Strides strides{};
  for (const unsigned axis : order) {
    strides[shape.rank] = own[axis];
    shape.push(block.shape[axis]);
  }
  context.count(shape.size());
  return restride(block, shape, strides);
}

// The order that `dims` name; by default the last two axes change places.
template <class D>
std::vector<unsigned> order_of(Context<D>& context, const std::vector<Value<D>>& dims, unsigned rank) {
  std::vector<unsigned> order;
  for (const Value<D>& each : dims) order.push_back(constexpr_axis(context, each, rank));
  std::vector<unsigned> sorted = order;
  std::ranges::sort(sorted);
  bool is_permutation = sorted.size() == rank;
  for (unsigned i = 0; is_permutation && i < rank; ++i) is_permutation = sorted[i] == i;
  if (!is_permutation) context.fail(kType, fmt::format("the axes are no permutation of the {} of the block", rank));
  return order;
}

template <class D>
void refuse_conditions(Context<D>& context, const Block<D>& a, const Block<D>& b) {
  if (a.conditions.empty() && b.conditions.empty()) return;
  context.unmodelled(kData, "conditions on abstract data are joined");
}

template <class D>
BlockPtr<D> joined(Context<D>& context, const Value<D>& left, const Value<D>& right) {
  BlockPtr<D> a = to_block(context, left), b = to_block(context, right);
  if (!(a->type == b->type)) {
    context.fail(kType, fmt::format("{} and {} are joined", name(a->type), name(b->type)));
  }
  const Shape common = common_shape(context, *a, *b);
  a = broadcast_to(context, a, common), b = broadcast_to(context, b, common);
  refuse_conditions(context, *a, *b);
  const bool is_word = a->is_word() || b->is_word();
  const std::vector<domain::Word> a_words = is_word ? words(*a) : a->words, b_words = is_word ? words(*b) : b->words;
  if (common.rank == kMaxRank) context.unmodelled(kUnsupported, "a block of this rank is not supported");
  auto out = std::make_shared<Block<D>>();
  out->type = a->type;
  out->shape = common;
  out->shape.push(2);
  const std::size_t size = common.size();
  context.count(2 * size);
  const auto weave = [&](const auto& x, const auto& y, auto& to) {
    if (x.empty() && y.empty()) return;
    to.resize(2 * size);
    for (std::size_t i = 0; i < size; ++i) {
      if (!x.empty()) to[2 * i] = x[i];
      if (!y.empty()) to[2 * i + 1] = y[i];
    }
  };
  if (!is_word) weave(a->ints, b->ints, out->ints);
  weave(a_words, b_words, out->words);
  weave(a->reals, b->reals, out->reals);
  weave(a->undefined, b->undefined, out->undefined);
  return out;
}

}  // namespace

template <class D>
Value<D> op_program_id(Context<D>& context, Arguments<D>& arguments) {
  return scalar<D>(DType::Int32, context.program_id[grid_axis(context, arguments[0])]);
}
template <class D>
Value<D> op_num_programs(Context<D>& context, Arguments<D>& arguments) {
  return scalar<D>(DType::Int32, context.call.grid[grid_axis(context, arguments[0])]);
}

template <class D>
Value<D> op_arange(Context<D>& context, Arguments<D>& arguments) {
  const Int128 start = constexpr_integer(context, arguments[0], "the start of `tl.arange`");
  const Int128 end = constexpr_integer(context, arguments[1], "the end of `tl.arange`");
  const bool fits = start >= smallest(DType::Int32) && end <= largest(DType::Int32) && end > start;
  if (!fits) context.fail(kType, "`tl.arange` needs an end above its start, both 32-bit");
  const Value<D> length(end - start);
  auto out = new_block<D>({DType::Int32, false}, constexpr_shape(context, length));
  const std::size_t size = out->size();
  const auto first = static_cast<std::int64_t>(start);
  for (std::size_t i = 0; i < size; ++i) out->ints[i] = first + static_cast<std::int64_t>(i);
  context.count(size);
  return BlockPtr<D>(std::move(out));
}

template <class D>
Value<D> op_zeros(Context<D>& context, Arguments<D>& arguments) {
  return filled(context, constexpr_shape(context, arguments[0]), Value<D>(Int128{0}),
                constexpr_type(context, arguments[1]));
}
template <class D>
Value<D> op_zeros_like(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> like = to_block(context, arguments[0]);
  return filled(context, like->shape, Value<D>(Int128{0}), like->type);
}
template <class D>
Value<D> op_full(Context<D>& context, Arguments<D>& arguments) {
  return filled(context, constexpr_shape(context, arguments[0]), arguments[1], constexpr_type(context, arguments[2]));
}

template <class D>
Value<D> op_cast(Context<D>& context, Arguments<D>& arguments) {
  const Type to = constexpr_type(context, arguments[1]);
  const BlockPtr<D> block = to_block(context, arguments[0]);
  if (constexpr_flag(context, arguments[3], false)) return bitcast(context, block, to);
  const std::string rounding = constexpr_text(context, arguments[2], "`fp_downcast_rounding`");
  if (rounding.empty()) return cast(context, block, to);
  const bool narrows = block->is_real() && !to.is_pointer && is_float(to.element) &&
                       bit_width(to.element) < bit_width(block->type.element);
  if (!narrows) context.fail(kType, "`fp_downcast_rounding` is for casts to a narrower float");
  if (rounding == "rtne") return cast(context, block, to);
  if (rounding == "rtz") return cast(context, block, to, domain::Round::Rz);
  context.fail(kType, "the rounding is `rtne` or `rtz`");
}

template <class D>
Value<D> op_to_tensor(Context<D>& context, Arguments<D>& arguments) {
  return to_block(context, arguments[0]);
}
template <class D>
Value<D> op_item(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  if (block->size() != 1) context.fail(kType, fmt::format("`item` of a block of shape {}", text(block->shape)));
  return reshaped(block, Shape{});
}

template <class D>
Value<D> op_broadcast_to(Context<D>& context, Arguments<D>& arguments) {
  const Shape shape = constexpr_shape(context, std::span<const Value<D>>(arguments.rest));
  const BlockPtr<D> block = to_block(context, arguments[0]);
  if (block->shape.rank != 0 && block->shape.rank != shape.rank) {
    context.fail(kType, fmt::format("a block of shape {} does not stretch to {}", text(block->shape), text(shape)));
  }
  return broadcast_to(context, block, shape);
}
template <class D>
Value<D> op_broadcast(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> a = to_block(context, arguments[0]), b = to_block(context, arguments[1]);
  const Shape shape = common_shape(context, *a, *b);
  return tuple_of(std::vector<Value<D>>{broadcast_to(context, a, shape), broadcast_to(context, b, shape)});
}

template <class D>
Value<D> op_expand_dims(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  std::vector<Value<D>> axes{arguments[1]};
  if (arguments[1].tuple() != nullptr) axes = *arguments[1].tuple();
  const unsigned rank = block->shape.rank + static_cast<unsigned>(axes.size());
  if (rank > kMaxRank) context.unmodelled(kUnsupported, "a block of this rank is not supported");
  std::vector<bool> is_new(rank);
  for (const Value<D>& axis : axes) is_new[constexpr_axis(context, axis, rank)] = true;
  if (std::ranges::count(is_new, true) != static_cast<std::ptrdiff_t>(axes.size())) {
    context.fail(kType, "an axis is given twice");
  }
  Shape shape;
  unsigned from = 0;
  for (const bool each : is_new) shape.push(each ? 1 : block->shape[from++]);
  return reshaped(block, shape);
}

template <class D>
Value<D> op_unsqueeze(Context<D>& context, Arguments<D>& arguments) {
  return op_expand_dims(context, arguments);
}
template <class D>
Value<D> op_squeeze(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  const unsigned axis = constexpr_axis(context, arguments[1], block->shape.rank);
  if (block->shape[axis] != 1) context.fail(kType, "an axis of extent 1 is squeezed");
  Shape shape;
  for (unsigned each = 0; each < block->shape.rank; ++each) {
    if (each != axis) shape.push(block->shape[each]);
  }
  return reshaped(block, shape);
}

template <class D>
Value<D> op_reshape(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  if (constexpr_flag(context, arguments[2], false)) {
    context.unmodelled(kUnsupported, "`can_reorder=True` leaves the order open and is not supported");
  }
  const Shape shape = constexpr_shape(context, std::span<const Value<D>>(arguments.rest));
  if (shape.size() != block->size()) {
    context.fail(kType, fmt::format("{} does not reshape to {}", text(block->shape), text(shape)));
  }
  return reshaped(block, shape);
}
template <class D>
Value<D> op_ravel(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  if (constexpr_flag(context, arguments[1], false)) {
    context.unmodelled(kUnsupported, "`can_reorder=True` leaves the order open and is not supported");
  }
  Shape flat;
  flat.push(static_cast<std::uint32_t>(block->size()));
  return reshaped(block, flat);
}

template <class D>
Value<D> op_trans(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  const unsigned rank = block->shape.rank;
  if (!arguments.rest.empty()) return permuted(context, *block, order_of(context, arguments.rest, rank));
  if (rank < 2) context.fail(kType, "`tl.trans` needs a block of rank 2 or more");
  std::vector<unsigned> order(rank);
  for (unsigned axis = 0; axis < rank; ++axis) order[axis] = axis;
  std::swap(order[rank - 1], order[rank - 2]);
  return permuted(context, *block, order);
}
template <class D>
Value<D> op_permute(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  return permuted(context, *block, order_of(context, arguments.rest, block->shape.rank));
}

template <class D>
Value<D> op_join(Context<D>& context, Arguments<D>& arguments) {
  return joined(context, arguments[0], arguments[1]);
}
template <class D>
Value<D> op_split(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  if (block->shape.rank == 0 || block->shape[block->shape.rank - 1u] != 2) {
    context.fail(kType, "`tl.split` needs a last axis of 2");
  }
  Shape shape = block->shape;
  --shape.rank;
  shape.dims[shape.rank] = 0;
  const Strides strides = row_major(block->shape);
  return tuple_of(std::vector<Value<D>>{restride(*block, shape, strides, 0), restride(*block, shape, strides, 1)});
}
template <class D>
Value<D> op_interleave(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> woven = joined(context, arguments[0], arguments[1]);
  Shape shape = woven->shape;
  if (shape.rank < 2) return woven;
  --shape.rank;
  shape.dims[shape.rank] = 0;
  shape.dims[shape.rank - 1u] *= 2;
  return reshaped(woven, shape);
}

// One block after the other along an axis (0 unless `dim` says).
template <class D>
Value<D> op_cat(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> a = to_block(context, arguments[0]), b = to_block(context, arguments[1]);
  if (constexpr_flag(context, arguments[2], false)) {
    context.unmodelled(kUnsupported, "`can_reorder=True` leaves the order open and is not supported");
  }
  const bool fits = a->type == b->type && a->shape == b->shape && a->shape.rank != 0;
  if (!fits) {
    context.fail(kType,
                 fmt::format("`cat` of {}{} and {}{}", name(a->type), text(a->shape), name(b->type), text(b->shape)));
  }
  refuse_conditions(context, *a, *b);
  const bool is_word = a->is_word() || b->is_word();
  const std::vector<domain::Word> a_words = is_word ? words(*a) : a->words, b_words = is_word ? words(*b) : b->words;
  const Value<D> first(Int128{0});
  const unsigned axis = constexpr_axis(context, arguments.has(3) ? arguments[3] : first, a->shape.rank);
  auto out = std::make_shared<Block<D>>();
  out->type = a->type;
  out->shape = a->shape;
  out->shape.dims[axis] *= 2;
  std::size_t inner = 1;
  for (unsigned each = axis; each < a->shape.rank; ++each) inner *= a->shape[each];
  const std::size_t size = out->size();
  context.count(size);
  const auto append = [&](const auto& x, const auto& y, auto& to) {
    if (x.empty() && y.empty()) return;
    to.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t group = i / (2 * inner), at = i % (2 * inner);
      const auto& from = at < inner ? x : y;
      to[i] = from.empty() ? std::remove_cvref_t<decltype(to[i])>{} : from[group * inner + at % inner];
    }
  };
  if (!is_word) append(a->ints, b->ints, out->ints);
  append(a_words, b_words, out->words);
  append(a->reals, b->reals, out->reals);
  append(a->undefined, b->undefined, out->undefined);
  return BlockPtr<D>(std::move(out));
}

// Row-major indices of a matrix as column-major ones inside groups of `size_g` rows.
template <class D>
Value<D> op_swizzle2d(Context<D>& context, Arguments<D>& arguments) {
  const auto op = [&](BinaryOp what, const Value<D>& a, const Value<D>& b) { return binary(context, what, a, b); };
  const Value<D>&i = arguments[0], &j = arguments[1], &size_i = arguments[2], &size_j = arguments[3];
  Value<D> group_rows = arguments[4];
  // Names that a function assigns are run-time scalars.
  const auto scalar_of = [&](const Value<D>& value) { return Value<D>(to_block(context, value)); };
  Value<D> ij = scalar_of(op(BinaryOp::Add, op(BinaryOp::Mul, i, size_j), j));
  const Value<D> group = scalar_of(op(BinaryOp::Mul, group_rows, size_j));
  const Value<D> group_id = scalar_of(op(BinaryOp::FloorDiv, ij, group));
  const Value<D> first_row = scalar_of(op(BinaryOp::Mul, group_id, group_rows));
  Arguments<D> least;
  least.values = {op(BinaryOp::Sub, size_i, first_row), group_rows, {}};
  group_rows = op_minimum(context, least);
  ij = op(BinaryOp::Mod, ij, group);
  return tuple_of(std::vector<Value<D>>{op(BinaryOp::Add, first_row, op(BinaryOp::Mod, ij, group_rows)),
                                        op(BinaryOp::FloorDiv, ij, group_rows)});
}

template <class D>
Value<D> op_flip(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  const Value<D> last(Int128{-1});
  const unsigned axis = constexpr_axis(context, arguments.has(1) ? arguments[1] : last, block->shape.rank);
  Strides strides = row_major(block->shape);
  const std::int64_t offset = strides[axis] * (block->shape[axis] - std::int64_t{1});
  strides[axis] = -strides[axis];
  context.count(block->size());
  return restride(*block, block->shape, strides, offset);
}

#define PLUMB_TRITON_CHAPTER 2
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
