// SPDX-License-Identifier: Apache-2.0
// Moving rows of tensor memory down by one: tcgen05.shift, and what `.ashift` does to A after its product. The manual
// says "down", and of no row what it gets; one published measurement of `.ashift` on a B200 says that row r gets what
// row r + 1 of its group of 32 lanes has, and the last row keeps what it has. Both are done so here, in the tensor
// memory of the CTA or of both CTAs of a pair, and the checker remarks that they rest on it.
#pragma once

#include "machine/meaning.h"
#include "machine/tensor_memory.h"

namespace plumb::machine {

inline constexpr std::uint32_t kShiftLanes = 32;
inline constexpr std::uint32_t kShiftColumns = 8;

// Moves the rows of one group of 32 lanes, which starts at `lane`.
template <class D>
void shift_rows(TensorMemory<D>& memory, std::uint32_t lane, std::uint32_t column);

PLUMB_MEANING(Tcgen05Shift)

}  // namespace plumb::machine
