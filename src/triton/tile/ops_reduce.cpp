// SPDX-License-Identifier: Apache-2.0
// Reductions and scans along an axis.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "triton/tile/arith.h"
#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"

namespace plumb::triton {

using domain::FloatMode;
using domain::Format;

// A block seen along one axis: element (o, k, i) is at (o * n + k) * inner + i.
struct Along {
  std::size_t outer = 1, n = 1, inner = 1;
  Shape reduced;  // the shape without the axis, or with extent 1 there
  std::size_t at(std::size_t o, std::size_t k, std::size_t i) const { return (o * n + k) * inner + i; }
};

namespace {

Along along(const Shape& shape, unsigned axis, bool keeps) {
  Along out;
  for (unsigned each = 0; each < shape.rank; ++each) {
    (each < axis ? out.outer : each == axis ? out.n : out.inner) *= shape[each];
    if (each != axis) {
      out.reduced.push(shape[each]);
    } else if (keeps) {
      out.reduced.push(1);
    }
  }
  return out;
}

// What is reduced along what: without an axis the whole block as one row.
template <class D>
struct Reduction {
  BlockPtr<D> block;
  Along view;
};

template <class D>
Reduction<D> reduction(Context<D>& context, const BlockPtr<D>& block, const Value<D>& axis, const Value<D>& keep_dims) {
  if (block->shape.rank == 0) context.fail(kType, "a scalar has no axis to reduce");
  if (block->is_pointer()) context.fail(kType, "pointers are not reduced");
  const bool keeps = constexpr_flag(context, keep_dims, false);
  context.count(block->size());
  if (!axis.is_unset() && !axis.is_none()) {
    return {block, along(block->shape, constexpr_axis(context, axis, block->shape.rank), keeps)};
  }
  Along all;
  all.n = block->size();
  for (unsigned each = 0; keeps && each < block->shape.rank; ++each) all.reduced.push(1);
  return {block, all};
}

template <class D>
void reduce_undefined(Block<D>& out, const Reduction<D>& r) {
  if (r.block->undefined.empty()) return;
  out.undefined.assign(out.size(), 0);
  for (std::size_t o = 0; o < r.view.outer; ++o) {
    for (std::size_t k = 0; k < r.view.n; ++k) {
      for (std::size_t i = 0; i < r.view.inner; ++i) {
        out.undefined[o * r.view.inner + i] |= r.block->undefined[r.view.at(o, k, i)];
      }
    }
  }
}

// out = row(pointer to n contiguous reals, n) for each row along the axis.
template <class D, class Row>
BlockPtr<D> reduce_reals(Context<D>& context, const Reduction<D>& r, Row row) {
  auto out = new_block<D>(r.block->type, r.view.reduced);
  Elements<typename D::Real> scratch(r.view.inner == 1 ? 0 : r.view.n);
  for (std::size_t o = 0; o < r.view.outer; ++o) {
    for (std::size_t i = 0; i < r.view.inner; ++i) {
      const typename D::Real* from = r.block->reals.data() + r.view.at(o, 0, i);
      if (r.view.inner != 1) {
        for (std::size_t k = 0; k < r.view.n; ++k) scratch[k] = r.block->reals[r.view.at(o, k, i)];
        from = scratch.data();
      }
      out->reals[o * r.view.inner + i] = row(from, r.view.n);
      context.check();
    }
  }
  reduce_undefined(*out, r);
  return out;
}

// Elements [first, first + count) along an axis.
template <class D>
BlockPtr<D> slice(const Block<D>& block, unsigned axis, std::uint32_t first, std::uint32_t count) {
  Shape shape = block.shape;
  shape.dims[axis] = count;
  const Strides strides = row_major(block.shape);
  return restride(block, shape, strides, strides[axis] * first);
}

// `op` on two blocks of one type and shape.
template <class D>
BlockPtr<D> joined(Context<D>& context, IntOp op, const BlockPtr<D>& a, const BlockPtr<D>& b) {
  return int_operation(context, op, Pair<D>{a, b, a->type, a->shape});
}

// Integers of data: halves against each other while there are two, so that sets of extremes stay small.
template <class D>
BlockPtr<D> reduce_words(Context<D>& context, const Reduction<D>& r, IntOp op) {
  Shape shape;
  for (const std::size_t extent : {r.view.outer, r.view.n, r.view.inner}) {
    shape.push(static_cast<std::uint32_t>(extent));
  }
  BlockPtr<D> block = reshaped(r.block, shape);
  for (std::uint32_t n = shape[1]; n > 1; n = block->shape[1]) {
    const BlockPtr<D> low = slice(*block, 1, 0, n / 2), high = slice(*block, 1, n / 2, n / 2);
    BlockPtr<D> half = joined(context, op, low, high);
    block = std::move(half);
  }
  return reshaped(block, r.view.reduced);
}

template <class D>
BlockPtr<D> reduce_integers(Context<D>& context, const Reduction<D>& r, IntOp op) {
  if (r.block->is_word()) return reduce_words(context, r, op);
  if (r.block->is_abstract()) context.unmodelled(kData, "conditions on abstract data are reduced");
  auto out = new_block<D>(r.block->type, r.view.reduced);
  Shape row;
  row.push(static_cast<std::uint32_t>(r.view.inner));
  for (std::size_t o = 0; o < r.view.outer; ++o) {
    std::int64_t* to = out->ints.data() + o * r.view.inner;
    std::copy_n(r.block->ints.data() + r.view.at(o, 0, 0), r.view.inner, to);
    for (std::size_t k = 1; k < r.view.n; ++k) {
      int_binary(op, r.block->type.element, row, {to, row}, {r.block->ints.data() + r.view.at(o, k, 0), row}, to,
                 nullptr);
    }
  }
  reduce_undefined(*out, r);
  return out;
}

// Halves against each other until one is left: interned maxima over sets stay small that way, and each pass is a loop
// without a chain. n is a power of two; `scratch` has room for half of it.
template <class D>
typename D::Real extreme_of(D& d, Format f, bool is_max, const typename D::Real* from, std::size_t n,
                            typename D::Real* scratch) {
  if (n == 1) return from[0];
  for (std::size_t half = n / 2; half > 0; half /= 2) {
    if constexpr (std::is_same_v<D, domain::Ieee>) {
      if (f == Format::F32) {
        f32_row(is_max ? RealOp::Max : RealOp::Min, half, from, 1, from + half, 1, scratch);
        from = scratch;
        continue;
      }
    }
    for (std::size_t k = 0; k < half; ++k) {
      scratch[k] = is_max ? d.max(f, from[k], from[k + half], {}) : d.min(f, from[k], from[k + half], {});
    }
    from = scratch;
  }
  return scratch[0];
}

// Small integers become int32 (unsigned ones uint32 when `keeps_sign`), or the type that the source asks for.
template <class D>
BlockPtr<D> widened_sum(Context<D>& context, const BlockPtr<D>& block, const Value<D>& dtype) {
  if (!dtype.is_unset() && !dtype.is_none()) return cast(context, block, constexpr_type(context, dtype));
  const DType type = block->type.element;
  if (is_float(type) || bit_width(type) >= 32) return block;
  return cast(context, block, {is_signed(type) ? DType::Int32 : DType::UInt32, false});
}

template <class D>
BlockPtr<D> bf16_as_single(Context<D>& context, const BlockPtr<D>& block) {
  return block->type == Type{DType::BF16, false} ? cast(context, block, {DType::Fp32, false}) : block;
}

// Values and indices of the extremes; the smallest index of equals. The comparisons must be known.
template <class D>
Value<D> extreme_with_index(Context<D>& context, const Reduction<D>& r, bool is_max) {
  const Block<D>& block = *r.block;
  auto value = new_block<D>(block.type, r.view.reduced);
  auto index = new_block<D>({DType::Int32, false}, r.view.reduced);
  const bool is_wide = block.type.element == DType::UInt64;
  const auto beats = [&](std::size_t a, std::size_t b) {
    if (block.is_real()) {
      const domain::Compare how = is_max ? domain::Compare::Gt : domain::Compare::Lt;
      const auto test = context.domain.compare(format(block.type.element), how, block.reals[a], block.reals[b], {});
      const std::optional<bool> known = context.domain.decide(test);
      context.check();
      if (!known) context.unmodelled(kData, "the index of an extreme depends on abstract data");
      return *known;
    }
    const std::int64_t x = block.ints[is_max ? b : a], y = block.ints[is_max ? a : b];
    return is_wide ? static_cast<std::uint64_t>(x) < static_cast<std::uint64_t>(y) : x < y;
  };
  if (block.is_abstract()) context.unmodelled(kData, "conditions on abstract data are reduced");
  for (std::size_t o = 0; o < r.view.outer; ++o) {
    for (std::size_t i = 0; i < r.view.inner; ++i) {
      std::size_t best = 0;
      for (std::size_t k = 1; k < r.view.n; ++k) {
        if (beats(r.view.at(o, k, i), r.view.at(o, best, i))) best = k;
      }
      const std::size_t to = o * r.view.inner + i, from = r.view.at(o, best, i);
      index->ints[to] = static_cast<std::int64_t>(best);
      if (block.is_real()) {
        value->reals[to] = block.reals[from];
      } else {
        value->ints[to] = block.ints[from];
      }
    }
  }
  reduce_undefined(*value, r);
  index->undefined = value->undefined;
  return tuple_of(std::vector<Value<D>>{BlockPtr<D>(std::move(value)), BlockPtr<D>(std::move(index))});
}

// arguments: input, axis, return_indices, tie_break_left, keep_dims
template <class D>
Value<D> extreme(Context<D>& context, Arguments<D>& arguments, bool is_max) {
  BlockPtr<D> block = bf16_as_single(context, to_block(context, arguments[0]));
  if (constexpr_flag(context, arguments[2], false)) {
    if (!constexpr_flag(context, arguments[3], true)) {
      context.unmodelled(kUnsupported, "ties broken to no side leave the index open, which is not supported");
    }
    return extreme_with_index(context, reduction(context, block, arguments[1], arguments[4]), is_max);
  }
  if (bit_width(block->type.element) < 32) {
    block = cast(context, block, {block->is_real() ? DType::Fp32 : DType::Int32, false});
  }
  const Reduction<D> r = reduction(context, block, arguments[1], arguments[4]);
  if (!block->is_real()) return reduce_integers(context, r, is_max ? IntOp::Max : IntOp::Min);
  const Format f = format(block->type.element);
  Elements<typename D::Real> scratch(std::max<std::size_t>(r.view.n / 2, 1));
  return reduce_reals(context, r, [&](const typename D::Real* from, std::size_t n) {
    return extreme_of(context.domain, f, is_max, from, n, scratch.data());
  });
}

template <class D>
Value<D> index_of_extreme(Context<D>& context, Arguments<D>& arguments, bool is_max) {
  Arguments<D> all;
  all.values = {arguments[0], arguments[1], Value<D>(true), arguments[2], arguments[3]};
  return (*extreme(context, all, is_max).tuple())[1];
}

template <class D>
Value<D> integer_reduction(Context<D>& context, Arguments<D>& arguments, IntOp op) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  if (!block->is_integer())
    context.fail(kType, fmt::format("this reduction is of integers, not {}", name(block->type)));
  return reduce_integers(context, reduction(context, block, arguments[1], arguments[2]), op);
}

// --- reductions and scans by a function of the source ---------------------------------------------------------------

template <class D>
std::vector<BlockPtr<D>> blocks_of(Context<D>& context, const Value<D>& input) {
  std::vector<BlockPtr<D>> out;
  if (const std::vector<Value<D>>* tuple = input.tuple()) {
    for (const Value<D>& each : *tuple) out.push_back(to_block(context, each));
  } else {
    out.push_back(to_block(context, input));
  }
  for (const BlockPtr<D>& each : out) {
    if (each->shape.rank == 0 || !(each->shape == out[0]->shape)) {
      context.fail(kType, "the blocks have one shape, of rank 1 or more");
    }
  }
  return out;
}

template <class D>
std::vector<BlockPtr<D>> combined(Context<D>& context, const Value<D>& function, const std::vector<BlockPtr<D>>& left,
                                  const std::vector<BlockPtr<D>>& right) {
  std::vector<Value<D>> arguments;
  for (const BlockPtr<D>& each : left) arguments.emplace_back(each);
  for (const BlockPtr<D>& each : right) arguments.emplace_back(each);
  const Value<D> result = context.evaluator->call(function, std::move(arguments));
  std::vector<BlockPtr<D>> out;
  if (const std::vector<Value<D>>* tuple = result.tuple()) {
    for (const Value<D>& each : *tuple) out.push_back(to_block(context, each));
  } else {
    out.push_back(to_block(context, result));
  }
  bool is_good = out.size() == left.size();
  for (std::size_t i = 0; is_good && i < out.size(); ++i) {
    out[i] = broadcast_to(context, out[i], left[i]->shape);
    is_good = out[i]->type == left[i]->type;
  }
  if (!is_good) context.fail(kType, "the combining function does not return what it combines");
  return out;
}

template <class D>
Value<D> as_value(std::vector<BlockPtr<D>> blocks, bool is_tuple) {
  if (!is_tuple) return blocks[0];
  std::vector<Value<D>> out;
  for (BlockPtr<D>& each : blocks) out.emplace_back(std::move(each));
  return tuple_of(std::move(out));
}

}  // namespace

