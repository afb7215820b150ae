// SPDX-License-Identifier: Apache-2.0
// Both sides on concrete numbers, in IEEE arithmetic: the witness of a difference, and the check that equality over the
// reals survives rounding and range on ordinary and extreme inputs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "prove/setup.h"
#include "prove/spec.h"

namespace plumb::prove {

struct NumericDifference {
  std::string buffer;
  std::uint64_t element = 0;
  double spec = 0, candidate = 0;
  bool is_range = false;  // an infinity or NaN against a number
};

struct NumericResult {
  std::optional<Stop> spec_stop, candidate_stop;
  std::vector<NumericDifference> differences;  // beyond rounding, the first few
};

// `setup.data` is Integers or Normal. Differences smaller than the output format's rounding and the task's tolerance
// allow are none, nor are those that the source's own roundings to narrow formats leave open: two legal orders of one
// sum may round to two neighbours, and what follows carries that on; so are those of numbers of a tensor of which the
// source drives other elements out of the format's range, and an infinity against one of the last finite numbers, where
// that is one in many.
NumericResult run_numeric(const Setup& setup, const task::Task& task, const Candidate& candidate, const Spec& spec,
                          unsigned workers, std::uint64_t step_budget);

}  // namespace plumb::prove
