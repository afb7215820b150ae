// SPDX-License-Identifier: Apache-2.0
// Meanings of `mov`: copies, packing and unpacking. All of them permute bytes, tagged or not.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Mov)

}  // namespace plumb::machine
