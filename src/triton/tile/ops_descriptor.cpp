// SPDX-License-Identifier: Apache-2.0
// Tensor descriptors: blocks of a tensor with all bounds checked.
#include <limits>

#include "triton/tile/domains.h"
#include "triton/tile/memory_args.h"

namespace plumb::triton {
namespace {

template <class D>
const Descriptor& descriptor_of(Context<D>& context, const Value<D>& value) {
  const auto* descriptor = value.template get<std::shared_ptr<const Descriptor>>();
  if (descriptor == nullptr) context.fail(kType, "`.load` and `.store` are methods of tensor descriptors");
  return **descriptor;
}

Window window(const Descriptor& descriptor, const std::vector<std::int64_t>& offsets) {
  return {descriptor.base, byte_size(descriptor.element.element), descriptor.shape, descriptor.strides, offsets,
          descriptor.block};
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
void check_descriptor(Context<D>& context, const Descriptor& made) {
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
}

template <class D>
Value<D> op_make_tensor_descriptor(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> base = pointers(context, arguments[0]);
  Descriptor made;
  made.element = {base->type.element, false};
  made.base = static_cast<std::uint64_t>(known_integer(context, *base, "the base of a descriptor"));
  if constexpr (D::kHasTags) context.domain.note_address();  // whether the descriptor is one depends on it
  made.shape = integers(context, arguments[1], DType::Int32, "the shape of a descriptor");
  made.strides = integers(context, arguments[2], DType::Int64, "the strides of a descriptor");
  made.block = constexpr_shape(context, arguments[3]);
  const std::string padding = constexpr_text(context, arguments[4], "`padding_option`");
  if (!padding.empty() && padding != "zero" && padding != "nan") context.fail(kType, "the padding is `zero` or `nan`");
  made.pads_with_nan = padding == "nan";
  check_descriptor(context, made);
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
    Access<D, element> access(context, descriptor.block, true);
    visit(
        window(descriptor, offsets),
        [&](std::size_t i, std::uint64_t address, std::size_t n) { access.load_run(address, n, *out, i); },
        [](std::size_t) {});
  });
  context.check();
  settle_words(*out);
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
  if (!value->conditions.empty()) context.unmodelled(kData, "a condition on abstract data is stored");
  context.count(value->size());
  with_element(descriptor.element.element, [&]<DType element>() {
    Access<D, element> access(context, descriptor.block);
    visit(
        window(descriptor, offsets),
        [&](std::size_t i, std::uint64_t address, std::size_t n) { access.store_run(address, n, *value, i); },
        [](std::size_t) {});
  });
  context.check();
  return None{};
}

// --- rows: gather and scatter ----------------------------------------------------------------------------------------

namespace {

// Calls visit_run(first element, address, n) for the elements inside the tensor of the rows that `rows` names.
template <class D, class Visit>
void visit_rows(Context<D>& context, const Descriptor& descriptor, const Value<D>& rows_value,
                const Value<D>& column_value, Visit visit_run) {
  const BlockPtr<D> rows = to_block(context, rows_value);
  const bool is_good = descriptor.block.rank == 2 && descriptor.block[0] == 1 && rows->is_integer() &&
                       rows->shape.rank == 1 && !rows->is_abstract();
  if (!is_good) {
    context.fail(kType, "rows are gathered through a descriptor of blocks of one row, by a vector of integers");
  }
  if (rows->size() < 8) context.fail(kType, "at least 8 rows are gathered at once");
  for (const std::uint8_t each : rows->undefined) {
    if (each != 0) context.fail(kUndefined, "a row that is gathered is an unspecified value");
  }
  const BlockPtr<D> column = to_block(context, column_value);
  const std::int64_t first =
      known_integer(context, *cast(context, column, {DType::Int32, false}), "the column that is gathered");
  const std::size_t n = descriptor.block[1];
  for (std::size_t r = 0; r < rows->size(); ++r) {
    const std::vector<std::int64_t> offsets{rows->ints[r], first};
    visit(
        window(descriptor, offsets),
        [&](std::size_t i, std::uint64_t address, std::size_t count) { visit_run(r * n + i, address, count); },
        [](std::size_t) {});
  }
}

Shape rows_shape(std::uint32_t rows, const Descriptor& descriptor) {
  Shape shape;
  shape.push(rows);
  shape.push(descriptor.block[1]);
  return shape;
}

}  // namespace

template <class D>
Value<D> gather_rows(Context<D>& context, const Descriptor& descriptor, const Value<D>& rows, const Value<D>& column) {
  const BlockPtr<D> indices = to_block(context, rows);
  if (descriptor.block.rank != 2) context.fail(kType, "rows are gathered through a descriptor of rank 2");
  auto out = new_block<D>(descriptor.element, rows_shape(static_cast<std::uint32_t>(indices->size()), descriptor));
  context.count(out->size());
  if (out->is_real()) {
    out->reals.assign(out->size(), context.domain.constant(format(descriptor.element.element), 0));
  } else {
    out->ints.assign(out->size(), 0);
  }
  with_element(descriptor.element.element, [&]<DType element>() {
    Access<D, element> access(context, out->shape);
    visit_rows(context, descriptor, rows, column,
               [&](std::size_t i, std::uint64_t address, std::size_t n) { access.load_run(address, n, *out, i); });
  });
  context.check();
  return BlockPtr<D>(std::move(out));
}

template <class D>
Value<D> op_descriptor_scatter(Context<D>& context, Arguments<D>& arguments) {
  const Descriptor& descriptor = descriptor_of(context, arguments[0]);
  const BlockPtr<D> value = cast(context, to_block(context, arguments[1]), descriptor.element);
  const BlockPtr<D> indices = to_block(context, arguments[2]);
  if (descriptor.block.rank != 2 ||
      !(value->shape == rows_shape(static_cast<std::uint32_t>(indices->size()), descriptor))) {
    context.fail(kType,
                 fmt::format("a block of shape {} is scattered to {} rows", text(value->shape), indices->size()));
  }
  if (value->is_abstract()) context.unmodelled(kData, "a condition on abstract data is stored");
  context.count(value->size());
  with_element(descriptor.element.element, [&]<DType element>() {
    Access<D, element> access(context, value->shape);
    visit_rows(context, descriptor, arguments[2], arguments[3],
               [&](std::size_t i, std::uint64_t address, std::size_t n) { access.store_run(address, n, *value, i); });
  });
  context.check();
  return None{};
}

// --- reductions into a tensor ----------------------------------------------------------------------------------------

namespace {

template <class D, class Meaning>
Value<D> reduce_into(Context<D>& context, Arguments<D>& arguments, Meaning meaning) {
  const Descriptor& descriptor = descriptor_of(context, arguments[0]);
  const std::vector<std::int64_t> offsets = offsets_of(context, descriptor, arguments[1]);
  const BlockPtr<D> value = cast(context, to_block(context, arguments[2]), descriptor.element);
  if (!(value->shape == descriptor.block)) {
    context.fail(kType, fmt::format("a block of shape {} is added through a descriptor of block shape {}",
                                    text(value->shape), text(descriptor.block)));
  }
  auto addresses = new_block<D>({descriptor.element.element, true}, descriptor.block);
  auto mask = new_block<D>({DType::Int1, false}, descriptor.block);
  visit(
      window(descriptor, offsets),
      [&](std::size_t i, std::uint64_t address, std::size_t n) {
        for (std::size_t k = 0; k < n; ++k) {
          addresses->ints[i + k] = static_cast<std::int64_t>(address + k * byte_size(descriptor.element.element));
          mask->ints[i + k] = 1;
        }
      },
      [&](std::size_t i) { addresses->ints[i] = 0, mask->ints[i] = 0; });
  Arguments<D> atomic;
  atomic.values = {BlockPtr<D>(std::move(addresses)), value, BlockPtr<D>(std::move(mask)), {}, {}};
  meaning(context, atomic);
  return None{};
}

}  // namespace

#define PLUMB_TRITON_REDUCTION(id, meaning)                        \
  template <class D>                                               \
  Value<D> op_##id(Context<D>& context, Arguments<D>& arguments) { \
    return reduce_into(context, arguments, &meaning<D>);           \
  }
PLUMB_TRITON_REDUCTION(descriptor_add, op_atomic_add)
PLUMB_TRITON_REDUCTION(descriptor_max, op_atomic_max)
PLUMB_TRITON_REDUCTION(descriptor_min, op_atomic_min)
PLUMB_TRITON_REDUCTION(descriptor_and, op_atomic_and)
PLUMB_TRITON_REDUCTION(descriptor_or, op_atomic_or)
PLUMB_TRITON_REDUCTION(descriptor_xor, op_atomic_xor)
#undef PLUMB_TRITON_REDUCTION

#define PLUMB_INSTANTIATE(D)                                      \
  template void check_descriptor(Context<D>&, const Descriptor&); \
  template Value<D> gather_rows(Context<D>&, const Descriptor&, const Value<D>&, const Value<D>&);
PLUMB_FOR_EACH_DOMAIN(PLUMB_INSTANTIATE)

#define PLUMB_TRITON_CHAPTER 6
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
