// SPDX-License-Identifier: Apache-2.0
// Control and data flow of a function: its basic blocks, and which registers each instruction reads and writes. What is
// said of an instruction comes from the row of the table that it matches.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ptx/module.h"

namespace plumb::ptx {

// Instructions `first` to `last - 1`; the last of them alone may branch.
struct Block {
  std::uint32_t first = 0, last = 0;
  std::vector<std::uint32_t> successors;
  bool leaves = false;         // may end the thread or return to the caller here
  bool falls_off_end = false;  // may go on after the last instruction of the function
};

struct Uses {
  std::vector<RegId> reads, writes;
  // Written registers whose old value counts as well: accumulators of `wgmma`, which read them or not by an operand.
  std::vector<RegId> updates;
};

class Flow {
 public:
  Flow(const Module& module, const Function& function);

  const std::vector<Block>& blocks() const { return blocks_; }
  const Uses& uses(std::uint32_t instr) const { return uses_[instr]; }
  const std::vector<bool>& reached() const { return reached_; }  // by block, from the function's first instruction

 private:
  void find_uses(const Module& module);
  void find_blocks(const Module& module);
  std::vector<std::uint32_t> targets(const Instr& instr) const;
  void visit(const Operand& operand, bool is_written, Uses& out) const;
  void returned(const Module& module, Uses& out) const;
  void call(const Instr& instr, Uses& out) const;

  const Function& function_;
  std::vector<std::uint32_t> label_at_;  // by label: the instruction that follows it
  std::vector<Uses> uses_;
  std::vector<Block> blocks_;
  std::vector<bool> reached_;
};

}  // namespace plumb::ptx
