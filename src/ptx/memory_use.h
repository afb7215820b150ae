// SPDX-License-Identifier: Apache-2.0
// Which names of a module its functions use: the shared and local memory that each function takes, and what is declared
// and used by none.
#pragma once

#include <cstddef>
#include <vector>

#include "ptx/lint.h"
#include "ptx/module.h"

namespace plumb::ptx {

class MemoryUse {
 public:
  explicit MemoryUse(const Module& module);
  // The memory of the function with that index, with that of the functions it calls by name.
  void measure(std::size_t function, FunctionFacts& facts) const;

 private:
  const Module& module_;
  std::vector<std::vector<VarId>> variables_;      // by function, each once
  std::vector<std::vector<std::size_t>> callees_;  // by function
};

// Registers, variables, parameters and labels that are declared for nothing.
void unused_names(const Module& module, std::vector<Finding>& out);

}  // namespace plumb::ptx
