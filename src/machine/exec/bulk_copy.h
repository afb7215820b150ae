// SPDX-License-Identifier: Apache-2.0
// Meanings of bulk asynchronous copies and reductions, their groups, and asynchronous stores to other CTAs.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(CpAsyncBulk)
PLUMB_MEANING(CpReduceAsyncBulk)
PLUMB_MEANING(CpAsyncBulkPrefetch)
PLUMB_MEANING(CpAsyncBulkCommitGroup)
PLUMB_MEANING(CpAsyncBulkWaitGroup)
PLUMB_MEANING(StAsync)
PLUMB_MEANING(StBulk)
PLUMB_MEANING(RedAsync)

}  // namespace plumb::machine