template <class D>
Value<D> op_sum(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = widened_sum(context, to_block(context, arguments[0]), arguments[3]);
  const Reduction<D> r = reduction(context, block, arguments[1], arguments[2]);
  if (!block->is_real()) return reduce_integers(context, r, IntOp::Add);
  const Format f = format(block->type.element);
  return reduce_reals(context, r, [&](const typename D::Real* from, std::size_t n) {
    if constexpr (!D::kHasTags) {
      if (f == Format::F32) return f32_sum(n, from);
    }
    return context.domain.sum(f, from, n);
  });
}

template <class D>
Value<D> op_max(Context<D>& context, Arguments<D>& arguments) {
  return extreme(context, arguments, true);
}
template <class D>
Value<D> op_min(Context<D>& context, Arguments<D>& arguments) {
  return extreme(context, arguments, false);
}
template <class D>
Value<D> op_argmax(Context<D>& context, Arguments<D>& arguments) {
  return index_of_extreme(context, arguments, true);
}
template <class D>
Value<D> op_argmin(Context<D>& context, Arguments<D>& arguments) {
  return index_of_extreme(context, arguments, false);
}
template <class D>
Value<D> op_xor_sum(Context<D>& context, Arguments<D>& arguments) {
  return integer_reduction(context, arguments, IntOp::Xor);
}
template <class D>
Value<D> op_reduce_or(Context<D>& context, Arguments<D>& arguments) {
  return integer_reduction(context, arguments, IntOp::Or);
}

