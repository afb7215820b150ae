// SPDX-License-Identifier: Apache-2.0
// Meanings of control flow: branches, calls, exits, and the instructions that only pass time.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Bra)
PLUMB_MEANING(BrxIdx)
PLUMB_MEANING(Call)
PLUMB_MEANING(Ret)
PLUMB_MEANING(Exit)
PLUMB_MEANING(Trap)
PLUMB_MEANING(Brkpt)
PLUMB_MEANING(Nanosleep)
PLUMB_MEANING(Pmevent)

// The return at the end of a function's body; Op::function says whose.
template <class D>
void step_return(Warp<D>& warp, const Op<D>& op);

}  // namespace plumb::machine
