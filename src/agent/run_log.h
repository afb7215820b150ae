// SPDX-License-Identifier: Apache-2.0
// The record of one run, as JSON lines (docs/run-log.md). Events are appended one by one and flushed, so that a crash
// loses none that was answered. A kill in the middle of a line costs that event alone: the next one is written after a
// `cut` event, and the reader says so and goes on. Nothing that was written is ever changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "session/tool.h"

namespace plumb::agent {

struct Start {
  std::string task, task_sha256, tools_sha256, target;
  std::uint64_t seed = 0;
  // Of logs that `plumb lower` and its like begin; others leave them as they are.
  std::string from = "source";      // what the run starts from: "source", "scaffold" or "seed"
  std::string provider{}, model{};  // empty: not told
  unsigned lanes = 1;
};

struct Event {
  nlohmann::json value;
  Place place;  // its line in the log
};

struct RunLog {
  Start start;
  std::vector<Event> events;  // without `start`
};

std::optional<RunLog> read_log(const std::filesystem::path& path, Findings& findings);
// False where there is no log, or no more of one than a piece of its first line, from a kill: `begin_log` then begins
// it.
bool is_begun(const std::filesystem::path& path);
bool begin_log(const std::filesystem::path& path, const Start& start, Findings& findings);
bool log_message(const std::filesystem::path& path, std::string_view text, Findings& findings);

// Calls a tool and appends the call with its answer.
struct Logged {
  session::Reply reply;
  nlohmann::json event;
  bool is_written = false;
};
Logged call_and_log(const std::filesystem::path& path, const session::Session& session, std::string_view tool,
                    const nlohmann::json& input, Findings& findings);
bool append_event(const std::filesystem::path& path, const nlohmann::json& event, Findings& findings);

// Which lane of the run an event belongs to.
unsigned lane_of(const nlohmann::json& event);
// Whether an event is of the run's course, which a replay repeats, and not of how it was written down or ended.
bool is_of_course(const nlohmann::json& event);

}  // namespace plumb::agent
