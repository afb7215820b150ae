// SPDX-License-Identifier: Apache-2.0
#include "agent/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShownText = 160;

// The first line, cut where it gets long; never in the middle of a character.
std::string shortened(std::string_view text) {
  const std::size_t end = text.find('\n');
  std::string out(text.substr(0, std::min(end, kShownText)));
  if (out.size() == text.size()) return out;
  while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
  if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0xc0) out.pop_back();
  return out + " ...";
}

std::string speed_of(const StoryCandidate& candidate) {
  if (!candidate.nanoseconds) return {};
  std::string out = fmt::format("  {:.2f} us", *candidate.nanoseconds * 1e-3);
  if (candidate.speedup) out += fmt::format(", {:.3f} times as fast as the baseline", *candidate.speedup);
  return out;
}

std::string head(const Story& story) {
  std::string out = fmt::format("{} for {}: {}\n", story.start.task, story.start.target, story.outcome());
  std::string by;
  if (!story.provider.empty())
    by += fmt::format(", by {}{}{}", story.provider, story.model.empty() ? "" : " ", story.model);
  if (!story.from.empty()) by += fmt::format(", from {}", story.from);
  out +=
      fmt::format("  {} turns, {} calls, {} candidates, {:.1f} s in tools{}\n", story.turns,
                  std::count_if(story.steps.begin(), story.steps.end(), [](const Step& s) { return s.kind == "call"; }),
                  story.candidates.size(), story.seconds, by);
  if (story.tokens > 0) {
    const std::string money = story.usd ? fmt::format("${:.4f}", *story.usd) : std::string("price not known");
    out += fmt::format("  {} tokens, {}\n", story.tokens, money);
  }
  return out;
}

Json finding_json(const StepFinding& finding) {
  return {{"code", finding.code}, {"place", finding.place}, {"message", finding.message}};
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

std::string report_text(const Story& story, bool colour) {
  const auto painted = [&](std::string_view code, std::string text) {
    return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  };
  std::string out = head(story) + "\n";
  for (const Step& step : story.steps) {
    const std::string at = story.lanes > 1 ? fmt::format("{:>4} {}/{:<3}", step.line, step.lane, step.turn)
                                           : fmt::format("{:>4} {:>3}", step.line, step.turn);
    const std::string what = step.kind == "call" || step.kind == "cancelled" ? step.what : step.kind;
    std::string text = step.kind == "message" ? step.what + ": " + step.text : step.text;
    if (text.empty()) text = step.what == what ? "" : step.what;
    text = shortened(text);
    const char* code = step.kind == "message"              ? "34"
                       : !step.is_good                     ? "31"
                       : step.reached == Reached::Accepted ? "32"
                                                           : "0";
    out += fmt::format("{}  {:<15} {}", at, what, painted(code, text));
    if (step.seconds >= 0.05) out += fmt::format("  ({:.1f} s)", step.seconds);
    out += '\n';
    for (std::size_t i = 0; i < std::min<std::size_t>(step.findings.size(), 3); ++i) {
      const StepFinding& finding = step.findings[i];
      out += fmt::format("{:>26}{}{}{} [{}]\n", "", finding.place, finding.place.empty() ? "" : ": ",
                         shortened(finding.message), finding.code);
    }
    if (step.findings.size() > 3) out += fmt::format("{:>26}and {} more\n", "", step.findings.size() - 3);
  }
  if (!story.candidates.empty()) out += "\ncandidates\n";
  for (const StoryCandidate& candidate : story.candidates) {
    out += fmt::format("  {}  {:<22} turn {:<3} {:>5} lines  {}{}{}\n", candidate.sha256.substr(0, 12), candidate.file,
                       candidate.turn, candidate.lines, name(candidate.reached),
                       candidate.is_given ? ", given at the start" : "", speed_of(candidate));
  }
  return out;
}

Json report_json(const Story& story) {
  Json steps = Json::array(), candidates = Json::array();
  for (const Step& step : story.steps) {
    Json findings = Json::array();
    for (const StepFinding& finding : step.findings) findings.push_back(finding_json(finding));
    steps.push_back({{"line", step.line},
                     {"lane", step.lane},
                     {"turn", step.turn},
                     {"event", step.kind},
                     {"what", step.what},
                     {"text", step.text},
                     {"seconds", step.seconds},
                     {"sha256", step.sha256},
                     {"reached", name(step.reached)},
                     {"nanoseconds", optional_json(step.nanoseconds)},
                     {"speedup", optional_json(step.speedup)},
                     {"findings", std::move(findings)}});
  }
  for (const StoryCandidate& candidate : story.candidates) {
    candidates.push_back({{"sha256", candidate.sha256},
                          {"file", candidate.file},
                          {"lane", candidate.lane},
                          {"turn", candidate.turn},
                          {"is_given", candidate.is_given},
                          {"lines", candidate.lines},
                          {"reached", name(candidate.reached)},
                          {"nanoseconds", optional_json(candidate.nanoseconds)},
                          {"speedup", optional_json(candidate.speedup)}});
  }
  return {{"task", story.start.task},
          {"target", story.start.target},
          {"is_judged", !story.end.is_null()},
          {"is_accepted", story.is_accepted()},
          {"from", story.from},
          {"provider", story.provider},
          {"model", story.model},
          {"lanes", story.lanes},
          {"turns", story.turns},
          {"seconds_in_tools", story.seconds},
          {"tokens", story.tokens},
          {"usd", optional_json(story.usd)},
          {"steps", std::move(steps)},
          {"candidates", std::move(candidates)}};
}

}  // namespace plumb::agent
