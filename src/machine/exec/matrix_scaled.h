// SPDX-License-Identifier: Apache-2.0
// Meanings of the products of narrow formats on sm_120: `mma` with `.kind::f8f6f4`, and with block scales.
#pragma once

#include "machine/meaning.h"

namespace plumb::machine {

PLUMB_MEANING(MmaBlockScale)

// Of `mma.sync...kind::f8f6f4`, whose row of the form table is the plain mma's.
template <class D>
StepFn<D> select_narrow_mma(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op);

}  // namespace plumb::machine
