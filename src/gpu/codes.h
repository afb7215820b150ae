// SPDX-License-Identifier: Apache-2.0
// The findings of candidates that were run on a GPU, and of the GPU itself.
#pragma once

#include <span>

#include "base/finding.h"

namespace plumb::gpu {

// The machine.
extern const Code kNoGpu;        // no driver, or no card
extern const Code kWorker;       // the worker process did not start, or ended without an answer
extern const Code kProtocol;     // a job or an answer that cannot be read
extern const Code kMemory;       // more memory than the card has free
extern const Code kDriverError;  // a driver call of plumb's own that failed
extern const Code kContended;    // other processes use the card

// Before a launch.
extern const Code kCompile;    // the driver does not compile the PTX
extern const Code kParams;     // the launch gives other parameters than the compiled entry has
extern const Code kLaunch;     // the driver refuses the launch
extern const Code kForbidden;  // code that no candidate may have: clocks, device-side launches, traps on counters

// While it runs.
extern const Code kTimeout;  // does not end
extern const Code kFault;    // illegal address, misaligned access, trap

// What it leaves.
extern const Code kGuard;             // a byte beside a buffer was written
extern const Code kMutated;           // an input was written
extern const Code kUnwritten;         // an output element that the source writes was not written
extern const Code kOverwritten;       // an element that the source does not write was written
extern const Code kWrong;             // a number outside of the tolerance
extern const Code kSpecial;           // NaN or an infinity against something else
extern const Code kNondeterministic;  // the same launch gives other bits
extern const Code kState;             // what it computes depends on earlier launches
extern const Code kVariable;          // a module variable holds other bytes after a launch
extern const Code kResidue;           // what it computes depends on what shared memory held before
extern const Code kNothingTested;     // no shape could be judged
extern const Code kNotJudged;         // a shape without a reference

// Timing.
extern const Code kTimedWrong;      // the timed launches leave other outputs than the tested ones
extern const Code kTooFast;         // faster than memory or arithmetic allow
extern const Code kUnstable;        // the same code timed against itself differs
extern const Code kThrottled;       // the card slowed itself down
extern const Code kSameCode;        // candidate and baseline are the same code
extern const Code kBaselineFailed;  // the baseline does not run

std::span<const Code* const> codes();

}  // namespace plumb::gpu
