// SPDX-License-Identifier: Apache-2.0
// Meanings of the chapters "comparison and selection". Integers compare concretely; floats go through the domain, whose
// answer may be an abstract predicate, and selecting by one is the domain's `select`.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Set)
PLUMB_MEANING(Setp)
PLUMB_MEANING(Selp)
PLUMB_MEANING(Slct)
PLUMB_MEANING(SetHalf)
PLUMB_MEANING(SetpHalf)

}  // namespace plumb::machine
