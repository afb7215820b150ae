// SPDX-License-Identifier: Apache-2.0
// A finding is one defect of an input or of a run: a stable code, a place, words, and where it helps a second place and
// the line that would mend it. Codes are declared once, as `constexpr Code`, in the folder that reports them, and are
// listed by that folder's `codes()` function so that `plumb explain CODE` and the coverage test know them all.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/source.h"

namespace plumb {

enum class Severity : std::uint8_t { Error, Warning, Note };

// `id` is dotted, lower case, starts with its folder's word ("ptx.syntax", "race.shared"); `summary` is one line,
// `explanation` is what `plumb explain` prints: the rule, its source (manual anchor), an example of the mend.
struct Code {
  std::string_view id;
  std::string_view summary;
  std::string_view explanation;
};

// A place in a source text; `source` may be null (a finding about a whole file or a run).
struct Place {
  SourcePtr source;
  Span span;
};

struct Note {
  std::string text;
  Place place;
};

struct Finding {
  const Code* code = nullptr;
  Severity severity = Severity::Error;
  std::string message;  // lower case, no full stop, PTX in backticks: first what was seen, then the rule
  Place place;
  std::vector<Note> notes;
  std::string hint;  // at most one: the mend
};

// What a step that reads input collects. Parsing goes on after an error where it can.
class Findings {
 public:
  Finding& add(const Code& code, std::string message, Place place = {}, Severity severity = Severity::Error) {
    list_.push_back(Finding{&code, severity, std::move(message), std::move(place), {}, {}});
    return list_.back();
  }
  void add(Finding finding) { list_.push_back(std::move(finding)); }
  void append(Findings other) {
    for (Finding& finding : other.list_) list_.push_back(std::move(finding));
  }
  bool has_error() const {
    for (const Finding& finding : list_) {
      if (finding.severity == Severity::Error) return true;
    }
    return false;
  }
  bool empty() const { return list_.empty(); }
  const std::vector<Finding>& list() const { return list_; }

 private:
  std::vector<Finding> list_;
};

// "file:line:column: error: message [code]", the source line with a caret, notes and hint. ANSI colour when asked.
std::string render(const Finding& finding, bool colour);
std::string render(const Findings& findings, bool colour);
// {"code", "severity", "message", "file", "line", "column", "notes": [...], "hint"}; absent places are left out.
nlohmann::json to_json(const Finding& finding);
nlohmann::json to_json(const Findings& findings);

}  // namespace plumb
