// SPDX-License-Identifier: Apache-2.0
// Entries of the knowledge base that a run proposes. They are written out beside its lowering, in the form of
// knowledge/, when the lowering holds and has the passages that they name; whether one becomes an entry is for people
// to say.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "task/task.h"

namespace plumb::agent {

// Reads the proposals out of the log. The paths that were written: OUT/knowledge/NAME.md. One whose passages are not in
// the lowering is a warning.
std::vector<std::filesystem::path> write_proposals(const std::filesystem::path& log, const task::Task& task,
                                                   std::string_view target, std::string_view lowering,
                                                   const std::filesystem::path& out, Findings& findings);

}  // namespace plumb::agent
