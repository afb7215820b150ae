// SPDX-License-Identifier: Apache-2.0
// Loads and stores, through pointers and block pointers.
#include <limits>

#include "triton/tile/domains.h"
#include "triton/tile/memory_args.h"

namespace plumb::triton {
namespace {

// How many elements from `first` on lie one after the other in memory, with their masks set.
template <class D>
std::size_t run_length(const Block<D>& addresses, const Block<D>* mask, std::size_t first) {
  const std::size_t n = addresses.size() - first;
  const std::size_t run =
      run_of_addresses(addresses.ints.data() + first, n, static_cast<std::int64_t>(byte_size(addresses.type.element)));
  return mask == nullptr ? run : run_of_flags(mask->ints.data() + first, run);
}

template <class D>
void refuse_block_pointer_options(Context<D>& context, const Value<D>& boundary_check, const Value<D>& padding) {
  const bool has_check = boundary_check.tuple() != nullptr ? !boundary_check.tuple()->empty()
                                                           : !(boundary_check.is_unset() || boundary_check.is_none());
  if (has_check || !constexpr_text(context, padding, "`padding_option`").empty()) {
    context.fail(kType, "`boundary_check` and `padding_option` are for block pointers");
  }
}

}  // namespace

// --- block pointers --------------------------------------------------------------------------------------------------

namespace {

template <class D>
const BlockPointer* block_pointer(const Value<D>& value) {
  const auto* pointer = value.template get<std::shared_ptr<const BlockPointer>>();
  return pointer != nullptr ? pointer->get() : nullptr;
}

// A bit for each axis that `boundary_check` names.
template <class D>
unsigned checked_axes(Context<D>& context, const Value<D>& value, unsigned rank) {
  if (value.is_unset() || value.is_none()) return 0;
  std::vector<Value<D>> axes{value};
  if (value.tuple() != nullptr) axes = *value.tuple();
  unsigned out = 0;
  for (const Value<D>& each : axes) {
    const Int128 axis = constexpr_integer(context, each, "an axis of `boundary_check`");
    if (axis < 0 || axis >= rank) context.fail(kType, "an axis of `boundary_check` is out of range");
    if ((out >> static_cast<unsigned>(axis) & 1U) != 0) context.fail(kType, "`boundary_check` names an axis twice");
    out |= 1U << static_cast<unsigned>(axis);
  }
  return out;
}

Window window(const BlockPointer& pointer, unsigned checked) {
  return {
      pointer.base, byte_size(pointer.element.element), pointer.shape, pointer.strides, pointer.offsets, pointer.block,
      checked};
}

template <class D>
Value<D> load_block(Context<D>& context, const BlockPointer& from, Arguments<D>& arguments) {
  if (arguments.has(1) || arguments.has(2)) context.fail(kType, "a block pointer takes no `mask` and no `other`");
  const std::string padding = constexpr_text(context, arguments[4], "`padding_option`");
  const DType type = from.element.element;
  if (!padding.empty() && padding != "zero" && padding != "nan") context.fail(kType, "the padding is `zero` or `nan`");
  if (padding == "nan" && !is_float(type)) context.fail(kType, "integers are not padded with NaN");
  auto out = new_block<D>(from.element, from.block);
  context.count(out->size());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto fill = context.domain.constant(format(type), padding == "nan" ? literal_bits(type, nan) : 0);
  with_element(type, [&]<DType element>() {
    Access<D, element> access(context, from.block, true);
    visit(
        window(from, checked_axes(context, arguments[3], from.block.rank)),
        [&](std::size_t i, std::uint64_t address, std::size_t n) { access.load_run(address, n, *out, i); },
        [&](std::size_t i) {
          if (padding.empty()) {
            access.mark_undefined(*out, i);
          } else if constexpr (is_float(element)) {
            out->reals[i] = fill;
          } else {
            out->ints[i] = 0;
          }
        });
  });
  context.check();
  settle_words(*out);
  return BlockPtr<D>(std::move(out));
}

template <class D>
Value<D> store_block(Context<D>& context, const BlockPointer& to, Arguments<D>& arguments) {
  if (arguments.has(2)) context.fail(kType, "a block pointer takes no `mask`");
  BlockPtr<D> value = cast(context, to_block(context, arguments[1]), to.element);
  if (value->shape.rank != 0 && !(value->shape == to.block)) {
    context.fail(kType, fmt::format("a block of shape {} is stored through a block pointer of shape {}",
                                    text(value->shape), text(to.block)));
  }
  if (!value->conditions.empty()) context.unmodelled(kData, "a condition on abstract data is stored");
  value = broadcast_to(context, value, to.block);
  context.count(value->size());
  with_element(to.element.element, [&]<DType element>() {
    Access<D, element> access(context, to.block);
    visit(
        window(to, checked_axes(context, arguments[3], to.block.rank)),
        [&](std::size_t i, std::uint64_t address, std::size_t n) { access.store_run(address, n, *value, i); },
        [](std::size_t) {});
  });
  context.check();
  return None{};
}

}  // namespace

template <class D>
Value<D> op_make_block_ptr(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> base = pointers(context, arguments[0]);
  auto made = std::make_shared<BlockPointer>();
  made->element = {base->type.element, false};
  made->base = static_cast<std::uint64_t>(known_integer(context, *base, "the base of a block pointer"));
  made->shape = integers(context, arguments[1], DType::Int64, "the shape of a block pointer");
  made->strides = integers(context, arguments[2], DType::Int64, "the strides of a block pointer");
  made->offsets = integers(context, arguments[3], DType::Int32, "the offsets of a block pointer");
  made->block = constexpr_shape(context, arguments[4]);
  const std::size_t rank = made->block.rank;
  if (rank == 0 || made->shape.size() != rank || made->strides.size() != rank || made->offsets.size() != rank) {
    context.fail(kType, "shape, strides, offsets and block shape of a block pointer have one rank, 1 or more");
  }
  return std::shared_ptr<const BlockPointer>(std::move(made));
}

template <class D>
Value<D> op_advance(Context<D>& context, Arguments<D>& arguments) {
  const BlockPointer* from = block_pointer(arguments[0]);
  if (from == nullptr) context.fail(kType, "`advance` moves a block pointer");
  const std::vector<std::int64_t> steps = integers(context, arguments[1], DType::Int32, "the steps of `advance`");
  if (steps.size() != from->offsets.size()) context.fail(kType, "`advance` needs a step for each axis");
  auto moved = std::make_shared<BlockPointer>(*from);
  for (std::size_t i = 0; i < steps.size(); ++i) moved->offsets[i] = wrap(DType::Int32, moved->offsets[i] + steps[i]);
  return std::shared_ptr<const BlockPointer>(std::move(moved));
}

// --- loads and stores ------------------------------------------------------------------------------------------------

template <class D>
Value<D> op_load(Context<D>& context, Arguments<D>& arguments) {
  if (const BlockPointer* block = block_pointer(arguments[0])) return load_block(context, *block, arguments);
  BlockPtr<D> from = pointers(context, arguments[0]);
  refuse_block_pointer_options(context, arguments[3], arguments[4]);
  if (!arguments.has(1) && arguments.has(2)) context.fail(kType, "`other` needs a `mask`");
  BlockPtr<D> other;
  if (arguments.has(2)) other = cast(context, to_block(context, arguments[2]), {from->type.element, false});
  for (const BlockPtr<D>& each : {arguments.has(1) ? to_block(context, arguments[1]) : nullptr, other}) {
    if (!each) continue;
    if (from->shape.rank == 0 && each->shape.rank != 0)
      context.fail(kType, "a scalar load has a scalar mask and `other`");
    from = broadcast_to(context, from, common_shape(context, *from, *each));
  }
  const BlockPtr<D> mask = mask_of(context, arguments[1], from->shape);
  if (other) other = broadcast_to(context, other, from->shape);
  check_addresses(context, *from, mask);

  auto out = new_block<D>({from->type.element, false}, from->shape);
  const std::size_t size = from->size();
  context.count(size);
  with_element(from->type.element, [&]<DType element>() {
    Access<D, element> access(context, from->shape, true);
    for (std::size_t i = 0, n = 1; i < size; i += n) {
      n = 1;
      if (!mask || mask->ints[i] != 0) {
        n = run_length(*from, mask.get(), i);
        access.load_run(static_cast<std::uint64_t>(from->ints[i]), n, *out, i);
      } else if (!other || (!other->undefined.empty() && other->undefined[i] != 0)) {
        access.mark_undefined(*out, i);
      } else if constexpr (is_float(element)) {
        out->reals[i] = other->reals[i];
      } else if (other->is_word()) {
        if (out->words.empty()) out->words.resize(size);
        out->words[i] = other->words[i];
      } else {
        out->ints[i] = other->ints[i];
      }
    }
  });
  context.check();
  settle_words(*out);
  return BlockPtr<D>(std::move(out));
}

template <class D>
Value<D> op_store(Context<D>& context, Arguments<D>& arguments) {
  if (const BlockPointer* block = block_pointer(arguments[0])) return store_block(context, *block, arguments);
  const BlockPtr<D> to = pointers(context, arguments[0]);
  refuse_block_pointer_options(context, arguments[3], Value<D>());
  BlockPtr<D> value = cast(context, to_block(context, arguments[1]), {to->type.element, false});
  if (!value->conditions.empty()) context.unmodelled(kData, "a condition on abstract data is stored");
  value = broadcast_to(context, value, to->shape);
  const BlockPtr<D> mask = mask_of(context, arguments[2], to->shape);
  check_addresses(context, *to, mask);
  const std::size_t size = to->size();
  context.count(size);
  with_element(to->type.element, [&]<DType element>() {
    Access<D, element> access(context, to->shape);
    for (std::size_t i = 0, n = 1; i < size; i += n) {
      n = 1;
      if (mask && mask->ints[i] == 0) continue;
      n = run_length(*to, mask.get(), i);
      access.store_run(static_cast<std::uint64_t>(to->ints[i]), n, *value, i);
    }
  });
  context.check();
  return None{};
}

#define PLUMB_TRITON_CHAPTER 1
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
