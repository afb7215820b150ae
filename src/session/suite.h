// SPDX-License-Identifier: Apache-2.0
// The suite as one table: every lowering under a folder of tasks (NAME/TARGET/*.ptx) proved, and where asked tested and
// timed on the GPU. What has not changed since the results that are handed in is not run again.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/finding.h"
#include "gpu/process.h"
#include "prove/prove.h"

namespace plumb::session {

struct SuiteOptions {
  std::filesystem::path root;               // holds tasks: NAME/task.toml
  std::vector<std::string> tasks, targets;  // only these; empty: all
  bool has_tests = false, has_benches = false;
  bool is_forced = false;                    // run everything again
  std::filesystem::path baselines;           // NAME/*.ptx as `plumb baseline` keeps them; empty: beside itself
  std::string tool_sha256;                   // of what judges: other results are not taken over
  nlohmann::json before = nlohmann::json();  // to_json of an earlier outcome, or null
  std::uint64_t seed = 0;
  unsigned workers = 0;
  triton::PythonConfig python;
  std::function<bool(const prove::Progress&)> progress;
};

struct SuiteRow {
  std::string task, target;
  std::filesystem::path ptx;
  std::string from;      // what its run began with, where the log beside it tells: "source", "scaffold", "seed"
  std::string key;       // of the task's files, the PTX, the launch facts and the tool
  nlohmann::json steps;  // "prove", "test", "bench": each step's own object; a step that was not run is absent
  std::vector<std::string> kept;  // steps taken over
  Findings findings;              // it could not be read
  bool holds() const;
};

struct SuiteOutcome {
  bool is_bad_input = false, has_gpu = true;
  Findings findings;
  std::vector<SuiteRow> rows;
  std::vector<std::string> without;  // tasks that have no lowering for the targets asked for
  bool holds() const;
};

// `told` hears of each row when it is complete.
SuiteOutcome run_suite(const SuiteOptions& options, gpu::WorkerProcess& worker,
                       const std::function<void(const SuiteRow&)>& told);

// The line of a row: verdict, contract, shapes and seconds of its proof, its test, its ratios.
std::string to_line(const SuiteRow& row);
nlohmann::json to_json(const SuiteOutcome& outcome);
// One page that needs no other file.
std::string to_html(const SuiteOutcome& outcome);

}  // namespace plumb::session
