// SPDX-License-Identifier: Apache-2.0
// Compile-time arguments of the op table's functions, and the table of their meanings.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"

namespace plumb::triton {

template <class D>
Int128 constexpr_integer(Context<D>& context, const Value<D>& value, const char* what) {
  if (const Int128* integer = value.template get<Int128>()) return *integer;
  if (const bool* boolean = value.template get<bool>()) return *boolean ? 1 : 0;
  context.fail(kConstexpr, fmt::format("{} must be a compile-time integer", what));
}

template <class D>
bool constexpr_flag(Context<D>& context, const Value<D>& value, bool otherwise) {
  if (value.is_unset() || value.is_none()) return otherwise;
  return constexpr_integer(context, value, "a flag") != 0;
}

template <class D>
std::string constexpr_text(Context<D>& context, const Value<D>& value, const char* what) {
  if (value.is_unset() || value.is_none()) return {};
  if (const std::string* text = value.template get<std::string>()) return *text;
  context.fail(kConstexpr, fmt::format("{} must be a compile-time string", what));
}

template <class D>
Type constexpr_type(Context<D>& context, const Value<D>& value) {
  if (const TypeValue* type = value.template get<TypeValue>()) return type->type;
  context.fail(kType, "a type such as `tl.float32` is needed here");
}

template <class D>
Shape constexpr_shape(Context<D>& context, std::span<const Value<D>> extents) {
  if (extents.size() > kMaxRank)
    context.unmodelled(kUnsupported, fmt::format("rank {} is not supported", extents.size()));
  Shape shape;
  for (const Value<D>& each : extents) {
    const Int128 extent = constexpr_integer(context, each, "an extent of a shape");
    const bool is_good = extent > 0 && extent <= Int128{kLargestBlock} && (extent & (extent - 1)) == 0;
    if (!is_good) context.fail(kType, "an extent of a block is a power of two, at most 2^20");
    shape.push(static_cast<std::uint32_t>(extent));
    if (shape.size() > kLargestBlock) context.fail(kType, "a block has at most 2^20 elements");
  }
  return shape;
}

template <class D>
Shape constexpr_shape(Context<D>& context, const Value<D>& value) {
  if (const std::vector<Value<D>>* tuple = value.tuple()) {
    return constexpr_shape(context, std::span<const Value<D>>(*tuple));
  }
  return constexpr_shape(context, std::span<const Value<D>>(&value, 1));
}

template <class D>
unsigned constexpr_axis(Context<D>& context, const Value<D>& value, unsigned rank) {
  Int128 axis = constexpr_integer(context, value, "an axis");
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) context.fail(kType, fmt::format("the axis is out of range of rank {}", rank));
  return static_cast<unsigned>(axis);
}

// The functions that take integers of data; what the others do to them is not modelled.
constexpr bool takes_words(Op op) {
  switch (op) {
    case Op::load:
    case Op::store:
    case Op::descriptor_load:
    case Op::descriptor_store:
    case Op::zeros_like:
    case Op::cast:
    case Op::to_tensor:
    case Op::item:
    case Op::broadcast_to:
    case Op::broadcast:
    case Op::expand_dims:
    case Op::unsqueeze:
    case Op::squeeze:
    case Op::reshape:
    case Op::ravel:
    case Op::trans:
    case Op::permute:
    case Op::join:
    case Op::split:
    case Op::interleave:
    case Op::cat:
    case Op::flip:
    case Op::where:
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::bit_or:
    case Op::bit_xor:
    case Op::cdiv:
    case Op::dot:
    case Op::maximum:
    case Op::minimum:
    case Op::sum:
    case Op::max:
    case Op::min:
    case Op::xor_sum:
    case Op::reduce_or:
    case Op::reduce:
    case Op::cumsum:
    case Op::cumprod:
    case Op::associative_scan:
    case Op::atomic_add:
    case Op::atomic_max:
    case Op::atomic_min:
    case Op::atomic_and:
    case Op::atomic_or:
    case Op::atomic_xor:
    case Op::atomic_xchg:
      return true;
    default:
      return false;
  }
}

template <class D>
bool has_words(const Value<D>& value) {
  if (const std::vector<Value<D>>* tuple = value.tuple()) return std::ranges::any_of(*tuple, has_words<D>);
  return value.block() != nullptr && value.block()->is_word();
}

template <class D>
Value<D> call_op(Context<D>& context, Op op, Arguments<D>& arguments) {
  using Meaning = Value<D> (*)(Context<D>&, Arguments<D>&);
  static constexpr auto kMeanings = std::to_array<Meaning>({
#define PLUMB_TRITON_OP(id, names, parameters) &op_##id<D>,
#include "triton/ops.def"
#undef PLUMB_TRITON_OP
  });
  if constexpr (D::kHasTags) {
    const bool has_data =
        std::ranges::any_of(arguments.values, has_words<D>) || std::ranges::any_of(arguments.rest, has_words<D>);
    if (has_data && !takes_words(op)) context.unmodelled(kData, "this function of integers that depend on data");
  }
  return kMeanings[static_cast<std::size_t>(op)](context, arguments);
}

#define PLUMB_INSTANTIATE(D)                                                      \
  template Int128 constexpr_integer(Context<D>&, const Value<D>&, const char*);   \
  template bool constexpr_flag(Context<D>&, const Value<D>&, bool);               \
  template std::string constexpr_text(Context<D>&, const Value<D>&, const char*); \
  template Type constexpr_type(Context<D>&, const Value<D>&);                     \
  template Shape constexpr_shape(Context<D>&, const Value<D>&);                   \
  template Shape constexpr_shape(Context<D>&, std::span<const Value<D>>);         \
  template unsigned constexpr_axis(Context<D>&, const Value<D>&, unsigned);       \
  template Value<D> call_op(Context<D>&, Op, Arguments<D>&);
PLUMB_FOR_EACH_DOMAIN(PLUMB_INSTANTIATE)

}  // namespace plumb::triton
