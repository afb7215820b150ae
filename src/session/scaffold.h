// SPDX-License-Identifier: Apache-2.0
// Skeletons to start a lowering from: small kernels of scaffolds/, each with a task of its own that it is proved
// against. They are no tool of the table: a run that begins with one says so in its log, and is never counted among
// those that began with the Triton source alone.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace plumb::session {

struct Scaffold {
  std::string_view kind;     // the folder under scaffolds/
  std::string_view targets;  // as an entry of the knowledge base has them
  std::string_view about;    // one line

  std::string_view ptx() const;
  std::string_view task() const;    // task.toml
  std::string_view kernel() const;  // kernel.py
};

std::span<const Scaffold> scaffolds();

// The one of that kind for that target; null with a finding that names those there are.
const Scaffold* find_scaffold(std::string_view kind, std::string_view target, Findings& findings);

// Writes the task with the skeleton in it (KIND.ptx) into a folder, made when absent. Files that are there already
// stay, and are a finding. The paths that were written.
std::vector<std::filesystem::path> write_scaffold(const Scaffold& scaffold, const std::filesystem::path& folder,
                                                  Findings& findings);

}  // namespace plumb::session
