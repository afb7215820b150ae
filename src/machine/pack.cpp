// SPDX-License-Identifier: Apache-2.0
#include "machine/pack.h"

#include <algorithm>
#include <map>
#include <queue>

#include "machine/meaning.h"

namespace plumb::machine {

namespace {

using Bits = std::vector<std::uint64_t>;

bool test(const Bits& bits, std::uint32_t i) { return (bits[i / 64] >> (i % 64) & 1) != 0; }
void set(Bits& bits, std::uint32_t i) { bits[i / 64] |= std::uint64_t{1} << (i % 64); }

// The registers that some instruction touches, numbered from 0 without gaps.
struct Dense {
  std::vector<ptx::RegId> original;
  std::vector<Touches> touches;
};

Dense number_densely(std::size_t registers, std::vector<Touches> touches) {
  Dense dense;
  std::vector<std::uint32_t> number(registers, ~0u);
  const auto renumber = [&](std::vector<ptx::RegId>& list) {
    for (ptx::RegId& reg : list) {
      if (number[reg] == ~0u) {
        number[reg] = static_cast<std::uint32_t>(dense.original.size());
        dense.original.push_back(reg);
      }
      reg = number[reg];
    }
  };
  for (Touches& touch : touches) {
    renumber(touch.uses);
    renumber(touch.defs);
    renumber(touch.held);
  }
  dense.touches = std::move(touches);
  return dense;
}

struct Block {
  std::uint32_t begin = 0, end = 0;  // instructions
  std::vector<std::uint32_t> successors;
  Bits uses, defs;  // read before written in the block; written for certain
  Bits live_in, live_out;
};

// Where control may go after an instruction, other than on.
std::vector<std::uint32_t> targets(const ptx::Function& function, const ptx::Instr& instr,
                                   const std::vector<std::uint32_t>& label_instrs) {
  if (instr.form == ptx::Form::Bra) return {label_instrs[instr.operands[0].label]};
  std::vector<std::uint32_t> out;
  if (instr.form == ptx::Form::BrxIdx) {
    for (const ptx::LabelId label : function.labels[instr.operands[1].label].branch_targets) {
      out.push_back(label_instrs[label]);
    }
  }
  return out;
}

bool ends_path(const ptx::Instr& instr) {
  switch (instr.form) {
    case ptx::Form::Bra:
    case ptx::Form::BrxIdx:
    case ptx::Form::Ret:
    case ptx::Form::Exit:
    case ptx::Form::Trap:
      return !instr.guard;
    default:
      return false;
  }
}

std::vector<Block> find_blocks(const ptx::Function& function, const std::vector<std::uint32_t>& label_instrs) {
  const auto count = static_cast<std::uint32_t>(function.instrs.size());
  std::vector<bool> begins(count + 1);
  begins[0] = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::vector<std::uint32_t> to = targets(function, function.instrs[i], label_instrs);
    for (const std::uint32_t target : to) begins[target] = true;
    if (!to.empty() || ends_path(function.instrs[i])) begins[i + 1] = true;
  }
  std::vector<Block> blocks;
  std::vector<std::uint32_t> block_of(count + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (begins[i]) blocks.push_back({.begin = i, .end = i});
    blocks.back().end = i + 1;
    block_of[i] = static_cast<std::uint32_t>(blocks.size() - 1);
  }
  for (Block& block : blocks) {
    const ptx::Instr& last = function.instrs[block.end - 1];
    for (const std::uint32_t target : targets(function, last, label_instrs)) {
      if (target < count) block.successors.push_back(block_of[target]);
    }
    if (!ends_path(last) && block.end < count) block.successors.push_back(block_of[block.end]);
  }
  return blocks;
}

void find_liveness(std::vector<Block>& blocks, std::size_t registers, const std::vector<Touches>& touches) {
  const std::size_t words = registers / 64 + 1;
  for (Block& block : blocks) {
    block.uses.assign(words, 0), block.defs = block.live_in = block.live_out = block.uses;
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      for (const ptx::RegId reg : touches[i].uses) {
        if (!test(block.defs, reg)) set(block.uses, reg);
      }
      for (const ptx::RegId reg : touches[i].defs) set(block.defs, reg);
    }
  }
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
      for (const std::uint32_t successor : block->successors) {
        for (std::size_t w = 0; w < words; ++w) block->live_out[w] |= blocks[successor].live_in[w];
      }
      for (std::size_t w = 0; w < words; ++w) {
        const std::uint64_t in = block->uses[w] | (block->live_out[w] & ~block->defs[w]);
        has_changed = has_changed || in != block->live_in[w];
        block->live_in[w] = in;
      }
    }
  }
}

