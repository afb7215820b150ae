// SPDX-License-Identifier: Apache-2.0
// How a run ended before its end, on either side of a proof.
#pragma once

#include <cstdint>

#include "base/finding.h"

namespace plumb {

struct Stop {
  enum class Kind : std::uint8_t {
    Defect,      // the program did something wrong (out of bounds, deadlock, trap, ...)
    Unmodelled,  // plumb has no exact meaning for what came next: the answer is `unknown`
    Budget,      // a step or time limit of the run's options was reached
    Cancelled,
  };
  Kind kind = Kind::Defect;
  Finding finding;
};

}  // namespace plumb
