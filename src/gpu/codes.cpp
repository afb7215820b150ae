// SPDX-License-Identifier: Apache-2.0
#include "gpu/codes.h"

namespace plumb::gpu {

extern constexpr Code kNoGpu{
    "gpu.none", "there is no usable GPU here",
    "`test`, `bench`, `baseline` and `profile` need an NVIDIA driver (libcuda.so.1) and a card. "
    "Without one they end with exit code 4;\n"
    "proofs and runs on the CPU need neither. `plumb doctor` shows what is there."};
extern constexpr Code kWorker{"gpu.worker", "the worker process ended without an answer",
                              "Each job runs in a process of its own that owns the card. It was ended by a signal or "
                              "did not start; the next job gets a new one."};
extern constexpr Code kProtocol{"gpu.protocol", "a job or an answer of the worker cannot be read",
                                "A worker takes one JSON object per line and answers with one per line (docs/gpu.md)."};
extern constexpr Code kMemory{"gpu.memory", "the shape needs more memory than the card has free",
                              "Inputs, outputs and workspace of one launch must fit, several times over for timing."};
extern constexpr Code kDriverError{"gpu.driver-error", "a driver call of plumb's own failed",
                                   "Nothing is known about the candidate. The worker is restarted."};
extern constexpr Code kContended{"gpu.contended", "other processes use the card",
                                 "Times measured beside other work are worth little; they are marked."};

extern constexpr Code kCompile{"gpu.compile", "the driver does not compile the PTX",
                               "The driver's own assembler is the last word on what runs on this card."};
extern constexpr Code kParams{
    "gpu.params", "the launch gives other parameters than the entry has",
    "The parameters' number and sizes are read from the compiled entry. A launch header must\n"
    "list one value per `.param`; Triton's own entries end with two scratch pointers."};
extern constexpr Code kLaunch{"gpu.launch", "the driver refuses the launch",
                              "Block, grid, cluster or shared memory do not suit the entry or the card: compare "
                              "`.reqntid`, `.maxntid`, static plus dynamic shared bytes\n"
                              "and the cluster's size with the launch header."};
extern constexpr Code kForbidden{"gpu.forbidden", "a candidate may not do this",
                                 "Reading clocks, timers, SM numbers or performance counters lets code tell a test "
                                 "from a measurement, and calls into\n"
                                 "the device runtime lets other code do the work. Neither is part of what a Triton "
                                 "kernel computes."};

extern constexpr Code kTimeout{"gpu.timeout", "a launch does not end",
                               "An endless loop, a barrier that not all threads reach, or an `mbarrier` phase that "
                               "never completes. `plumb check` names the wait."};
extern constexpr Code kFault{"gpu.fault", "the card stopped the launch",
                             "An address outside of every buffer, a misaligned access, a trap or an illegal "
                             "instruction. Buffers lie between unmapped guard zones,\n"
                             "so that running past an end faults. `plumb check` gives the line."};

extern constexpr Code kGuard{"gpu.guard", "memory beside a buffer was written",
                             "The bytes before and behind each buffer held a pattern, and hold something else after\n"
                             "the launch."};
extern constexpr Code kMutated{"gpu.mutated", "an input was written",
                               "Only tensors with the role `out` or `inout` may be written: a later kernel reads the\n"
                               "inputs again."};
extern constexpr Code kUnwritten{"gpu.unwritten", "an output element was left unwritten",
                                 "Outputs hold a pattern before each launch, another one each time. The source writes "
                                 "this element, the candidate does not."};
extern constexpr Code kOverwritten{"gpu.overwritten", "an element that the source leaves alone was written",
                                   "What the source does not write (padding, rows of others) must stay as it was."};
extern constexpr Code kWrong{
    "gpu.wrong", "an output is outside of the tolerance",
    "The tolerance follows from the types and the reduction's length (docs/gpu.md). The worst\n"
    "element is shown."};
extern constexpr Code kSpecial{"gpu.special", "NaN or an infinity where the source gives something else",
                               "NaN, +inf, -inf and numbers are compared as classes first. Infinities may not become\n"
                               "numbers, nor numbers NaN."};
extern constexpr Code kNondeterministic{"gpu.nondeterministic", "the same launch gives different bits",
                                        "Equal inputs, a reloaded module, other results: a race, or memory that was "
                                        "never written. `plumb check` finds\n"
                                        "both."};
extern constexpr Code kState{
    "gpu.state", "the result depends on earlier launches",
    "A repeated launch gives something else than the first one after loading the module, which "
    "gives the same each time:\n"
    "the code keeps something in between."};
extern constexpr Code kVariable{
    "gpu.variable", "a module variable changed",
    "A `.global` variable holds other bytes after the launch than before. Launches must not "
    "hand anything to later ones:\n"
    "ask for `workspace` instead, which is zeroed each time, or put the old value back."};
extern constexpr Code kResidue{"gpu.residue", "the result depends on what shared memory held before",
                               "Shared memory of every SM is filled with a pattern before a launch. With another "
                               "pattern the result is another: something is\n"
                               "read before it is written."};
extern constexpr Code kNothingTested{"gpu.nothing-tested", "nothing was tested",
                                     "No shape of the task suits what the candidate claims, so there is no verdict."};
extern constexpr Code kNotJudged{"gpu.not-judged", "a shape was not judged",
                                 "There was no reference for it in the time given: the source could not be evaluated."};

extern constexpr Code kTimedWrong{"gpu.timed-wrong", "the timed launches leave wrong outputs",
                                  "After timing, the very graphs that were timed are replayed over poisoned outputs, "
                                  "and each set is compared with\n"
                                  "what the baseline's graph leaves."};
extern constexpr Code kTooFast{
    "gpu.too-fast", "faster than the card can be",
    "The bytes that must be moved, or the operations that must be done, take longer than was "
    "measured. Work is skipped."};
extern constexpr Code kUnstable{"gpu.unstable", "the measurement is not steady",
                                "The baseline timed against itself differs by more than the ratio's precision needs."};
extern constexpr Code kThrottled{"gpu.throttled", "the card slowed itself down while it was measured",
                                 "Power or heat limits were reached. Both sides were timed alike, so the ratio holds "
                                 "better than the times."};
extern constexpr Code kSameCode{"gpu.same-code", "candidate and baseline are the same code",
                                "The ratio then says how precise the measurement is, nothing else."};
extern constexpr Code kBaselineFailed{"gpu.baseline", "the baseline does not run", "There is nothing to compare with."};

std::span<const Code* const> codes() {
  static constexpr const Code* kAll[] = {
      &kNoGpu,       &kWorker,   &kProtocol,      &kMemory,           &kDriverError,
      &kContended,   &kCompile,  &kParams,        &kLaunch,           &kForbidden,
      &kTimeout,     &kFault,    &kGuard,         &kMutated,          &kUnwritten,
      &kOverwritten, &kWrong,    &kSpecial,       &kNondeterministic, &kState,
      &kVariable,    &kResidue,  &kNothingTested, &kNotJudged,        &kTimedWrong,
      &kTooFast,     &kUnstable, &kThrottled,     &kSameCode,         &kBaselineFailed};
  return kAll;
}

}  // namespace plumb::gpu
