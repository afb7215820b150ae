// SPDX-License-Identifier: Apache-2.0
// Looking up the instruction table for people and models (`plumb isa`).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/form.h"

namespace plumb::ptx {

struct IsaEntry {
  std::string name;                 // the form: "FmaFloat"
  std::vector<std::string> syntax;  // its lines, word sets spelled out
  std::string since;                // "PTX 7.0"
  std::string targets;              // "sm_80 or later"; empty: every target
  std::string manual;               // anchor in the PTX manual
};

// Forms whose opcode is the query's first word; all words after it (dots or spaces between) must be words of the form.
// Without an exact opcode, those whose opcode begins with the query. In the table's order.
std::vector<IsaEntry> look_up(std::string_view query);

struct IsaSummary {
  std::vector<std::string> opcodes;  // "add", "cp.async.bulk": with the words that every line of the form begins with
  unsigned lines = 0;
  std::string since;  // "PTX 7.0, sm_80 or later", of the first line
};
IsaSummary summarise(Form form);

// The first form that takes the words of `add.sat.s32`; null when there is none.
std::optional<Form> form_of(std::string_view spelling);

}  // namespace plumb::ptx
