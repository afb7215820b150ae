// SPDX-License-Identifier: Apache-2.0
#include "agent/course.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "agent/answer_parts.h"
#include "agent/codes.h"
#include "agent/judge.h"
#include "agent/prompt.h"
#include "agent/restore.h"
#include "base/hash.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

// More than any candidate needs; a flood is not worth a place in the log.
constexpr std::size_t kMostInput = std::size_t{4} << 20;

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Why a call is not executed at all; it is an answer to the model like any other. What stands in the log for its input
// is refused in the same way when it is replayed.
std::optional<session::Reply> refusal(Json& input) {
  constexpr std::size_t kKept = 1000;
  Findings findings;
  const bool is_unparsed = input.is_object() && input.contains("unparsed");
  const std::string text =
      is_unparsed && input["unparsed"].is_string() ? input["unparsed"].get<std::string>() : dump(input);
  if (is_unparsed) {
    findings.add(kArguments, "the arguments of this call are not a JSON object: it was not executed");
  } else if (text.size() > kMostInput) {
    findings.add(kArguments,
                 fmt::format("the arguments of this call are {} bytes, at most {} are taken", text.size(), kMostInput));
  } else {
    return std::nullopt;
  }
  input = {{"unparsed", text.substr(0, kKept)}, {"bytes", text.size()}};
  return session::Reply{false, {{"findings", to_json(findings)}}};
}

Level level_of(const Json& event) {
  const Json& output = event["output"];
  const Json& tool = event["tool"];
  if (tool == "assemble") return output.value("accepts", false) ? Level::Assembles : Level::Nothing;
  const bool is_proved = output.value("verdict", "") == "proved";
  if (tool == "check") return is_proved ? Level::Safe : Level::Nothing;
  if (tool != "prove" || !is_proved) return Level::Nothing;
  const bool is_kept = output.value("contract", Json()) == "kept";
  return is_kept && is_about_all_shapes(event["input"]) ? Level::Accepted : Level::Equal;
}

bool is_judgement(const Json& tool) {
  for (const char* name : {"assemble", "check", "prove", "run", "test", "bench"}) {
    if (tool == name) return true;
  }
  return false;
}

}  // namespace

Course::Course(std::filesystem::path log, std::vector<std::unique_ptr<session::Session>> sessions,
               std::optional<Price> price, Watch watch)
    : log_(std::move(log)),
      sessions_(std::move(sessions)),
      price_(price),
      watch_(std::move(watch)),
      states_(sessions_.size()) {}

