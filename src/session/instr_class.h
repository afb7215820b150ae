// SPDX-License-Identifier: Apache-2.0
// The classes of instructions that a profile sums up.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/module.h"

namespace plumb::session {

enum class InstrClass : std::uint8_t {
  Float32,
  Half,
  Float64,
  Integer,
  Logic,
  Convert,
  Compare,
  Special,
  Move,
  Exchange,
  Load,
  Store,
  Atomic,
  MatrixMove,
  AsyncCopy,
  TensorCore,
  TensorMemory,
  Synchronise,
  Control,
  Other
};

InstrClass class_of(const ptx::Instr& instr);
std::string_view text(InstrClass which);

}  // namespace plumb::session
