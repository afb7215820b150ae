// SPDX-License-Identifier: Apache-2.0
// The events of a run, for a person who watches it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "agent/budget.h"
#include "agent/run_log.h"

namespace plumb::cli {

class LowerEvents {
 public:
  LowerEvents(agent::Budget budget, bool knows_price, unsigned lanes, bool colour)
      : budget_(budget), knows_price_(knows_price), lanes_(lanes), colour_(colour) {}

  // A few lines; empty for an event that is not worth one.
  std::string text(const nlohmann::json& event);

 private:
  std::string turn(const nlohmann::json& event);
  std::string best() const;

  agent::Budget budget_;
  bool knows_price_;
  unsigned lanes_;
  bool colour_;
  agent::Spent spent_;
  agent::RunLog log_;  // of what was told
};

}  // namespace plumb::cli
