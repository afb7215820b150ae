// SPDX-License-Identifier: Apache-2.0
// A run log read as a story: the turns of each lane, what each call came to, how far its candidate had come by then,
// how fast it was where that was measured, what it cost where that is known. Reports and exports tell it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/run_log.h"

namespace plumb::agent {

// How far a candidate has come, by the answers of the tools.
enum class Reached : std::uint8_t { Nothing, Written, Assembles, Safe, Agrees, Weaker, Accepted };
std::string_view name(Reached reached);

struct StepFinding {
  std::string code, place, message;
};

struct Step {
  std::uint32_t line = 0;  // of the log
  unsigned lane = 0, turn = 0;
  std::string kind;  // of the event
  std::string what;  // the tool, or who speaks
  std::string text;  // what was said, or what came of it
  bool is_good = true, is_answer = true;
  double seconds = 0, at = 0;          // it took, and had begun after; what nobody timed counts as nothing
  std::string sha256;                  // of the candidate that it is about
  Reached reached = Reached::Nothing;  // of that candidate, after this step
  std::optional<double> nanoseconds, speedup, share_of_bound;
  std::vector<StepFinding> findings;  // errors alone
};

struct StoryCandidate {
  std::string sha256, file;
  unsigned lane = 0, turn = 0;  // that wrote it
  bool is_given = false;        // nobody wrote it: the run started from it
  std::uint64_t lines = 0;
  Reached reached = Reached::Nothing;
  std::optional<double> nanoseconds, speedup, share_of_bound;
};

struct Story {
  Start start;
  std::string from, provider, model;  // as the log tells; empty: it does not
  std::vector<Step> steps;
  std::vector<StoryCandidate> candidates;  // in the order in which they came
  unsigned lanes = 1, turns = 0;           // turns of all lanes
  double seconds = 0;
  std::uint64_t tokens = 0;
  std::optional<double> usd;
  nlohmann::json end;  // the last `end` event; null: there is none
  bool is_accepted() const;
  std::string_view outcome() const;  // "a lowering", "no lowering", "not judged at its end"
};

Story read_story(const RunLog& log);
// In a line: what a call came to.
std::string outcome_of(const nlohmann::json& call);

}  // namespace plumb::agent
