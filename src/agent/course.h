// SPDX-License-Identifier: Apache-2.0
// Where a run stands: its log, its lanes, what each has reached, what was spent, the best proved candidate. All of it
// follows from the events, in their order; so a run that was killed is brought back from its log alone.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "agent/budget.h"
#include "agent/provider.h"
#include "agent/run_log.h"
#include "base/finding.h"
#include "session/session.h"

namespace plumb::agent {

struct Candidate {
  std::string file, sha256, text;
  unsigned lane = 0;
  std::optional<double> nanoseconds;  // geometric mean over the bench shapes
  double share_of_bound = 0;          // the least over the shapes of how near it comes to what the card can do
};

// How far a lane has come. A step further, or a faster candidate, is progress.
enum class Level : std::uint8_t { Nothing, Assembles, Safe, Equal, Accepted };

struct LaneState {
  std::string stage;         // "understand", "correct", "fast"; empty before the first
  std::string file, sha256;  // what it wrote last; empty before that
  Level level = Level::Nothing;
  std::uint64_t judged = 0, stale = 0;  // answers about a candidate; those of them since the last progress
  std::string shared_sha256;            // the last candidate taken over from another lane
  std::string accepted_sha256;          // the last own one, or taken over
  std::vector<std::string> attempts;    // a line each
  Usage last_usage;
};

class Course {
 public:
  using Watch = std::function<void(const nlohmann::json& event)>;

  // One session for each lane. `price` is of the run's model.
  Course(std::filesystem::path log, std::vector<std::unique_ptr<session::Session>> sessions, std::optional<Price> price,
         Watch watch);

  std::size_t lanes() const { return sessions_.size(); }
  const session::Session& session(unsigned lane) const { return *sessions_[lane]; }

  // Appends an event and does what it says; false, with a finding, where either fails.
  bool record(nlohmann::json event, unsigned lane, Findings& findings);
  // Executes a call and records it; empty where it cannot be recorded.
  std::optional<session::Reply> call(const Call& call, unsigned lane, Findings& findings);
  // Does what the events of an interrupted run say, without executing its proofs and measurements again.
  bool take_over(const RunLog& log, Findings& findings);

  LaneState lane(unsigned lane) const;
  Spent spent() const;
  // The accepted candidate that is fastest where any was measured, else the last one.
  std::optional<Candidate> best() const;
  // That, or else the last text written.
  std::optional<Candidate> last() const;

 private:
  void apply(const nlohmann::json& event, unsigned lane, Findings& findings);
  void apply_call(const nlohmann::json& event, unsigned lane);
  void accept(const nlohmann::json& event, unsigned lane);
  void measure(const nlohmann::json& event, unsigned lane);
  bool put(const nlohmann::json& event, unsigned lane, const std::string& text, Findings& findings);
  double seconds() const;

  mutable std::mutex mutex_;
  std::filesystem::path log_;
  std::vector<std::unique_ptr<session::Session>> sessions_;
  std::optional<Price> price_;
  Watch watch_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double before_ = 0;  // seconds that the run took before it was interrupted

  std::vector<LaneState> states_;
  std::vector<Candidate> accepted_;
  std::optional<Candidate> written_;
  Spent spent_;
};

}  // namespace plumb::agent
