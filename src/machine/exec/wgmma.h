// SPDX-License-Identifier: Apache-2.0
// Meanings of the warpgroup instructions: issuing a product takes its registers, waiting lets it take effect
// (machine/warpgroup.h).
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(WgmmaMmaAsync)
PLUMB_MEANING(WgmmaMmaAsyncSp)
PLUMB_MEANING(WgmmaFence)
PLUMB_MEANING(WgmmaCommitGroup)
PLUMB_MEANING(WgmmaWaitGroup)

}  // namespace plumb::machine
