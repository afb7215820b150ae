// SPDX-License-Identifier: Apache-2.0
#include "agent/knowledge.h"

namespace plumb::agent {
namespace {

constexpr KnowledgeEntry kEntries[] = {
#include "knowledge.inc"  // written by CMake from knowledge/*.md
};

}  // namespace

std::string_view KnowledgeEntry::title() const {
  const std::string_view line = text.substr(0, text.find('\n'));
  return line.substr(line.find_first_not_of("# "));
}

std::span<const KnowledgeEntry> knowledge() { return kEntries; }

}  // namespace plumb::agent