// Halves are combined until one element is left: the order is open, and each call works on whole blocks.
template <class D>
Value<D> op_reduce(Context<D>& context, Arguments<D>& arguments) {
  const bool keeps = constexpr_flag(context, arguments[3], false);
  const Value<D>& function = arguments[2];
  std::vector<BlockPtr<D>> blocks = blocks_of(context, arguments[0]);
  const bool is_flat = !arguments.has(1);
  if (is_flat) {
    Shape flat;
    flat.push(static_cast<std::uint32_t>(blocks[0]->size()));
    for (BlockPtr<D>& each : blocks) each = reshaped(each, flat);
  }
  const unsigned axis = is_flat ? 0 : constexpr_axis(context, arguments[1], blocks[0]->shape.rank);
  const unsigned rank =
      is_flat ? to_block(context, arguments[0].tuple() ? (*arguments[0].tuple())[0] : arguments[0])->shape.rank
              : blocks[0]->shape.rank;
  for (std::uint32_t n = blocks[0]->shape[axis]; n > 1; n /= 2) {
    std::vector<BlockPtr<D>> left, right;
    for (const BlockPtr<D>& each : blocks) {
      left.push_back(slice(*each, axis, 0, n / 2));
      right.push_back(slice(*each, axis, n / 2, n / 2));
    }
    blocks = combined(context, function, left, right);
  }
  Shape shape = along(blocks[0]->shape, axis, keeps).reduced;
  if (is_flat && keeps) {
    while (shape.rank < rank) shape.push(1);
  }
  for (BlockPtr<D>& each : blocks) each = reshaped(each, shape);
  return as_value(std::move(blocks), arguments[0].tuple() != nullptr);
}

