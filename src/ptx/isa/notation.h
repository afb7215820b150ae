// SPDX-License-Identifier: Apache-2.0
// The notation of isa/*.def, described in docs/ptx.md. A row that does not follow it is a bug in plumb.
#pragma once

#include <string_view>
#include <unordered_map>

#include "ptx/isa/table.h"

namespace plumb::ptx::notation {

using Mods = std::unordered_map<std::string_view, Mod, TextHash>;

Line parse_line(std::string_view text, Form form, const Mods& mods);
Needs parse_needs(std::string_view text);  // "8.0 sm_90a|sm_100f"

}  // namespace plumb::ptx::notation
