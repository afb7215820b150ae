// SPDX-License-Identifier: Apache-2.0
// Numbers of a tool's answer. A log can come from anywhere, and what cannot be measured is null in an answer: none of
// these relies on a part being there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace plumb::agent {

// The number at a JSON pointer; empty where there is none.
std::optional<double> number_at(const nlohmann::json& value, const std::string& pointer);

// How near a shape of a `bench` answer comes to what the card can do, by bytes or by operations; 0 where it is unknown.
double share_of_bound(const nlohmann::json& shape);

}  // namespace plumb::agent
