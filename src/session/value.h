// SPDX-License-Identifier: Apache-2.0
// One stored element as a number, for messages and comparisons.
#pragma once

#include <string_view>

namespace plumb::session {

// `type` is Triton's spelling, with or without a leading `*`; `bytes` holds one element.
double element_value(std::string_view type, const char* bytes);

}  // namespace plumb::session
