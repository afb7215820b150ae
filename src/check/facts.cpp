// SPDX-License-Identifier: Apache-2.0
#include "check/facts.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace plumb::check {

namespace {

// The dotted opcode as written: from the opcode to the first white space or semicolon.
std::string opcode_text(const Source& source, const ptx::Instr& instr) {
  const std::string_view text = source.text();
  std::size_t end = instr.opcode_span.begin;
  while (end < text.size() && end < instr.span.end && text[end] != ' ' && text[end] != '\t' && text[end] != '\n' &&
         text[end] != '\r' && text[end] != ';') {
    ++end;
  }
  return std::string(text.substr(instr.opcode_span.begin, end - instr.opcode_span.begin));
}

bool is_schedule_special(ptx::Special special) {
  using ptx::Special;
  switch (special) {
    case Special::warpid:
    case Special::nwarpid:
    case Special::smid:
    case Special::nsmid:
    case Special::gridid:
    case Special::clock:
    case Special::clock_hi:
    case Special::clock64:
    case Special::pm:
    case Special::pm64:
    case Special::globaltimer:
    case Special::globaltimer_lo:
    case Special::globaltimer_hi:
      return true;
    default:
      return false;
  }
}

bool reads_schedule(const std::vector<ptx::Operand>& operands) {
  return std::any_of(operands.begin(), operands.end(), [](const ptx::Operand& operand) {
    return (operand.kind == ptx::Operand::Kind::Special && is_schedule_special(operand.special)) ||
           reads_schedule(operand.elements);
  });
}

void count_registers(const ptx::Operand& operand, std::vector<std::uint32_t>& uses) {
  const bool has_register = operand.kind == ptx::Operand::Kind::Reg || operand.base == ptx::Operand::Base::Reg;
  if (has_register && operand.reg < uses.size()) ++uses[operand.reg];
  for (const ptx::Operand& element : operand.elements) count_registers(element, uses);
}

// A `mov` into a register does not read it: compilers clear an atomic's destination that way.
std::vector<std::uint32_t> register_mentions(const ptx::Module& module, const ptx::Function& function) {
  std::vector<std::uint32_t> uses(function.registers.size());
  for (const ptx::Instr& instr : function.instrs) {
    if (instr.guard && instr.guard->reg < uses.size()) ++uses[instr.guard->reg];
    const bool is_move = opcode_text(*module.source, instr).starts_with("mov.");
    const bool has_target = is_move && !instr.operands.empty() && instr.operands[0].kind == ptx::Operand::Kind::Reg;
    for (std::size_t i = has_target ? 1 : 0; i < instr.operands.size(); ++i) count_registers(instr.operands[i], uses);
  }
  return uses;
}

// A destination whose registers are mentioned nowhere else is not used.
bool is_destination_used(const ptx::Instr& instr, const std::vector<std::uint32_t>& mentions) {
  if (instr.operands.empty() || instr.operands[0].kind == ptx::Operand::Kind::Sink) return false;
  std::vector<std::uint32_t> own(mentions.size());
  count_registers(instr.operands[0], own);
  for (std::size_t reg = 0; reg < own.size(); ++reg) {
    if (own[reg] != 0 && mentions[reg] > own[reg]) return true;
  }
  return false;
}

constexpr std::array<std::string_view, 6> kCommuting = {"add", "min", "max", "and", "or", "xor"};

// Operation and type of an atomic: "add.f32" is 1 + a number made of both words.
void describe_atomic(InstrFacts& facts) {
  std::string_view rest = facts.opcode;
  std::size_t operation = kCommuting.size();
  std::string_view type;
  while (!rest.empty()) {
    const std::size_t dot = rest.find('.');
    const std::string_view word = rest.substr(0, dot);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    const auto found = std::find(kCommuting.begin(), kCommuting.end(), word);
    if (found != kCommuting.end()) operation = static_cast<std::size_t>(found - kCommuting.begin());
    if (rest.empty()) type = word;
  }
  if (operation == kCommuting.size()) return;
  facts.is_float_atomic = operation == 0 && (type.starts_with("f") || type.starts_with("bf"));
  std::uint64_t number = operation + 1;
  for (const char c : type) number = number * 131 + static_cast<unsigned char>(c);
  facts.commuting_op = number;
}

bool is_poll(std::string_view opcode) {
  return opcode.starts_with("mbarrier.test_wait") || opcode.starts_with("mbarrier.try_wait");
}

// The instruction that each label stands before.
std::vector<std::uint32_t> label_targets(const ptx::Function& function) {
  std::vector<std::uint32_t> targets(function.labels.size(), static_cast<std::uint32_t>(function.instrs.size()));
  auto next = static_cast<std::uint32_t>(function.instrs.size());
  for (auto statement = function.body.rbegin(); statement != function.body.rend(); ++statement) {
    if (statement->kind == ptx::Statement::Kind::Instr) next = statement->index;
    if (statement->kind == ptx::Statement::Kind::Label) targets[statement->index] = next;
  }
  return targets;
}

// A poll that is tried again until it is true tells nothing about the schedule: `@!p bra` back to it, or `@p bra` out
// and an unconditional branch back, with nothing on the way but sleep.
bool is_wait_loop(const ptx::Function& function, const std::vector<std::uint32_t>& first_instr, std::size_t poll) {
  const auto is_back = [&](const ptx::Instr& branch) {
    if (branch.opcode != "bra" || branch.operands.empty() || branch.operands[0].kind != ptx::Operand::Kind::Label) {
      return false;
    }
    const std::uint32_t target = first_instr[branch.operands[0].label];
    if (target > poll) return false;
    for (std::size_t at = target; at < poll; ++at) {
      if (function.instrs[at].opcode != "nanosleep") return false;
    }
    return true;
  };
  const ptx::Instr& instr = function.instrs[poll];
  if (instr.guard || instr.operands.empty() || instr.operands[0].kind != ptx::Operand::Kind::Reg) return false;
  if (poll + 1 >= function.instrs.size()) return false;
  const ptx::Instr& next = function.instrs[poll + 1];
  if (!next.guard || next.guard->reg != instr.operands[0].reg) return false;
  if (next.guard->is_negated) return is_back(next);
  return next.opcode == "bra" && poll + 2 < function.instrs.size() && !function.instrs[poll + 2].guard &&
         is_back(function.instrs[poll + 2]);
}

// A branch back makes a loop of what lies between.
void find_loops(const ptx::Function& function, const std::vector<std::uint32_t>& first_instr,
                std::vector<InstrFacts>& all) {
  const auto branch = [&](std::size_t from, ptx::LabelId label) {
    for (std::size_t i = first_instr[label]; i <= from && first_instr[label] <= from; ++i) {
      const std::uint32_t begin = all[first_instr[label]].line;
      all[i].loop_line = all[i].loop_line == 0 ? begin : std::min(all[i].loop_line, begin);
    }
  };
  for (std::size_t i = 0; i < function.instrs.size(); ++i) {
    for (const ptx::Operand& operand : function.instrs[i].operands) {
      if (operand.kind != ptx::Operand::Kind::Label) continue;
      branch(i, operand.label);
      for (const ptx::LabelId label : function.labels[operand.label].branch_targets) branch(i, label);
    }
  }
}

std::vector<InstrFacts> facts_of_function(const ptx::Module& module, const ptx::Function& function) {
  std::vector<InstrFacts> all(function.instrs.size());
  const std::vector<std::uint32_t> mentions = register_mentions(module, function);
  const std::vector<std::uint32_t> first_instr = label_targets(function);
  for (std::size_t i = 0; i < function.instrs.size(); ++i) {
    const ptx::Instr& instr = function.instrs[i];
    InstrFacts& facts = all[i];
    facts.opcode = opcode_text(*module.source, instr);
    facts.place = {module.source, instr.span};
    facts.line = module.source->locate(instr.opcode_span.begin).line;
    const std::string_view opcode = facts.opcode;
    facts.is_collective = opcode.starts_with("ldmatrix") || opcode.starts_with("stmatrix");
    facts.is_arrive_only = opcode.starts_with("bar.arrive") || opcode.starts_with("bar.cta.arrive") ||
                           opcode.starts_with("barrier.arrive") || opcode.starts_with("barrier.cta.arrive");
    facts.is_copy_wait = opcode.starts_with("cp.async.wait_group") || opcode.starts_with("cp.async.wait_all");
    facts.is_schedule_value = opcode.starts_with("activemask") || reads_schedule(instr.operands);
    facts.is_schedule_value |= is_poll(opcode) && !is_wait_loop(function, first_instr, i);
    facts.is_async_proxy = opcode.starts_with("cp.async.bulk") || opcode.starts_with("cp.reduce.async.bulk") ||
                           opcode.starts_with("wgmma.mma_async") || opcode.starts_with("tcgen05.mma") ||
                           opcode.starts_with("tcgen05.cp");
    facts.is_product = opcode.starts_with("wgmma.mma_async") || opcode.starts_with("tcgen05.mma");
    facts.is_plain_copy = opcode.starts_with("cp.async.c");
    facts.is_mbarrier_word = opcode.starts_with("mbarrier.init") || opcode.starts_with("mbarrier.inval");
    facts.is_map_release = opcode.starts_with("tensormap.cp_fenceproxy");
    const bool is_bulk_reduction = opcode.starts_with("cp.reduce.async.bulk");
    facts.is_async_reduction = is_bulk_reduction || opcode.starts_with("red.async");
    facts.is_pair = opcode.find(".cta_group::2") != std::string_view::npos;
    facts.is_init_fence = opcode.starts_with("fence.mbarrier_init");
    const bool is_atom = opcode.starts_with("atom.");
    if (is_atom || opcode.starts_with("red.") || is_bulk_reduction) describe_atomic(facts);
    // The map gives the type of a tensor reduction.
    if (opcode.starts_with("cp.reduce.async.bulk.tensor") && facts.commuting_op != 0) {
      facts.is_float_atomic = instr.has(ptx::Mod::add);
    }
    facts.is_result_used = is_atom && is_destination_used(instr, mentions);
  }
  find_loops(function, first_instr, all);
  return all;
}

}  // namespace

std::vector<InstrFacts> facts_of(const ptx::Module& module, const ptx::Function& entry,
                                 const std::function<Place(std::uint32_t)>& place) {
  std::vector<InstrFacts> all = facts_of_function(module, entry);
  if (!place) return all;
  std::map<std::uint32_t, InstrFacts> called;  // by where the statement begins
  for (const ptx::Function& function : module.functions) {
    if (&function == &entry) continue;
    for (InstrFacts& facts : facts_of_function(module, function)) {
      called.emplace(facts.place.span.begin, std::move(facts));
    }
  }
  for (std::uint32_t instr = static_cast<std::uint32_t>(all.size());; ++instr) {
    const Place at = place(instr);
    if (at.span == Span{}) return all;
    const auto found = called.find(at.span.begin);
    InstrFacts facts;
    if (found != called.end()) {
      facts = found->second;
    } else {
      facts.place = at;  // the return at a function's end
    }
    all.push_back(std::move(facts));
  }
}

}  // namespace plumb::check
