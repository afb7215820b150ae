// SPDX-License-Identifier: Apache-2.0
// What is wrong with the dotted words of an instruction, told by the syntax lines that come nearest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/isa/table.h"

namespace plumb::ptx {

struct WordAdvice {
  std::string reason;    // "`.frnd` is missing: `.rn`, `.rz`, `.rm` or `.rp`"; empty when nothing single is wrong
  std::string spelling;  // a legal spelling close to the given one; empty when none was found
  std::vector<const Line*> nearest;  // two at most, the nearest first
};

// `lines` are the opcode's, as indices into the table; none of them takes the words.
WordAdvice advise(std::string_view opcode, std::span<const Mod> mods, std::span<const std::uint32_t> lines);

// The PTX opcode for a word of CUDA, of another assembler or of habit: "exp" gives "`ex2.approx`, after multiplying by
// log2(e)". Empty where there is none.
std::string_view other_opcode(std::string_view word);
// The same for special registers: "threadIdx" gives "%tid".
std::string_view other_special(std::string_view word);

}  // namespace plumb::ptx
