// SPDX-License-Identifier: Apache-2.0
// Meanings of the operations on mbarriers.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(MbarrierInit)
PLUMB_MEANING(MbarrierInval)
PLUMB_MEANING(MbarrierExpectTx)
PLUMB_MEANING(MbarrierCompleteTx)
PLUMB_MEANING(MbarrierArrive)
PLUMB_MEANING(MbarrierArriveDrop)
PLUMB_MEANING(MbarrierTestWait)
PLUMB_MEANING(MbarrierTryWait)
PLUMB_MEANING(MbarrierPendingCount)
PLUMB_MEANING(CpAsyncMbarrierArrive)

}  // namespace plumb::machine
