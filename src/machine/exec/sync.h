// SPDX-License-Identifier: Apache-2.0
// Meanings of barriers and fences.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(BarSync)
PLUMB_MEANING(BarArrive)
PLUMB_MEANING(BarRed)
PLUMB_MEANING(BarWarpSync)
PLUMB_MEANING(Membar)
PLUMB_MEANING(Fence)
PLUMB_MEANING(FenceProxy)

}  // namespace plumb::machine
