// SPDX-License-Identifier: Apache-2.0
// Inline assembly that plumb gives a meaning: one f32 instruction with its operands in their places.
#pragma once

#include <cstdint>
#include <string_view>

namespace plumb::triton {

enum class Instruction : std::uint8_t {
  Mov,
  Add,
  Sub,
  Mul,
  Div,
  Fma,
  Rcp,
  Sqrt,
  Rsqrt,
  Ex2,
  Lg2,
  Sin,
  Cos,
  Tanh,
  Abs,
  Neg
};

struct Assembly {
  std::string_view opcode;
  Instruction instruction;
  unsigned operands;
  bool ftz = false, approximate = false;
};

// The row of "OPCODE $0, $1, ...;"; null for anything else.
const Assembly* find_assembly(std::string_view text);

}  // namespace plumb::triton
