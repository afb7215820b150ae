// SPDX-License-Identifier: Apache-2.0
// Meanings of the chapter "half precision floating point instructions": f16 and bf16, alone or two side by side.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(AddHalf)
PLUMB_MEANING(SubHalf)
PLUMB_MEANING(MulHalf)
PLUMB_MEANING(FmaHalf)
PLUMB_MEANING(NegHalf)
PLUMB_MEANING(AbsHalf)
PLUMB_MEANING(MinHalf)
PLUMB_MEANING(MaxHalf)
PLUMB_MEANING(TanhHalf)
PLUMB_MEANING(Ex2Half)

}  // namespace plumb::machine
