// SPDX-License-Identifier: Apache-2.0
// Meanings of the integer instructions that count, find and move bits, and of the dot products of packed integers.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Popc)
PLUMB_MEANING(Clz)
PLUMB_MEANING(Bfind)
PLUMB_MEANING(Fns)
PLUMB_MEANING(Brev)
PLUMB_MEANING(Bfe)
PLUMB_MEANING(Bfi)
PLUMB_MEANING(Szext)
PLUMB_MEANING(Bmsk)
PLUMB_MEANING(Dp4a)
PLUMB_MEANING(Dp2a)

}  // namespace plumb::machine
