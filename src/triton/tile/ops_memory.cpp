// SPDX-License-Identifier: Apache-2.0
// Loads, stores, tensor descriptors and atomics.
#include <limits>

#include "triton/tile/arith.h"
#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"
#include "triton/tile/memory_access.h"

namespace plumb::triton {
namespace {

template <class D>
BlockPtr<D> pointers(Context<D>& context, const Value<D>& value) {
  const auto* block = value.template get<BlockPtr<D>>();
  if (block == nullptr || !(*block)->is_pointer()) context.fail(kType, "a pointer is needed here");
  return *block;
}

// The mask stretched to a shape; null without a mask. Its lanes must be known.
template <class D>
BlockPtr<D> mask_of(Context<D>& context, const Value<D>& value, const Shape& shape) {
  if (value.is_unset() || value.is_none()) return nullptr;
  BlockPtr<D> mask = to_block(context, value);
  if (!(mask->type == Type{DType::Int1, false})) {
    context.fail(kType, fmt::format("a mask is int1, not {}", name(mask->type)));
  }
  if (mask->is_abstract()) context.unmodelled(kData, "the mask depends on abstract data");
  mask = broadcast_to(context, mask, shape);
  for (const std::uint8_t each : mask->undefined) {
    if (each != 0) context.fail(kUndefined, "a lane of the mask is an unspecified value");
  }
  return mask;
}

template <class D>
void check_addresses(Context<D>& context, const Block<D>& addresses, const BlockPtr<D>& mask) {
  for (std::size_t i = 0; i < addresses.undefined.size(); ++i) {
    if (addresses.undefined[i] == 0 || (mask && mask->ints[i] == 0)) continue;
    context.fail(kUndefined, fmt::format("the address{} is an unspecified value", element_text(addresses.shape, i)));
  }
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

template <class D>
Value<D> op_load(Context<D>& context, Arguments<D>& arguments) {
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
    Access<D, element> access(context, from->shape);
    for (std::size_t i = 0; i < size; ++i) {
      if (!mask || mask->ints[i] != 0) {
        access.load(static_cast<std::uint64_t>(from->ints[i]), *out, i);
      } else if (!other || (!other->undefined.empty() && other->undefined[i] != 0)) {
        access.mark_undefined(*out, i);
      } else if constexpr (is_float(element)) {
        out->reals[i] = other->reals[i];
      } else {
        out->ints[i] = other->ints[i];
      }
    }
  });
  context.check();
  return BlockPtr<D>(std::move(out));
}

template <class D>
Value<D> op_store(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> to = pointers(context, arguments[0]);
  refuse_block_pointer_options(context, arguments[3], Value<D>());
  BlockPtr<D> value = cast(context, to_block(context, arguments[1]), {to->type.element, false});
  if (value->is_abstract()) context.unmodelled(kData, "a condition on abstract data is stored");
  value = broadcast_to(context, value, to->shape);
  const BlockPtr<D> mask = mask_of(context, arguments[2], to->shape);
  check_addresses(context, *to, mask);
  const std::size_t size = to->size();
  context.count(size);
  with_element(to->type.element, [&]<DType element>() {
    Access<D, element> access(context, to->shape);
    for (std::size_t i = 0; i < size; ++i) {
      if (!mask || mask->ints[i] != 0) access.store(static_cast<std::uint64_t>(to->ints[i]), *value, i, i);
    }
  });
  context.check();
  return None{};
}

// --- tensor descriptors ----------------------------------------------------------------------------------------------

namespace {

template <class D>
std::vector<std::int64_t> integers(Context<D>& context, const Value<D>& value, DType type, const char* what) {
  std::vector<std::int64_t> out;
  if (value.tuple() == nullptr) context.fail(kType, fmt::format("{} is a list", what));
  for (const Value<D>& each : *value.tuple()) {
    out.push_back(known_integer(context, *cast(context, to_block(context, each), {type, false}), what));
  }
  return out;
}

template <class D>
const Descriptor& descriptor_of(Context<D>& context, const Value<D>& value) {
  const auto* descriptor = value.template get<std::shared_ptr<const Descriptor>>();
  if (descriptor == nullptr) context.fail(kType, "`.load` and `.store` are methods of tensor descriptors");
  return **descriptor;
}

// Calls visit(element index, address) for the elements of the block at `offsets` that are inside the tensor.
template <class Visit>
void visit_inside(const Descriptor& descriptor, const std::vector<std::int64_t>& offsets, Visit visit) {
  const Shape& block = descriptor.block;
  const std::size_t size = block.size();
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t rest = i;
    std::int64_t element = 0;
    bool is_inside = true;
    for (unsigned axis = block.rank; axis-- > 0;) {
      const std::int64_t at = offsets[axis] + static_cast<std::int64_t>(rest % block[axis]);
      rest /= block[axis];
      is_inside = is_inside && at >= 0 && at < descriptor.shape[axis];
      element += at * descriptor.strides[axis];
    }
    const auto bytes = static_cast<std::uint64_t>(element) * byte_size(descriptor.element.element);
    if (is_inside) visit(i, descriptor.base + bytes);
  }
}

template <class D>
std::vector<std::int64_t> offsets_of(Context<D>& context, const Descriptor& descriptor, const Value<D>& value) {
  std::vector<std::int64_t> offsets = integers(context, value, DType::Int32, "an offset");
  if (offsets.size() != descriptor.block.rank) {
    context.fail(kType, fmt::format("{} offsets for a descriptor of rank {}", offsets.size(), descriptor.block.rank));
  }
  return offsets;
}

}  // namespace

