// SPDX-License-Identifier: Apache-2.0
// The loop from a task to a lowering: turns of a provider, tool calls in a run folder, and at the end a proof from
// scratch. The model's word counts for nothing; only that last verdict does. The run log in the output folder is the
// whole state of a run: one that was killed goes on from it and loses at most the turn that was under way.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/budget.h"
#include "agent/given.h"
#include "agent/provider.h"
#include "base/finding.h"
#include "prove/prove.h"
#include "session/session.h"

namespace plumb::agent {

struct LowerOptions {
  std::filesystem::path out;                         // gets NAME.ptx, NAME.proof.json and run.jsonl; made when absent
  session::Config session;                           // with the task and the target; folder and seed are set here
  bool is_resume = false;                            // goes on with the run in `out`, where there is one
  std::string from = "source", provider{}, model{};  // as the run log tells them
  unsigned lanes = 1;                                // of a replay: as many as its log has
  std::optional<Given> given{};

  // Of live providers.
  Budget budget{};
  std::optional<Price> price{};
  bool has_gpu = false;
  std::uint64_t patience = 24;             // judgements without progress
  std::uint64_t context_tokens = 150'000;  // of a conversation, then it begins anew
  double near_enough = 0.92;               // of what the card can do

  // Told of each event as it happens (the lines of the run log), one at a time, for people who watch.
  std::function<void(const nlohmann::json& event)> watch{};
};

struct LowerOutcome {
  Findings findings;
  bool is_bad_input = false;  // nothing could be done
  std::string candidate;      // the file that was judged at the end
  std::string from = "source";
  std::vector<std::string> stops;  // why each lane ended, where a loop decided that
  Spent spent;
  bool knows_price = false;
  std::optional<double> nanoseconds;  // of the judged candidate, where it was measured
  std::optional<prove::Outcome> judgement;
  std::vector<std::filesystem::path> files;
  bool holds() const { return !findings.has_error() && judgement && judgement->holds(); }
};

// One live provider for each lane, or one that is not live for all of them.
LowerOutcome lower(std::span<Provider* const> providers, const LowerOptions& options);
LowerOutcome lower(Provider& provider, const LowerOptions& options);

}  // namespace plumb::agent
