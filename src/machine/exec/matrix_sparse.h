// SPDX-License-Identifier: Apache-2.0
// Meaning of `mma.sp`: A holds half of its elements, metadata says which (exec/sparse.h).
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(MmaSp)

}  // namespace plumb::machine
