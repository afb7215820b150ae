// SPDX-License-Identifier: Apache-2.0
// The codes of findings that a run reports.
#pragma once

#include <span>

#include "base/finding.h"

namespace plumb::machine {

extern const Code kEntry;           // there is no such entry
extern const Code kLaunch;          // the launch does not fit the entry or the target
extern const Code kUnmodelled;      // no exact meaning: the answer is unknown
extern const Code kDataControl;     // an address, branch or guard depends on abstract data
extern const Code kUndefined;       // a value that was never written is used as an address, predicate or count
extern const Code kBounds;          // an access outside of every buffer
extern const Code kAlignment;       // an access at an address that its width does not divide
extern const Code kCollective;      // lanes missing where a warp must act together
extern const Code kBarrier;         // misuse of a CTA barrier
extern const Code kDeadlock;        // no thread can go on
extern const Code kAsyncCopy;       // misuse of cp.async
extern const Code kBulkCopy;        // misuse of a bulk or remote asynchronous operation
extern const Code kTensorMap;       // a tensor map that the driver or the hardware refuses
extern const Code kTensorCopy;      // misuse of a tensor copy
extern const Code kMbarrier;        // misuse of an mbarrier
extern const Code kCluster;         // misuse of a cluster of CTAs
extern const Code kWarpgroup;       // misuse of a warpgroup instruction
extern const Code kWgmmaFence;      // no wgmma.fence before a register is used
extern const Code kWgmmaInFlight;   // a register is touched while wgmma owns it
extern const Code kDescriptor;      // a matrix descriptor that does not describe shared memory
extern const Code kTensorMemory;    // an access to cells of tensor memory that the warp or operation may not use
extern const Code kTensorAlloc;     // misuse of the allocation of tensor memory
extern const Code kTensorInFlight;  // tensor memory is given back, or a block exits, under an operation in flight
extern const Code kTrap;            // the program executed `trap` or `brkpt`
extern const Code kCall;            // a call through a register that holds no such function
extern const Code kBudget;          // the step budget is used up
extern const Code kCancelled;       // the caller cancelled

std::span<const Code* const> codes();

}  // namespace plumb::machine
