// SPDX-License-Identifier: Apache-2.0
// Arguments of accesses: pointers, masks, and the elements of a block of a tensor.
#pragma once

#include "triton/tile/arith.h"
#include "triton/tile/evaluator.h"
#include "triton/tile/memory_access.h"

namespace plumb::triton {

template <class D>
BlockPtr<D> pointers(Context<D>& context, const Value<D>& value);
// The mask stretched to a shape; null without a mask. Its lanes must be known.
template <class D>
BlockPtr<D> mask_of(Context<D>& context, const Value<D>& value, const Shape& shape);
// No lane that is accessed has an unspecified address.
template <class D>
void check_addresses(Context<D>& context, const Block<D>& addresses, const BlockPtr<D>& mask);
// A tuple of integer scalars, known, cut to a type.
template <class D>
std::vector<std::int64_t> integers(Context<D>& context, const Value<D>& value, DType type, const char* what);

// Stops when a descriptor breaks the hardware's rules.
template <class D>
void check_descriptor(Context<D>& context, const Descriptor& descriptor);
// `descriptor.gather(rows, column)`.
template <class D>
Value<D> gather_rows(Context<D>& context, const Descriptor& descriptor, const Value<D>& rows, const Value<D>& column);

// Where a block lies in a tensor; all in elements.
struct Window {
  std::uint64_t base = 0;
  unsigned size = 0;  // bytes of an element
  const std::vector<std::int64_t>&shape, &strides, &offsets;
  const Shape& block;
  unsigned checked = ~0U;  // bit per axis: whether its coordinates are tested against `shape`
};

// Calls inside(first element, address, n) for runs of elements, `size` apart in memory, whose checked coordinates are
// in the tensor, and outside(element) for the others.
template <class Inside, class Outside>
void visit(const Window& w, Inside inside, Outside outside) {
  const unsigned last = w.block.rank - 1u;
  const std::int64_t n = w.block[last];
  std::array<std::uint32_t, kMaxRank> at{};
  const std::int64_t first = w.offsets[last];
  const bool tests = (w.checked >> last & 1U) != 0;
  const std::int64_t low = tests ? std::min(std::max<std::int64_t>(-first, 0), n) : 0;
  const std::int64_t high = tests ? std::max(std::min<std::int64_t>(w.shape[last] - first, n), low) : n;
  const auto step = static_cast<std::uint64_t>(w.strides[last]) * w.size;
  for (std::size_t row = 0, size = w.block.size(); row < size; row += static_cast<std::size_t>(n)) {
    auto address = static_cast<std::uint64_t>(first) * static_cast<std::uint64_t>(w.strides[last]);
    bool is_inside = true;
    for (unsigned axis = 0; axis < last; ++axis) {
      const std::int64_t coordinate = w.offsets[axis] + at[axis];
      if ((w.checked >> axis & 1U) != 0) is_inside = is_inside && coordinate >= 0 && coordinate < w.shape[axis];
      address += static_cast<std::uint64_t>(coordinate) * static_cast<std::uint64_t>(w.strides[axis]);
    }
    address = w.base + address * w.size;
    const auto begin = static_cast<std::size_t>(is_inside ? low : n),
               end = static_cast<std::size_t>(is_inside ? high : n);
    for (std::size_t k = 0; k < begin; ++k) outside(row + k);
    if (begin < end && w.strides[last] == 1) {
      inside(row + begin, address + begin * step, end - begin);
    } else {
      for (std::size_t k = begin; k < end; ++k) inside(row + k, address + k * step, std::size_t{1});
    }
    for (std::size_t k = end; k < static_cast<std::size_t>(n); ++k) outside(row + k);
    for (unsigned axis = last; axis-- > 0;) {
      if (++at[axis] < w.block[axis]) break;
      at[axis] = 0;
    }
  }
}

}  // namespace plumb::triton
