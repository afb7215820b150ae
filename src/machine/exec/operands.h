// SPDX-License-Identifier: Apache-2.0
// Operands of asynchronous instructions: several addresses each, of which those in shared memory may be generic ones,
// and mbarriers.
#pragma once

#include <vector>

#include "machine/cluster.h"
#include "machine/meaning.h"

namespace plumb::machine {

template <class D>
WarpRun<D>& run_of(Warp<D>& warp) {
  return static_cast<WarpRun<D>&>(warp);
}

// Adds an address operand to an instruction's list of slots: its base and, in a constant register, its offset. Returns
// the address's width in bytes.
unsigned add_address(DecodeContext& ctx, const ptx::Operand& operand, std::vector<Slot>& slots);

// The addresses of the lanes of mask() for the operand that add_address put at `index` of the list; false after a
// finding.
template <class D>
bool listed_addresses(WarpRun<D>& w, const Op<D>& op, unsigned index, unsigned width, std::uint64_t (&out)[kLanes]);

// Makes a shared::cluster address of one that may be generic; false after a finding when it is in no shared memory.
template <class D>
bool to_shared(WarpRun<D>& w, std::uint64_t& address, unsigned lane);

// A place in the shared memory of one CTA of the cluster.
struct SharedPlace {
  std::uint32_t rank = 0, offset = 0;
};

// Checks `size` bytes at a shared::cluster (or generic) address: alignment, bounds, and that the CTA runs and that no
// mbarrier lives there. Empty after a finding.
template <class D>
std::optional<SharedPlace> shared_bytes(WarpRun<D>& w, std::uint64_t address, std::uint32_t size, unsigned alignment,
                                        unsigned lane, const char* verb);

// The same for bytes that will be written, which ends idle mbarriers there.
template <class D>
std::optional<SharedPlace> shared_target(WarpRun<D>& w, std::uint64_t address, std::uint32_t size, unsigned alignment,
                                         unsigned lane);

// The mbarrier at a shared::cluster (or generic) address; null after a finding. `is_own`: it must be this CTA's.
template <class D>
Mbarrier* mbarrier_at(WarpRun<D>& w, std::uint64_t address, bool is_own, unsigned lane, SharedPlace& place);

}  // namespace plumb::machine
