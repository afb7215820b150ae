// SPDX-License-Identifier: Apache-2.0
// A stored run log answers as the model did. The facts that the tools answer now are held against those that they
// answered then; wording, times and versions may have changed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "agent/provider.h"
#include "agent/run_log.h"

namespace plumb::agent {

class Replay final : public Provider {
 public:
  explicit Replay(RunLog log) : log_(std::move(log)) {}

  const Start& start() const { return log_.start; }
  std::optional<std::uint64_t> seed() const override { return log_.start.seed; }
  std::optional<Turn> next(Findings& findings) override;
  void answered(const Call& call, const session::Reply& reply, Findings& findings) override;
  std::vector<Call> restore(const std::vector<nlohmann::json>& events) override;

 private:
  RunLog log_;
  std::size_t at_ = 0;
};

struct ReplayConfig {
  std::filesystem::path log;
  std::string task, task_sha256, target;
};
// Null with a finding for a log that cannot be read or is of something else.
std::unique_ptr<Replay> make_replay(const ReplayConfig& config, Findings& findings);

// Where the facts of two answers first differ: "`/verdict` is \"proved\", the log has \"unknown\"". Empty when they
// agree. Of what counts as a fact session::facts_of decides.
std::string first_difference(const nlohmann::json& now, const nlohmann::json& then);

}  // namespace plumb::agent