double Course::seconds() const {
  return before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

bool Course::record(Json event, unsigned lane, Findings& findings) {
  const std::lock_guard lock(mutex_);
  if (lane > 0) event["lane"] = lane;
  event["at"] = std::round(seconds() * 1e3) / 1e3;
  if (event["event"] == "turn" && price_) event["usd"] = cost(usage_of(event.value("usage", Json())), *price_);
  if (!append_event(log_, event, findings)) return false;
  Findings own;
  apply(event, lane, own);
  if (watch_) watch_(event);
  const bool is_good = !own.has_error();
  findings.append(std::move(own));
  return is_good;
}

std::optional<session::Reply> Course::call(const Call& call, unsigned lane, Findings& findings) {
  const auto begin = std::chrono::steady_clock::now();
  Json input = call.input;
  std::optional<session::Reply> reply = refusal(input);
  if (!reply) reply = call.answer;
  if (!reply) reply = session::call(*sessions_[lane], call.tool, input);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  Json event = {{"event", "call"},
                {"tool", call.tool},
                {"input", std::move(input)},
                {"output", reply->output},
                {"is_answer", reply->is_answer},
                {"seconds", took.count()}};
  if (!call.id.empty()) event["id"] = call.id;
  if (!record(std::move(event), lane, findings)) return std::nullopt;
  return reply;
}

bool Course::take_over(const RunLog& log, Findings& findings) {
  const std::lock_guard lock(mutex_);
  for (const Event& each : log.events) {
    const Json& event = each.value;
    const unsigned lane = lane_of(event);
    if (lane >= sessions_.size()) {
      findings.add(kRunLog, fmt::format("an event of lane {}, the run has {}", lane, sessions_.size()), each.place);
      return false;
    }
    before_ = std::max(before_, event.value("at", 0.0));
    // Texts and saved arrays are what later calls read.
    if (event["event"] == "call" && !make_again(*sessions_[lane], each, findings)) return false;
    apply(event, lane, findings);
    if (findings.has_error()) return false;
  }
  return true;
}

void Course::apply(const Json& event, unsigned lane, Findings& findings) {
  LaneState& state = states_[lane];
  const Json& kind = event["event"];
  if (kind == "call") {
    apply_call(event, lane);
  } else if (kind == "turn") {
    spent_.add_turn(event);
    state.last_usage = usage_of(event.value("usage", Json()));
  } else if (kind == "stage") {
    state.stage = event["stage"];
    state.stale = 0;
  } else if (kind == "given") {
    put(event, lane, event["text"], findings);
  } else if (kind == "share") {
    const auto found = std::find_if(accepted_.begin(), accepted_.end(),
                                    [&](const Candidate& each) { return event["sha256"] == each.sha256; });
    if (found == accepted_.end()) {
      findings.add(kRunLog, "a candidate is shared that no lane has had accepted");
      return;
    }
    put(event, lane, found->text, findings);
    state.shared_sha256 = state.accepted_sha256 = found->sha256;
    state.level = Level::Accepted;
    state.stale = 0;
  }
}

bool Course::put(const Json& event, unsigned lane, const std::string& text, Findings& findings) {
  if (!sessions_[lane]->write(event["file"].get<std::string>(), text, findings)) return false;
  written_ = Candidate{event["file"], sha256(text), text, lane, {}, 0};
  states_[lane].file = written_->file;
  states_[lane].sha256 = written_->sha256;
  return true;
}

void Course::apply_call(const Json& event, unsigned lane) {
  LaneState& state = states_[lane];
  const Json& tool = event["tool"];
  const Json& output = event["output"];
  const bool is_answer = event.value("is_answer", true) && output.is_object();
  if (is_judgement(tool)) {
    ++state.judged;
    ++state.stale;
  }
  if (std::string line = attempt_line(event); !line.empty()) state.attempts.push_back(std::move(line));
  if (!is_answer) return;
  if (tool == "write_candidate" || tool == "patch_candidate") {
    Findings ignored;
    const std::string file = output.value("file", "");
    if (const SourcePtr text = sessions_[lane]->read(file, ignored)) {
      written_ = Candidate{file, sha256(text->text()), std::string(text->text()), lane, {}, 0};
      state.file = file;
      state.sha256 = written_->sha256;
    }
  }
  const Level level = level_of(event);
  if (level == Level::Accepted) accept(event, lane);
  if (level > state.level) {
    state.level = level;
    state.stale = 0;
  }
  if (tool == "bench") measure(event, lane);
}

void Course::accept(const Json& event, unsigned lane) {
  Findings ignored;
  const std::string file = event["output"].value("file", "");
  const SourcePtr text = sessions_[lane]->read(file, ignored);
  if (!text) return;
  Candidate candidate{file, sha256(text->text()), std::string(text->text()), lane, {}, 0};
  states_[lane].accepted_sha256 = candidate.sha256;
  const auto known = std::find_if(accepted_.begin(), accepted_.end(),
                                  [&](const Candidate& each) { return each.sha256 == candidate.sha256; });
  if (known != accepted_.end()) {
    std::rotate(known, known + 1, accepted_.end());  // accepted again: the last one now
    return;
  }
  // A new one is a step as long as nothing was measured; from then on only what is faster is one.
  const bool is_measured = std::any_of(accepted_.begin(), accepted_.end(),
                                       [](const Candidate& each) { return each.nanoseconds.has_value(); });
  if (states_[lane].level == Level::Accepted && !is_measured) states_[lane].stale = 0;
  accepted_.push_back(std::move(candidate));
}

void Course::measure(const Json& event, unsigned lane) {
  const Json& output = event["output"];
  const auto found = std::find_if(accepted_.begin(), accepted_.end(), [&](const Candidate& each) {
    return each.sha256 == output.value("candidate_sha256", "");
  });
  const Json shapes = output.value("shapes", Json::array());
  if (found == accepted_.end() || !is_about_all_shapes(event["input"]) || !output.value("holds", false) ||
      shapes.empty())
    return;
  double logs = 0, share = 1;
  for (const Json& shape : shapes) {
    const char* how = shape.value("is_cold", true) ? "cold" : "warm";
    const double value = number_at(shape, fmt::format("/{}/candidate_ns/value", how)).value_or(0);
    if (!(value > 0)) return;
    logs += std::log(value);
    share = std::min(share, share_of_bound(shape));
  }
  const double mean = std::exp(logs / static_cast<double>(shapes.size()));
  const bool is_faster = std::none_of(accepted_.begin(), accepted_.end(), [&](const Candidate& each) {
    return each.nanoseconds && *each.nanoseconds <= mean;
  });
  found->nanoseconds = mean;
  found->share_of_bound = share;
  if (is_faster) states_[lane].stale = 0;
}

LaneState Course::lane(unsigned lane) const {
  const std::lock_guard lock(mutex_);
  return states_[lane];
}

Spent Course::spent() const {
  const std::lock_guard lock(mutex_);
  Spent out = spent_;
  out.seconds = seconds();
  return out;
}

std::optional<Candidate> Course::best() const {
  const std::lock_guard lock(mutex_);
  if (accepted_.empty()) return std::nullopt;
  const Candidate* best = nullptr;
  for (const Candidate& each : accepted_) {
    if (each.nanoseconds && (best == nullptr || *each.nanoseconds < *best->nanoseconds)) best = &each;
  }
  return best != nullptr ? *best : accepted_.back();
}

std::optional<Candidate> Course::last() const {
  if (std::optional<Candidate> accepted = best()) return accepted;
  const std::lock_guard lock(mutex_);
  return written_;
}

}  // namespace plumb::agent
