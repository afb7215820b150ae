// SPDX-License-Identifier: Apache-2.0
// Meanings of atomics: one lane after the other, lowest lane first; across CTAs under a lock by address.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Atom)
PLUMB_MEANING(Red)

}  // namespace plumb::machine
