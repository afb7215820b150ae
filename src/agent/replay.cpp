// SPDX-License-Identifier: Apache-2.0
#include "agent/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/codes.h"
#include "session/tool.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShown = 200;

std::string shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return text;
}

std::string differs(const Json& now, const Json& then, const std::string& pointer) {
  if (now.is_object() && then.is_object()) {
    for (const auto& [key, value] : then.items()) {
      const std::string at = pointer + "/" + key;
      if (!now.contains(key)) return fmt::format("`{}` is absent, the log has {}", at, shown(value));
      if (std::string found = differs(now[key], value, at); !found.empty()) return found;
    }
    for (const auto& [key, value] : now.items()) {
      if (!then.contains(key)) {
        return fmt::format("`{}/{}` is {}, the log has none", pointer, key, shown(value));
      }
    }
    return {};
  }
  if (now.is_array() && then.is_array()) {
    for (std::size_t i = 0; i < std::min(now.size(), then.size()); ++i) {
      if (std::string found = differs(now[i], then[i], fmt::format("{}/{}", pointer, i)); !found.empty()) return found;
    }
    const std::string at = fmt::format("{}/{}", pointer, std::min(now.size(), then.size()));
    if (now.size() < then.size()) return fmt::format("`{}` is absent, the log has {}", at, shown(then[now.size()]));
    if (now.size() > then.size()) return fmt::format("`{}` is {}, the log has none", at, shown(now[then.size()]));
    return {};
  }
  if (now == then) return {};
  return fmt::format("`{}` is {}, the log has {}", pointer.empty() ? "/" : pointer, shown(now), shown(then));
}

}  // namespace

std::string first_difference(const Json& now, const Json& then) {
  // What an answer comes down to goes before what led there.
  for (const char* key : {"is_answer", "verdict", "contract", "accepts", "holds"}) {
    if (!now.is_object() || !then.is_object() || !now.contains(key) || !then.contains(key)) continue;
    if (std::string found = differs(now[key], then[key], fmt::format("/{}", key)); !found.empty()) return found;
  }
  return differs(now, then, "");
}

std::optional<Turn> Replay::next(Findings&) {
  for (; at_ < log_.events.size(); ++at_) {
    Json event = log_.events[at_].value;
    if (!is_of_course(event)) continue;
    Turn turn;
    turn.lane = lane_of(event);
    if (event["event"] == "call") {
      Call call{event["tool"], event["input"]};
      // Times are not repeated: a run that went by them comes to the same end only with those that it had.
      if (session::is_of_card(call.tool)) call.answer = {event.value("is_answer", true), event["output"]};
      turn.calls.push_back(std::move(call));
      return turn;  // `answered` steps on
    }
    event.erase("at");
    turn.events.push_back(std::move(event));
    ++at_;
    return turn;
  }
  return std::nullopt;
}

std::vector<Call> Replay::restore(const std::vector<Json>& events) {
  std::size_t done = static_cast<std::size_t>(std::count_if(events.begin(), events.end(), is_of_course));
  for (; done > 0 && at_ < log_.events.size(); ++at_) done -= is_of_course(log_.events[at_].value) ? 1 : 0;
  return {};
}

void Replay::answered(const Call& call, const session::Reply& reply, Findings& findings) {
  const Event& event = log_.events[at_];
  ++at_;
  const bool was_answer = event.value.value("is_answer", true);
  const std::string difference = first_difference(session::facts_of(call.tool, reply.is_answer, reply.output),
                                                  session::facts_of(call.tool, was_answer, event.value["output"]));
  if (difference.empty()) return;
  const std::uint32_t line = event.place.source->locate(event.place.span.begin).line;
  findings.add(kReplayDiffers, fmt::format("event {}, `{}`: {}", line, call.tool, difference), event.place);
}

std::unique_ptr<Replay> make_replay(const ReplayConfig& config, Findings& findings) {
  std::optional<RunLog> log = read_log(config.log, findings);
  if (!log) return nullptr;
  const auto start_place = [&]() -> Place {
    return log->events.empty() ? Place{} : Place{log->events.front().place.source, {0, 1}};
  };
  const Start& start = log->start;
  if (start.task != config.task || start.target != config.target) {
    findings.add(kReplayTask,
                 fmt::format("the log is of `{}` for {}, asked for is `{}` for {}", start.task, start.target,
                             config.task, config.target),
                 start_place());
    return nullptr;
  }
  if (start.task_sha256 != config.task_sha256) {
    findings.add(kReplayTask, "the task has changed since the log was recorded", start_place());
    return nullptr;
  }
  if (start.tools_sha256 != session::tools_sha256()) {
    findings.add(kReplayTools, "the tool table has changed since the log was recorded", start_place(), Severity::Note);
  }
  return std::make_unique<Replay>(std::move(*log));
}

}  // namespace plumb::agent
