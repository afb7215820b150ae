// SPDX-License-Identifier: Apache-2.0
// The matrix product of tcgen05: one step over the whole of K that keeps 25 bits below the largest exponent for
// operands of every format, 8-bit floats too, which wgmma cuts shorter.
#pragma once

#include "domain/domain.h"
#include "domain/ieee/ieee.h"

namespace plumb::domain::ieee {

// As Ieee::dot; the shape's kind is not asked for.
void fused_dot(const DotShape& shape, const Ieee::Real* a, const Ieee::Real* b, const Ieee::Real* c, Ieee::Real* out);

}  // namespace plumb::domain::ieee
