// SPDX-License-Identifier: Apache-2.0
// Names of the special registers (PTX ISA, "Special registers").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ptx/module.h"

namespace plumb::ptx {

struct SpecialName {
  std::string_view text;  // "%tid"
  Special special{};
  bool has_axes = false;   // takes .x .y .z
  std::uint8_t index = 0;  // %pm3, %envreg7
  Type type = Type::u32;
  Version since;  // and the first target that has it
  int min_sm = 0;
};

const SpecialName* find_special(std::string_view text);  // null when there is none
std::string special_text(Special special, std::uint8_t axis);
Type special_type(Special special);

}  // namespace plumb::ptx
