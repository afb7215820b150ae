// SPDX-License-Identifier: Apache-2.0
// Meanings of copies from shared to tensor memory, and of shifts in it.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Tcgen05Cp)
PLUMB_MEANING(Tcgen05Shift)

}  // namespace plumb::machine
