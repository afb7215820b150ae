// SPDX-License-Identifier: Apache-2.0
// The codes of findings that a domain's fault carries.
#pragma once

#include <span>

#include "base/finding.h"

namespace plumb::domain {

extern const Code kFieldBitView;     // bits of an abstract float used as an integer
extern const Code kFieldMixedBytes;  // bytes of several values, or a part of one, read as a float
extern const Code kFieldUndefined;   // a byte that was never written read as a number
extern const Code kFieldInfinity;    // an infinity met an abstract value whose sign is not known
extern const Code kFieldInteger;     // an integer of data went through what is not modelled on its bits
extern const Code kFieldToInteger;   // an abstract float became an integer
extern const Code kFieldPredicate;   // a predicate on data too large or in a place that needs a decision
extern const Code kFieldMemory;      // the store of abstract values is full

std::span<const Code* const> codes();

}  // namespace plumb::domain
