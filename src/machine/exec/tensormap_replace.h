// SPDX-License-Identifier: Apache-2.0
// Meanings of the instructions that make tensor maps on the device.
#pragma once

#include <optional>

#include "machine/meaning.h"
#include "machine/run.h"
#include "machine/tensor_map.h"

namespace plumb::machine {

PLUMB_MEANING(TensormapReplace)
PLUMB_MEANING(TensormapCpFenceproxy)

// The bytes of a tensor map at an address of a space; empty after a finding. Every byte must be concrete.
template <class D>
std::optional<TensorMapImage> load_tensor_map(WarpRun<D>& w, ptx::Space space, std::uint64_t address, unsigned lane);

}  // namespace plumb::machine
