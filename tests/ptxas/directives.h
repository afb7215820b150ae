// SPDX-License-Identifier: Apache-2.0
// Whole modules for the directives of PTX: a table of texts in which alternatives stand, `$(.weak|.extern|)`, so that
// one row makes all combinations, each asked at several versions and targets. The table keeps what ptxas said, so plumb
// is held to it where there is no ptxas, and the kept answers to ptxas where there is one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plumb::agreement {

struct ModuleSetting {
  std::string version, target;  // "8.7", "sm_90a, texmode_independent"
};

struct DirectiveRow {
  std::string answers;  // a letter for every text at every setting, in order; one letter where all are the same
  std::string text;
  std::string why;  // of the letters `a` and `r`
  std::size_t section = 0, line = 0;
};

struct DirectiveSection {
  std::string name;
  std::vector<ModuleSetting> settings;
};

// Letters of `answers`: `+` ptxas and plumb take it, `-` both refuse it, `a` ptxas takes and plumb refuses, `r` ptxas
// refuses and plumb takes; the last two only in a row with a reason.
struct DirectiveTable {
  std::vector<DirectiveSection> sections;
  std::vector<DirectiveRow> rows;
};

DirectiveTable read_directives(std::string_view text);
std::vector<std::string> expand(std::string_view text);  // every combination of the alternatives
std::string module_text(const ModuleSetting& setting, std::string_view items);
std::string arch_of(std::string_view module);  // the first `sm_NN` of its text; sm_90 where there is none
// Also that what it takes is printed and re-read to the same tree.
bool plumb_takes(const std::string& text, std::string& why);
// The file's text with the answers of the rows in the place of those it has.
std::string with_answers(std::string_view text, const DirectiveTable& table);

}  // namespace plumb::agreement
