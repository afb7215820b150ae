// SPDX-License-Identifier: Apache-2.0
// Meanings of the allocation of tensor memory.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Tcgen05Alloc)
PLUMB_MEANING(Tcgen05Dealloc)
PLUMB_MEANING(Tcgen05RelinquishAllocPermit)

}  // namespace plumb::machine
