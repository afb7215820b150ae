// SPDX-License-Identifier: Apache-2.0
// Meanings of what the CTAs of a cluster do together, and of dependent launches and register reallocation.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Mapa)
PLUMB_MEANING(Getctarank)
PLUMB_MEANING(BarrierClusterArrive)
PLUMB_MEANING(BarrierClusterWait)
PLUMB_MEANING(GriddepcontrolLaunch)
PLUMB_MEANING(GriddepcontrolWait)
PLUMB_MEANING(Setmaxnreg)

}  // namespace plumb::machine
