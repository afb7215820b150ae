// SPDX-License-Identifier: Apache-2.0
// Meanings of the chapter "logic and shift", and prmt: bit-wise on concrete lanes and on predicates; abstract bytes go
// to the domain, which moves whole bytes and knows the sign-bit idioms.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(And)
PLUMB_MEANING(Or)
PLUMB_MEANING(Xor)
PLUMB_MEANING(Not)
PLUMB_MEANING(Cnot)
PLUMB_MEANING(Lop3)
PLUMB_MEANING(Shf)
PLUMB_MEANING(Shl)
PLUMB_MEANING(Shr)
PLUMB_MEANING(Prmt)

}  // namespace plumb::machine
