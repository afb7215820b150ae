// SPDX-License-Identifier: Apache-2.0
// What the candidate has to beat: the task's own Triton source, compiled by Triton with the best of many configurations
// at one shape, on this card. It is kept as PTX with its launch JSON, so that the same worker runs both sides.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/finding.h"
#include "task/task.h"

namespace plumb::session {

struct BaselineOptions {
  std::filesystem::path python, out;  // interpreter; folder for artifacts
  // Values to try: "num_warps", "num_stages" and constexprs by name. What is not named here has Triton's usual values,
  // or the task's own.
  std::map<std::string, std::vector<std::int64_t>> space;
  unsigned most_configs = 64;  // of the product, evenly drawn
  double rep_ms = 60, warmup_ms = 15;
  double seconds = 300;
};

struct BaselineOutcome {
  bool has_gpu = true, is_bad_input = false, is_cached = false;
  Findings findings;
  std::filesystem::path ptx;
  nlohmann::json record;  // what was tried, the winner, versions, card
};

// Where `library.py` lies beside the task, what it computes is timed beside the winner, in the same process, and
// compared with it: `library` of the record (docs/task.md). A library that cannot be timed is no failure; the record
// says why.
//
// Kept under OUT/TASK/SHAPE-HASH.{ptx,json,record.json}; the hash covers the sources, the shape, the space.
BaselineOutcome make_baseline(const task::Task& task, const task::Shape& shape, const BaselineOptions& options);

}  // namespace plumb::session
