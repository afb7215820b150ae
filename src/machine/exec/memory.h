// SPDX-License-Identifier: Apache-2.0
// Meanings of loads, stores and address conversions. Bytes keep their tags; what is read from nowhere, misaligned or at
// an address that was never written is a finding.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(Ld)
PLUMB_MEANING(LdNc)
PLUMB_MEANING(Ldu)
PLUMB_MEANING(St)
PLUMB_MEANING(Prefetch)
PLUMB_MEANING(Applypriority)
PLUMB_MEANING(Discard)
PLUMB_MEANING(Isspacep)
PLUMB_MEANING(Cvta)
PLUMB_MEANING(CreatePolicyFractional)
PLUMB_MEANING(CreatePolicyRange)
PLUMB_MEANING(CreatePolicyCvt)

// How a memory instruction orders, from its words; shared with the atomics.
Order order_of(const ptx::Instr& instr);
// The space that an instruction names; `none` when it takes generic addresses.
ptx::Space space_of(const ptx::Instr& instr);

}  // namespace plumb::machine
