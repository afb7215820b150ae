// SPDX-License-Identifier: Apache-2.0
// Calls of a decoded entry: the functions that they may reach, and what is passed to each.
#include <algorithm>
#include <cctype>
#include <span>

#include "machine/layout.h"

namespace plumb::machine {

namespace {

using ptx::Operand;
using ptx::Space;

// What a call calls: a function, or a register that holds its address.
const Operand& called(const ptx::Instr& call) {
  const bool has_results = call.operands[0].kind == Operand::Kind::List && call.operands.size() > 1;
  return call.operands[has_results ? 1 : 0];
}

}  // namespace

std::optional<std::uint32_t> Decoder::find_body(std::string_view name) const {
  for (std::uint32_t i = 0; i < module_.functions.size(); ++i) {
    if (module_.functions[i].name == name && !module_.functions[i].is_declaration) return i;
  }
  return std::nullopt;
}

void Decoder::find_reachable(std::uint32_t entry) {
  const auto take = [&](std::string_view name) {
    const std::optional<std::uint32_t> function = find_body(name);
    if (!function || module_.functions[*function].is_entry) return;
    if (std::find(taken_.begin(), taken_.end(), *function) == taken_.end()) taken_.push_back(*function);
  };
  for (const ptx::Variable& variable : module_.variables) {
    for (const auto& relocation : variable.relocations) take(relocation.symbol);
  }
  for (const ptx::Function& function : module_.functions) {
    for (const ptx::Instr& instr : function.instrs) {
      if (instr.form == ptx::Form::Call) continue;
      for (const Operand& operand : instr.operands) {
        if (operand.kind == Operand::Kind::Function) take(operand.symbol);
      }
    }
  }
  const auto closure = [&](std::uint32_t from) {
    std::vector<std::uint32_t> found;
    std::vector<std::uint32_t> open{from};
    while (!open.empty()) {
      const std::uint32_t function = open.back();
      open.pop_back();
      for (const ptx::Instr& instr : module_.functions[function].instrs) {
        if (instr.form != ptx::Form::Call) continue;
        for (const std::uint32_t callee : possible_callees(module_.functions[function], instr)) {
          if (std::find(found.begin(), found.end(), callee) != found.end()) continue;
          found.push_back(callee);
          open.push_back(callee);
        }
      }
    }
    return found;
  };
  reachable_ = {entry};
  for (const std::uint32_t function : closure(entry)) {
    if (function != entry) reachable_.push_back(function);
  }
  for (const std::uint32_t function : reachable_) {
    const std::vector<std::uint32_t> below = closure(function);
    layout_.functions[function].is_recursive = std::find(below.begin(), below.end(), function) != below.end();
  }
}

// The functions that a call may reach, as far as they have a body here.
std::vector<std::uint32_t> Decoder::possible_callees(const ptx::Function& function, const ptx::Instr& call) const {
  const Operand& target = called(call);
  if (target.kind == Operand::Kind::Function) {
    const std::optional<std::uint32_t> callee = find_body(target.symbol);
    return callee ? std::vector<std::uint32_t>{*callee} : std::vector<std::uint32_t>{};
  }
  const Operand& label = call.operands.back();
  if (label.kind != Operand::Kind::Label) return taken_;
  const std::size_t next = function.labels[label.label].statement + std::size_t{1};
  if (next >= function.body.size() || function.body[next].kind != ptx::Statement::Kind::CallTargets) return taken_;
  const std::string_view text = function.texts[function.body[next].index];
  std::vector<std::uint32_t> out;
  for (const std::uint32_t callee : taken_) {
    const std::string& name = module_.functions[callee].name;
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
    };
    for (std::size_t at = text.find(name, text.find(' ')); at != text.npos; at = text.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      if (is_word(text[at - 1]) || (end < text.size() && is_word(text[end]))) continue;
      out.push_back(callee);
      break;
    }
  }
  return out;
}

// Where a call finds or leaves one of the values that it passes; empty when it is neither a register nor `.param`.
std::optional<PassedAt> Decoder::passed(const Operand& operand, const ptx::Variable& formal, bool is_result) {
  if (operand.kind == Operand::Kind::Variable) {
    const VariablePlace& place = layout_.variables[operand.variable];
    if (place.space != Space::param || place.address < kCallParams || !place.is_placed) return std::nullopt;
    return PassedAt{static_cast<std::uint32_t>(place.address - kCallParams), 0};
  }
  const unsigned bytes = storage_width(formal.type);
  if (operand.kind == Operand::Kind::Vector || bytes > 8 || !formal.dimensions.empty()) return std::nullopt;
  const unsigned own = width(operand);
  return PassedAt{is_result ? dest(operand) : source(operand, formal.type), own != 0 ? own : bytes};
}

