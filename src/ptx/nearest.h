// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the known name that a mistyped one is closest to.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace plumb::ptx {

// Insertions, deletions and replacements that make one word of the other; two letters that swapped count as one.
unsigned edit_distance(std::string_view a, std::string_view b);

// The one with the least distance, at most 2 and less than half of the word; the first by name among equals. Empty when
// there is none.
std::string nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace plumb::ptx
