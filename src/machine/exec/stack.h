// SPDX-License-Identifier: Apache-2.0
// Meanings of the stack instructions: local memory that a thread takes while it runs.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Stacksave)
PLUMB_MEANING(Stackrestore)
PLUMB_MEANING(Alloca)

}  // namespace plumb::machine
