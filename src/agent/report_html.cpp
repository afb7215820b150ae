// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "agent/report.h"
#include "session/html.h"

namespace plumb::agent {
namespace {

constexpr std::string_view kStyle = R"(
:root{--ink:#1c2128;--dim:#667085;--line:#d9dee5;--back:#fff;--soft:#f5f7fa;--good:#1a7f4b;--bad:#c0362c;--say:#2457a6}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--dim:#98a2b3;--line:#39414d;--back:#15181d;--soft:#1d2229;
--good:#4cc38a;--bad:#ff7b6b;--say:#7fb0ff}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back);max-width:62rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .6rem}
p.sum{color:var(--dim);margin:.3rem 0 0}.good{color:var(--good)}.bad{color:var(--bad)}
table{border-collapse:collapse;width:100%;font-size:14px}th{text-align:left;font-weight:600;color:var(--dim)}
td,th{padding:.3rem .6rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code,pre{font:13px/1.45 ui-monospace,monospace}td.say{color:var(--say);white-space:pre-wrap}
ul.f{margin:.2rem 0 0;padding-left:1.1rem;color:var(--bad);font-size:13px}
svg{width:100%;height:auto;background:var(--soft);border-radius:6px}svg text{fill:var(--dim);font:11px system-ui,sans-serif}
svg .grid{stroke:var(--line)}svg .path{stroke:var(--dim);fill:none;stroke-width:1.5}
.dot-good{fill:var(--good)}.dot-bad{fill:var(--bad)}.dot{fill:var(--say)}
.scroll{overflow-x:auto}
)";

constexpr std::size_t kMostFindings = 8;  // of a step
constexpr double kWidth = 900, kLeft = 96, kRight = 16, kTop = 14, kBottom = 30;

double x_of(std::size_t at, std::size_t count) {
  const double part = count < 2 ? 0.5 : static_cast<double>(at) / static_cast<double>(count - 1);
  return kLeft + part * (kWidth - kLeft - kRight);
}

// How far the candidate of each step had come, step by step.
std::string progress_chart(const Story& story) {
  constexpr double kRow = 26;
  constexpr Reached kLevels[] = {Reached::Written, Reached::Assembles, Reached::Safe,
                                 Reached::Agrees,  Reached::Weaker,    Reached::Accepted};
  const double height = kTop + kBottom + kRow * static_cast<double>(std::size(kLevels) - 1);
  const auto y_of = [&](Reached reached) {
    return height - kBottom - kRow * (static_cast<double>(reached) - static_cast<double>(Reached::Written));
  };
  std::vector<const Step*> steps;
  for (const Step& step : story.steps) {
    if (step.reached != Reached::Nothing || (step.kind == "end" && !step.is_good)) steps.push_back(&step);
  }
  if (steps.empty()) return "<p>No candidate was written.</p>";
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"verdicts over the steps\">", kWidth, height);
  for (const Reached level : kLevels) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/><text x=\"{3}\" y=\"{4}\" "
        "text-anchor=\"end\">{5}</text>",
        kLeft, kWidth - kRight, y_of(level), kLeft - 8, y_of(level) + 4, name(level));
  }
  std::string path, dots;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = *steps[i];
    const Reached reached = std::max(step.reached, Reached::Written);
    path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x_of(i, steps.size()), y_of(reached));
    const char* colour = !step.is_good ? "dot-bad" : reached == Reached::Accepted ? "dot-good" : "dot";
    dots += fmt::format(
        "<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>turn {}, line {}: {} {}</title>"
        "</circle>",
        colour, x_of(i, steps.size()), y_of(reached), step.turn, step.line,
        session::escape_html(step.what.empty() ? step.kind : step.what), session::escape_html(step.text));
  }
  svg += fmt::format(
      "<path class=\"path\" d=\"{}\"/>{}<text x=\"{}\" y=\"{}\">first step</text>"
      "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">last</text></svg>",
      path, dots, kLeft, height - 8, kWidth - kRight, height - 8);
  return svg;
}

// Microseconds of each measured step, on a scale from zero.
std::string speed_chart(const Story& story) {
  std::vector<const Step*> steps;
  double most = 0;
  for (const Step& step : story.steps) {
    if (!step.nanoseconds) continue;
    steps.push_back(&step);
    most = std::max(most, *step.nanoseconds);
  }
  if (steps.empty()) return "<p>Nothing was measured in this run.</p>";
  constexpr double kHeight = 220;
  const auto y_of = [&](double value) { return kHeight - kBottom - value / most * (kHeight - kTop - kBottom); };
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"time over the steps\">", kWidth, kHeight);
  for (const double part : {0.0, 0.5, 1.0}) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text x=\"{3}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:.2f} us</text>",
        kLeft, kWidth - kRight, y_of(part * most), kLeft - 8, y_of(part * most) + 4, part * most * 1e-3);
  }
  std::string path, dots;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double x = x_of(i, steps.size()), y = y_of(*steps[i]->nanoseconds);
    path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", x, y);
    dots += fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"><title>turn {}: {}</title></circle>",
                        x, y, steps[i]->turn, session::escape_html(steps[i]->text));
  }
  return svg + fmt::format("<path class=\"path\" d=\"{}\"/>{}</svg>", path, dots);
}

