// SPDX-License-Identifier: Apache-2.0
// Runs as training data: one JSON line for each lane, messages and tool calls with a mask of what the model wrote, and
// rewards that come from the tools alone (docs/run-log.md has the schema).
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "agent/run_log.h"

namespace plumb::agent {

std::vector<nlohmann::json> trajectories(const RunLog& log);

}  // namespace plumb::agent
