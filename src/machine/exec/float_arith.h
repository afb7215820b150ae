// SPDX-License-Identifier: Apache-2.0
// Meanings of the chapter "floating point instructions" (f32, f64, f32x2): each is one function of the domain in the
// instruction's format and mode. `add`, `sub` and `mul` without a rounding word are rounded one by one, never fused.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(AddFloat)
PLUMB_MEANING(SubFloat)
PLUMB_MEANING(MulFloat)
PLUMB_MEANING(FmaFloat)
PLUMB_MEANING(MadFloat)
PLUMB_MEANING(DivFloat)
PLUMB_MEANING(AbsFloat)
PLUMB_MEANING(NegFloat)
PLUMB_MEANING(MinFloat)
PLUMB_MEANING(MaxFloat)
PLUMB_MEANING(Rcp)
PLUMB_MEANING(Sqrt)
PLUMB_MEANING(Rsqrt)
PLUMB_MEANING(Sin)
PLUMB_MEANING(Cos)
PLUMB_MEANING(Lg2)
PLUMB_MEANING(Ex2)
PLUMB_MEANING(Tanh)
PLUMB_MEANING(Testp)
PLUMB_MEANING(Copysign)

}  // namespace plumb::machine