std::string candidates_table(const Story& story) {
  std::string out =
      "<div class=\"scroll\"><table><tr><th>sha256</th><th>file</th><th class=\"n\">lane</th><th class=\"n\">turn</th>"
      "<th class=\"n\">lines</th><th>reached</th><th class=\"n\">time</th><th class=\"n\">against baseline</th></tr>";
  for (const StoryCandidate& candidate : story.candidates) {
    const std::string time =
        candidate.nanoseconds ? fmt::format("{:.2f} us", *candidate.nanoseconds * 1e-3) : std::string();
    const std::string speedup = candidate.speedup ? fmt::format("{:.3f}", *candidate.speedup) : std::string();
    out += fmt::format(
        "<tr><td><code>{}</code></td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td><td{}>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        session::escape_html(candidate.sha256.substr(0, 12)), session::escape_html(candidate.file), candidate.lane,
        candidate.turn, candidate.lines, candidate.reached == Reached::Accepted ? " class=\"good\"" : "",
        fmt::format("{}{}", name(candidate.reached), candidate.is_given ? ", given at the start" : ""), time, speedup);
  }
  return out + "</table></div>";
}

std::string timeline(const Story& story) {
  std::string out =
      "<div class=\"scroll\"><table><tr><th class=\"n\">line</th><th class=\"n\">lane</th><th class=\"n\">turn</th>"
      "<th class=\"n\">s</th><th>what</th><th>came to</th></tr>";
  for (const Step& step : story.steps) {
    std::string findings;
    for (std::size_t i = 0; i < std::min(step.findings.size(), kMostFindings); ++i) {
      const StepFinding& finding = step.findings[i];
      findings += fmt::format("<li><code>{}</code> {} [{}]</li>", session::escape_html(finding.place),
                              session::escape_html(finding.message), session::escape_html(finding.code));
    }
    if (step.findings.size() > kMostFindings) {
      findings += fmt::format("<li>and {} more</li>", step.findings.size() - kMostFindings);
    }
    if (!findings.empty()) findings = "<ul class=\"f\">" + findings + "</ul>";
    const bool is_said = step.kind == "message";
    const char* look = is_said                             ? " class=\"say\""
                       : !step.is_good                     ? " class=\"bad\""
                       : step.reached == Reached::Accepted ? " class=\"good\""
                                                           : "";
    const std::string what = step.kind == "call" ? step.what
                             : step.what.empty() ? step.kind
                                                 : step.kind + " " + step.what;
    const std::string seconds = step.seconds > 0 ? fmt::format("{:.1f}", step.seconds) : std::string();
    out += fmt::format(
        "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td><code>{}</code></td><td{}>{}{}</td></tr>",
        step.line, step.lane, step.turn, seconds, session::escape_html(what), look, session::escape_html(step.text),
        findings);
  }
  return out + "</table></div>";
}

}  // namespace

std::string report_html(const Story& story) {
  const std::string title = fmt::format("{} for {}", story.start.task, story.start.target);
  std::string by;
  if (!story.provider.empty())
    by += fmt::format(", by {}{}{}", story.provider, story.model.empty() ? "" : " ", story.model);
  if (!story.from.empty()) by += fmt::format(", from {}", story.from);
  std::string cost;
  if (story.tokens > 0) {
    const std::string money = story.usd ? fmt::format("${:.4f}", *story.usd) : std::string("price not known");
    cost = fmt::format("<p class=\"sum\">{} tokens, {}</p>", story.tokens, money);
  }
  return fmt::format(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>{0}</title><style>{1}</style></head><body><h1>{0}: <span "
      "class=\"{2}\">{3}</span></h1><p class=\"sum\">{4} turns, {5} candidates, {6:.1f} s in tools{7}</p>{8}"
      "<h2>Verdicts</h2>{9}<h2>Speed</h2>{10}<h2>Candidates</h2>{11}<h2>Timeline</h2>{12}</body></html>\n",
      session::escape_html(title), kStyle,
      story.is_accepted()   ? "good"
      : story.end.is_null() ? ""
                            : "bad",
      story.outcome(), story.turns, story.candidates.size(), story.seconds, session::escape_html(by), cost,
      progress_chart(story), speed_chart(story), candidates_table(story), timeline(story));
}

}  // namespace plumb::agent
