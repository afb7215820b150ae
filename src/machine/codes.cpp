// SPDX-License-Identifier: Apache-2.0
#include "machine/codes.h"

#include <array>

#include "machine/exec/tcgen05_descriptor.h"

namespace plumb::machine {

constexpr Code kEntry{"machine.entry", "there is no such entry in the PTX text",
                      "A launch names a `.entry` function of the module. `.func` functions and declarations cannot be "
                      "launched. The message lists the entries that the module has."};
constexpr Code kLaunch{
    "machine.launch", "the launch does not fit the entry or the target",
    "A launch needs a grid and a block of at least one thread, at most 1024 threads a block, the block "
    "that `.reqntid` names or one within `.maxntid`, shared memory within the target's limit, and a "
    "parameter block of exactly the entry's size."};
constexpr Code kUnmodelled{
    "machine.unmodelled", "plumb has no exact meaning for this",
    "The run reached an instruction, or a case of one, that the machine does not execute exactly. "
    "Nothing is guessed: the run ends, and a proof that needs it is `unknown`."};
constexpr Code kDataControl{
    "machine.data-control", "an address, branch or guard depends on abstract data",
    "In the field domain data floats have no bits. A branch, a guard, an address or an integer that "
    "depends on them cannot be followed. Declare an integer input that steers the kernel as "
    "`metadata` in the task, so that it is concrete."};
constexpr Code kUndefined{
    "machine.undefined", "a value that was never written decides something",
    "A register, or shared or local memory, holds an unspecified value until it is written. Using it "
    "as an address, a guard, a branch index, a member mask or a count is a defect on every path. Write "
    "it first, on every path that leads here."};
constexpr Code kBounds{
    "machine.out-of-bounds", "an access outside of every buffer",
    "Every byte of an access must lie in one buffer of the launch (global), in the block's shared memory, "
    "in the thread's local memory or in the parameter block. The message names the nearest buffer and the "
    "distance. Guard the access or correct the address."};
constexpr Code kAlignment{"machine.misaligned", "an access at an address that its width does not divide",
                          "The address of an access must be a multiple of its size in bytes, vectors as a whole "
                          "(`ld.global.v4.b32`: 16); rows of `ldmatrix` are 16 bytes, `cp.async` takes its copy size."};
constexpr Code kCollective{
    "machine.collective", "lanes are missing where a warp must act together",
    "`.sync` instructions wait for every lane of their member mask, `.aligned` ones for every lane "
    "of the warp. A lane that has left, or that waits elsewhere for good, makes the behaviour "
    "undefined. Mend: hoist the instruction out of the divergent branch, `bar.warp.sync` before it, or give the mask "
    "of the lanes that do come."};
constexpr Code kBarrier{
    "machine.barrier", "misuse of a CTA barrier",
    "Barriers are 0 to 15; a thread count is a positive multiple of 32 and the same for everyone in one "
    "phase; a thread that has arrived must not use the barrier again before the phase completes; `.red` "
    "does not mix with `.sync` and `.arrive` in one phase."};
constexpr Code kDeadlock{
    "machine.deadlock", "no thread can go on",
    "Every thread that has not exited waits for others that will never come. The notes list who waits "
    "where and for how many. Usual causes: a barrier in a divergent branch, a count that is too large, "
    "loop trip counts that differ between warps. Mend: let those arrive that the notes miss: a `tcgen05.commit` after "
    "the last product, as many arrivals as the mbarrier was initialised for."};
constexpr Code kAsyncCopy{"machine.async-copy", "misuse of cp.async",
                          "The copy size is 4, 8 or 16 bytes (`.cg`: 16) and the source size at most the copy size."};
constexpr Code kBulkCopy{
    "machine.bulk-copy", "misuse of a bulk or remote asynchronous operation",
    "`cp.async.bulk` moves a multiple of 16 bytes between addresses that are multiples of 16; its mbarrier lies in the "
    "block that receives the bytes. A block must not exit while an operation still reads or writes its shared memory. "
    "Mend: expect as many bytes as are copied, and wait for the mbarrier, or with `cp.async.bulk.wait_group.read`."};
constexpr Code kMbarrier{
    "machine.mbarrier", "misuse of an mbarrier",
    "An mbarrier is 8 bytes of shared memory between `mbarrier.init` and `mbarrier.inval`, and nothing else touches "
    "them. An arrival counts at most what its phase still needs, pending bytes stay within 1048575 either way, and a "
    "wait names the current or the last phase. On the hardware these end the kernel or hang it. Mend: "
    "initialise it for as many arrivals as there are, of which a `tcgen05.commit` is one, and end it behind the last "
    "wait."};
constexpr Code kCluster{
    "machine.cluster", "misuse of a cluster of blocks",
    "Each thread of a cluster arrives at `barrier.cluster` once and then waits, in turn. Shared memory of another "
    "block exists while that block runs: end with a barrier of the cluster before a block exits that others access. "
    "Mend: `barrier.cluster.arrive` and `barrier.cluster.wait` before the end; for `cta_group::2` a cluster of an even "
    "number of blocks."};
constexpr Code kWarpgroup{
    "machine.warpgroup", "misuse of a warpgroup instruction",
    "Four consecutive warps, the first a multiple of four, execute the same `wgmma` instructions in the same order, "
    "all lanes of each together, with the same descriptors and `scale-d`, and commit them in the same groups."};
constexpr Code kWgmmaFence{
    "machine.wgmma-fence", "a register is used by wgmma without a fence before",
    "`wgmma.fence` must stand before the first `wgmma.mma_async`, and between any access to a register and a "
    "`wgmma.mma_async` that has it as accumulator or as A. Only products of one shape may follow each other on the "
    "same accumulators without one."};
constexpr Code kWgmmaInFlight{
    "machine.wgmma-in-flight", "a register is touched while wgmma owns it",
    "The accumulators, and A where it is in registers, belong to a `wgmma.mma_async` until the warp has executed a "
    "`wgmma.wait_group` that covers the group to which `wgmma.commit_group` added it. Commit, then wait, before the "
    "first access."};
constexpr Code kDescriptor{
    "machine.matrix-descriptor", "a matrix descriptor that does not describe shared memory",
    "A descriptor holds the tile's address, leading and stride byte offsets, each divided by 16, a base offset, and "
    "the swizzle in bits 63:62. Its other bits are zero, and every row that it leads to lies in the block's shared "
    "memory. Mend: set the field that the message names, or align the tile to its swizzle pattern (`.align 1024`)."};
constexpr Code kTensorMemory{
    "machine.tensor-memory", "cells of tensor memory are used that may not be",
    "Tensor memory has 128 lanes and 512 columns; an access stays within columns that `tcgen05.alloc` returned and "
    "nobody "
    "has given back. All threads of a warp give `tcgen05.ld` and `tcgen05.st` one address, whose lane is the first of "
    "the "
    "warp's quarter (32 times the warp's number modulo 4; the 16-lane shapes may also begin 16 later). Hardware may "
    "put "
    "the warp's own quarter in place of another one, and its debugger traps; here it is an error. Mend: stay within "
    "the columns of the `tcgen05.alloc`; add `(warp % 4) << 21` to the address of a `tcgen05.ld` or `st`, and give the "
    "columns back behind a barrier after the last use."};
constexpr Code kTensorAlloc{
    "machine.tensor-alloc", "misuse of the allocation of tensor memory",
    "`tcgen05.alloc` takes a power of two of 32 to 512 columns, no more than the block asked for before, and never "
    "after "
    "`tcgen05.relinquish_alloc_permit`. `tcgen05.dealloc` names an address that it returned, with the same number of "
    "columns; everything is given back before the block ends. With cta_group::2 one warp of each block of the pair "
    "takes "
    "part, with the same number of columns. Mend: one `tcgen05.alloc` of a power of two before the permit is given up, "
    "and `tcgen05.dealloc` of the same address and number before the block ends."};
constexpr Code kTensorInFlight{"machine.tensor-in-flight", "an operation on tensor memory is still in flight",
                               "`tcgen05.mma`, `cp` and `shift` run until a thread has waited for the mbarrier of a "
                               "`tcgen05.commit` by the thread "
                               "that issued them; `tcgen05.ld` and `st` until `tcgen05.wait::ld` and `wait::st`. Wait "
                               "before the columns are given "
                               "back and before the block ends. Mend: `tcgen05.commit` and a wait for its mbarrier, or "
                               "`tcgen05.wait::ld` and `wait::st`, before the release."};
constexpr Code kInstructionDescriptor{"machine.instruction-descriptor",
                                      "an instruction descriptor or column mask that no product has",
                                      "The 32-bit descriptor of `tcgen05.mma` gives types, shape, signs and majors of "
                                      "a product. `ptxas` does not look into "
                                      "it: a wrong field assembles, and the hardware faults or computes something "
                                      "else. The message names the bits and the "
                                      "rule. With cta_group::2, M and N are those of both blocks. Mend: set the bits "
                                      "that the message names to what the opcode, its types and its shape ask for."};
constexpr Code kTensorOperand{
    "machine.tensor-operand", "an operand of a product does not lie in tensor memory as it must",
    "Accumulator, A, scales and sparse metadata of `tcgen05.mma` have lanes by their shape: lane 0 of the address, or "
    "0 or 16 with M = 64. Rows that several groups of lanes work on are there several times, scales in each group of "
    "32 lanes; copies must not differ. Sparse metadata names two elements of each chunk, in order. A product that "
    "takes an operand from a collector buffer needs one before it that filled the buffer with the same operand, whose "
    "memory stays as it was. Mend: write every copy that the shape asks for (scales: `tcgen05.cp` with `.warpx4`), and "
    "give the address the lane that the message names."};
constexpr Code kTensorIssue{
    "machine.tensor-issue", "several threads issue an operation that one should",
    "Each thread that executes `tcgen05.mma` issues a product of its own, so that a warp adds the product 32 times. "
    "Choose "
    "one thread, by `elect.sync` or its number, for the products and for the `tcgen05.commit` after them. Mend: "
    "`elect.sync _|p, 0xffffffff;` and the guard `@p` on the product, and on its commit."};
constexpr Code kTrap{"machine.trap", "the program executed `trap` or `brkpt`",
                     "`trap` aborts the grid, and so does `brkpt` where no debugger is attached. A kernel under proof "
                     "must not reach it."};
constexpr Code kCall{
    "machine.call", "a call through a register that holds no function with these parameters",
    "A call through a register goes to a `.func` of this module whose address was taken, that the label's "
    "`.calltargets` name, and whose parameters have the number and sizes of what the call passes. Mend: load the "
    "address by `mov.u64 %rd, function;` before every call, and name the function in the label's list."};
constexpr Code kBudget{
    "machine.budget", "the step budget is used up",
    "The run executed more warp instructions than its budget allows: raise `step_budget`, or look for a "
    "loop that does not end."};
constexpr Code kCancelled{"machine.cancelled", "the run was cancelled", "The caller asked the run to stop."};

constexpr Code kTensorMap{
    "machine.tensor-map", "a tensor map that the driver or the hardware refuses",
    "A tensor map obeys the rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, whether the host makes it or "
    "`tensormap.replace`: the address and the strides are multiples of 16 bytes (32 with an interleave of 32), the "
    "innermost extent of the box is a multiple of 16 bytes and no longer than the swizzle, extents of the box are 1 to "
    "256, element strides 1 to 8. Its rank and mode are those of the instruction that uses it, and every byte of it "
    "has "
    "been written. The message names the rule; docs/machine.md lists all."};
constexpr Code kTensorCopy{
    "machine.tensor-copy", "misuse of a tensor copy",
    "The tile in shared memory starts at a multiple of 128 bytes. The innermost coordinate is a multiple of 16 bytes. "
    "Loads may start and end outside of the tensor; stores and reductions may only end there. im2col copies start "
    "inside the map's box of pixels. Reductions exist for few element types: `add` for 32-bit integers, u64 and "
    "floats, `min` and `max` for 32-bit and 64-bit integers, f16 and bf16, `inc` and `dec` for u32, `and`, `or` and "
    "`xor` for u32, s32 and u64."};

std::span<const Code* const> codes() {
  static constexpr std::array<const Code*, 30> kAll{&kInstructionDescriptor,
                                                    &kTensorOperand,
                                                    &kTensorIssue,
                                                    &kEntry,
                                                    &kLaunch,
                                                    &kUnmodelled,
                                                    &kDataControl,
                                                    &kUndefined,
                                                    &kBounds,
                                                    &kAlignment,
                                                    &kCollective,
                                                    &kBarrier,
                                                    &kDeadlock,
                                                    &kAsyncCopy,
                                                    &kBulkCopy,
                                                    &kMbarrier,
                                                    &kCluster,
                                                    &kTrap,
                                                    &kCall,
                                                    &kBudget,
                                                    &kCancelled,
                                                    &kTensorMap,
                                                    &kTensorCopy,
                                                    &kWarpgroup,
                                                    &kWgmmaFence,
                                                    &kWgmmaInFlight,
                                                    &kDescriptor,
                                                    &kTensorMemory,
                                                    &kTensorAlloc,
                                                    &kTensorInFlight};
  return kAll;
}

}  // namespace plumb::machine
