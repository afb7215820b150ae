// SPDX-License-Identifier: Apache-2.0
// Meanings of the chapter "extended-precision integer arithmetic": sums and products that set or take the thread's
// carry flag, which subtraction uses as a borrow.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(AddCarry)
PLUMB_MEANING(SubCarry)
PLUMB_MEANING(MadCarry)

}  // namespace plumb::machine
