// SPDX-License-Identifier: Apache-2.0
// Which registers hold a value that is still read, and which may not have been written yet, at the borders of the basic
// blocks of a function. A write under a guard ends no life, and counts as a write where a value is asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ptx/flow.h"

namespace plumb::ptx {

// Rows of bits, one row a block.
class BitRows {
 public:
  BitRows(std::size_t rows, std::size_t bits, bool value)
      : words_((bits + 63) / 64), data_(rows * words_, value ? ~std::uint64_t{0} : 0) {}
  bool test(std::size_t row, std::size_t bit) const { return (data_[row * words_ + bit / 64] >> (bit % 64) & 1) != 0; }
  void set(std::size_t row, std::size_t bit) { data_[row * words_ + bit / 64] |= std::uint64_t{1} << (bit % 64); }
  std::uint64_t* row(std::size_t index) { return data_.data() + index * words_; }
  const std::uint64_t* row(std::size_t index) const { return data_.data() + index * words_; }
  std::size_t words() const { return words_; }

 private:
  std::size_t words_ = 0;
  std::vector<std::uint64_t> data_;
};

class Liveness {
 public:
  // Null where the function is too large for the tables (blocks times registers beyond 2^30).
  static std::optional<Liveness> of(const Function& function, const Flow& flow);

  // Registers that are read in some block before that block writes them; no other lives across a border.
  const std::vector<RegId>& crossing() const { return crossing_; }
  bool is_live_out(std::size_t block, RegId reg) const { return ask(live_out_, block, reg, false); }
  // Written on some, on every way from the function's first instruction to the block. Only of crossing registers.
  bool may_be_written(std::size_t block, RegId reg) const { return ask(some_in_, block, reg, true); }
  bool is_written(std::size_t block, RegId reg) const { return ask(all_in_, block, reg, true); }

 private:
  Liveness(const Function& function, const Flow& flow, std::vector<std::uint32_t> numbers, std::vector<RegId> crossing);
  void run_backwards(const Function& function, const Flow& flow);
  void run_forwards(const Flow& flow);
  bool ask(const BitRows& rows, std::size_t block, RegId reg, bool otherwise) const {
    return number_[reg] == kNone ? otherwise : rows.test(block, number_[reg]);
  }

  static constexpr std::uint32_t kNone = ~0u;
  std::vector<std::uint32_t> number_;  // by register: its bit, or kNone
  std::vector<RegId> crossing_;
  BitRows live_out_, some_in_, all_in_;
};

}  // namespace plumb::ptx
