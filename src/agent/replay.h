// SPDX-License-Identifier: Apache-2.0
// A stored run log answers as the model did. What the tools answer now is held against what they answered then.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "agent/provider.h"
#include "agent/run_log.h"

namespace plumb::agent {

class Replay final : public Provider {
 public:
  explicit Replay(RunLog log) : log_(std::move(log)) {}

  std::optional<std::uint64_t> seed() const override { return log_.start.seed; }
  std::optional<Turn> next(Findings& findings) override;
  void answered(const Call& call, const session::Reply& reply, Findings& findings) override;

 private:
  RunLog log_;
  std::size_t at_ = 0;
};

// Where two answers first differ, volatile keys aside: "`/verdict` is \"proved\", the log has \"unknown\"". Empty when
// they agree.
std::string first_difference(const nlohmann::json& now, const nlohmann::json& then);

}  // namespace plumb::agent
