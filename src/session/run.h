// SPDX-License-Identifier: Apache-2.0
// Runs a candidate once in IEEE arithmetic on given or drawn inputs, and beside it, where asked, the task's Triton
// source on the same inputs; or that source alone. It judges nothing: it shows numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "prove/prove.h"
#include "session/npy.h"
#include "session/run_profile.h"
#include "task/task.h"

namespace plumb::gpu {
class WorkerProcess;
}

namespace plumb::session {

struct RunOptions {
  std::optional<task::Shape> shape;     // absent: the first prove shape that the candidate claims
  std::map<std::string, Array> inputs;  // by argument; the others are drawn (normal, or the task's init)
  std::uint64_t seed = 1;
  unsigned workers = 0;
  std::uint64_t step_budget = 1ULL << 40;
  std::optional<std::uint64_t> schedule;  // as machine::Options has it
  bool has_spec = false;                  // also evaluate the Triton source, and compare
  bool keeps_inputs = false;
  bool has_profile = false;  // counts what the candidate does
  bool has_lines = false;    // also line by line
  triton::PythonConfig python;
  std::function<bool(const prove::Progress&)> progress;
};

struct Comparison {
  double largest_absolute = 0;  // over elements where both are finite
  double largest_relative = 0;  // |a - b| / max(|a|, |b|)
  std::uint64_t outside = 0;    // elements outside of the task's tolerance, NaN against a number included
  std::string first_outside;    // "out_ptr[3, 17]: 1.5, the Triton source gives 2"
};

// Of the machine's output with a card's: bit by bit.
struct CardComparison {
  std::uint64_t elements = 0, other = 0;  // `other` have other bits on the card
  std::string first_other;                // "out_ptr[3, 17]: 1.5, the card gives 2"
};

struct RunOutput {
  std::string name, type;
  Array array;
  std::optional<Comparison> comparison;
  std::optional<CardComparison> card;
};

struct RunOutcome {
  bool is_bad_input = false;
  Findings findings;  // errors: the program was stopped
  std::string shape;
  std::vector<RunOutput> outputs;
  std::vector<RunOutput> inputs;          // what `in` and `inout` tensors held before, with `keeps_inputs`
  std::map<std::string, double> scalars;  // the other arguments, integer constexprs among them
  std::uint64_t ctas = 0, warp_instrs = 0, lane_instrs = 0, mma_macs = 0;
  std::optional<RunProfile> profile;
  double seconds = 0;
  bool has_gpu = true;  // false: a card was asked for, and there is none
  bool holds() const;   // it ran to its end, what was compared lies within the tolerance, and a card gave the same bits
};

RunOutcome run(const task::Task& task, const prove::Candidate& candidate, const RunOptions& options);
// The task's Triton source alone; the counts stay 0.
RunOutcome evaluate(const task::Task& task, const RunOptions& options);
// Launches the candidate on the worker's card with what `outcome.inputs` hold, and compares the outputs of the same
// shape and inputs bit by bit (docs/machine.md says of which instructions the bits may differ). Outputs that the
// candidate does not write are left out. What keeps it from being launched is a finding of the outcome.
void compare_with_card(const task::Task& task, const prove::Candidate& candidate, const task::Shape& shape,
                       gpu::WorkerProcess& worker, RunOutcome& outcome);
// Without the arrays: per output its type, extents, sha256, first values, counts of NaN and infinities, comparison.
nlohmann::json to_json(const RunOutcome& outcome);
std::string to_text(const RunOutcome& outcome, bool colour);

}  // namespace plumb::session
