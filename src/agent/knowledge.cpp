// SPDX-License-Identifier: Apache-2.0
#include "agent/knowledge.h"

#include "agent/texts.h"

namespace plumb::agent {

std::string_view KnowledgeEntry::title() const {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.substr(line.find_first_not_of("# "));
}

std::vector<KnowledgeEntry> knowledge() {
  constexpr std::string_view kFolder = "knowledge/", kSuffix = ".md";
  std::vector<KnowledgeEntry> out;
  for (const Text& each : texts()) {
    if (!each.name.starts_with(kFolder)) continue;
    const std::string_view file = each.name.substr(kFolder.size());
    out.push_back({file.substr(0, file.size() - kSuffix.size()), each.text});
  }
  return out;
}

}  // namespace plumb::agent
