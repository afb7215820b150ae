// SPDX-License-Identifier: Apache-2.0
// The words for state spaces, in both directions (PTX ISA, "State spaces").
#pragma once

#include <string_view>

#include "ptx/module.h"

namespace plumb::ptx {

std::string_view name(Space space);            // "global", without the dot; empty for none
std::string_view described(Space space);       // ".global", and "generic" for none
Space space_from_word(std::string_view word);  // "shared::cta" is shared; none where the word names no space

}  // namespace plumb::ptx
