// SPDX-License-Identifier: Apache-2.0
// Meaning of `mma.sync`: the warp's fragments are gathered into row-major matrices, multiplied in one step of the
// domain's dot product (floats) or exactly (integers), and scattered back. One layout rule serves every shape.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Mma)

}  // namespace plumb::machine
