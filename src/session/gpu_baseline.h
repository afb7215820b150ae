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
  // Of the product, evenly drawn. Then what differs from the best in one value is tried, as long as that helps.
  unsigned most_configs = 64;
  double rep_ms = 60, warmup_ms = 15;
  double seconds = 300;
};

// What one form of the computation has to show: the task's own source, or another kernel (task/baseline_forms.h).
struct KeptBaseline {
  std::string form;  // empty: the task's own source
  bool is_cached = false;
  std::filesystem::path ptx;
  nlohmann::json record =
      nlohmann::json::object();  // what was tried, the winner, versions, card; without "ms" where no configuration ran

  double ms() const;  // beside the other forms, where they were timed together; infinite where none ran
};

struct BaselineOutcome {
  bool has_gpu = true, is_bad_input = false;
  Findings findings;
  std::vector<KeptBaseline> kept;  // the task's own source first

  const KeptBaseline* quickest() const;
};

// Where `library.py` lies beside the task, what it computes is timed beside the source's winner, in the same process,
// and compared with it: `library` of the record (docs/task.md). A library that cannot be timed is no failure; the
// record says why.
//
// Every form is kept under OUT/TASK/SHAPE-HASH.ptx or OUT/TASK/SHAPE-FORM-HASH.ptx with a record beside it; the hash
// covers the source, the shape, the space. Forms that compute something else than the source are not timed.
BaselineOutcome make_baseline(const task::Task& task, const task::Shape& shape, const BaselineOptions& options);

}  // namespace plumb::session