// The stretch of the text in which a register's value is needed.
struct Stretch {
  std::uint32_t begin = ~0u, end = 0;
  void cover(std::uint32_t from, std::uint32_t to) { begin = std::min(begin, from), end = std::max(end, to); }
};

std::vector<Stretch> find_stretches(const std::vector<Block>& blocks, std::size_t registers,
                                    const std::vector<Touches>& touches) {
  std::vector<Stretch> out(registers);
  for (const Block& block : blocks) {
    for (std::uint32_t reg = 0; reg < registers; ++reg) {
      if (test(block.live_in, reg)) out[reg].cover(block.begin, block.begin);
      if (test(block.live_out, reg)) out[reg].cover(block.end, block.end);
    }
    for (std::uint32_t i = block.begin; i < block.end; ++i) {
      for (const ptx::RegId reg : touches[i].uses) out[reg].cover(i, i);
      // A result must not overwrite a source of its own instruction: it is needed from its start on.
      for (const ptx::RegId reg : touches[i].defs) out[reg].cover(i, i);
    }
  }
  return out;
}

}  // namespace

Packing pack_registers(const ptx::Function& function, const std::vector<Touches>& all_touches,
                       const std::vector<std::uint32_t>& label_instrs) {
  Packing packing;
  packing.group.assign(function.registers.size(), Packing::kNone);
  if (function.instrs.empty()) return packing;
  const Dense dense = number_densely(function.registers.size(), all_touches);
  const std::vector<Touches>& touches = dense.touches;
  const std::size_t registers = dense.original.size();
  std::vector<Block> blocks = find_blocks(function, label_instrs);
  find_liveness(blocks, registers, touches);
  const std::vector<Stretch> stretches = find_stretches(blocks, registers, touches);
  const auto width_of = [&](std::uint32_t reg) { return storage_width(function.registers[dense.original[reg]].type); };
  const auto new_group = [&](std::uint32_t width) {
    packing.widths.push_back(width);
    return static_cast<std::uint32_t>(packing.widths.size() - 1);
  };
  std::vector<bool> is_held(registers);
  for (const Touches& touch : touches) {
    for (const ptx::RegId reg : touch.held) is_held[reg] = true;
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t reg = 0; reg < registers; ++reg) {
    if (test(blocks[0].live_in, reg) || is_held[reg]) {
      packing.group[dense.original[reg]] = new_group(width_of(reg));
    } else {
      order.push_back(reg);
    }
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return stretches[a].begin != stretches[b].begin ? stretches[a].begin < stretches[b].begin : a < b;
  });
  // Groups that are taken until some instruction, and the free ones, by width. The last freed is taken first: its bytes
  // are the likeliest to be in a cache.
  using Busy = std::pair<std::uint32_t, std::uint32_t>;  // end, group
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
  std::map<std::uint32_t, std::vector<std::uint32_t>> free;
  for (const std::uint32_t reg : order) {
    while (!busy.empty() && busy.top().first < stretches[reg].begin) {
      const std::uint32_t group = busy.top().second;
      busy.pop();
      free[packing.widths[group]].push_back(group);
    }
    const std::uint32_t width = width_of(reg);
    std::uint32_t& group_of = packing.group[dense.original[reg]];
    std::vector<std::uint32_t>& candidates = free[width];
    if (candidates.empty()) {
      group_of = new_group(width);
    } else {
      group_of = candidates.back();
      candidates.pop_back();
    }
    busy.emplace(stretches[reg].end, group_of);
  }
  return packing;
}

}  // namespace plumb::machine
