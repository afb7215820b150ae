// SPDX-License-Identifier: Apache-2.0
// What `run --profile` says: the machine's counts, by class, by instruction, by memory and, where asked, by line.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/finding.h"
#include "machine/profile.h"
#include "ptx/module.h"
#include "session/instr_class.h"

namespace plumb::session {

// An instruction that some warp has come to.
struct ProfiledInstr {
  std::uint32_t line = 0;
  std::string words;  // opcode and modifiers, "ld.global.v4.b32"
  InstrClass which = InstrClass::Other;
  machine::InstrProfile counts;
};

struct RunProfile {
  std::vector<ProfiledInstr> instrs;  // in the order of the text
  bool has_lines = false;             // also by line
};

// Whether an instruction is ldmatrix, by its number; `place`: of each.
std::function<bool(std::uint32_t)> matrix_loads(const ptx::CheckedModule& module,
                                                std::function<Place(std::uint32_t)> place);

// `counts`: by number of the instruction.
RunProfile make_run_profile(const ptx::CheckedModule& module, const std::vector<machine::InstrProfile>& counts,
                            const std::function<Place(std::uint32_t)>& place);

nlohmann::json to_json(const RunProfile& profile);
std::string to_text(const RunProfile& profile);

}  // namespace plumb::session
