// SPDX-License-Identifier: Apache-2.0
// Meanings of the chapter "integer arithmetic": concrete lanes, modulo two to the width; in domains with tags, sums
// of abstract bytes go to the domain. Division by zero gives all ones, as measured on sm_90.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(AddInt)
PLUMB_MEANING(SubInt)
PLUMB_MEANING(MulInt)
PLUMB_MEANING(MadInt)
PLUMB_MEANING(Mul24)
PLUMB_MEANING(Mad24)
PLUMB_MEANING(Sad)
PLUMB_MEANING(DivInt)
PLUMB_MEANING(RemInt)
PLUMB_MEANING(AbsInt)
PLUMB_MEANING(NegInt)
PLUMB_MEANING(MinInt)
PLUMB_MEANING(MaxInt)

}  // namespace plumb::machine
