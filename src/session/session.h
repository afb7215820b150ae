// SPDX-License-Identifier: Apache-2.0
// One run folder and what its tools stand on: the task, the target, the seed, the programs found on this machine.
// Tools reach files only through here, and only by plain names inside the folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/finding.h"
#include "prove/prove.h"
#include "task/task.h"
#include "triton/kernel.h"

namespace plumb::session {

struct Config {
  std::filesystem::path folder;    // exists
  std::optional<task::Task> task;  // absent: tools that need one say so
  std::string target;              // "sm_89"; empty: whatever the candidate says
  std::uint64_t seed = 0;          // of every proof and run, so that a replay repeats them
  unsigned workers = 0;
  std::filesystem::path ptxas;  // empty: not on this machine
  triton::PythonConfig python;
  std::function<bool(const prove::Progress&)> progress;
};

class Session {
 public:
  explicit Session(Config config) : config_(std::move(config)) {}

  const Config& config() const { return config_; }
  // Null with a finding when there is no task.
  const task::Task* task(Findings& findings) const;
  // The name that tools use when none is given: the task's, or "candidate", with .ptx.
  std::string default_file() const;

  // The path of a plain name with the given ending; anything else is a finding.
  std::optional<std::filesystem::path> path_of(std::string_view name, std::string_view ending,
                                               Findings& findings) const;
  // The text, named as the tools name it, so that findings do not show where the folder lies.
  SourcePtr read(std::string_view name, Findings& findings) const;
  bool write(std::string_view name, std::string_view text, Findings& findings) const;
  // Reads a candidate, and holds its `.target` against the session's.
  std::optional<prove::Candidate> candidate(std::string_view name, Findings& findings) const;

 private:
  Config config_;
};

// Whether code for `.target have` runs on `wanted`: the same or an earlier plain target, or the very same `a`/`f` one.
bool runs_on(const ptx::Target& have, std::string_view wanted);
// Reports a candidate that does not run on `wanted`; an empty `wanted` takes everything.
bool holds_target(const prove::Candidate& candidate, std::string_view wanted, Findings& findings);
// Reports a launch header's entry that the module lacks, and an unnamed one where there are several.
bool holds_entry(const prove::Candidate& candidate, Findings& findings);
// sha256 over the task's file and its kernel's source.
std::string task_sha256(const task::Task& task, Findings& findings);

}  // namespace plumb::session
