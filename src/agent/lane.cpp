// SPDX-License-Identifier: Apache-2.0
#include "agent/lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostCalls = 32;  // of one turn
constexpr unsigned kMostIdle = 3;
constexpr const char* kSharedFile = "best.ptx";

std::string budget_words(const LowerOptions& options, const Spent& spent) {
  return fmt::format("[used: {}]", to_text(options.budget, spent, options.price.has_value()));
}

}  // namespace

Setting Lane::setting() const {
  return {options_.from, options_.given ? course_.session(number_).default_file() : "", options_.has_gpu, number_,
          static_cast<unsigned>(course_.lanes())};
}

void Lane::run(const std::vector<Json>& events) {
  provider_.attach({[this](Json event) { course_.record(std::move(event), number_, findings_); },
                    [this] { return is_enough_.load() || exceeded(options_.budget, course_.spent()) == "minutes"; }});
  const bool is_good = events.empty() ? begin() : resume(events);
  while (is_good && stop_.empty() && !findings_.has_error()) {
    if (!take_turn()) break;
  }
  if (stop_.empty()) {
    const auto& list = findings_.list();
    end("provider", list.empty() ? "the provider gave no answer" : list.back().message);
  }
}

bool Lane::begin() {
  if (options_.given) {
    const std::string file = course_.session(number_).default_file();
    if (!course_.record(given_event(*options_.given, file), number_, findings_)) return false;
  }
  return say("system", system_text(), false) &&
         course_.record({{"event", "stage"}, {"stage", "understand"}}, number_, findings_) &&
         say("user", first_prompt(course_.session(number_), setting()), false);
}

bool Lane::resume(const std::vector<Json>& events) {
  const std::vector<Call> pending = provider_.restore(events);
  const auto is_user = [](const Json& event) {
    return event["event"] == "message" && event.value("role", "") == "user";
  };
  if (std::none_of(events.begin(), events.end(), is_user)) return begin();
  Turn turn;
  turn.calls = pending;
  // What was said last decides whose turn it is; how a lane ended and what a server refused was said to nobody.
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (is_user(*event)) return true;
    if ((*event)["event"] == "call" && turn.calls.empty()) turn.calls.push_back({(*event)["tool"], (*event)["input"]});
    if ((*event)["event"] != "turn") continue;
    turn.note = event->value("note", "");
    break;
  }
  return execute(pending) && guide(turn);
}

bool Lane::say(const std::string& role, const std::string& text, bool restarts) {
  Json event = {{"event", "message"}, {"role", role}, {"text", text}};
  if (restarts) event["restarts"] = true;
  provider_.tell(role, text, restarts);
  return course_.record(std::move(event), number_, findings_);
}

void Lane::end(std::string reason, std::string words) {
  if (!stop_.empty()) return;
  stop_ = words.empty() ? reason : fmt::format("{}: {}", reason, words);
  course_.record({{"event", "stop"}, {"reason", std::move(reason)}, {"text", std::move(words)}}, number_, findings_);
}

bool Lane::is_out_of_budget() {
  const Spent spent = course_.spent();
  const std::string_view what = exceeded(options_.budget, spent);
  if (what.empty()) return false;
  end("budget", fmt::format("{} ({})", what, to_text(options_.budget, spent, options_.price.has_value())));
  return true;
}

bool Lane::take_turn() {
  if (is_enough_) {
    end("elsewhere", "another lane is done");
    return false;
  }
  if (is_out_of_budget()) return false;
  const std::optional<Turn> turn = provider_.next(findings_);
  if (!turn) {
    // Broken off because of the time or of another lane, which the checks above tell; or it cannot go on.
    if (is_enough_) end("elsewhere", "another lane is done");
    else if (!findings_.has_error()) is_out_of_budget();
    return false;
  }
  for (const Json& event : turn->events) {
    if (!course_.record(event, number_, findings_)) return false;
  }
  for (const std::string& text : turn->messages) {
    if (!course_.record({{"event", "message"}, {"role", "model"}, {"text", text}}, number_, findings_)) return false;
  }
  return execute(turn->calls) && guide(*turn);
}

