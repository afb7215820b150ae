// SPDX-License-Identifier: Apache-2.0
// One instruction of a text, and how to write it otherwise. Nothing here knows of faults.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "ptx/flow.h"
#include "ptx/module.h"

namespace plumb::mutate {

struct Edit {
  Span span;
  std::string replacement;
};
using Edits = std::vector<Edit>;

class Site {
 public:
  Site(const ptx::Module& module, const ptx::Function& function, const ptx::Flow& flow, std::uint32_t instr)
      : module_(module), function_(function), flow_(flow), index_(instr), instr_(function.instrs[instr]) {}

  const ptx::Module& module() const { return module_; }
  const ptx::Function& function() const { return function_; }
  const ptx::Instr& instr() const { return instr_; }
  std::string_view opcode() const { return instr_.opcode; }
  bool is(std::initializer_list<std::string_view> opcodes) const;
  bool has(std::string_view word) const;  // a dotted word, without its dot
  const std::vector<ptx::Operand>& operands() const { return instr_.operands; }
  std::string_view text(Span span) const { return module_.source->slice(span); }
  // The instruction that follows in the text; null at the end of the function or where a label stands between.
  const ptx::Instr* next() const;
  // A register of the same type, written by one of the instructions before; empty when there is none.
  std::string_view other_register(ptx::RegId than) const;
  ptx::Type type(ptx::RegId reg) const { return function_.registers[reg].type; }

  Edit dropped() const;
  Edit without_guard() const;
  Edit replaced(Span span, std::string by) const { return {span, std::move(by)}; }
  // The whole statement with the part `span` of it written otherwise, inside a block that begins with `before`.
  Edit in_block(std::string_view before, Span span, std::string_view by) const;
  // One dotted word for another, or for none. Adds nothing where the instruction lacks it.
  void with_word(Edits& out, std::string_view from, std::string_view to) const;
  void swapped(Edits& out, const ptx::Operand& a, const ptx::Operand& b) const;

 private:
  Span head() const;  // from the opcode to the first operand

  const ptx::Module& module_;
  const ptx::Function& function_;
  const ptx::Flow& flow_;
  std::uint32_t index_;
  const ptx::Instr& instr_;
};

// Every operand, those inside of vectors, lists and addresses too.
template <class Visit>
void each_operand(const std::vector<ptx::Operand>& operands, const Visit& visit) {
  for (const ptx::Operand& operand : operands) {
    visit(operand);
    each_operand(operand.elements, visit);
  }
}

}  // namespace plumb::mutate
