// SPDX-License-Identifier: Apache-2.0
#include "agent/story.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "agent/answer_parts.h"
#include "base/hash.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

std::string text_at(const Json& value, const char* key) {
  if (!value.is_object()) return {};
  const auto found = value.find(key);
  return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const Json& child(const Json& value, const char* key) {
  static const Json kNone;
  if (!value.is_object()) return kNone;
  const auto found = value.find(key);
  return found != value.end() ? *found : kNone;
}

std::vector<StepFinding> errors_of(const Json& output) {
  std::vector<StepFinding> out;
  for (const Json& finding : child(output, "findings")) {
    if (text_at(finding, "severity") != "error") continue;
    std::string place = text_at(finding, "file");
    if (const auto line = number_at(finding, "/line")) place += fmt::format(":{:.0f}", *line);
    out.push_back({text_at(finding, "code"), std::move(place), text_at(finding, "message")});
  }
  return out;
}

// Over the shapes of a bench answer: geometric means, and how near the worst shape comes to what the card can do.
void measure(const Json& output, Step& step) {
  double log_time = 0, log_speedup = 0, least_share = 1;
  std::size_t times = 0, speedups = 0;
  for (const Json& shape : child(output, "shapes")) {
    const Json& cold = child(shape, "cold");
    if (const auto time = number_at(cold, "/candidate_ns/value"); time && *time > 0) {
      log_time += std::log(*time);
      ++times;
    }
    if (const auto speedup = number_at(cold, "/speedup/value"); speedup && *speedup > 0) {
      log_speedup += std::log(*speedup);
      ++speedups;
    }
    least_share = std::min(least_share, share_of_bound(shape));
  }
  if (times == 0) return;
  step.nanoseconds = std::exp(log_time / static_cast<double>(times));
  step.share_of_bound = least_share;
  if (speedups == times) step.speedup = std::exp(log_speedup / static_cast<double>(speedups));
}

// What an answer shows of the candidate that it is about. A later answer at other shapes can take back an earlier one.
struct Shown {
  Reached least = Reached::Nothing, most = Reached::Accepted;
};
Shown shown_by(const std::string& tool, const Json& output, bool is_answer) {
  using enum Reached;
  if (!is_answer) return {};
  const std::string verdict = text_at(output, "verdict");
  if (tool == "write_candidate" || tool == "patch_candidate") return {Written, Accepted};
  if (tool == "assemble")
    return child(output, "accepts") == true ? Shown{Assembles, Accepted} : Shown{Written, Written};
  if (tool == "check") return verdict == "proved" ? Shown{Safe, Accepted} : Shown{Assembles, Assembles};
  if (tool == "run" || tool == "test") {
    return child(output, "holds") == true ? Shown{Agrees, Accepted} : Shown{Assembles, Safe};
  }
  if (tool != "prove") return {};
  if (verdict != "proved") return {Assembles, verdict == "different" ? Safe : Agrees};
  return text_at(output, "contract") == "kept" ? Shown{Accepted, Accepted} : Shown{Weaker, Weaker};
}

bool is_judgement(const std::string& tool) {
  return tool == "assemble" || tool == "check" || tool == "prove" || tool == "run" || tool == "test" || tool == "bench";
}

class Reader {
 public:
  explicit Reader(const RunLog& log) {
    story_.start = log.start;
    story_.from = log.start.from;
    story_.provider = log.start.provider;
    story_.model = log.start.model;
  }

  Story read(const RunLog& log) {
    for (const Event& event : log.events) {
      // Logs with `turn` events say where turns begin; in others one begins when the model speaks after a call.
      if (event.value["event"] == "turn") lanes_[lane_of(event.value)].has_turns = true;
    }
    for (const Event& event : log.events) take(event);
    for (const auto& [number, lane] : lanes_) story_.turns += lane.turn;
    story_.lanes = static_cast<unsigned>(std::max<std::size_t>(1, lanes_.size()));
    return std::move(story_);
  }

 private:
  struct Lane {
    bool has_turns = false, is_after_call = true;
    unsigned turn = 0;
    double at = 0;
    std::string last_file;
    std::map<std::string, std::string> sha256_by_file;
  };

  static unsigned lane_of(const Json& event) {
    const Json& lane = child(event, "lane");
    return lane.is_number_unsigned() ? lane.get<unsigned>() : 0;
  }

  void take(const Event& event) {
    const Json& value = event.value;
    Lane& lane = lanes_[lane_of(value)];
    Step step;
    step.line = event.place.source ? event.place.source->locate(event.place.span.begin).line : 0;
    step.lane = lane_of(value);
    step.kind = text_at(value, "event");
    step.seconds = number_at(value, "/seconds").value_or(0);
    const bool begins = (step.kind == "message" && text_at(value, "role") == "model") || step.kind == "call";
    if (lane.has_turns ? step.kind == "turn" : begins && lane.is_after_call && step.kind == "message") ++lane.turn;
    if (lane.turn == 0 && begins) lane.turn = 1;
    if (begins) lane.is_after_call = step.kind == "call";
    step.turn = lane.turn;
    step.at = lane.at;
    lane.at += step.seconds;
    story_.seconds = std::max(story_.seconds, lane.at);
    if (step.kind == "call") call(value, lane, step);
    else if (step.kind == "given" || step.kind == "share") put(value, lane, step);
    else other(value, step);
    if (step.kind != "turn" && step.kind != "cut") story_.steps.push_back(std::move(step));
  }

  void other(const Json& value, Step& step) {
    step.text = text_at(value, "text");
    if (step.kind == "message") {
      step.what = text_at(value, "role");
    } else if (step.kind == "turn") {
      for (const Json& count : child(value, "usage")) {
        if (count.is_number_unsigned()) story_.tokens += count.get<std::uint64_t>();
      }
      if (const auto usd = number_at(value, "/usd")) story_.usd = story_.usd.value_or(0) + *usd;
    } else if (step.kind == "end") {
      story_.end = value;
      step.sha256 = text_at(value, "sha256");
      step.is_good = text_at(value, "verdict") == "proved" && text_at(value, "contract") == "kept";
      step.reached = step.is_good ? Reached::Accepted : Reached::Nothing;
      step.text = fmt::format("{}, contract {}", text_at(value, "verdict"), text_at(value, "contract"));
      if (!step.is_good) lose(step.sha256);
    } else if (step.kind == "cancelled") {
      step.what = text_at(value, "tool");
      step.text = "taken back";
    } else {
      step.what = text_at(value, step.kind == "stage" ? "stage" : "reason");
    }
  }

  // A text that the model did not write: what the run starts from, or another lane's.
  void put(const Json& value, Lane& lane, Step& step) {
    const bool is_given = step.kind == "given";
    const std::string text = text_at(value, "text"), scaffold = text_at(value, "scaffold");
    step.what = lane.last_file = text_at(value, "file");
    step.sha256 = lane.sha256_by_file[lane.last_file] = is_given ? sha256(text) : text_at(value, "sha256");
    if (!is_given) return;
    step.text = scaffold.empty() ? "the run starts from given PTX" : "the run starts from the scaffold " + scaffold;
    add_candidate({{"file", lane.last_file}, {"lines", std::count(text.begin(), text.end(), '\n')}}, step);
    find(step.sha256)->is_given = true;
    step.reached = reach(step, {Reached::Written, Reached::Accepted});
  }

  void call(const Json& value, Lane& lane, Step& step) {
    const Json& output = value["output"];
    step.what = text_at(value, "tool");
    step.is_answer = child(value, "is_answer") != false;
    step.text = outcome_of(value);
    step.findings = errors_of(output);
    step.is_good =
        step.is_answer && step.findings.empty() && child(output, "accepts") != false && child(output, "holds") != false;
    const bool is_write = step.what == "write_candidate" || step.what == "patch_candidate";
    if (is_write && step.is_answer) {
      lane.last_file = text_at(output, "file");
      step.sha256 = lane.sha256_by_file[lane.last_file] = text_at(output, "sha256");
      add_candidate(output, step);
    } else if (is_judgement(step.what)) {
      std::string file = text_at(output, "file");
      if (file.empty()) file = text_at(value["input"], "file");
      if (file.empty()) file = story_.start.task + ".ptx";
      const auto found = lane.sha256_by_file.find(file);
      if (found != lane.sha256_by_file.end()) step.sha256 = found->second;
    }
    if (step.what == "bench" && step.is_answer) measure(output, step);
    step.reached = reach(step, shown_by(step.what, output, step.is_answer));
  }

  void add_candidate(const Json& output, const Step& step) {
    if (find(step.sha256) != nullptr) return;
    StoryCandidate candidate{step.sha256, text_at(output, "file"), step.lane, step.turn, false,
                             0,           Reached::Written,        {},        {}};
    candidate.lines = static_cast<std::uint64_t>(number_at(output, "/lines").value_or(0));
    story_.candidates.push_back(std::move(candidate));
  }

  StoryCandidate* find(const std::string& sha256) {
    const auto found = std::find_if(story_.candidates.begin(), story_.candidates.end(),
                                    [&](const StoryCandidate& each) { return each.sha256 == sha256; });
    return found != story_.candidates.end() ? &*found : nullptr;
  }

  Reached reach(const Step& step, const Shown& shown) {
    StoryCandidate* candidate = find(step.sha256);
    if (candidate == nullptr) return Reached::Nothing;
    candidate->reached = std::min(std::max(candidate->reached, shown.least), shown.most);
    if (step.nanoseconds) candidate->nanoseconds = step.nanoseconds;
    if (step.speedup) candidate->speedup = step.speedup;
    if (step.share_of_bound) candidate->share_of_bound = step.share_of_bound;
    return candidate->reached;
  }

  // The last proof is the one that counts.
  void lose(const std::string& sha256) {
    if (StoryCandidate* candidate = find(sha256)) candidate->reached = std::min(candidate->reached, Reached::Assembles);
  }

  Story story_;
  std::map<unsigned, Lane> lanes_;
};

}  // namespace

