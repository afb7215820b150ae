// SPDX-License-Identifier: Apache-2.0
// Meanings of the warp's exchanges: lanes of a member mask meet, then give each other values or votes.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Shfl)
PLUMB_MEANING(Vote)
PLUMB_MEANING(Match)
PLUMB_MEANING(Activemask)
PLUMB_MEANING(Redux)
PLUMB_MEANING(Elect)

}  // namespace plumb::machine
