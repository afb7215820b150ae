// SPDX-License-Identifier: Apache-2.0
// One next step after an answer that has an error: what a model is to do about the first of its errors.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace plumb::session {

struct NextStep {
  std::string_view code;  // a code, or with a dot at its end all codes that begin so; the first row that fits counts
  std::string_view step;
};
std::span<const NextStep> next_steps();

// Empty for an answer without an error. A finding that has a hint of its own is answered by that.
std::string next_step(const nlohmann::json& output);

}  // namespace plumb::session
