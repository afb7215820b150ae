// SPDX-License-Identifier: Apache-2.0
// Meanings of what warps do with tensor memory: moves between it and registers, and waits for them.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Tcgen05Ld)
PLUMB_MEANING(Tcgen05LdRed)
PLUMB_MEANING(Tcgen05St)
PLUMB_MEANING(Tcgen05Wait)

}  // namespace plumb::machine
