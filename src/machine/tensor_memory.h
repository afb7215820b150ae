// SPDX-License-Identifier: Apache-2.0
// The tensor memory of one CTA (Blackwell): 128 lanes x 512 columns of 32-bit cells. A cell holds four bytes, each with
// a tag in domains that have them, as shared memory does; a cell of a new allocation is undefined until it is written.
// Columns are handed out by `tcgen05.alloc` in powers of two; nothing else makes a column usable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "domain/word.h"

namespace plumb::machine {

inline constexpr std::uint32_t kTensorLanes = 128;
inline constexpr std::uint32_t kTensorColumns = 512;
inline constexpr std::uint32_t kTensorUnit = 32;  // columns: the least allocation
inline constexpr std::uint32_t kCellBytes = 4;

// What a 32-bit address of tensor memory names.
struct TensorAddress {
  std::uint32_t lane = 0, column = 0;
  static constexpr TensorAddress of(std::uint32_t bits) { return {bits >> 16, bits & 0xffff}; }
  constexpr std::uint32_t bits() const { return lane << 16 | column; }
};

// "lane 32, column 416"
std::string describe(TensorAddress address);

// One allocation that has not been given back.
struct TensorAllocation {
  std::uint32_t column = 0, columns = 0;
  std::uint32_t pc = 0;  // where it was asked for
};

// What a warp of one CTA of a pair asks for with cta_group::2; it is done when a warp of the other CTA asks for the
// same.
struct PairCall {
  enum class Kind : std::uint8_t { None, Allocate, Release };
  Kind kind = Kind::None;
  std::uint32_t columns = 0;
  std::uint32_t warp = 0, pc = 0;
  std::optional<std::uint32_t> column;  // Allocate: what it got; Release: what it gives back
  bool is_met = false;
};

template <class D>
class TensorMemory {
 public:
  // `asked`: the columns of all allocations in the program's text. As long as they leave room, allocations lie where no
  // power of two divides their column but the unit.
  explicit TensorMemory(std::uint32_t asked)
      : end_(asked + kTensorUnit <= kTensorColumns ? kTensorColumns - kTensorUnit : kTensorColumns) {}

  // As at the start of a CTA: nothing is allocated, and everyone may allocate.
  void reset();

  // -- Cells. The caller has checked `why_not`. -----------------------------------------------------------------------
  // The bytes of a cell, little end first. The cells of one lane lie side by side, by column.
  std::byte* bytes(std::uint32_t lane, std::uint32_t column) { return bytes_.data() + at(lane, column); }
  domain::Tag* tags(std::uint32_t lane, std::uint32_t column) { return tags_.data() + at(lane, column); }
  // A cell as a word of four bytes, its tags included.
  domain::Word read(std::uint32_t lane, std::uint32_t column);
  void write(std::uint32_t lane, std::uint32_t column, const domain::Word& word);
  // Makes the bytes [first, 4) of a cell undefined.
  void forget(std::uint32_t lane, std::uint32_t column, std::uint32_t first = 0);

  // Elements of 6 bits that a copy has taken apart, a byte each: two texts put them at different bits of the byte. Here
  // they lie in the low ones, and their cells are marked until they are written otherwise: a product of such elements
  // may take them, and nothing else.
  void mark_six(std::uint32_t lane, std::uint32_t column, bool is_six) {
    if (six_.empty() && !is_six) return;
    if (six_.empty()) six_.resize(std::size_t{kTensorLanes} * kTensorColumns);
    six_[std::size_t{lane} * kTensorColumns + column] = is_six;
  }
  // How many cells of a rectangle are marked.
  std::uint32_t count_six(std::uint32_t lane, std::uint32_t lanes, std::uint32_t column, std::uint32_t columns) const;
  bool is_six(std::uint32_t lane, std::uint32_t column) const { return count_six(lane, 1, column, 1) != 0; }

  // Why the rectangle of cells may not be accessed: it leaves the 128 x 512 cells, or columns of it are not allocated;
  // empty when nothing is wrong.
  std::string why_not(std::uint32_t lane, std::uint32_t lanes, std::uint32_t column, std::uint32_t columns) const;

  // -- Allocation. ----------------------------------------------------------------------------------------------------
  // Where as many columns are free; none: there is no room now.
  std::optional<std::uint32_t> room(std::uint32_t columns) const;
  void allocate(const TensorAllocation& allocation);
  // False when no allocation has this column and size.
  bool release(std::uint32_t column, std::uint32_t columns);
  const std::vector<TensorAllocation>& allocations() const { return allocations_; }
  std::uint32_t free_columns() const;

  // What the CTA has asked for so far; a later request must not be larger. 0: nothing.
  std::uint32_t last_request = 0;
  // The place of the `relinquish_alloc_permit` after which nothing may be allocated.
  std::optional<std::uint32_t> relinquished_at;
  PairCall call;

 private:
  static constexpr std::size_t at(std::uint32_t lane, std::uint32_t column) {
    return (std::size_t{lane} * kTensorColumns + column) * kCellBytes;
  }

  std::uint32_t end_;
  std::vector<std::byte> bytes_;   // empty until the first allocation
  std::vector<domain::Tag> tags_;  // in domains with tags
  std::vector<bool> six_;          // by cell; empty until one is marked
  std::vector<TensorAllocation> allocations_;
};

}  // namespace plumb::machine
