// SPDX-License-Identifier: Apache-2.0
// Who answers as the model. The loop asks for a turn, executes its calls, hands the answers back, and asks again.
#pragma once

#include <cstdint>
#include <memory>
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
  nlohmann::json input;
};

struct Turn {
  std::vector<std::string> messages;
  std::vector<Call> calls;
};

class Provider {
 public:
  virtual ~Provider() = default;

  // The seed of every proof of the run; empty: the loop draws one.
  virtual std::optional<std::uint64_t> seed() const = 0;
  // Empty when the model is done, or when it cannot go on: then with an error among the findings.
  virtual std::optional<Turn> next(Findings& findings) = 0;
  // One call of the last turn was executed; calls come in order. An error among the findings ends the run.
  virtual void answered(const Call& call, const session::Reply& reply, Findings& findings) = 0;
};

struct ProviderConfig {
  std::filesystem::path log;  // of `replay`
  std::string task, task_sha256, target;
};
// Null with a finding for a name that is unknown or not built in.
std::unique_ptr<Provider> make_provider(std::string_view name, const ProviderConfig& config, Findings& findings);

}  // namespace plumb::agent
