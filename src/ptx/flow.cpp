// SPDX-License-Identifier: Apache-2.0
#include "ptx/flow.h"

#include <algorithm>

#include "ptx/isa/table.h"
#include "ptx/match.h"

namespace plumb::ptx {
namespace {

bool ends_control(const Module& module, const Instr& instr) {
  if (instr.opcode == "ret" || instr.opcode == "exit" || instr.opcode == "trap") return true;
  if (instr.opcode != "call") return false;
  for (const Operand& operand : instr.operands) {
    if (operand.kind != Operand::Kind::Function) continue;
    for (const Function& callee : module.functions) {
      if (callee.name == operand.symbol && callee.noreturn) return true;
    }
  }
  return false;
}

bool is_branch(const Instr& instr) { return instr.opcode == "bra" || instr.opcode == "brx"; }

}  // namespace

Flow::Flow(const Module& module, const Function& function) : function_(function) {
  std::uint32_t next = 0;
  label_at_.resize(function.labels.size());
  for (const Statement& at : function.body) {
    if (at.kind == Statement::Kind::Instr) next = at.index + 1;
    if (at.kind == Statement::Kind::Label) label_at_[at.index] = next;
  }
  find_uses(module);
  find_blocks(module);
}

void Flow::visit(const Operand& operand, bool is_written, Uses& out) const {
  switch (operand.kind) {
    case Operand::Kind::Reg:
      (is_written ? out.writes : out.reads).push_back(operand.reg);
      break;
    case Operand::Kind::Address:
      if (operand.base == Operand::Base::Reg) out.reads.push_back(operand.reg);
      for (const Operand& element : operand.elements) visit(element, false, out);
      break;
    default:
      for (const Operand& element : operand.elements) visit(element, is_written, out);
      break;
  }
}

// The caller reads the results that are registers.
void Flow::returned(const Module& module, Uses& out) const {
  for (const VarId id : function_.results) {
    const Variable& result = module.variables[id];
    const std::uint64_t lanes = result.dimensions.empty() ? 1 : result.dimensions[0];
    for (RegId lane = 0; result.space == Space::reg && lane < lanes; ++lane) out.reads.push_back(result.reg + lane);
  }
}

// call (results), function, (arguments)
void Flow::call(const Instr& instr, Uses& out) const {
  for (std::size_t i = 0; i < instr.operands.size(); ++i) {
    const bool is_result = i == 0 && instr.operands.size() > 1 && instr.operands[0].kind == Operand::Kind::List;
    visit(instr.operands[i], is_result, out);
  }
}

void Flow::find_uses(const Module& module) {
  const Table& isa = table();
  uses_.resize(function_.instrs.size());
  Filling filling;
  Roles roles;
  for (std::size_t i = 0; i < function_.instrs.size(); ++i) {
    const Instr& instr = function_.instrs[i];
    Uses& out = uses_[i];
    if (instr.guard) out.reads.push_back(instr.guard->reg);
    if (instr.opcode == "call") {
      call(instr, out);
      continue;
    }
    if (instr.opcode == "ret") returned(module, out);
    for (const std::uint32_t index : isa.by_opcode.at(instr.opcode)) {
      const Line& line = isa.lines[index];
      if (line.form != instr.form || !fill(line, instr.mods, filling)) continue;
      if (match(module, function_, line, filling, instr, &roles)) continue;
      for (std::size_t o = 0; o < roles.size(); ++o) visit(instr.operands[o], roles[o]->is_dest, out);
      break;
    }
    if (instr.opcode == "wgmma") out.updates = out.writes;
  }
}

std::vector<std::uint32_t> Flow::targets(const Instr& instr) const {
  std::vector<std::uint32_t> out;
  for (const Operand& operand : instr.operands) {
    if (operand.kind != Operand::Kind::Label) continue;
    if (instr.opcode == "bra") out.push_back(label_at_[operand.label]);
    for (const LabelId label : function_.labels[operand.label].branch_targets) out.push_back(label_at_[label]);
  }
  return out;
}

void Flow::find_blocks(const Module& module) {
  const auto count = static_cast<std::uint32_t>(function_.instrs.size());
  std::vector<bool> is_first(count + 1, false);
  is_first[0] = true;
  for (const std::uint32_t at : label_at_) is_first[at] = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Instr& instr = function_.instrs[i];
    if (is_branch(instr) || ends_control(module, instr)) is_first[i + 1] = true;
  }
  std::vector<std::uint32_t> block_of(count + 1, 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (is_first[i]) blocks_.push_back({i, i, {}, false, false});
    blocks_.back().last = i + 1;
    block_of[i] = static_cast<std::uint32_t>(blocks_.size() - 1);
  }
  for (Block& block : blocks_) {
    const Instr& last = function_.instrs[block.last - 1];
    const auto go_to = [&](std::uint32_t instr) {
      if (instr == count) {
        block.falls_off_end = true;
      } else {
        block.successors.push_back(block_of[instr]);
      }
    };
    if (is_branch(last)) {
      for (const std::uint32_t target : targets(last)) go_to(target);
    }
    block.leaves = ends_control(module, last);
    if (last.guard || (!is_branch(last) && !block.leaves)) go_to(block.last);
  }
  reached_.assign(blocks_.size(), false);
  std::vector<std::uint32_t> open;
  if (!blocks_.empty()) open.push_back(0), reached_[0] = true;
  while (!open.empty()) {
    const std::uint32_t block = open.back();
    open.pop_back();
    for (const std::uint32_t next : blocks_[block].successors) {
      if (!reached_[next]) reached_[next] = true, open.push_back(next);
    }
  }
}

}  // namespace plumb::ptx
