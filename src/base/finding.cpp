// SPDX-License-Identifier: Apache-2.0
#include "base/finding.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plumb {
namespace {

constexpr std::string_view kReset = "\x1b[0m";

std::string_view word(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "error";
    case Severity::Warning:
      return "warning";
    case Severity::Note:
      return "note";
  }
  return "error";
}

std::string_view tint(Severity severity) {
  switch (severity) {
    case Severity::Error:
      return "\x1b[1;31m";
    case Severity::Warning:
      return "\x1b[1;35m";
    case Severity::Note:
      return "\x1b[1;36m";
  }
  return "";
}

std::string head(const Place& place) {
  if (!place.source) return "plumb: ";
  const LineColumn at = place.source->locate(place.span.begin);
  return fmt::format("{}:{}:{}: ", place.source->name(), at.line, at.column);
}

// Control bytes of a hostile input must not reach the terminal.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\t') {
      out += ' ';
    } else if (byte < 0x20 || byte == 0x7f) {
      out += '?';
    } else {
      out += c;
    }
  }
  return out;
}

std::string excerpt(const Place& place, bool colour) {
  if (!place.source || place.source->text().empty()) return {};
  constexpr std::size_t kWidest = 160;
  const LineColumn at = place.source->locate(place.span.begin);
  std::string_view line = place.source->line(at.line);
  std::size_t column = std::min<std::size_t>(at.column - 1, line.size());
  const std::size_t skipped = column > kWidest - 40 ? column - 40 : 0;
  line = line.substr(skipped, kWidest);
  column -= skipped;
  const std::size_t length = place.span.end > place.span.begin ? place.span.end - place.span.begin : 1;
  const std::size_t room = line.size() > column ? line.size() - column : 1;
  const std::string carets = "^" + std::string(std::min(length, room) - 1, '~');
  return fmt::format("{:>6} | {}\n       | {}{}{}{}\n", at.line, printable(line), std::string(column, ' '),
                     colour ? "\x1b[1;32m" : "", carets, colour ? kReset : "");
}

nlohmann::json place_json(const Place& place) {
  nlohmann::json out = nlohmann::json::object();
  if (!place.source) return out;
  const LineColumn at = place.source->locate(place.span.begin);
  out["file"] = place.source->name();
  out["line"] = at.line;
  out["column"] = at.column;
  return out;
}

}  // namespace

std::string render(const Finding& finding, bool colour) {
  std::string out = fmt::format("{}{}{}:{} {}", head(finding.place), colour ? tint(finding.severity) : "",
                                word(finding.severity), colour ? kReset : "", finding.message);
  if (finding.code != nullptr) out += fmt::format(" [{}]", finding.code->id);
  out += '\n';
  out += excerpt(finding.place, colour);
  for (const Note& note : finding.notes) {
    out += fmt::format("{}{}note:{} {}\n", note.place.source ? head(note.place) : "  ", colour ? "\x1b[1;36m" : "",
                       colour ? kReset : "", note.text);
    out += excerpt(note.place, colour);
  }
  if (!finding.hint.empty()) out += fmt::format("  hint: {}\n", finding.hint);
  return out;
}

std::string render(const Findings& findings, bool colour) {
  std::string out;
  for (const Finding& finding : findings.list()) out += render(finding, colour);
  return out;
}

nlohmann::json to_json(const Finding& finding) {
  nlohmann::json out = place_json(finding.place);
  out["code"] = finding.code != nullptr ? finding.code->id : std::string_view();
  out["severity"] = word(finding.severity);
  out["message"] = finding.message;
  if (!finding.notes.empty()) {
    nlohmann::json notes = nlohmann::json::array();
    for (const Note& note : finding.notes) {
      nlohmann::json entry = place_json(note.place);
      entry["text"] = note.text;
      notes.push_back(std::move(entry));
    }
    out["notes"] = std::move(notes);
  }
  if (!finding.hint.empty()) out["hint"] = finding.hint;
  return out;
}

nlohmann::json to_json(const Findings& findings) {
  nlohmann::json out = nlohmann::json::array();
  for (const Finding& finding : findings.list()) out.push_back(to_json(finding));
  return out;
}

}  // namespace plumb
