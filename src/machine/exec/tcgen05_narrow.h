// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma on elements of 4 and 6 bits, and with block scales: term by term.
#pragma once

#include "machine/exec/tcgen05_product.h"

namespace plumb::machine {

// As `multiply`.
template <class D>
void multiply_narrow(Cluster<D>& cluster, const Tcgen05Product& product, std::uint32_t pc);

}  // namespace plumb::machine
