// SPDX-License-Identifier: Apache-2.0
// What a candidate is proved against at one shape: the task's Triton source, or another PTX kernel with a launch of its
// own. Neither shares more with the candidate than the arguments.
#pragma once

#include <string_view>

#include "prove/prove.h"
#include "prove/setup.h"
#include "task/launch.h"
#include "task/task.h"
#include "triton/kernel.h"

namespace plumb::prove {

struct Spec {
  const triton::Kernel* kernel = nullptr;  // one of the two; both null: there is nothing to compare with
  const Candidate* ptx = nullptr;
  task::Bound bound;         // of `ptx`: its constexprs may be others
  task::BoundLaunch launch;  // of `ptx`

  bool is_there() const { return kernel != nullptr || ptx != nullptr; }
  // What messages call it.
  std::string_view name() const { return ptx != nullptr ? "the reference PTX" : "the source"; }

  // Equal memory, at the same addresses; a workspace is each side's own.
  Setup setup(const Setup& candidates) const {
    Setup own = candidates;
    own.has_workspace = ptx != nullptr;
    if (ptx != nullptr) {
      own.bound = bound;
      own.launch = launch;
    }
    return own;
  }
};

}  // namespace plumb::prove
