// SPDX-License-Identifier: Apache-2.0
// Damage to a PTX text that knows its grammar: statements, dotted words, operands and constants are exchanged for
// others of their kind, so that most of what comes out reaches past the lexer. The same text and seed give the same
// result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumb::fuzzing {

std::string mutate(std::string_view text, std::uint32_t seed);

}  // namespace plumb::fuzzing
