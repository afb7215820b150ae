// SPDX-License-Identifier: Apache-2.0
// Whether the prover finds planted faults: every mutant of a candidate that holds is judged like a candidate. One that
// is proved as well does the same as far as plumb knows, so that it is run beside the candidate in IEEE arithmetic, in
// several orders of warps and asynchronous effects: to be wrong there would be a false proof.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/finding.h"
#include "mutate/mutate.h"
#include "prove/prove.h"
#include "task/task.h"

namespace plumb::session {

struct MutationOptions {
  mutate::Options draw;
  std::vector<task::Shape> shapes;  // empty: all of the task's prove shapes that the candidate claims
  double seconds = 60;              // for each mutant
  unsigned schedules = 4;           // orders that a survivor is run in; 0: it is not run
  unsigned workers = 0;
  std::uint64_t memory = std::uint64_t{2} << 30;  // bytes of abstract values of one mutant's proof
  triton::PythonConfig python;
  std::function<bool(std::size_t done, std::size_t all)> progress;  // false stops
};

struct JudgedMutant {
  enum class End : std::uint8_t {
    Caught,      // a finding says what is wrong with it
    Unknown,     // neither proved nor refuted: not taken, but not understood
    Unfinished,  // the time was up
    Survived,    // proved, contract kept, and right in every run
    Broken       // proved, contract kept, and wrong in a run: a fault of plumb
  };
  mutate::Mutant mutant;
  End end = End::Unfinished;
  bool has_same_bits = false;  // of a survivor: its runs left the candidate's own bits
  std::string code;            // of the first error
  std::string message;
  std::uint32_t found_line = 0;  // 0: no place in the PTX
  double seconds = 0;
};
std::string_view name(JudgedMutant::End end);

struct MutationOutcome {
  bool is_bad_input = false;  // the candidate does not hold by itself
  bool was_stopped = false;
  Findings findings;
  std::vector<std::string> shapes;
  std::size_t lines_skipped = 0;  // not executed at these shapes: nothing is planted there
  std::uint64_t seed = 0;
  unsigned schedules = 0;
  std::vector<JudgedMutant> mutants;
  std::size_t count(JudgedMutant::End end) const;
};

MutationOutcome judge_mutants(const task::Task& task, const prove::Candidate& candidate,
                              const std::filesystem::path& path, const MutationOptions& options);
// A mutant as a line of text: "12:5 barrier-drop: `bar.sync 0;` -> ``".
std::string describe(const mutate::Mutant& mutant, const Source& source);
nlohmann::json to_json(const mutate::Mutant& mutant, const Source& source);
nlohmann::json to_json(const MutationOutcome& outcome, const Source& source);
std::string to_text(const MutationOutcome& outcome, const Source& source, bool colour);

}  // namespace plumb::session