// --- scans -----------------------------------------------------------------------------------------------------------

namespace {

// Puts a slice along the axis, with extent 1 there, at place k of `to`.
template <class From, class To>
void put_slice(const Along& view, std::size_t k, const From& from, To& to) {
  if (from.empty()) return;
  to.resize(view.outer * view.n * view.inner);
  for (std::size_t o = 0; o < view.outer; ++o) {
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(o * view.inner), view.inner,
                to.begin() + static_cast<std::ptrdiff_t>(view.at(o, k, 0)));
  }
}

// Of integers of data.
template <class D>
Value<D> scan_words(Context<D>& context, const BlockPtr<D>& block, unsigned axis, bool is_reverse, IntOp op) {
  const Along view = along(block->shape, axis, false);
  auto out = std::make_shared<Block<D>>(*block);
  BlockPtr<D> carried;
  for (std::size_t step = 0; step < view.n; ++step) {
    const std::size_t k = is_reverse ? view.n - 1 - step : step;
    const BlockPtr<D> next = slice(*block, axis, static_cast<std::uint32_t>(k), 1);
    carried = step == 0 ? next : joined(context, op, carried, next);
    put_slice(view, k, words(*carried), out->words);
    put_slice(view, k, carried->undefined, out->undefined);
  }
  return BlockPtr<D>(std::move(out));
}

