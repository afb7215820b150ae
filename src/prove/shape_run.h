// SPDX-License-Identifier: Apache-2.0
// One shape of a proof: both sides run over equal abstract memories, the candidate under the race checker, and what
// they leave compared element by element.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check/check.h"
#include "domain/field/field.h"
#include "prove/prove.h"
#include "prove/setup.h"
#include "prove/spec.h"

namespace plumb::prove {

struct Mismatch {
  const Code* code = nullptr;
  std::string buffer;
  std::uint64_t element = 0;
  std::string text;
};

// The coarsest that any element of one buffer went through.
struct BufferSignature {
  std::string buffer;
  domain::Signature spec, candidate;
};

struct ShapeResult {
  std::optional<Stop> spec_stop, candidate_stop;
  check::Report races, spec_races;   // the latter of a spec that is PTX
  std::vector<Mismatch> mismatches;  // the first few
  std::vector<BufferSignature> signatures;
  std::vector<std::string> assumptions, singularities;
  std::vector<std::uint32_t> primes;
  domain::Facts spec_facts, candidate_facts;
  domain::FailureBound bound;
  std::vector<bool> executed;
  std::uint64_t ctas = 0, all_ctas = 0, programs = 0, elements = 0;
  bool found_planted = false;  // the comparison saw a change that was made for it to see
  // The spec, run a second time, equals itself; looked at where the job asks and all is equal.
  bool spec_repeats = true;
  unsigned least_lanes = domain::kRepetitions;  // repetitions that every compared output was compared on
  bool needs_new_seed = false;                  // accidental zero divisions
  Findings findings;                            // arguments that cannot be set up

  bool is_equal() const {
    return findings.empty() && !spec_stop && !candidate_stop && mismatches.empty() && !needs_new_seed;
  }
};

// Which clusters of the candidate are run.
struct Sample {
  std::uint64_t clusters = 0;
  std::uint64_t seed = 0;
};

struct ShapeJob {
  const Candidate* candidate = nullptr;
  Spec spec;  // none: the candidate alone, under the checker
  Setup setup;
  domain::FieldOptions field;
  unsigned workers = 1;
  std::uint64_t step_budget = 0;
  std::function<bool(std::string_view phase, std::uint64_t done, std::uint64_t all)> progress;
  std::optional<Sample> sample;  // none: all
  bool watches_races = true;
  bool repeats_spec = false;
  // A difference sends the job to another try: it may be told from the first block alone.
  bool is_tentative = false;
};

// The spec's side of jobs that differ in where tensors lie and in nothing else. A Triton source that looks at no
// address (the run notices) leaves the same at every one, so that one evaluation, its values and its context serve them
// all.
class SpecRun {
 public:
  SpecRun();
  ~SpecRun();
  SpecRun(const SpecRun&) = delete;  // the context is referred to
  SpecRun& operator=(const SpecRun&) = delete;
  void give_up();  // it serves no further job

 private:
  friend ShapeResult run_shape(const ShapeJob& job, SpecRun& spec);
  struct Inner;
  std::unique_ptr<Inner> inner_;  // empty: to be run
};
ShapeResult run_shape(const ShapeJob& job, SpecRun& spec);

// One output element of both sides, for sparse probing: the shape runs without the checker. Probes of one job have one
// seed, so that their residues can be compared.
struct Probe {
  bool is_good = false;  // both sides ran and wrote the element
  bool differs = false;
  std::array<std::uint32_t, domain::kLanes> spec{}, candidate{};
};
Probe probe(const ShapeJob& job, const std::string& buffer, std::uint64_t element);

}  // namespace plumb::prove
