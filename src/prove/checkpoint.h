// SPDX-License-Identifier: Apache-2.0
// What a proof knows between two of its jobs (a shape at one placement and draw), kept in a file: a proof that was
// killed goes on behind the last job that it finished, from the same seed, and ends with the same certificate. The file
// is of one proof and of one build of plumb; of any other it is refused. Like a certificate it is believed, not
// checked: `--recheck` proves anew.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/source.h"
#include "prove/prove.h"

namespace plumb::prove {

// Of what is proved and what against: content hashes by name (certificate.cpp).
nlohmann::json content_hashes(const task::Task& task, const Candidate& candidate, const Options& options);

struct ProofState {
  Outcome outcome;
  std::uint64_t jobs = 0;          // done
  std::vector<bool> executed;      // by instruction of the candidate
  std::set<std::string> reported;  // see Prover::add_once
  unsigned numeric_runs = 0;
  unsigned first_mode = 0;  // see Prover::attempt
  std::string conjecture;   // of the shape with the weakest bound
  double conjecture_log2 = 0;
};

class Checkpoint {
 public:
  // `sources`: all texts that a finding may point into.
  Checkpoint(const task::Task& task, const Candidate& candidate, const Options& options,
             std::vector<SourcePtr> sources);

  // Into `state`, where there is a file. False: there is one, and it is not of this proof; `findings` say why.
  bool load(ProofState& state, Findings& findings) const;
  // A state that cannot be written is done again after a kill.
  void save(const ProofState& state) const;

 private:
  const Options& options_;
  std::vector<SourcePtr> sources_;
  nlohmann::json subject_;  // whatever a job's answer depends on, but for the seed
};

}  // namespace plumb::prove
