// SPDX-License-Identifier: Apache-2.0
// What a run starts from when that is more than the Triton source: a scaffold or given PTX. It stands in the log's
// `start` and, with its text, in a `given` event, so that no run can be taken for another kind of run.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent/run_log.h"

namespace plumb::agent {

struct Given {
  std::string from;  // "seed" or "scaffold"
  std::string text;
  std::string kind{};  // of a scaffold
};

// The event that puts the text into the run folder, under the name of the candidate.
nlohmann::json given_event(const Given& given, const std::string& file);

// Whether a run that the log tells of began with this text; true where it was killed before it had taken it down.
bool begins_with(const std::vector<Event>& events, const Given& given);

}  // namespace plumb::agent
