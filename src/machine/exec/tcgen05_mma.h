// SPDX-License-Identifier: Apache-2.0
// Matrix products of tensor memory: tcgen05.mma and its forms. Each thread that executes one issues a product of its
// own, which takes effect when the tensor pipe says so.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Tcgen05Mma)
PLUMB_MEANING(Tcgen05MmaSp)
PLUMB_MEANING(Tcgen05MmaBlockScale)
PLUMB_MEANING(Tcgen05MmaSpBlockScale)
PLUMB_MEANING(Tcgen05MmaWs)
PLUMB_MEANING(Tcgen05MmaWsSp)

}  // namespace plumb::machine
