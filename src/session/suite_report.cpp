// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "session/html.h"
#include "session/suite.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;

// Steps may come from a file: a value that is missing or of another type reads as empty, 0 or null.
std::string text(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
double number(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}
const Json& part(const Json& object, const char* key) {
  static const Json kNone;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() ? *found : kNone;
}

struct Ratio {
  std::string shape;
  double median = 0, low = 0, high = 0;  // baseline / candidate
  double bandwidth = 0, rate = 0;        // shares
};

std::vector<Ratio> ratios_of(const SuiteRow& row) {
  std::vector<Ratio> out;
  const Json& shapes = part(part(row.steps, "bench"), "shapes");
  if (!shapes.is_array()) return out;
  for (const Json& shape : shapes) {
    const Json& speedup = part(part(shape, "cold"), "speedup");
    out.push_back({text(shape, "shape"), number(speedup, "value"), number(speedup, "low"), number(speedup, "high"),
                   number(shape, "share_of_copy_bandwidth"), number(shape, "share_of_known_rate")});
  }
  return out;
}

std::string proof_text(const SuiteRow& row) {
  if (row.findings.has_error()) return "unreadable";
  const Json& proof = part(row.steps, "prove");
  const std::string contract = text(proof, "contract");
  return contract.empty() ? text(proof, "verdict") : fmt::format("{}, {}", text(proof, "verdict"), contract);
}

std::string test_text(const SuiteRow& row) {
  if (!row.steps.contains("test")) return "";
  const Json& test = part(row.steps, "test");
  return part(test, "holds") == Json(true) ? fmt::format("{:.0f} elements agree", number(test, "elements_compared"))
                                           : "rejected";
}

std::string first_finding(const SuiteRow& row) {
  for (const Finding& finding : row.findings.list()) return finding.message;
  for (const Json& step : row.steps) {
    const Json& findings = part(step, "findings");
    if (part(step, "holds") == Json(true) || !findings.is_array() || findings.empty()) continue;
    return fmt::format("{} [{}]", text(findings[0], "message"), text(findings[0], "code"));
  }
  return "";
}

std::string html_ratios(const SuiteRow& row) {
  std::string out;
  for (const Ratio& ratio : ratios_of(row)) {
    const std::string speed = ratio.median == 0
                                  ? std::string("no baseline")
                                  : fmt::format("<b>{:.3f}</b> [{:.3f}, {:.3f}]", ratio.median, ratio.low, ratio.high);
    const std::string share = ratio.rate != 0        ? fmt::format(", {:.0f}% of the known rate", 100 * ratio.rate)
                              : ratio.bandwidth != 0 ? fmt::format(", {:.0f}% of the copy", 100 * ratio.bandwidth)
                                                     : std::string();
    out += fmt::format("<div>{}{} <span class=\"dim\">{}</span></div>", speed, share, escape_html(ratio.shape));
  }
  return out;
}

// Runs that began with more than the source are told apart from those that did not.
bool is_given(const SuiteRow& row) { return row.from == "scaffold" || row.from == "seed"; }

constexpr std::string_view kHead = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>plumb suite</title><style>
body { font: 14px/1.45 system-ui, sans-serif; margin: 2rem; color: #1b1f24; background: #fff }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem; border-bottom: 1px solid #d8dde3 }
th { font-weight: 600; border-bottom-width: 2px }
td.num { text-align: right; font-variant-numeric: tabular-nums }
.good { color: #116329 } .bad { color: #a40e26 } .dim { color: #656d76 }
@media (prefers-color-scheme: dark) { body { color: #d6dbe1; background: #14171a }
  th, td { border-color: #333a41 } .good { color: #57c272 } .bad { color: #ff7b7b } .dim { color: #8b949e } }
</style></head><body>
<h1>plumb suite</h1>
)html";

}  // namespace

std::string to_line(const SuiteRow& row) {
  const Json& proof = part(row.steps, "prove");
  const Json& shapes = part(proof, "shapes");
  std::string out = fmt::format("  {:<20} {:<8} {:<16} {:>2} shapes {:>7.2f} s", row.task, row.target, proof_text(row),
                                shapes.is_array() ? shapes.size() : 0, number(proof, "seconds"));
  if (const std::string test = test_text(row); !test.empty()) out += "  " + test;
  for (const Ratio& ratio : ratios_of(row)) out += fmt::format("  {:.3f}x", ratio.median);
  if (is_given(row)) out += fmt::format("  (began with a {})", row.from);
  if (!row.kept.empty()) out += fmt::format("  (kept: {})", fmt::join(row.kept, ", "));
  out += '\n';
  if (const std::string finding = first_finding(row); !finding.empty()) out += fmt::format("      {}\n", finding);
  return out;
}

nlohmann::json to_json(const SuiteOutcome& outcome) {
  Json rows = Json::array();
  for (const SuiteRow& row : outcome.rows) {
    rows.push_back({{"task", row.task},
                    {"target", row.target},
                    {"file", row.ptx.filename().string()},
                    {"key", row.key},
                    {"from", row.from},
                    {"holds", row.holds()},
                    {"kept", row.kept},
                    {"steps", row.steps.is_null() ? Json::object() : row.steps},
                    {"findings", plumb::to_json(row.findings)}});
  }
  return {{"holds", outcome.holds()},
          {"rows", std::move(rows)},
          {"without_lowering", outcome.without},
          {"findings", plumb::to_json(outcome.findings)}};
}

namespace {

// A table of the rows that began with `from`; empty where there are none. The three beginnings never share one.
std::string html_table(const SuiteOutcome& outcome, std::string_view from) {
  const auto is_here = [&](const SuiteRow& row) { return from == "source" ? !is_given(row) : row.from == from; };
  if (std::none_of(outcome.rows.begin(), outcome.rows.end(), is_here)) return {};
  std::string out = from == "source" ? std::string() : fmt::format("<h2>Runs that began with a {}</h2>\n", from);
  out +=
      "<table><tr><th>task</th><th>target</th><th>proof</th><th>shapes</th><th>seconds</th><th>test</th>"
      "<th>baseline / lowering</th></tr>\n";
  for (const SuiteRow& row : outcome.rows) {
    if (!is_here(row)) continue;
    const Json& proof = part(row.steps, "prove");
    const Json& shapes = part(proof, "shapes");
    out += fmt::format("<tr><td>{}</td><td>{}</td><td><span class=\"{}\">{}</span>", escape_html(row.task),
                       escape_html(row.target), row.holds() ? "good" : "bad", escape_html(proof_text(row)));
    if (const std::string finding = first_finding(row); !finding.empty()) {
      out += fmt::format("<div class=\"dim\">{}</div>", escape_html(finding));
    }
    out += fmt::format("</td><td class=\"num\">{}</td><td class=\"num\">{:.2f}</td><td>{}</td><td>{}</td></tr>\n",
                       shapes.is_array() ? shapes.size() : 0, number(proof, "seconds"), escape_html(test_text(row)),
                       html_ratios(row));
  }
  return out + "</table>\n";
}

}  // namespace

std::string to_html(const SuiteOutcome& outcome) {
  std::size_t held = 0;
  for (const SuiteRow& row : outcome.rows) held += row.holds() ? 1 : 0;
  std::string out(kHead);
  out += fmt::format("<p>{} of {} lowerings hold; {} tasks have none.</p>\n", held, outcome.rows.size(),
                     outcome.without.size());
  for (const char* from : {"source", "scaffold", "seed"}) out += html_table(outcome, from);
  if (!outcome.without.empty()) {
    out += fmt::format("<p class=\"dim\">Without a lowering: {}.</p>\n",
                       escape_html(fmt::format("{}", fmt::join(outcome.without, ", "))));
  }
  return out + "</body></html>\n";
}

}  // namespace plumb::session
