// SPDX-License-Identifier: Apache-2.0
// What operands of tcgen05 instructions have in common: addresses of tensor memory, and the pair of CTAs that
// cta_group::2 works on.
#pragma once

#include <optional>

#include "machine/cluster.h"
#include "machine/exec/operands.h"
#include "machine/meaning.h"
#include "machine/tensor_memory.h"

namespace plumb::machine {

// 1 or 2: of `.cta_group::1` and `.cta_group::2`.
inline std::uint32_t cta_group(const ptx::Instr& instr) { return instr.has(ptx::Mod::cta_group_2) ? 2 : 1; }

// The rank of the other CTA of this one's pair (ranks 2i and 2i + 1); empty after a finding: there is none, or it has
// exited.
template <class D>
std::optional<std::uint32_t> peer_rank(WarpRun<D>& w);

// The bits of a lane that name a place in tensor memory: a register and what is added to it; empty after a finding.
template <class D>
std::optional<std::uint32_t> tensor_address(WarpRun<D>& w, Slot base, std::uint64_t offset, unsigned lane);

// Whether the cells lie in allocated columns of their CTA; false after a finding. `verb`: what the thread does to them,
// "reads A from".
template <class D>
bool check_cells(WarpRun<D>& w, unsigned lane, const TensorUse& use, const char* verb);

}  // namespace plumb::machine
