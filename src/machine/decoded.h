// SPDX-License-Identifier: Apache-2.0
// What decoding makes of an entry and the functions that it can call: one flat list of operations, where every
// register, constant and variable lives, and the tables that control flow needs. Immutable once made.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "machine/machine.h"
#include "machine/spaces.h"
#include "machine/warp.h"
#include "ptx/module.h"

namespace plumb::machine {

// A register that holds a constant in all lanes.
struct ConstantSlot {
  Slot slot = 0;
  std::uint8_t width = 4;
  std::uint64_t value = 0;
  bool is_shared_address = false;  // the CTA's own window is added
};

// A register that is set when a warp starts.
struct SpecialSlot {
  Slot slot = 0;
  std::uint8_t width = 4;
  ptx::Special special = ptx::Special::tid;
  std::uint8_t axis = 0;
};

// Where a variable lives: its space, its address in that space (global: the virtual address), and whether it was laid
// out at all. That of a local variable of a function that may call itself counts from the start of its frame.
struct VariablePlace {
  ptx::Space space = ptx::Space::none;
  std::uint64_t address = 0;
  bool is_placed = false;
  bool is_in_frame = false;
};

// One end of what a call passes: a register, or bytes of the lane's call-parameter area.
struct PassedAt {
  std::uint32_t at = 0;     // Slot, or offset
  std::uint32_t width = 0;  // storage of the register; 0: not a register
};

// A parameter or result of a call: its bytes.
struct Passed {
  PassedAt from, to;
  std::uint32_t size = 0;
};

struct CallSite {
  std::uint32_t function = 0;  // callee, in Module::functions
  std::uint32_t target = 0;    // its first operation
  std::uint32_t next = 0;      // where to go on after it
  std::vector<Passed> arguments, results;
};

// A call through a register: the call that each address of a function stands for.
struct IndirectCall {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sites;  // address, in Layout::calls
};

// An image of a module variable of the global space.
struct GlobalImage {
  std::string name;
  std::uint64_t address = 0;
  std::vector<std::byte> bytes;
};

struct OffsetRange {
  std::uint32_t begin = 0, end = 0;
};

// Frames of functions that may call themselves start at multiples of this.
inline constexpr std::uint64_t kFrameAlignment = 16;

struct FunctionPlace {
  std::uint32_t first = 0;  // operation of its first instruction
  std::uint32_t count = 0;  // its instructions; one more operation follows: the return at its end
  bool is_decoded = false;
  bool is_recursive = false;  // it may be called while it runs: what it owns is kept for the outer run
  // What a run of the function owns; a call finds all of it undefined.
  struct Register {
    Slot slot = 0;
    std::uint8_t width = 0;
  };
  std::vector<Register> registers;
  std::vector<PredSlot> preds;
  OffsetRange params;  // in the lane's call-parameter area
  OffsetRange locals;  // in the lane's local memory; of a recursive function: in its frame
  // Registers that hold the frame's start plus an offset, in a recursive function.
  struct FrameAddress {
    Register reg;
    std::uint64_t offset = 0;
  };
  std::vector<FrameAddress> frame_addresses;
};

struct Layout {
  std::uint32_t reg_bytes = 0;
  std::uint32_t variable_bytes = 0;  // of them: what a program writes; constants and special registers follow
  std::uint32_t pred_count = 1;      // predicate 0 is always false
  PredSlot explicit_cluster = kNoPred;
  std::vector<ConstantSlot> constants;
  std::vector<SpecialSlot> specials;
  std::vector<Slot> lists;
  std::vector<VariablePlace> variables;  // by VarId
  ParamLayout params;
  std::uint32_t shared_start = 0;      // where the first shared variable may lie
  std::uint32_t static_shared = 0;     // where shared variables end; dynamic shared memory starts here
  std::uint32_t local_bytes = 0;       // per lane
  std::uint32_t call_param_bytes = 0;  // per lane
  std::vector<std::byte> const_image;
  std::vector<GlobalImage> globals;
  std::vector<FunctionPlace> functions;  // by index in Module::functions
  std::vector<CallSite> calls;
  std::vector<std::vector<std::uint32_t>> branch_tables;
  std::vector<std::string> reasons;  // of operations without a meaning
  std::vector<IndirectCall> indirect_calls;
};

template <class D>
struct Decoded {
  ptx::CheckedModule module;
  std::uint32_t entry = 0;  // in Module::functions
  Layout layout;
  std::vector<Op<D>> ops;  // the entry's first, so that its operation numbers are its instruction numbers

  const ptx::Function& entry_function() const { return module->functions[entry]; }
  // The place of an operation in the text.
  Place place(std::uint32_t pc) const;
};

}  // namespace plumb::machine
