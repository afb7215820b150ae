// SPDX-License-Identifier: Apache-2.0
// An f-string whose words are not known: printing it is harmless, comparing it is refused.
#pragma once

#include <string_view>

namespace plumb::triton {

inline constexpr std::string_view kFormattedText = "a formatted text";  // the name of its `EnumName`

}  // namespace plumb::triton