std::string_view name(Reached reached) {
  constexpr std::string_view kNames[] = {"nothing", "written",        "assembles", "safe",
                                         "agrees",  "proved, weaker", "accepted"};
  return kNames[static_cast<std::size_t>(reached)];
}

bool Story::is_accepted() const { return text_at(end, "verdict") == "proved" && text_at(end, "contract") == "kept"; }

std::string_view Story::outcome() const {
  return end.is_null() ? "not judged at its end" : is_accepted() ? "a lowering" : "no lowering";
}

std::string outcome_of(const Json& call) {
  const Json& output = child(call, "output");
  const std::string verdict = text_at(output, "verdict"), contract = text_at(output, "contract");
  if (child(call, "is_answer") == false) return "refused";
  if (!verdict.empty() && child(call, "tool") == "check")
    return verdict == "proved" ? "safe at these shapes" : "not safe";
  if (!verdict.empty()) return fmt::format("{}, contract {}", verdict, contract.empty() ? "-" : contract);
  if (output.is_object() && output.contains("accepts")) return output["accepts"] == true ? "accepted" : "not accepted";
  if (child(call, "tool") == "bench") {
    Step step;
    measure(output, step);
    if (step.speedup) return fmt::format("{:.2f} us, {:.3f} times as fast", *step.nanoseconds * 1e-3, *step.speedup);
    if (step.nanoseconds) return fmt::format("{:.2f} us", *step.nanoseconds * 1e-3);
  }
  if (output.is_object() && output.contains("holds")) {
    return output["holds"] == true ? "agrees with the Triton source" : "does not agree";
  }
  if (const auto lines = number_at(output, "/lines"))
    return fmt::format("{}, {:.0f} lines", text_at(output, "file"), *lines);
  return {};
}

Story read_story(const RunLog& log) { return Reader(log).read(log); }

}  // namespace plumb::agent
