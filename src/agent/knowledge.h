// SPDX-License-Identifier: Apache-2.0
// The entries of knowledge/, as they stood when plumb was built: short facts and idioms for whoever writes PTX.
#pragma once

#include <string_view>
#include <vector>

namespace plumb::agent {

struct KnowledgeEntry {
  std::string_view name;  // the file's, without .md
  std::string_view text;  // Markdown; its first line is the title
  std::string_view title() const;
};

std::vector<KnowledgeEntry> knowledge();

}  // namespace plumb::agent
