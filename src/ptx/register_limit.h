// SPDX-License-Identifier: Apache-2.0
// How many registers an instruction cannot do without, and how many a kernel's directives leave each thread. ptxas ends
// with an error where the first is more than the second (C7602), whether or not control reaches the instruction; the
// numbers are what ptxas 13.0 answered, and tests/ptxas asks it again.
#pragma once

#include <string>

#include "ptx/module.h"

namespace plumb::ptx {

// 0 for an instruction of which no such number is known.
unsigned least_registers(const Instr& instr);

struct RegisterLimit {
  unsigned count = 0;
  std::string reason;  // "`.maxntid` of 512 threads leaves 128"
};
RegisterLimit register_limit(const Function& entry);

}  // namespace plumb::ptx
