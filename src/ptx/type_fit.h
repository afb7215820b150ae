// SPDX-License-Identifier: Apache-2.0
// Which types of registers go with which types of operands (PTX ISA, "Operand type checking").
#pragma once

#include <cstdint>

#include "ptx/type.h"

namespace plumb::ptx {

// What an operand's type may be compared by.
enum class Class : std::uint8_t { Bits, Int, Real, Packed, Pred };

Class class_of(Type type);

// A `.f16x2` register is `.b32` to the assembler, but not where `.f32` or a pair of `.bf16` is meant.
bool goes_with(Type reg, Type type, bool allows_wider);

}  // namespace plumb::ptx
