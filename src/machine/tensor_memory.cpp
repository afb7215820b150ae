// SPDX-License-Identifier: Apache-2.0
#include "machine/tensor_memory.h"

#include <algorithm>
#include <cstring>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"

namespace plumb::machine {

namespace {

// What undefined bytes hold: where tags say so, nothing.
template <class D>
constexpr std::byte kPoison{D::kHasTags ? 0 : 0xcd};

}  // namespace

std::string describe(TensorAddress address) {
  return "lane " + std::to_string(address.lane) + ", column " + std::to_string(address.column);
}

template <class D>
void TensorMemory<D>::reset() {
  allocations_.clear();
  six_.clear();
  last_request = 0;
  relinquished_at.reset();
  call = {};
}

template <class D>
domain::Word TensorMemory<D>::read(std::uint32_t lane, std::uint32_t column) {
  domain::Word word;
  std::memcpy(&word.bits, bytes(lane, column), kCellBytes);
  if constexpr (D::kHasTags) std::copy_n(tags(lane, column), kCellBytes, word.tags);
  return word;
}

template <class D>
void TensorMemory<D>::write(std::uint32_t lane, std::uint32_t column, const domain::Word& word) {
  std::memcpy(bytes(lane, column), &word.bits, kCellBytes);
  if constexpr (D::kHasTags) std::copy_n(word.tags, kCellBytes, tags(lane, column));
  mark_six(lane, column, false);
}

template <class D>
std::uint32_t TensorMemory<D>::count_six(std::uint32_t lane, std::uint32_t lanes, std::uint32_t column,
                                         std::uint32_t columns) const {
  std::uint32_t count = 0;
  for (std::uint32_t i = lane; !six_.empty() && i < lane + lanes; ++i) {
    const auto row = six_.begin() + static_cast<std::ptrdiff_t>(std::size_t{i} * kTensorColumns + column);
    count += static_cast<std::uint32_t>(std::count(row, row + static_cast<std::ptrdiff_t>(columns), true));
  }
  return count;
}

template <class D>
void TensorMemory<D>::forget(std::uint32_t lane, std::uint32_t column, std::uint32_t first) {
  std::fill_n(bytes(lane, column) + first, kCellBytes - first, kPoison<D>);
  if constexpr (D::kHasTags) std::fill_n(tags(lane, column) + first, kCellBytes - first, domain::kUndefinedTag);
}

template <class D>
std::string TensorMemory<D>::why_not(std::uint32_t lane, std::uint32_t lanes, std::uint32_t column,
                                     std::uint32_t columns) const {
  const auto range = [](std::uint32_t first, std::uint32_t count) {
    return std::to_string(first) + " to " + std::to_string(first + count - 1);
  };
  if (lane + lanes > kTensorLanes) return "lanes " + range(lane, lanes) + " of 128";
  if (column + columns > kTensorColumns) return "columns " + range(column, columns) + " of 512";
  for (std::uint32_t at = column; at < column + columns;) {
    const auto holder = std::find_if(allocations_.begin(), allocations_.end(), [&](const TensorAllocation& each) {
      return at >= each.column && at < each.column + each.columns;
    });
    if (holder == allocations_.end()) {
      std::string text = "columns " + range(column, columns) + ", of which " + std::to_string(at) + " is not allocated";
      for (const TensorAllocation& each : allocations_) text += "; " + range(each.column, each.columns) + " are";
      return text;
    }
    at = holder->column + holder->columns;
  }
  return {};
}

// From the last columns down: nothing says where the hardware places an allocation, and a program that takes column 0
// or an alignment for granted is found out.
template <class D>
std::optional<std::uint32_t> TensorMemory<D>::room(std::uint32_t columns) const {
  for (std::uint32_t end = end_; end >= columns; end -= kTensorUnit) {
    const std::uint32_t first = end - columns;
    const bool is_free = std::none_of(allocations_.begin(), allocations_.end(), [&](const TensorAllocation& each) {
      return each.column < end && first < each.column + each.columns;
    });
    if (is_free) return first;
  }
  return std::nullopt;
}

template <class D>
void TensorMemory<D>::allocate(const TensorAllocation& allocation) {
  allocations_.push_back(allocation);
  if (bytes_.empty()) {
    bytes_.resize(at(kTensorLanes, 0));
    if constexpr (D::kHasTags) tags_.resize(bytes_.size());
  }
  for (std::uint32_t lane = 0; lane < kTensorLanes; ++lane) {
    const std::size_t first = at(lane, allocation.column), count = std::size_t{allocation.columns} * kCellBytes;
    std::fill_n(bytes_.data() + first, count, kPoison<D>);
    if constexpr (D::kHasTags) std::fill_n(tags_.data() + first, count, domain::kUndefinedTag);
  }
}

template <class D>
bool TensorMemory<D>::release(std::uint32_t column, std::uint32_t columns) {
  return std::erase_if(allocations_, [&](const TensorAllocation& each) {
           return each.column == column && each.columns == columns;
         }) != 0;
}

template <class D>
std::uint32_t TensorMemory<D>::free_columns() const {
  std::uint32_t count = kTensorColumns;
  for (const TensorAllocation& each : allocations_) count -= each.columns;
  return count;
}

template class TensorMemory<domain::Ieee>;
template class TensorMemory<domain::Field>;

}  // namespace plumb::machine
