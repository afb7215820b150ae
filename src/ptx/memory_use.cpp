// SPDX-License-Identifier: Apache-2.0
#include "ptx/memory_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ptx/codes.h"
#include "ptx/space.h"
#include "ptx/text_hash.h"

namespace plumb::ptx {
namespace {

template <class Fn>
void for_each_operand(const Operand& operand, const Fn& fn) {
  fn(operand);
  for (const Operand& element : operand.elements) for_each_operand(element, fn);
}

template <class Fn>
void for_each_operand(const Function& function, const Fn& fn) {
  for (const Instr& instr : function.instrs) {
    for (const Operand& operand : instr.operands) for_each_operand(operand, fn);
  }
}

bool names_variable(const Operand& operand) {
  return operand.kind == Operand::Kind::Variable ||
         (operand.kind == Operand::Kind::Address && operand.base == Operand::Base::Variable);
}

bool names_register(const Operand& operand) {
  return operand.kind == Operand::Kind::Reg ||
         (operand.kind == Operand::Kind::Address && operand.base == Operand::Base::Reg);
}

using Words = std::unordered_set<std::string_view, TextHash>;

// Names inside what is kept as text: debug sections, `.alias`, prototypes and the ends of `.loc`.
void add_words(std::string_view text, Words& out) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           c == '%';
  };
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end != at) out.insert(text.substr(at, end - at));
    at = end + 1;
  }
}

class Unused {
 public:
  Unused(const Module& module, std::vector<Finding>& out) : module_(module), out_(out) {
    for (const std::string& text : module.texts) add_words(text, words_);
    is_used_.resize(module.variables.size(), false);
    std::unordered_map<std::string_view, VarId, TextHash> by_name;
    for (VarId id = 0; id < module.variables.size(); ++id) by_name[module.variables[id].name] = id;
    for (const Variable& variable : module.variables) {
      for (const Variable::Relocation& relocation : variable.relocations) {
        if (const auto found = by_name.find(relocation.symbol); found != by_name.end()) is_used_[found->second] = true;
      }
    }
    for (const Function& function : module.functions) {
      for_each_operand(function, [&](const Operand& operand) {
        if (names_variable(operand)) is_used_[operand.variable] = true;
      });
    }
  }

  void run() {
    for (const Item& item : module_.items) {
      if (item.kind == Item::Kind::Variable) variable(item.index);
    }
    for (const Function& function : module_.functions) {
      if (!function.is_declaration) this->function(function);
    }
  }

 private:
  void say(std::string message, Span span) {
    out_.push_back(Finding{&kUnusedName, Severity::Note, std::move(message), {module_.source, span}, {}, {}});
  }

  // What others may see may be used by them.
  void variable(VarId id) {
    const Variable& one = module_.variables[id];
    if (is_used_[id] || one.is_visible || one.is_extern || one.is_weak || one.is_common || words_.contains(one.name)) {
      return;
    }
    say(fmt::format("the {} variable `{}` is used nowhere", described(one.space), one.name), one.span);
  }

  void function(const Function& function) {
    Words words = words_;
    for (const std::string& text : function.texts) add_words(text, words);
    for (const Loc& loc : function.locs) add_words(loc.rest, words);
    for (const VarId id : function.parameters) {
      if (!is_used_[id] && module_.variables[id].space != Space::reg) {
        say(fmt::format("the parameter `{}` of `{}` is never read", module_.variables[id].name, function.name),
            module_.variables[id].span);
      }
    }
    std::vector<bool> is_reg_used(function.registers.size(), false), is_label_used(function.labels.size(), false);
    for_each_operand(function, [&](const Operand& operand) {
      if (names_register(operand)) is_reg_used[operand.reg] = true;
      if (operand.kind == Operand::Kind::Label) is_label_used[operand.label] = true;
      if (operand.kind == Operand::Kind::Function) words.insert(operand.symbol);  // a prototype's label, too
    });
    for (const Instr& instr : function.instrs) {
      if (instr.guard) is_reg_used[instr.guard->reg] = true;
    }
    for (const Label& label : function.labels) {
      for (const LabelId target : label.branch_targets) is_label_used[target] = true;
    }
    for (const Statement& at : function.body) {
      if (at.kind == Statement::Kind::Variable) variable(at.index);
      if (at.kind == Statement::Kind::Registers) registers(function, at, is_reg_used);
      if (at.kind != Statement::Kind::Label || is_label_used[at.index]) continue;
      const Label& label = function.labels[at.index];
      if (!words.contains(label.name)) say(fmt::format("no branch goes to `{}`", label.name), label.span);
    }
  }

  // Compilers declare a whole range for the few that they use, so only one of which none is used counts.
  void registers(const Function& function, const Statement& at, const std::vector<bool>& is_reg_used) {
    for (std::uint32_t i = 0; i < at.count; ++i) {
      if (is_reg_used[at.index + i]) return;
    }
    const std::string& name = function.registers[at.index].name;
    say(at.count == 1 ? fmt::format("the register `{}` is used nowhere", name)
                      : fmt::format("`{}` and the {} registers declared with it are used nowhere", name, at.count - 1),
        function.registers[at.index].span);
  }

  const Module& module_;
  std::vector<Finding>& out_;
  std::vector<bool> is_used_;  // by variable
  Words words_;
};

}  // namespace

MemoryUse::MemoryUse(const Module& module) : module_(module) {
  std::unordered_map<std::string_view, std::size_t, TextHash> by_name;
  for (std::size_t i = 0; i < module.functions.size(); ++i) {
    if (!module.functions[i].is_declaration) by_name[module.functions[i].name] = i;
  }
  for (const Function& function : module.functions) {
    std::vector<VarId> variables;
    std::vector<std::size_t> callees;
    for_each_operand(function, [&](const Operand& operand) {
      if (names_variable(operand)) variables.push_back(operand.variable);
      if (operand.kind != Operand::Kind::Function) return;
      if (const auto found = by_name.find(operand.symbol); found != by_name.end()) callees.push_back(found->second);
    });
    std::sort(variables.begin(), variables.end());
    variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
    variables_.push_back(std::move(variables));
    callees_.push_back(std::move(callees));
  }
}

void MemoryUse::measure(std::size_t function, FunctionFacts& facts) const {
  std::vector<std::size_t> open{function};
  std::unordered_set<std::size_t> seen{function};
  std::vector<VarId> all;
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    all.insert(all.end(), variables_[at].begin(), variables_[at].end());
    for (const std::size_t callee : callees_[at]) {
      if (seen.insert(callee).second) open.push_back(callee);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  // The widest first, as the assembler lays them out, so that alignment costs nothing between them.
  const auto alignment_of = [&](VarId id) -> std::uint64_t {
    const Variable& one = module_.variables[id];
    return one.alignment != 0 ? one.alignment : byte_size(one.type);
  };
  std::stable_sort(all.begin(), all.end(), [&](VarId a, VarId b) { return alignment_of(a) > alignment_of(b); });
  for (const VarId id : all) {
    const Variable& one = module_.variables[id];
    if (one.space != Space::shared && one.space != Space::local) continue;
    if (one.space == Space::shared && one.size == 0) facts.has_dynamic_shared = true;
    std::uint64_t& total = one.space == Space::shared ? facts.shared_bytes : facts.local_bytes;
    total = (total + alignment_of(id) - 1) / alignment_of(id) * alignment_of(id) + one.size;
  }
}

void unused_names(const Module& module, std::vector<Finding>& out) { Unused(module, out).run(); }

}  // namespace plumb::ptx
