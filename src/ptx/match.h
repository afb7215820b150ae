// SPDX-License-Identifier: Apache-2.0
// Whether the operands of an instruction are those of a syntax line, and what each of them then stands for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "ptx/isa/table.h"
#include "ptx/module.h"

namespace plumb::ptx {

struct Mismatch {
  const Code* code = nullptr;
  std::string message;
  Span span;
  std::size_t matched = 0;  // operands that fitted before it
};

// By operand of the instruction; null for the operands of a call.
using Roles = std::vector<const OperandSpec*>;

// The first operand that does not fit; null when all do, and then `roles`, where given, is filled in.
std::optional<Mismatch> match(const Module& module, const Function& function, const Line& line, const Filling& filling,
                              const Instr& instr, Roles* roles = nullptr);

// What a call through a register is held to: a `.callprototype`, or a function of `.calltargets`, under that label.
struct Prototype {
  LabelId label = 0;
  std::vector<Variable> results, parameters;
};

// The first of the label's prototypes that the call does not go with; that there is none, where there is none.
std::optional<Mismatch> match_prototypes(const Module& module, const Function& function, const Instr& call,
                                         const std::vector<Prototype>& prototypes);

}  // namespace plumb::ptx