template <class D>
Value<D> op_make_tensor_descriptor(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> base = pointers(context, arguments[0]);
  Descriptor made;
  made.element = {base->type.element, false};
  made.base = static_cast<std::uint64_t>(known_integer(context, *base, "the base of a descriptor"));
  made.shape = integers(context, arguments[1], DType::Int32, "the shape of a descriptor");
  made.strides = integers(context, arguments[2], DType::Int64, "the strides of a descriptor");
  made.block = constexpr_shape(context, arguments[3]);
  const std::string padding = constexpr_text(context, arguments[4], "`padding_option`");
  if (!padding.empty() && padding != "zero" && padding != "nan") context.fail(kType, "the padding is `zero` or `nan`");
  made.pads_with_nan = padding == "nan";
  const std::size_t rank = made.block.rank;
  if (rank == 0 || rank > 5 || made.shape.size() != rank || made.strides.size() != rank) {
    context.fail(kType, "shape, strides and block shape of a descriptor have one rank, 1 to 5");
  }
  const unsigned size = byte_size(made.element.element);
  if (made.base % 16 != 0) context.fail(kDescriptor, "the base of the descriptor is not 16-byte aligned");
  if (made.strides[rank - 1] != 1) context.fail(kDescriptor, "the last stride of the descriptor is not 1");
  for (std::size_t axis = 0; axis + 1 < rank; ++axis) {
    if (made.strides[axis] * size % 16 != 0) {
      context.fail(kDescriptor, fmt::format("stride {} of the descriptor is {} bytes, no multiple of 16", axis,
                                            made.strides[axis] * size));
    }
  }
  for (const std::int64_t extent : made.shape) {
    if (extent <= 0) context.fail(kDescriptor, fmt::format("an extent of the descriptor is {}", extent));
  }
  if (made.block[static_cast<unsigned>(rank - 1)] * size < 16) {
    context.fail(kDescriptor, "a row of the descriptor's block has less than 16 bytes");
  }
  return std::shared_ptr<const Descriptor>(std::make_shared<Descriptor>(std::move(made)));
}

template <class D>
Value<D> op_descriptor_load(Context<D>& context, Arguments<D>& arguments) {
  const Descriptor& descriptor = descriptor_of(context, arguments[0]);
  const std::vector<std::int64_t> offsets = offsets_of(context, descriptor, arguments[1]);
  auto out = new_block<D>(descriptor.element, descriptor.block);
  context.count(out->size());
  if (out->is_real()) {
    const DType type = descriptor.element.element;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto fill = context.domain.constant(format(type), descriptor.pads_with_nan ? literal_bits(type, nan) : 0);
    out->reals.assign(out->size(), fill);
  } else {
    out->ints.assign(out->size(), 0);
  }
  with_element(descriptor.element.element, [&]<DType element>() {
    Access<D, element> access(context, descriptor.block);
    visit_inside(descriptor, offsets, [&](std::size_t i, std::uint64_t address) { access.load(address, *out, i); });
  });
  context.check();
  return BlockPtr<D>(std::move(out));
}

template <class D>
Value<D> op_descriptor_store(Context<D>& context, Arguments<D>& arguments) {
  const Descriptor& descriptor = descriptor_of(context, arguments[0]);
  const std::vector<std::int64_t> offsets = offsets_of(context, descriptor, arguments[1]);
  const BlockPtr<D> value = cast(context, to_block(context, arguments[2]), descriptor.element);
  if (!(value->shape == descriptor.block)) {
    context.fail(kType, fmt::format("a block of shape {} is stored through a descriptor of block shape {}",
                                    text(value->shape), text(descriptor.block)));
  }
  if (value->is_abstract()) context.unmodelled(kData, "a condition on abstract data is stored");
  context.count(value->size());
  with_element(descriptor.element.element, [&]<DType element>() {
    Access<D, element> access(context, descriptor.block);
    visit_inside(descriptor, offsets,
                 [&](std::size_t i, std::uint64_t address) { access.store(address, *value, i, i); });
  });
  context.check();
  return None{};
}

// --- atomics ---------------------------------------------------------------------------------------------------------

