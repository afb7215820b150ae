// SPDX-License-Identifier: Apache-2.0
// What the parts of a run log's events must be, where they are there: every reader of a log relies on it, and a log can
// come from anywhere.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace plumb::agent {

// The first part of another type, in words: "`/output/findings/0` is no object". Empty when there is none.
std::string wrong_type(const nlohmann::json& event);

}  // namespace plumb::agent