// The same in the function that is called.
std::optional<PassedAt> Decoder::formal_place(std::uint32_t function, const ptx::Variable& formal,
                                              ptx::VarId id) const {
  if (formal.space == Space::reg) {
    const unsigned bytes = storage_width(formal.type);
    if (bytes > 8 || !formal.dimensions.empty() || formal.type == ptx::Type::pred) return std::nullopt;
    return PassedAt{regs_[function][formal.reg], bytes};
  }
  const VariablePlace& place = layout_.variables[id];
  if (place.space != Space::param || !place.is_placed) return std::nullopt;
  return PassedAt{static_cast<std::uint32_t>(place.address - kCallParams), 0};
}

std::optional<std::uint32_t> Decoder::add_call(const ptx::Instr& instr, std::uint32_t callee) {
  const ptx::Function& function = module_.functions[callee];
  const bool has_results = &called(instr) != &instr.operands[0];
  const std::size_t after = has_results ? 2 : 1;
  const bool has_arguments = after < instr.operands.size() && instr.operands[after].kind == Operand::Kind::List;
  const auto elements = [&](bool is_there, std::size_t at) {
    return is_there ? std::span<const Operand>(instr.operands[at].elements) : std::span<const Operand>();
  };
  const std::span<const Operand> results = elements(has_results, 0), arguments = elements(has_arguments, after);
  // Of another signature: a call through a register does not reach it.
  if (results.size() != function.results.size() || arguments.size() != function.parameters.size()) return std::nullopt;
  CallSite site;
  site.function = callee;
  site.target = layout_.functions[callee].first;
  bool has_same_sizes = true;
  const auto pass_all = [&](std::span<const Operand> actual, const std::vector<ptx::VarId>& formal, bool is_result,
                            std::vector<Passed>& out) {
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const ptx::Variable& variable = module_.variables[formal[i]];
      const auto size = variable.space == Space::reg ? ptx::byte_size(variable.type) : variable.size;
      if (actual[i].kind == Operand::Kind::Variable) {
        has_same_sizes = has_same_sizes && module_.variables[actual[i].variable].size == size;
      }
      const std::optional<PassedAt> here = passed(actual[i], variable, is_result);
      const std::optional<PassedAt> there = formal_place(callee, variable, formal[i]);
      if (!here || !there) return unmodelled("a call that passes vectors, or parameters without a place");
      out.push_back({is_result ? *there : *here, is_result ? *here : *there, static_cast<std::uint32_t>(size)});
    }
  };
  pass_all(arguments, function.parameters, false, site.arguments);
  pass_all(results, function.results, true, site.results);
  if (!has_same_sizes) return std::nullopt;
  if (layout_.functions[callee].is_recursive && !is_held_[callee].empty()) {
    unmodelled("a function that calls itself while `wgmma` may own its registers");
  }
  const auto index = static_cast<std::uint32_t>(&instr - this->function().instrs.data());
  site.next = layout_.functions[function_].first + index + 1;
  layout_.calls.push_back(std::move(site));
  return static_cast<std::uint32_t>(layout_.calls.size() - 1);
}

std::optional<std::uint32_t> Decoder::call_site(const ptx::Instr& instr) {
  const Operand& target = called(instr);
  if (target.kind != Operand::Kind::Function) return std::nullopt;
  const std::optional<std::uint32_t> callee = find_body(target.symbol);
  if (!callee) {
    unmodelled("a call of `" + std::string(target.symbol) + "`, which has no body in this module");
    return std::nullopt;
  }
  const std::optional<std::uint32_t> site = add_call(instr, *callee);
  if (!site) unmodelled("a call whose parameters differ from the function's");
  return site;
}

std::uint32_t Decoder::indirect_call(const ptx::Instr& instr, Slot& address, unsigned& bytes) {
  const Operand& target = called(instr);
  address = source(target, ptx::Type::u64);
  bytes = width(target);
  IndirectCall call;
  for (const std::uint32_t callee : possible_callees(function(), instr)) {
    if (const std::optional<std::uint32_t> site = add_call(instr, callee)) {
      call.sites.emplace_back(kFunctions + callee * kFunctionStep, *site);
    }
  }
  layout_.indirect_calls.push_back(std::move(call));
  return static_cast<std::uint32_t>(layout_.indirect_calls.size() - 1);
}

}  // namespace plumb::machine
