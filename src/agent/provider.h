// SPDX-License-Identifier: Apache-2.0
// Who answers as the model. The loop says something, asks for a turn, executes its calls, hands the answers back, and
// asks again. What a provider is told and answers stands in the run log as events, so that a later provider of the same
// kind can be brought to the same point from the log alone.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "session/tool.h"

namespace plumb::agent {

struct Call {
  std::string tool;
  nlohmann::json input;                    // {"unparsed": TEXT} where the model's text was no JSON object
  std::string id{};                        // the provider's own name of the call
  std::optional<session::Reply> answer{};  // of a replay, where the log's answer stands: what a card once said
};

struct Turn {
  std::vector<std::string> messages{};
  std::vector<Call> calls{};
  // Events of the run log that go before the messages: of a live model its `turn`, of a replay whatever the log has.
  std::vector<nlohmann::json> events{};
  unsigned lane = 0;    // of a replay; a live provider serves one lane
  std::string note{};   // why an answer counts for less than it seems ("cut", "refused"); mostly empty
  bool is_over = true;  // without calls: whether the model means to stop here
};

// What the loop lends a provider while it works.
struct Surroundings {
  std::function<void(nlohmann::json event)> record;  // into the run log: retries
  std::function<bool()> is_over;                     // asked often: true breaks off what is under way
};

class Provider {
 public:
  virtual ~Provider() = default;

  // The seed of every proof of the run; empty: the loop draws one.
  virtual std::optional<std::uint64_t> seed() const = 0;
  // Whether the loop guides: prompts, stages and what lanes share. A replay brings all of these along.
  virtual bool is_live() const { return false; }
  virtual void attach(const Surroundings& /*surroundings*/) {}
  // What the loop has to say, as user or as system. `restarts` drops all that was said before, the system text apart.
  virtual void tell(std::string_view /*role*/, std::string_view /*text*/, bool /*restarts*/) {}
  // Empty when the run is done, or when the provider cannot go on: then with an error among the findings.
  virtual std::optional<Turn> next(Findings& findings) = 0;
  // One call of the last turn was executed; calls come in order. An error among the findings ends the run.
  virtual void answered(const Call& call, const session::Reply& reply, Findings& findings) = 0;
  // Takes over what a lane's events of an interrupted run say. Gives the calls of the last turn without an answer yet.
  virtual std::vector<Call> restore(const std::vector<nlohmann::json>& /*events*/) { return {}; }
};

}  // namespace plumb::agent
