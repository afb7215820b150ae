// SPDX-License-Identifier: Apache-2.0
// Is the candidate the same function as the task's Triton source, or as another PTX kernel, safely? Both are run over
// abstract data from equal memories at every shape, every CTA under the race checker, and all that they leave is
// compared. `Proved` is a promise (docs/trust.md says what it leans on); whatever is not modelled exactly is `Unknown`
// with its place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "ptx/module.h"
#include "task/launch.h"
#include "task/task.h"
#include "triton/kernel.h"

namespace plumb::prove {

// `Sampled`: all that the CTAs run did is as it should be, and the caller asked for some of them only. No proof.
enum class Verdict : std::uint8_t { Proved, Different, Unknown, Sampled };
enum class Contract : std::uint8_t { Kept, Weaker };
std::string_view name(Verdict verdict);    // "proved", "different", "unknown", "sampled"
std::string_view name(Contract contract);  // "kept", "weaker"

struct Candidate {
  ptx::CheckedModule module;  // its source is the whole file, launch header included
  task::LaunchHeader launch;
  std::string launch_sha256;  // of the text that the launch header was read from
};
// Reads a PTX file and its launch header. Every defect of either is a finding.
std::optional<Candidate> load_candidate(const std::filesystem::path& ptx, Findings& findings);
// The same from a text; `path` names it in findings and is where Triton's launch JSON is looked for.
std::optional<Candidate> make_candidate(SourcePtr ptx, const std::filesystem::path& path, Findings& findings);

struct Progress {
  std::string_view shape;
  std::string_view phase;  // "spec", "candidate", "compare", "witness"
  std::uint64_t done = 0, all = 0;
};

struct Options {
  std::uint64_t seed = 0;  // 0: drawn from the system's entropy; always reported
  unsigned workers = 0;    // 0: all cores
  std::uint64_t step_budget = 1ULL << 40;
  std::uint64_t memory = 0;         // bytes of abstract values at most; 0: three quarters of the machine's
  double log2_failure_limit = -40;  // no `proved` above it
  unsigned metadata_draws = 3;      // per shape, where the task has metadata
  double witness_seconds = 10;      // how long a difference is explained at most
  std::vector<task::Shape> shapes;  // empty: the task's own prove shapes
  triton::PythonConfig python;
  std::uint64_t sample = 0;               // clusters of CTAs of the candidate that are run, drawn; 0: all
  std::filesystem::path checkpoint;       // where a proof that may be killed keeps how far it is; empty: nowhere
  std::shared_ptr<const Candidate> spec;  // proved against this PTX kernel; null: against the task's Triton source
  std::function<bool(const Progress&)> progress;  // called from worker threads; false cancels
};

struct ShapeOutcome {
  std::string label;  // the shape, and the metadata draw where there is one
  Verdict verdict = Verdict::Unknown;
  double seconds = 0;
  std::uint64_t ctas = 0, all_ctas = 0, programs = 0;  // run, of the grid, of the spec
  std::uint64_t elements = 0;                          // compared
  double log2_failure = 0;
};

struct Outcome {
  Verdict verdict = Verdict::Unknown;
  Contract contract = Contract::Kept;
  Findings findings;                     // why not proved, why weaker, remarks
  std::vector<std::string> assumptions;  // what a `proved` leans on
  double log2_failure = 0;               // bound on the probability of a false `proved`; 0: no bound
  std::vector<ShapeOutcome> shapes;
  std::vector<std::uint32_t> primes;
  std::uint64_t seed = 0;
  std::uint64_t sample = 0;  // as in Options
  std::uint64_t instrs_executed = 0, instrs_total = 0;
  std::vector<std::uint32_t> lines_not_executed;
  bool has_spec = true;       // false: `check`, which compares nothing
  bool is_bad_input = false;  // the task or the candidate could not be used at all: nothing was judged
  double seconds = 0;

  bool holds() const { return verdict == Verdict::Proved && contract == Contract::Kept; }
};

Outcome prove(const task::Task& task, const Candidate& candidate, const Options& options);

// The same run of the candidate without a spec: races, barriers, bounds, waits. `Proved` reads "safe at these shapes".
Outcome check(const task::Task& task, const Candidate& candidate, const Options& options);

nlohmann::json to_json(const Outcome& outcome);
std::string to_text(const Outcome& outcome, bool colour);

// A certificate names what was proved by content hash, and how to repeat it.
nlohmann::json certificate(const task::Task& task, const Candidate& candidate, const Outcome& outcome,
                           const Options& options);
// Compares the hashes with what the files hold now, proves again with a fresh seed, and compares the verdicts. What
// does not agree is a finding of the outcome, and the verdict is then `Unknown`.
Outcome recheck(const nlohmann::json& certificate, const task::Task& task, const Candidate& candidate,
                const Options& options);

}  // namespace plumb::prove
