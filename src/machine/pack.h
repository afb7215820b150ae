// SPDX-License-Identifier: Apache-2.0
// Which registers of a function may share storage: PTX names a new register for almost every value, and the caches are
// small. Two registers of one width share a slot when no thread ever needs both values at a time. A register that a
// path may read before it writes it keeps storage of its own, so that it is seen to be undefined.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/module.h"

namespace plumb::machine {

// What one instruction does with its registers. A guarded write keeps the old value in some threads, so it is a use,
// too.
struct Touches {
  std::vector<ptx::RegId> uses, defs;
  // Those that an asynchronous operation goes on to use after the instruction: they keep storage of their own.
  std::vector<ptx::RegId> held;
};

// For each register a group (numbered from 0) of registers that share; predicates have none. `touches` is by
// instruction, `label_instrs` the instruction that follows each label.
struct Packing {
  static constexpr std::uint32_t kNone = ~0u;
  std::vector<std::uint32_t> group;
  std::vector<std::uint32_t> widths;  // of each group: storage bytes a lane
};
Packing pack_registers(const ptx::Function& function, const std::vector<Touches>& touches,
                       const std::vector<std::uint32_t>& label_instrs);

}  // namespace plumb::machine
