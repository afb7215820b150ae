// SPDX-License-Identifier: Apache-2.0
// An observer that hears of every instruction, too: what a profile counts.
#pragma once

#include <cstdint>

#include "machine/observer.h"

namespace plumb::machine {

class StepObserver : public Observer {
 public:
  // A warp has come to an instruction with some lanes; `who` are those that its guard let through, perhaps none. It is
  // told after the events of the instruction itself. `macs`: what it asked of the tensor cores. Lanes that had to wait
  // for others of their warp come to the instruction again with them.
  virtual void stepped(std::uint32_t instr, WarpMask who, std::uint64_t macs) = 0;
};

}  // namespace plumb::machine
