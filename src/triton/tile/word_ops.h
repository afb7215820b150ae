// SPDX-License-Identifier: Apache-2.0
// Operations between integers of which some are data: words of the domain in place of known bits.
#pragma once

#include "triton/tile/arith.h"

namespace plumb::triton {

// As `int_operation` and `compare`, where an operand of the pair is integer data.
template <class D>
BlockPtr<D> word_operation(Context<D>& context, IntOp op, const Pair<D>& pair);
template <class D>
BlockPtr<D> word_compare(Context<D>& context, CompareOp op, const Pair<D>& pair);

}  // namespace plumb::triton
