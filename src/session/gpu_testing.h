// SPDX-License-Identifier: Apache-2.0
// Runs a candidate on the GPU and holds what it leaves against the Triton source: at every shape, over several
// distributions, between guard zones, over poisoned outputs, again and again (docs/gpu.md).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/finding.h"
#include "gpu/process.h"
#include "session/gpu_compare.h"

namespace plumb::session {

struct TestOptions {
  std::vector<task::Shape> shapes;  // empty: the task's test and prove shapes, and hidden ones
  unsigned hidden = 3;              // shapes drawn within the ranges of the task's
  std::uint64_t seed = 0;           // 0: from the system's entropy
  unsigned workers = 0;
  double launch_seconds = 5;
  double reference_seconds = 20;  // per shape
  unsigned repeats = 6;
  bool is_discreet = false;  // test shapes and hidden ones are not named
  triton::PythonConfig python;
  std::function<bool(const prove::Progress&)> progress;
};

struct TestShape {
  std::string label;
  bool is_hidden = false;
  std::uint64_t launches = 0, elements = 0;  // elements compared, all families together
  std::uint64_t programs = 0, all_programs = 0;
  double worst_part = 0, largest_ulps = 0;
  double seconds = 0;
  std::vector<Judgement> worst;  // per output, of the family that came nearest to its tolerance
};

struct TestOutcome {
  bool is_bad_input = false, has_gpu = true;
  Findings findings;  // errors: rejected
  Findings remarks;   // shapes that were skipped, distributions without a reference
  std::vector<TestShape> shapes;
  nlohmann::json card = nlohmann::json::object(), facts = nlohmann::json::object();
  std::uint64_t seed = 0;
  double seconds = 0;
  bool holds() const { return has_gpu && !is_bad_input && !findings.has_error() && !shapes.empty(); }
};

TestOutcome test_on_gpu(const task::Task& task, const prove::Candidate& candidate, gpu::WorkerProcess& worker,
                        const TestOptions& options);

// Shapes between the smallest and largest sizes of the task's prove and test shapes, which keep every equality and
// order among sizes that all of those have.
std::vector<task::Shape> draw_hidden_shapes(const task::Task& task, unsigned count, std::uint64_t seed);
// Clocks, timers, SM numbers, device-runtime calls.
void find_forbidden(const prove::Candidate& candidate, Findings& findings);
// A failed answer of a worker as a finding; `context` says where it happened.
Finding worker_finding(const nlohmann::json& answer, const std::string& context);

// What a test and a bench begin with: the source, a candidate that declares nothing forbidden, a card that answers.
// Null when `out`, the outcome of either, says what is missing.
template <class Outcome>
std::optional<triton::Kernel> begin_on_gpu(const task::Task& task, const prove::Candidate& candidate,
                                           const triton::PythonConfig& python, gpu::WorkerProcess& worker,
                                           Outcome& out) {
  constexpr double kFactsSeconds = 120;
  const SourcePtr source = read_source(task.kernel_file, out.findings);
  std::optional<triton::Kernel> kernel;
  if (source) kernel = triton::Kernel::load(source, task.function, python, out.findings);
  out.is_bad_input = !kernel;
  if (!kernel) return std::nullopt;
  find_forbidden(candidate, out.findings);
  if (out.findings.has_error()) return std::nullopt;
  const nlohmann::json facts = worker.ask({{"op", "facts"}}, kFactsSeconds);
  if (facts.value("status", "") != "done") {
    out.has_gpu = facts.value("status", "") != "none";
    out.findings.add(worker_finding(facts, "before the first launch"));
    return std::nullopt;
  }
  out.card = facts["card"];
  return kernel;
}

nlohmann::json to_json(const TestOutcome& outcome);
std::string to_text(const TestOutcome& outcome, bool colour);

}  // namespace plumb::session
