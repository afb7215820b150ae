// SPDX-License-Identifier: Apache-2.0
// Meanings of the video instructions: integer operations on parts of registers, and on two or four of them side by
// side.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(VideoScalar)
PLUMB_MEANING(VideoSimd)

}  // namespace plumb::machine
