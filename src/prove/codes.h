// SPDX-License-Identifier: Apache-2.0
// What the prover can report.
#pragma once

#include <span>

#include "base/finding.h"

namespace plumb::prove {

extern const Code kElementDiffers;
extern const Code kElementMissing;
extern const Code kElementExtra;
extern const Code kInputChanged;
extern const Code kUndefinedOutput;
extern const Code kNoWitness;
extern const Code kProbability;
extern const Code kSelfCheck;
extern const Code kContractPrecision;
extern const Code kContractRange;
extern const Code kAddedSingularity;
extern const Code kSpecStopped;
extern const Code kNoShapes;
extern const Code kArgument;
extern const Code kCancelled;
extern const Code kBudget;
extern const Code kCertificate;
extern const Code kCheckpoint;
extern const Code kSample;

std::span<const Code* const> codes();

}  // namespace plumb::prove