// Inclusive, element after element, from the high end when `reverse`; `op` is the step on integers of data.
template <class D, class Step>
Value<D> scan(Context<D>& context, const BlockPtr<D>& block, const Value<D>& axis_value, const Value<D>& reverse,
              IntOp op, Step step) {
  const Value<D> first(Int128{0});
  if (block->shape.rank == 0 || block->is_pointer()) context.fail(kType, "a scan needs a block of numbers");
  const unsigned axis = constexpr_axis(context, axis_value.is_unset() ? first : axis_value, block->shape.rank);
  const Along view = along(block->shape, axis, false);
  const bool is_reverse = constexpr_flag(context, reverse, false);
  if (block->is_word()) return scan_words(context, block, axis, is_reverse, op);
  if (block->is_abstract()) context.unmodelled(kData, "conditions on abstract data are scanned");
  auto out = std::make_shared<Block<D>>(*block);
  context.count(out->size());
  for (std::size_t o = 0; o < view.outer; ++o) {
    for (std::size_t k = 1; k < view.n; ++k) {
      for (std::size_t i = 0; i < view.inner; ++i) {
        const std::size_t to = view.at(o, is_reverse ? view.n - 1 - k : k, i);
        const std::size_t from = view.at(o, is_reverse ? view.n - k : k - 1, i);
        step(*out, from, to);
        if (!out->undefined.empty()) out->undefined[to] |= out->undefined[from];
      }
    }
    context.check();
  }
  return BlockPtr<D>(std::move(out));
}

}  // namespace

template <class D>
Value<D> op_cumsum(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block =
      widened_sum(context, bf16_as_single(context, to_block(context, arguments[0])), arguments[3]);
  const DType type = block->type.element;
  return scan(
      context, block, arguments[1], arguments[2], IntOp::Add, [&](Block<D>& out, std::size_t from, std::size_t to) {
        if (out.is_real()) {
          out.reals[to] = context.domain.add(format(type), out.reals[from], out.reals[to], FloatMode{});
        } else {
          const auto sum = static_cast<std::uint64_t>(out.ints[from]) + static_cast<std::uint64_t>(out.ints[to]);
          out.ints[to] = wrap(type, static_cast<std::int64_t>(sum));
        }
      });
}

template <class D>
Value<D> op_cumprod(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = bf16_as_single(context, to_block(context, arguments[0]));
  const DType type = block->type.element;
  return scan(
      context, block, arguments[1], arguments[2], IntOp::Mul, [&](Block<D>& out, std::size_t from, std::size_t to) {
        if (out.is_real()) {
          out.reals[to] = context.domain.mul(format(type), out.reals[from], out.reals[to], FloatMode{});
        } else {
          const auto product = static_cast<std::uint64_t>(out.ints[from]) * static_cast<std::uint64_t>(out.ints[to]);
          out.ints[to] = wrap(type, static_cast<std::int64_t>(product));
        }
      });
}

template <class D>
Value<D> op_associative_scan(Context<D>& context, Arguments<D>& arguments) {
  const Value<D>& function = arguments[2];
  const std::vector<BlockPtr<D>> blocks = blocks_of(context, arguments[0]);
  const unsigned axis = constexpr_axis(context, arguments[1], blocks[0]->shape.rank);
  const bool is_reverse = constexpr_flag(context, arguments[3], false);
  const std::uint32_t n = blocks[0]->shape[axis];
  std::vector<std::shared_ptr<Block<D>>> out;
  for (const BlockPtr<D>& each : blocks) {
    if (!each->conditions.empty()) context.unmodelled(kData, "conditions on abstract data are scanned");
    out.push_back(std::make_shared<Block<D>>(*each));
  }
  const Along view = along(blocks[0]->shape, axis, false);
  std::vector<BlockPtr<D>> carried;
  for (std::uint32_t step = 0; step < n; ++step) {
    const std::uint32_t k = is_reverse ? n - 1 - step : step;
    std::vector<BlockPtr<D>> next;
    for (const BlockPtr<D>& each : blocks) next.push_back(slice(*each, axis, k, 1));
    carried = step == 0 ? next : combined(context, function, carried, next);
    for (std::size_t b = 0; b < out.size(); ++b) {
      if (!carried[b]->conditions.empty()) context.unmodelled(kData, "a scan gives conditions on abstract data");
      if (out[b]->is_word() || carried[b]->is_word()) {
        if (!out[b]->is_word()) out[b]->words = words(*out[b]);
        put_slice(view, k, words(*carried[b]), out[b]->words);
        out[b]->ints.clear();
      } else {
        put_slice(view, k, carried[b]->ints, out[b]->ints);
      }
      put_slice(view, k, carried[b]->reals, out[b]->reals);
      put_slice(view, k, carried[b]->undefined, out[b]->undefined);
    }
  }
  std::vector<BlockPtr<D>> results(out.begin(), out.end());
  return as_value(std::move(results), arguments[0].tuple() != nullptr);
}

#define PLUMB_TRITON_CHAPTER 4
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
