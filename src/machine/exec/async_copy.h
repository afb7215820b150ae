// SPDX-License-Identifier: Apache-2.0
// Meanings of cp.async: copies from global to shared memory that a thread starts, groups and waits for. The bytes move
// when the thread waits; copies that nobody waits for never arrive.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(CpAsync)
PLUMB_MEANING(CpAsyncCommitGroup)
PLUMB_MEANING(CpAsyncWaitGroup)
PLUMB_MEANING(CpAsyncWaitAll)

}  // namespace plumb::machine