bool Lane::execute(const std::vector<Call>& calls) {
  std::size_t count = 0;
  for (Call call : calls) {
    if (++count > kMostCalls) call.input = {{"unparsed", "too many calls in one turn"}};
    const std::optional<session::Reply> reply = course_.call(call, number_, findings_);
    if (!reply) return false;
    provider_.answered(call, *reply, findings_);
    if (findings_.has_error()) return false;
  }
  return true;
}

bool Lane::take_share(std::string& words) {
  const std::optional<Candidate> best = course_.best();
  const LaneState state = course_.lane(number_);
  if (!best || best->lane == number_ || best->sha256 == state.shared_sha256 || best->sha256 == state.accepted_sha256) {
    return true;
  }
  // A lane that has one of its own changes over only to what is measured to be faster.
  if (state.level == Level::Accepted && !best->nanoseconds) return true;
  const Json event = {{"event", "share"}, {"file", kSharedFile}, {"sha256", best->sha256}, {"from", best->lane}};
  if (!course_.record(event, number_, findings_)) return false;
  words += fmt::format("Another lane has an accepted candidate{}. You have it as `{}`, sha256 {}.\n",
                       best->nanoseconds ? fmt::format(" that takes {:.2f} us", *best->nanoseconds * 1e-3) : "",
                       kSharedFile, best->sha256);
  return true;
}

bool Lane::change_stage(const LaneState& state, std::string& words) {
  std::string next = state.stage;
  if (state.level == Level::Accepted) next = "fast";
  else if (!state.file.empty() && state.stage == "understand") next = "correct";
  if (next == state.stage) return true;
  words += stage_text(next, options_.has_gpu) + "\n";
  return course_.record({{"event", "stage"}, {"stage", next}}, number_, findings_);
}

bool Lane::guide(const Turn& turn) {
  if (turn.note == "refused") {
    end("refused", "the model refuses to answer");
    return false;
  }
  std::string words;
  if (!take_share(words)) return false;
  const LaneState state = course_.lane(number_);
  if (!change_stage(state, words)) return false;
  const std::optional<Candidate> best = course_.best();
  if (best && !options_.has_gpu) {
    is_enough_ = true;
    end("done", "a candidate is accepted, and there is no GPU here to measure on");
    return false;
  }
  if (best && best->share_of_bound >= options_.near_enough) {
    is_enough_ = true;
    end("speed_of_light", fmt::format("{:.0f}% of what the card can do", 100 * best->share_of_bound));
    return false;
  }
  if (state.stale >= options_.patience) {
    end("no_progress", fmt::format("{} judgements in a row brought nothing new", state.stale));
    return false;
  }
  const bool is_full = turn.note == "full";
  idle_ = turn.calls.empty() && !is_full ? idle_ + 1 : 0;
  if (turn.note == "cut") {
    words += "Your answer was cut off at its longest; no call that was cut was executed. Say less at a time.\n";
  } else if (turn.calls.empty() && turn.is_over && !is_full) {
    if (best) {
      end("done", "the model has nothing to add");
      return false;
    }
    words += "There is no accepted candidate yet. Go on with a tool call.\n";
  }
  if (idle_ >= kMostIdle) {
    end("no_progress", fmt::format("{} turns without a call", idle_));
    return false;
  }
  const Usage& usage = state.last_usage;
  const bool is_long = usage.input + usage.cache_read + usage.cache_write > options_.context_tokens;
  if (is_long || is_full) {
    std::optional<Candidate> candidate;
    if (!state.file.empty()) candidate = Candidate{state.file, state.sha256, {}, number_, {}, 0};
    words =
        first_prompt(course_.session(number_), setting()) + "\n\n" + restart_text(state.attempts, candidate) + words;
    return say("user", words + budget_words(options_, course_.spent()), true);
  }
  if (turn.calls.empty() && words.empty() && !turn.is_over) return true;  // it only paused
  return say("user", words + budget_words(options_, course_.spent()), false);
}

}  // namespace plumb::agent
