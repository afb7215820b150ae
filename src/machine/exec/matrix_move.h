// SPDX-License-Identifier: Apache-2.0
// Meanings of the matrix moves: 8x8 tiles of 16-bit elements between shared memory and the lanes' registers.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Ldmatrix)
PLUMB_MEANING(Stmatrix)
PLUMB_MEANING(Movmatrix)

}  // namespace plumb::machine
