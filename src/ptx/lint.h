// SPDX-License-Identifier: Apache-2.0
// Advice about a module that is legal: what was likely not meant, and what a function costs. Nothing here refuses a
// module that an assembler takes, except for static shared memory that no kernel can have.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace plumb::ptx {

struct FunctionFacts {
  std::string name;
  bool is_entry = false;
  std::size_t instructions = 0;
  // The most that hold a value at one point of the text, 64-bit registers counted twice. The assembler may need fewer
  // (it moves instructions and forgets what it can make again) or more (pairs, alignment, addresses).
  unsigned registers = 0, predicates = 0;
  std::uint64_t shared_bytes = 0, local_bytes = 0;  // static, with what it calls
  bool has_dynamic_shared = false;
  Span span;
};

struct Advice {
  Findings findings;  // in the order of the text
  std::vector<FunctionFacts> functions;
};

Advice lint(const CheckedModule& module);

}  // namespace plumb::ptx
