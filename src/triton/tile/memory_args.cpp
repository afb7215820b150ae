// SPDX-License-Identifier: Apache-2.0
#include "triton/tile/memory_args.h"

#include "triton/tile/domains.h"

namespace plumb::triton {

template <class D>
BlockPtr<D> pointers(Context<D>& context, const Value<D>& value) {
  const auto* block = value.template get<BlockPtr<D>>();
  if (block == nullptr || !(*block)->is_pointer()) context.fail(kType, "a pointer is needed here");
  return *block;
}

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
std::vector<std::int64_t> integers(Context<D>& context, const Value<D>& value, DType type, const char* what) {
  std::vector<std::int64_t> out;
  if (value.tuple() == nullptr) context.fail(kType, fmt::format("{} is a list", what));
  for (const Value<D>& each : *value.tuple()) {
    const BlockPtr<D> scalar = to_block(context, each);
    if (!scalar->is_integer()) context.fail(kType, fmt::format("{} is an integer", what));
    out.push_back(known_integer(context, *cast(context, scalar, {type, false}), what));
  }
  return out;
}

#define PLUMB_INSTANTIATE(D)                                                       \
  template BlockPtr<D> pointers(Context<D>&, const Value<D>&);                     \
  template BlockPtr<D> mask_of(Context<D>&, const Value<D>&, const Shape&);        \
  template void check_addresses(Context<D>&, const Block<D>&, const BlockPtr<D>&); \
  template std::vector<std::int64_t> integers(Context<D>&, const Value<D>&, DType, const char*);
PLUMB_FOR_EACH_DOMAIN(PLUMB_INSTANTIATE)

}  // namespace plumb::triton
