// SPDX-License-Identifier: Apache-2.0
// The loop from a task to a lowering: turns of a provider, tool calls in a fresh run folder, and at the end a proof
// from scratch. The model's word counts for nothing; only that last verdict does.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent/provider.h"
#include "base/finding.h"
#include "prove/prove.h"
#include "session/session.h"

namespace plumb::agent {

struct LowerOptions {
  std::filesystem::path out;  // gets NAME.ptx, NAME.proof.json and run.jsonl; made when absent
  session::Config session;    // with the task and the target; folder and seed are set here
  // Told of each event as it happens (the lines of the run log), for people who watch.
  std::function<void(const nlohmann::json& event)> watch;
};

struct LowerOutcome {
  Findings findings;
  bool is_bad_input = false;  // nothing could be done
  std::string candidate;      // the file that was judged at the end
  std::optional<prove::Outcome> judgement;
  std::vector<std::filesystem::path> files;
  bool holds() const { return !findings.has_error() && judgement && judgement->holds(); }
};

LowerOutcome lower(Provider& provider, const LowerOptions& options);

}  // namespace plumb::agent
