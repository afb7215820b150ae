// SPDX-License-Identifier: Apache-2.0
// The entries of knowledge/, as they stood when plumb was built: short facts and idioms for whoever writes PTX, each
// with the evidence that it rests on.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace plumb::session {

// What an entry rests on (knowledge/README.md has the kinds): a lowering that is proved and shows the idiom, a lowering
// broken in the way the entry warns of, and what plumb finds there, or a figure that a result in results/ has.
struct Evidence {
  std::string claim;  // in words
  std::string proof;  // "softmax/sm_89"; empty for a mutant
  std::vector<std::string> shows;
  std::string mutant, name, code;  // "softmax/sm_89", the mutant's name, the finding's code
  std::string figure, at;          // "lowerings_sm_89.json", and where in it: "/rows/3/cold/us"
  double value = 0;                // as the entry quotes it
};

// Whether what holds for `targets` ("all", "sm_80 and later", "sm_90a, sm_100a") holds for code for `target`; an empty
// one is any.
bool holds_for(std::string_view targets, std::string_view target);

struct KnowledgeEntry {
  std::string_view name;  // the file's, without .md
  std::string_view text;  // Markdown, without its head; the first line is the title
  std::string targets;    // as `holds_for` reads them
  std::vector<Evidence> evidence;
  std::string_view title() const;
};

// An entry out of a file's text: its head in TOML between lines of `+++`, then Markdown. False, with findings, where
// the head does not read.
bool read_entry(std::string_view name, std::string_view text, KnowledgeEntry& entry, Findings& findings);

// The ones that are built in, by name.
std::vector<KnowledgeEntry> knowledge();

// Those that have words of the query, best first: words of titles count more, rare words more than common ones.
std::vector<KnowledgeEntry> search(const std::vector<KnowledgeEntry>& entries, std::string_view query);

}  // namespace plumb::session
