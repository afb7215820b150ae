// SPDX-License-Identifier: Apache-2.0
// From a form to its meaning.
#pragma once

#include <string_view>

#include "machine/meaning.h"

namespace plumb::machine {

// The step function for an instruction; null when it has none, and then `ctx.unmodelled` was told why.
template <class D>
StepFn<D> select_step(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op);

// Why the machine executes no instruction of a form; empty when it executes some.
std::string_view unmodelled_reason(ptx::Form form);

}  // namespace plumb::machine
