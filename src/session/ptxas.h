// SPDX-License-Identifier: Apache-2.0
// What ptxas says about a PTX file: its errors and warnings as findings at their lines, and what each function costs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "session/process.h"

namespace plumb::session {

struct PtxasFunction {
  std::string name;
  unsigned registers = 0, barriers = 0;
  unsigned stack_bytes = 0, spill_stores = 0, spill_loads = 0;  // of a thread
  unsigned shared_bytes = 0;                                    // static
};

struct PtxasReport {
  bool has_run = false, accepts = false;
  std::vector<PtxasFunction> functions;
  Findings findings;
};

// Assembles a file for a target with the words of `options` besides, and keeps nothing of it.
ProcessResult run_ptxas(const std::filesystem::path& ptxas, const std::filesystem::path& file,
                        const std::string& target, std::vector<std::string> options = {});
// Of `ptxas -v` for the text: `accepts` is its exit status.
PtxasReport read_ptxas(std::string_view output, bool accepts, const SourcePtr& source);
PtxasReport ask_ptxas(const std::filesystem::path& ptxas, const std::filesystem::path& file, const std::string& target,
                      const SourcePtr& source);

}  // namespace plumb::session
