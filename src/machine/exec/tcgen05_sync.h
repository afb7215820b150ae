// SPDX-License-Identifier: Apache-2.0
// Meanings of what orders operations on tensor memory: commits to mbarriers, and fences.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Tcgen05Commit)
PLUMB_MEANING(Tcgen05Fence)

}  // namespace plumb::machine
