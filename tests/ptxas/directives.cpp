// SPDX-License-Identifier: Apache-2.0
#include "directives.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "ptx/module.h"

namespace plumb::agreement {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// "7.0 sm_75; 8.6 sm_100a, debug"
std::vector<ModuleSetting> read_settings(std::string_view text) {
  std::vector<ModuleSetting> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(';'), text.size());
    std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    const std::size_t space = one.find(' ');
    out.push_back({std::string(one.substr(0, space)), std::string(one.substr(space + 1))});
  }
  return out;
}

bool is_row(std::string_view line) {
  const std::size_t space = line.find(' ');
  return space != line.npos && space != 0 && line.substr(0, space).find_first_not_of("+-ar?") == line.npos;
}

}  // namespace

// `[name]` begins a section, `at SETTINGS` names where its rows are asked, `why REASON` precedes a row on which the two
// stay apart, `ANSWERS TEXT` is a row; `#` begins a comment.
DirectiveTable read_directives(std::string_view text) {
  DirectiveTable out;
  std::string why;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with('[')) {
      out.sections.push_back({std::string(line.substr(1, line.find(']') - 1)), {}});
    } else if (line.starts_with("at ") && !out.sections.empty()) {
      out.sections.back().settings = read_settings(line.substr(3));
    } else if (line.starts_with("why ")) {
      why = line.substr(4);
    } else if (is_row(line) && !out.sections.empty()) {
      const std::size_t space = line.find(' ');
      out.rows.push_back({std::string(line.substr(0, space)), std::string(line.substr(space + 1)),
                          std::exchange(why, {}), out.sections.size() - 1, number});
    } else {
      return {};
    }
  }
  return out;
}

std::vector<std::string> expand(std::string_view text) {
  const std::size_t open = text.rfind("$(");
  if (open == text.npos) return {std::string(text)};
  const std::size_t close = text.find(")$", open);
  if (close == text.npos) return {std::string(text)};
  std::vector<std::string> out;
  std::string_view choices = text.substr(open + 2, close - open - 2);
  while (true) {
    const std::size_t bar = std::min(choices.find('|'), choices.size());
    const std::string whole =
        fmt::format("{}{}{}", text.substr(0, open), choices.substr(0, bar), text.substr(close + 2));
    for (std::string& one : expand(whole)) out.push_back(std::move(one));
    if (bar == choices.size()) return out;
    choices.remove_prefix(bar + 1);
  }
}

std::string module_text(const ModuleSetting& setting, std::string_view items) {
  std::string out = items.starts_with("!") ? std::string(items.substr(1))
                                           : fmt::format(".version {}\n.target {}\n.address_size 64\n{}",
                                                         setting.version, setting.target, items);
  for (std::size_t at = 0; (at = out.find("\\n", at)) != out.npos;) out.replace(at, 2, "\n");
  return out + "\n";
}

// ptxas 13.0 has sm_101 under its later name, and makes code for sm_75 and later.
std::string arch_of(std::string_view module) {
  const std::size_t at = module.find(" sm_");
  std::string_view rest = at == module.npos ? "sm_90" : module.substr(at + 1);
  std::string out(rest.substr(0, rest.find_first_not_of("sm_0123456789af")));
  if (out.starts_with("sm_101")) out.replace(0, 6, "sm_110");
  static constexpr std::string_view kKnown[] = {"sm_75",   "sm_80",   "sm_86",  "sm_87",   "sm_88",   "sm_89",
                                                "sm_90",   "sm_90a",  "sm_100", "sm_100a", "sm_100f", "sm_103",
                                                "sm_103a", "sm_103f", "sm_110", "sm_110a", "sm_110f", "sm_120",
                                                "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f"};
  return std::find(std::begin(kKnown), std::end(kKnown), out) == std::end(kKnown) ? "sm_90" : out;
}

bool plumb_takes(const std::string& text, std::string& why) {
  Findings findings;
  const auto module = ptx::load(std::make_shared<Source>("module.ptx", text), findings);
  why = module ? "" : fmt::format("{}: {}", findings.list()[0].code->id, findings.list()[0].message);
  if (!module) return false;
  const auto again = ptx::load(std::make_shared<Source>("printed.ptx", ptx::print(**module)), findings);
  if (again && ptx::equal(**module, **again)) return true;
  why = "takes it, and prints another module:\n" + ptx::print(**module);
  return false;
}

std::string with_answers(std::string_view text, const DirectiveTable& table) {
  std::string out;
  std::size_t number = 0;
  auto row = table.rows.begin();
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (row != table.rows.end() && row->line == number) {
      out += fmt::format("{} {}\n", row->answers, row->text);
      ++row;
    } else {
      out += fmt::format("{}\n", line);
    }
  }
  return out;
}

}  // namespace plumb::agreement
