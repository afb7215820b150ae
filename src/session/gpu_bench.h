// SPDX-License-Identifier: Apache-2.0
// Times a candidate beside a baseline in one process, interleaved, and beside the baseline again: without a baseline,
// beside itself. What the timed launches left is judged as well (docs/gpu.md).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "gpu/process.h"
#include "gpu/statistics.h"
#include "session/gpu_compare.h"

namespace plumb::session {

struct BenchOptions {
  std::vector<task::Shape> shapes;  // empty: the task's bench shapes
  std::uint64_t seed = 0;           // 0: from the system's entropy
  unsigned workers = 0;
  double seconds = 3;  // of measuring, per shape and cache state
  double reference_seconds = 10;
  triton::PythonConfig python;
  std::function<bool(const prove::Progress&)> progress;
};

struct Timing {
  gpu::Interval candidate_ns, baseline_ns;  // one launch
  gpu::Interval speedup;                    // baseline / candidate; above 1 is faster
  gpu::Interval self;                       // the baseline against itself
  double quickest_ns = 0, slowest_ns = 0;   // of the candidate's rounds: 5% and 95%
  unsigned rounds = 0;
  unsigned least_mhz = 0, most_mhz = 0;
  std::string slowdown;  // throttle reasons seen
};

struct BenchShape {
  std::string label;
  bool is_judged = false, is_cold = false;  // is_cold: the rotating sets are larger than the cache
  Timing cold, warm;
  double bytes = 0, flops = 0;  // flops 0: not known
  double gigabytes_per_second = 0, teraflops_per_second = 0;
  double bandwidth_share = 0, compute_share = 0;  // of the measured copy, of the card's known rate
  double empty_launch_ns = 0, copy_bytes_per_second = 0;
  unsigned sets = 0, launches_per_sample = 0;
  // A vendor's library that was timed beside the baseline when that was made; its name is empty where none was.
  std::string library;
  double library_ns = 0;
  gpu::Interval library_speedup;  // of the candidate over it: through the baseline
  std::string verdict;            // "faster", "slower", "no measurable difference", or why there is none
  nlohmann::json raw;             // all samples, in ns
};

struct BenchOutcome {
  bool is_bad_input = false, has_gpu = true, has_baseline = false;
  Findings findings, remarks;
  std::vector<BenchShape> shapes;
  nlohmann::json card = nlohmann::json::object();
  std::string candidate_sha256, baseline_sha256;
  std::uint64_t seed = 0;
  double seconds = 0;
  bool holds() const { return has_gpu && !is_bad_input && !findings.has_error() && !shapes.empty(); }
};

BenchOutcome bench_on_gpu(const task::Task& task, const prove::Candidate& candidate, const prove::Candidate* baseline,
                          gpu::WorkerProcess& worker, const BenchOptions& options);

// Operations that a launch must do at least: what the task says (`[work] operations`), else 2 M N K where the source is
// one product of two matrices; 0 where that cannot be told.
double operations_of(const task::Task& task, const GpuShape& shape, std::string_view kernel_source);
// Dense matrix operations per second for the inputs' narrowest float type, as measured on a card of that name: an upper
// bound, for wider inputs may be scales and biases. 0: not known.
double known_rate(std::string_view card, const GpuShape& shape);

nlohmann::json to_json(const BenchOutcome& outcome);
std::string to_text(const BenchOutcome& outcome, bool colour);

}  // namespace plumb::session
