// SPDX-License-Identifier: Apache-2.0
#include "check/codes.h"

namespace plumb::check {

extern constexpr Code kRaceShared{
    "race.shared", "two threads touch the same shared bytes, one of them writes, and nothing orders them",
    "Shared memory is ordered between threads by barriers only: every access before a `bar.sync` of one participant "
    "comes before every access after it of another; `bar.warp.sync` does the same for the lanes of its mask. `shfl`, "
    "`vote`, `mma` and `ldmatrix` bring lanes together but order no memory. In a loop the write of the next round "
    "needs "
    "a barrier after the reads of this one. Manual: memory-consistency-model, bar. "
    "Mend: put `bar.sync 0` (same warp only: `bar.warp.sync`) between the two accesses."};
extern constexpr Code kRaceGlobal{
    "race.global", "two threads of one CTA touch the same global bytes, one of them writes, and nothing orders them",
    "Within a CTA `bar.sync` orders global memory as it does shared memory. Manual: memory-consistency-model. "
    "Mend: put `bar.sync 0` between the two accesses, or let each thread keep to its own elements."};
extern constexpr Code kRaceCrossCta{
    "race.cross-cta", "two CTAs touch the same global bytes and at least one of them writes",
    "CTAs of one launch run in any order or together, and no barrier joins them. Each output element must be written "
    "by "
    "one CTA and read by no other; only atomics of one commuting operation, whose results nobody uses, may share a "
    "place. Manual: memory-consistency-model. Mend: check the offsets that come from `%ctaid` and the tail "
    "predicates."};
extern constexpr Code kRaceSameInstr{"race.same-instruction",
                                     "lanes of one store write different values to the same bytes",
                                     "When several lanes of one instruction write the same place, any of them may win. "
                                     "Mend: predicate the store so that one lane owns each place, or mend the offset."};
extern constexpr Code kDuplicateWrite{
    "race.duplicate-write", "several threads write the same value to the same bytes without order",
    "Harmless to the result, since every order leaves the same value, but usually a replicated layout that costs "
    "bandwidth. A remark; it does not keep a candidate from being proved."};
extern constexpr Code kUnwaitedRead{
    "async.unwaited-read", "bytes are read while a `cp.async` may still be writing them",
    "`cp.async` writes its destination at any time until the issuing thread has executed a `cp.async.wait_group N` "
    "that "
    "covers the copy's group (at most the N youngest groups may be pending) or `cp.async.wait_all`; groups are closed "
    "by "
    "`cp.async.commit_group`, and a copy in no group is covered by `wait_all` only. Barriers do not wait for copies. "
    "Other threads then also need a barrier after the wait. Manual: "
    "data-movement-and-conversion-instructions-cp-async. "
    "Mend: a smaller N, an earlier wait, or a missing commit."};
extern constexpr Code kUnwaitedWrite{
    "async.unwaited-write", "bytes are written while a `cp.async` may still be writing them",
    "The copy may land before or after the store. Mend: wait for the copy (`cp.async.wait_group`) before the buffer is "
    "used for something else."};
extern constexpr Code kCopyOverwrites{
    "async.overwrites-read", "a `cp.async` is issued into bytes that other threads may still be using",
    "A copy may write its destination at once when it is issued. Threads that read the previous contents must be done: "
    "a "
    "barrier belongs between their reads and the copy. Mend: `bar.sync 0` before the copies of the stage are issued."};
extern constexpr Code kCopySource{
    "async.source-written", "the global source of a `cp.async` is written without order",
    "A copy reads its source at any time between its issue and the wait. Mend: wait for the copy before the source is "
    "written, or put a barrier between the write and the issue."};
extern constexpr Code kOverlappingCopies{
    "async.overlapping-copies", "two `cp.async` in flight write the same bytes",
    "Copies are not ordered with each other, even within a group. Mend: wait for the first, or mend the offset."};
extern constexpr Code kUnwaitedExit{
    "async.unwaited-exit", "a thread exits while its `cp.async` is in flight",
    "Nobody can then know when the copy is done. A remark when nothing reads the bytes. "
    "Mend: `cp.async.wait_all` before `ret`."};
extern constexpr Code kBarrierReentry{
    "barrier.reentry", "a warp arrives at a barrier whose last completion it may not have seen",
    "An arrival must come after the completion of the barrier's previous round, or some schedule counts it into that "
    "round. Warps that only `bar.arrive` need to be told by another barrier that the round is over. Manual: bar. "
    "Mend: alternate two barrier numbers, or synchronise the arriving warps on the consumer's release."};
extern constexpr Code kAtomicMix{
    "atomic.mixed", "atomics on one place do not commute with what other threads do to it",
    "Between the first and the last unordered atomic on a place every access must be the same commuting operation "
    "(add, min, max, and, or, xor). Mend: a barrier between the phases, or one operation."};
extern constexpr Code kAtomicResult{
    "schedule.atomic-result", "the result of an atomic is used",
    "What an atomic returns depends on the order in which threads arrive, so that one run does not stand for all. "
    "Use `red`, or an atomic whose destination is not read."};
extern constexpr Code kScheduleValue{"schedule.value", "a value that depends on the schedule or the machine is read",
                                     "%clock, %globaltimer, %smid, %nsmid, %warpid, %nwarpid, %gridid and `activemask` "
                                     "differ from run to run; one run does not stand "
                                     "for all. Derive the warp's number from %tid."};
extern constexpr Code kOrderUnmodelled{
    "schedule.order-unmodelled", "accesses may be ordered by fences and flags, which are not modelled yet",
    "Release and acquire patterns (fences with atomics or volatile accesses, `.release`, `.acquire`) are not followed. "
    "Two accesses that only such a pattern could order are neither called a race nor called safe."};

std::span<const Code* const> codes() {
  static constexpr const Code* kAll[] = {&kRaceShared,     &kRaceGlobal,        &kRaceCrossCta,  &kRaceSameInstr,
                                         &kDuplicateWrite, &kUnwaitedRead,      &kUnwaitedWrite, &kCopyOverwrites,
                                         &kCopySource,     &kOverlappingCopies, &kUnwaitedExit,  &kBarrierReentry,
                                         &kAtomicMix,      &kAtomicResult,      &kScheduleValue, &kOrderUnmodelled};
  return kAll;
}

}  // namespace plumb::check
