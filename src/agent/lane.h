// SPDX-License-Identifier: Apache-2.0
// One lane of a run with a live provider: prompts, turns, calls, what the lanes share, and when it is enough.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "agent/course.h"
#include "agent/lower.h"
#include "agent/prompt.h"
#include "agent/provider.h"

namespace plumb::agent {

class Lane {
 public:
  // `is_enough` is shared by the lanes: one of them found that the run is done.
  Lane(Course& course, Provider& provider, const LowerOptions& options, unsigned number, std::atomic<bool>& is_enough)
      : course_(course), provider_(provider), options_(options), number_(number), is_enough_(is_enough) {}

  // `events` are the lane's own of a run that is resumed. Ends with a `stop` event.
  void run(const std::vector<nlohmann::json>& events);

  Findings& findings() { return findings_; }
  const std::string& stop() const { return stop_; }

 private:
  Setting setting() const;
  bool begin();
  bool resume(const std::vector<nlohmann::json>& events);
  bool take_turn();
  bool execute(const std::vector<Call>& calls);
  bool guide(const Turn& turn);
  bool take_share(std::string& words);
  bool change_stage(const LaneState& state, std::string& words);
  bool say(const std::string& role, const std::string& text, bool restarts);
  void end(std::string reason, std::string words);
  bool is_out_of_budget();

  Course& course_;
  Provider& provider_;
  const LowerOptions& options_;
  unsigned number_;
  std::atomic<bool>& is_enough_;
  Findings findings_;
  std::string stop_;
  unsigned idle_ = 0;  // turns without a call, one after another
};

}  // namespace plumb::agent