namespace {

// Applies `update(old, value) -> new` to each lane in order and returns the old values. Programs of a kernel with
// atomics run one after the other, so that a lane's read and write are not separated.
template <class D, class Update>
Value<D> atomic(Context<D>& context, const Value<D>& pointer, const Value<D>& value, const Value<D>& mask_value,
                Update update) {
  const BlockPtr<D> to = pointers(context, pointer);
  const Type type{to->type.element, false};
  if (bit_width(type.element) < 16 || type.element == DType::Int16 || type.element == DType::UInt16) {
    context.fail(kType, fmt::format("atomics on {} do not exist", name(type)));
  }
  const BlockPtr<D> values = broadcast_to(context, cast(context, to_block(context, value), type), to->shape);
  const BlockPtr<D> mask = mask_of(context, mask_value, to->shape);
  check_addresses(context, *to, mask);
  auto old = new_block<D>(type, to->shape);
  auto one = new_block<D>(type, {});
  const std::size_t size = to->size();
  context.count(size);
  with_element(type.element, [&]<DType element>() {
    Access<D, element> access(context, to->shape);
    for (std::size_t i = 0; i < size; ++i) {
      if (mask && mask->ints[i] == 0) {
        access.mark_undefined(*old, i);
        continue;
      }
      const auto address = static_cast<std::uint64_t>(to->ints[i]);
      access.load(address, *old, i);
      one->undefined.clear();
      const bool is_unknown = (!old->undefined.empty() && old->undefined[i] != 0) ||
                              (!values->undefined.empty() && values->undefined[i] != 0);
      if (is_unknown) one->undefined.assign(1, 1);
      update(*one, *old, *values, i);
      access.store(address, *one, 0, i);
    }
  });
  context.check();
  return BlockPtr<D>(std::move(old));
}

template <class D>
Value<D> integer_atomic(Context<D>& context, Arguments<D>& arguments, IntOp op) {
  return atomic(context, arguments[0], arguments[1], arguments[2],
                [&](Block<D>& out, const Block<D>& old, const Block<D>& values, std::size_t i) {
                  if (out.is_real()) context.unmodelled(kUnsupported, "this atomic on floats is not supported");
                  const Shape scalar;
                  int_binary(op, out.type.element, scalar, {&old.ints[i], scalar}, {&values.ints[i], scalar},
                             out.ints.data(), nullptr);
                });
}

}  // namespace

template <class D>
Value<D> op_atomic_add(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> to = pointers(context, arguments[0]);
  if (!is_float(to->type.element)) return integer_atomic(context, arguments, IntOp::Add);
  const domain::Format of = format(to->type.element);
  return atomic(context, arguments[0], arguments[1], arguments[2],
                [&](Block<D>& out, const Block<D>& old, const Block<D>& values, std::size_t i) {
                  out.reals[0] = context.domain.add(of, old.reals[i], values.reals[i], domain::FloatMode{});
                });
}
template <class D>
Value<D> op_atomic_max(Context<D>& context, Arguments<D>& arguments) {
  return integer_atomic(context, arguments, IntOp::Max);
}
template <class D>
Value<D> op_atomic_min(Context<D>& context, Arguments<D>& arguments) {
  return integer_atomic(context, arguments, IntOp::Min);
}
template <class D>
Value<D> op_atomic_and(Context<D>& context, Arguments<D>& arguments) {
  return integer_atomic(context, arguments, IntOp::And);
}
template <class D>
Value<D> op_atomic_or(Context<D>& context, Arguments<D>& arguments) {
  return integer_atomic(context, arguments, IntOp::Or);
}
template <class D>
Value<D> op_atomic_xor(Context<D>& context, Arguments<D>& arguments) {
  return integer_atomic(context, arguments, IntOp::Xor);
}

template <class D>
Value<D> op_atomic_xchg(Context<D>& context, Arguments<D>& arguments) {
  return atomic(context, arguments[0], arguments[1], arguments[2],
                [&](Block<D>& out, const Block<D>&, const Block<D>& values, std::size_t i) {
                  // What was there does not matter to what is there afterwards.
                  out.undefined.assign(values.undefined.empty() ? 0 : 1,
                                       values.undefined.empty() ? 0 : values.undefined[i]);
                  if (out.is_real()) {
                    out.reals[0] = values.reals[i];
                  } else {
                    out.ints[0] = values.ints[i];
                  }
                });
}

template <class D>
Value<D> op_atomic_cas(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> to = pointers(context, arguments[0]);
  if (is_float(to->type.element)) context.unmodelled(kUnsupported, "`atomic_cas` on floats is not supported");
  const BlockPtr<D> expected =
      broadcast_to(context, cast(context, to_block(context, arguments[1]), {to->type.element, false}), to->shape);
  return atomic(context, arguments[0], arguments[2], Value<D>(),
                [&](Block<D>& out, const Block<D>& old, const Block<D>& values, std::size_t i) {
                  out.ints[0] = old.ints[i] == expected->ints[i] ? values.ints[i] : old.ints[i];
                });
}

#define PLUMB_TRITON_CHAPTER 1
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
