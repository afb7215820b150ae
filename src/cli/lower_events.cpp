// SPDX-License-Identifier: Apache-2.0
#include "cli/lower_events.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "agent/answer_parts.h"
#include "agent/story.h"

namespace plumb::cli {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostShown = 800, kMostFindings = 3;

std::string shortened(std::string text) {
  if (text.size() > kMostShown) text = text.substr(0, kMostShown) + "...";
  for (char& c : text) {
    // A model's text must not steer the terminal.
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) c = '?';
  }
  return text;
}

// What came of a call, in a few words.
std::string outcome(const Json& event) {
  const Json& output = event["output"];
  if (!output.is_object()) return {};
  if (output.contains("verdict") && event["tool"] == "check") {
    return output["verdict"] == "proved" ? "safe at these shapes" : "not safe";
  }
  if (output.contains("verdict") && output["verdict"].is_string()) {
    const Json contract = output.value("contract", Json());
    return fmt::format("{}, contract {}", output["verdict"].get<std::string>(),
                       contract.is_string() ? contract.get<std::string>() : "-");
  }
  if (output.contains("accepts")) return output["accepts"] == true ? "accepted" : "not accepted";
  if (event["tool"] == "bench" && output.contains("shapes")) {
    std::string out;
    for (const Json& shape : output["shapes"]) {
      const char* how = shape.value("is_cold", true) ? "/cold/candidate_ns/value" : "/warm/candidate_ns/value";
      out += fmt::format("{}{} {:.2f} us, {:.0f}% of the card", out.empty() ? "" : "; ", shape.value("shape", ""),
                         1e-3 * agent::number_at(shape, how).value_or(0), 100 * agent::share_of_bound(shape));
    }
    return out;
  }
  if (output.contains("holds")) return output["holds"] == true ? "agrees with the Triton source" : "does not agree";
  if (output.contains("lines") && output["lines"].is_number_integer()) {
    return fmt::format("{}, {} lines", output.value("file", ""), output["lines"].get<std::uint64_t>());
  }
  return event.value("is_answer", true) ? "" : "refused";
}

std::string call_text(const Json& event) {
  std::string out =
      fmt::format("  {:<16} {}  ({:.1f} s)\n", event.value("tool", ""), outcome(event), event.value("seconds", 0.0));
  const Json& output = event["output"];
  const auto findings = output.is_object() ? output.find("findings") : output.end();
  if (!output.is_object() || findings == output.end() || !findings->is_array()) return out;
  std::size_t shown = 0;
  for (const Json& finding : *findings) {
    if (finding.value("severity", "") != "error" || ++shown > kMostFindings) continue;
    const std::string place = finding.contains("line")
                                  ? fmt::format("{}:{}: ", finding.value("file", ""), finding["line"].get<int>())
                                  : std::string();
    out +=
        fmt::format("                   {}{} [{}]\n", place, finding.value("message", ""), finding.value("code", ""));
  }
  return out;
}

}  // namespace

std::string LowerEvents::turn(const Json& event) {
  spent_.add_turn(event);
  spent_.seconds = event.value("at", 0.0);
  return fmt::format("  -- {}; {}\n", agent::to_text(budget_, spent_, knows_price_), best());
}

// The fastest of the accepted candidates, and how far it is from what the card can do.
std::string LowerEvents::best() const {
  const agent::Story story = agent::read_story(log_);
  const agent::StoryCandidate* best = nullptr;
  bool has_accepted = false;
  for (const agent::StoryCandidate& each : story.candidates) {
    if (each.reached != agent::Reached::Accepted) continue;
    has_accepted = true;
    if (each.nanoseconds && (best == nullptr || *each.nanoseconds < *best->nanoseconds)) best = &each;
  }
  if (!has_accepted) return "nothing accepted yet";
  if (best == nullptr) return "accepted, not timed";
  std::string out = fmt::format("best {:.2f} us", 1e-3 * *best->nanoseconds);
  if (best->share_of_bound) out += fmt::format(", {:.0f}% of the card", 100 * *best->share_of_bound);
  if (best->speedup) out += fmt::format(", {:.3f} times as fast as the baseline", *best->speedup);
  return out;
}

std::string LowerEvents::text(const Json& event) {
  const std::string kind = event.value("event", "");
  log_.events.push_back({event, {}});
  const std::string lane = lanes_ > 1 ? fmt::format("[{}] ", event.value("lane", 0u) + 1) : std::string();
  if (kind == "message") {
    if (event.value("role", "model") != "model") return {};
    return fmt::format("{}{}model:{} {}\n", lane, colour_ ? "\x1b[1;34m" : "", colour_ ? "\x1b[0m" : "",
                       shortened(event.value("text", "")));
  }
  if (kind == "call") return lane + shortened(call_text(event));
  if (kind == "turn") return lane + turn(event);
  if (kind == "stage") return fmt::format("{}stage: {}\n", lane, event.value("stage", ""));
  if (kind == "retry") {
    const std::string after = event.value("gives_up", false)
                                  ? "no further try"
                                  : fmt::format("again in {:.1f} s", event.value("wait_seconds", 0.0));
    return fmt::format("{}  the server: {}; {}\n", lane, shortened(event.value("reason", "")), after);
  }
  if (kind == "given") {
    const std::string scaffold = event.value("scaffold", "");
    return fmt::format("{}starts from {}, {}\n", lane, scaffold.empty() ? "a given text" : "the scaffold " + scaffold,
                       event.value("file", ""));
  }
  if (kind == "share") {
    return fmt::format("{}takes over the accepted candidate of lane {}\n", lane,
                       event["from"].is_number_unsigned() ? event["from"].get<unsigned>() + 1 : 1);
  }
  if (kind == "stop") return fmt::format("{}stop: {}, {}\n", lane, event.value("reason", ""), event.value("text", ""));
  if (kind == "resume") return "the run goes on from its log\n";
  if (kind == "end") return "  proved again from scratch with a fresh seed\n";
  return {};
}

}  // namespace plumb::cli
