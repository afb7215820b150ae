// SPDX-License-Identifier: Apache-2.0
#include "agent/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "agent/story.h"
#include "session/tool.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kSchema = "plumb-trajectory-1";

// What it is worth to have come so far.
double worth(Reached reached) {
  constexpr double kWorth[] = {0, 0, 0.1, 0.2, 0.3, 0.5, 1};
  return kWorth[static_cast<std::size_t>(reached)];
}

// Twice as fast as the baseline is one more; nothing outweighs a wrong result.
double speed_worth(const std::optional<double>& speedup) {
  return speedup ? std::clamp(std::log2(*speedup), -0.5, 2.0) : 0;
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json chat_tools() {
  Json out = Json::array();
  for (Json& tool : session::describe_tools()) {
    Json function = {{"name", tool["name"]}, {"description", tool["help"]}, {"parameters", std::move(tool["schema"])}};
    out.push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  return out;
}

// The messages of one lane. What the model wrote is to be learned; what answered it is not.
class Conversation {
 public:
  void take(const Json& event, const Step& step) {
    if (step.kind == "message") return say(event["text"], step);
    if (step.kind == "given") return put("user", event["text"], step);
    if (step.kind != "call") return;
    const bool goes_on =
        !messages_.empty() && messages_.back()["role"] != "user" && messages_.back()["turn"] == step.turn;
    if (!goes_on) put("assistant", nullptr, step);
    const std::string id = fmt::format("call_{}", step.line);
    Json function = {{"name", step.what}, {"arguments", event["input"].dump(-1, ' ', false, kReplace)}};
    messages_[assistant_]["tool_calls"].push_back(
        {{"id", id}, {"type", "function"}, {"function", std::move(function)}});
    put("tool", event["output"].dump(-1, ' ', false, kReplace), step);
    messages_.back()["tool_call_id"] = id;
  }
  Json take_messages() { return std::move(messages_); }

 private:
  static constexpr auto kReplace = Json::error_handler_t::replace;

  void say(const Json& text, const Step& step) {
    if (step.what != "model") return put("user", text, step);
    const bool goes_on = !messages_.empty() && messages_.back()["role"] == "assistant" &&
                         messages_.back()["turn"] == step.turn && !messages_.back().contains("tool_calls");
    if (!goes_on) return put("assistant", text, step);
    Json& content = messages_.back()["content"];
    content = content.get<std::string>() + "\n" + text.get<std::string>();
  }

  void put(std::string_view role, Json content, const Step& step) {
    const bool is_own = role == "assistant";
    if (is_own) assistant_ = messages_.size();
    messages_.push_back({{"role", role}, {"content", std::move(content)}, {"turn", step.turn}, {"learn", is_own}});
  }

  Json messages_ = Json::array();
  std::size_t assistant_ = 0;  // the last of the model's
};

// One turn's components, each null where nothing of the turn shows it, and the reward: how much further it came.
struct TurnReward {
  unsigned turn = 0;
  std::optional<bool> assembles, is_safe, agrees, is_proved, is_kept;
  std::optional<double> speedup, share_of_bound;
  unsigned calls = 0, refused = 0;
  double reward = 0;
};

Json to_json(const TurnReward& turn) {
  const auto shown = [](const std::optional<bool>& value) { return value ? Json(*value) : Json(); };
  return {{"turn", turn.turn},
          {"assembles", shown(turn.assembles)},
          {"safe", shown(turn.is_safe)},
          {"agrees", shown(turn.agrees)},
          {"proved", shown(turn.is_proved)},
          {"contract_kept", shown(turn.is_kept)},
          {"speedup", optional_json(turn.speedup)},
          {"share_of_bound", optional_json(turn.share_of_bound)},
          {"calls", turn.calls},
          {"refused", turn.refused},
          {"reward", turn.reward}};
}

void note(TurnReward& turn, const Step& step, const Json& event) {
  ++turn.calls;
  if (!step.is_answer) {
    ++turn.refused;
    return;
  }
  const Json& output = event["output"];
  const bool is_proved = output.value("verdict", "") == "proved";
  if (step.what == "assemble") turn.assembles = output.value("accepts", false);
  if (step.what == "check") turn.is_safe = is_proved;
  if (step.what == "run" || step.what == "test") turn.agrees = output.value("holds", false);
  if (step.what == "prove") {
    turn.is_proved = is_proved;
    turn.is_kept = is_proved && output.value("contract", Json()) == "kept";
  }
  if (step.speedup) turn.speedup = step.speedup;
  if (step.share_of_bound) turn.share_of_bound = step.share_of_bound;
}

// What the text that a run starts from is worth: the model earns what goes beyond it.
double worth_given(const Story& story) {
  double most = 0;
  for (const StoryCandidate& candidate : story.candidates) {
    if (candidate.is_given) most = std::max(most, worth(candidate.reached));
  }
  return most;
}

Json lane_trajectory(const Story& story, const RunLog& log, unsigned lane) {
  Conversation conversation;
  std::vector<TurnReward> turns;
  const double given = worth_given(story);
  double best = given;
  std::size_t at = 0;
  for (const Step& step : story.steps) {
    // Steps are events, in the same order; some events are no steps.
    while (log.events[at].place.source->locate(log.events[at].place.span.begin).line != step.line) ++at;
    const Json& event = log.events[at].value;
    if (step.lane != lane) continue;
    conversation.take(event, step);
    if (step.kind != "call") continue;
    if (turns.empty() || turns.back().turn != step.turn) {
      turns.emplace_back();
      turns.back().turn = step.turn;
    }
    note(turns.back(), step, event);
    const double now = worth(step.reached);
    if (now > best) {
      turns.back().reward += now - best;
      best = now;
    }
  }
  // The proof from scratch is the last word. One that takes back what the run had accepted found a candidate that was
  // made for the run's proofs.
  const bool is_judged = !story.end.is_null();
  const std::string judged = is_judged ? story.end.value("sha256", "") : "";
  std::optional<double> speedup;
  bool is_own = false, is_given = false;
  for (const StoryCandidate& candidate : story.candidates) {
    if (candidate.sha256 != judged || candidate.lane != lane) continue;
    is_own = true;
    is_given = candidate.is_given;
    speedup = candidate.speedup;
  }
  const bool is_taken_back = is_own && !story.is_accepted() && best >= worth(Reached::Accepted);
  const double reward =
      is_taken_back ? -1 : best - given + (is_own && !is_given && story.is_accepted() ? speed_worth(speedup) : 0);
  Json steps = Json::array();
  for (const TurnReward& turn : turns) steps.push_back(to_json(turn));
  return {{"schema", kSchema},
          {"task", story.start.task},
          {"task_sha256", story.start.task_sha256},
          {"target", story.start.target},
          {"group", fmt::format("{}/{}", story.start.task_sha256.substr(0, 16), story.start.target)},
          {"run", fmt::format("{:016x}", story.start.seed)},
          {"lane", lane},
          {"from", story.from},
          {"provider", story.provider},
          {"model", story.model},
          {"messages", conversation.take_messages()},
          {"tools", chat_tools()},
          {"turns", std::move(steps)},
          {"outcome",
           {{"is_judged", is_judged},
            {"is_own", is_own},
            {"is_accepted", is_own && story.is_accepted()},
            {"is_taken_back", is_taken_back},
            {"speedup", optional_json(speedup)}}},
          {"reward", reward}};
}

}  // namespace

std::vector<Json> trajectories(const RunLog& log) {
  const Story story = read_story(log);
  std::vector<unsigned> lanes;
  for (const Step& step : story.steps) {
    if (std::find(lanes.begin(), lanes.end(), step.lane) == lanes.end()) lanes.push_back(step.lane);
  }
  std::sort(lanes.begin(), lanes.end());
  std::vector<Json> out;
  out.reserve(lanes.size());
  for (const unsigned lane : lanes) out.push_back(lane_trajectory(story, log, lane));
  return out;
}

}  // namespace plumb::agent
