// SPDX-License-Identifier: Apache-2.0
// The meaning of copies from shared to tensor memory.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Tcgen05Cp)

}  // namespace plumb::machine
