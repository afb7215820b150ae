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
extern constexpr Code kRaceCluster{
    "race.cluster", "two CTAs of a cluster touch the same shared bytes, one of them writes, and nothing orders them",
    "Shared memory of a cluster is ordered between its CTAs by `barrier.cluster` (arrive, unless `.relaxed`, then "
    "wait) "
    "and by mbarriers on which a thread of another CTA arrives; `bar.sync` joins the threads of one CTA only. A "
    "relaxed "
    "arrival hands over what a `fence.acq_rel.cluster` before it covers. Manual: barrier.cluster, mbarrier.arrive. "
    "Mend: `barrier.cluster.arrive` and `barrier.cluster.wait` between the two accesses."};
extern constexpr Code kRaceSameInstr{"race.same-instruction",
                                     "lanes of one store write different values to the same bytes",
                                     "When several lanes of one instruction write the same place, any of them may win. "
                                     "Mend: predicate the store so that one lane owns each place, or mend the offset."};
extern constexpr Code kDuplicateWrite{
    "race.duplicate-write", "several threads write the same value to the same bytes without order",
    "Harmless to the result, since every order leaves the same value, but usually a replicated layout that costs "
    "bandwidth. A remark; it does not keep a candidate from being proved."};
extern constexpr Code kUnwaitedRead{
    "async.unwaited-read", "bytes are read while an asynchronous operation may still be writing them",
    "`cp.async` writes its destination at any time until the issuing thread has executed a `cp.async.wait_group N` "
    "that "
    "covers the copy's group (at most the N youngest groups may be pending) or `cp.async.wait_all`; groups are closed "
    "by "
    "`cp.async.commit_group`, and a copy in no group is covered by `wait_all` only. Barriers do not wait for copies. "
    "Other threads then also need a barrier after the wait. The bytes of a bulk or tensor copy are there when the "
    "phase "
    "of its mbarrier is complete, for those who waited for that phase and those who were told by one that did. Manual: "
    "data-movement-and-conversion-instructions-cp-async, -cp-async-bulk. "
    "Mend: a smaller N, an earlier wait, or a missing commit."};
extern constexpr Code kUnwaitedWrite{
    "async.unwaited-write", "bytes are written while an asynchronous operation may still be writing them",
    "The copy may land before or after the store. Mend: wait for the copy (`cp.async.wait_group`, or the phase of its "
    "mbarrier) before the buffer is used for something else."};
extern constexpr Code kCopyOverwrites{
    "async.overwrites-read", "a copy is issued into bytes that other threads may still be using",
    "A copy may write its destination at once when it is issued. Threads that read the previous contents must be done: "
    "a "
    "barrier, or an mbarrier on which the readers arrive, belongs between their reads and the copy. Mend: `bar.sync 0` "
    "before the copies of the stage are issued, or let the producer wait until the stage is released."};
extern constexpr Code kCopySource{
    "async.source-written", "the source of an asynchronous operation is written without order",
    "A copy reads its source, and a `wgmma` its operands in shared memory, at any time between issue and wait. Mend: "
    "wait (`wgmma.wait_group`, `cp.async.bulk.wait_group.read`, the phase of the mbarrier) before the bytes are "
    "written, "
    "or put a barrier between the write and the issue."};
extern constexpr Code kOverlappingCopies{
    "async.overlapping-copies", "two copies in flight write the same bytes",
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
extern constexpr Code kProxyFence{
    "proxy.missing-fence", "the async proxy uses bytes that a thread wrote, with no proxy fence between",
    "Bulk and tensor copies and `wgmma` reach memory by the async proxy, and do not see what `st` wrote until a "
    "`fence.proxy.async` lies between: after the write, best in the writing thread, before the barrier that hands the "
    "bytes over. A barrier alone is not enough. `.shared::cta` does not cover global memory. Manual: async-proxy. "
    "Mend: `fence.proxy.async.shared::cta` after the stores and before the barrier."};
extern constexpr Code kMapFence{
    "proxy.tensor-map", "a tensor map is used that was written in this kernel and not acquired",
    "Tensor copies read their map by a proxy of its own. A map written in the kernel is released by "
    "`tensormap.cp_fenceproxy` and acquired by `fence.proxy.tensormap::generic.acquire.gpu [map], 128`, in a thread "
    "that "
    "knows of the write, before the copy. Manual: tensormap proxy, tensormap.cp_fenceproxy. "
    "Mend: acquire the map after the last write and before the copy."};
extern constexpr Code kMbarrierInit{
    "mbarrier.lifetime", "an mbarrier is used in no order with its beginning or its end",
    "`mbarrier.init` comes before every use by another thread or by a copy, and `mbarrier.inval` after all of them. "
    "Manual: mbarrier.init, mbarrier.inval. Mend: `bar.sync 0` after the init, and before the inval."};
extern constexpr Code kMbarrierPhase{
    "mbarrier.phase", "an arrival, bytes, or a wait may count for an earlier phase of an mbarrier",
    "Who arrives in a phase, or waits for it, must have been told that the phase before is complete: by a wait of its "
    "own, or by someone who waited. Otherwise some schedule counts the arrival or the bytes into the phase before, or "
    "a "
    "wait by parity is let through two phases early. Too few expected bytes show so, too: the phase may end before the "
    "last copy has landed. Manual: mbarrier phases. Mend: wait for every phase, and expect as many bytes as are "
    "copied."};
extern constexpr Code kMbarrierExpect{
    "mbarrier.late-expect", "bytes are expected at an mbarrier whose phase may already be over",
    "The last arrival of a phase ends it when no bytes are outstanding; bytes that are announced later belong to the "
    "next phase. Manual: mbarrier.expect_tx. Mend: `mbarrier.arrive.expect_tx` in one step."};
extern constexpr Code kMbarrierLag{
    "mbarrier.lag", "an mbarrier may complete two phases while a thread still waits for the first",
    "A wait by parity tells two neighbouring phases apart, no more. What completes a phase must come after every wait "
    "for the phase before, or the waiter finds the old parity again. Manual: mbarrier.test_wait. Mend: let those who "
    "wait arrive at a barrier that the next phase depends on."};
extern constexpr Code kClusterStart{
    "cluster.unstarted", "shared memory of another CTA is used that may not have started",
    "The CTAs of a cluster run at the same time but do not begin at the same moment. Before the first access to the "
    "shared memory of another CTA, a copy into it or an arrival there, the thread must know that it has started. "
    "Manual: cluster. Mend: `barrier.cluster.arrive` and `barrier.cluster.wait` at the start."};
extern constexpr Code kClusterExit{
    "cluster.early-exit", "a CTA may leave while another one uses its shared memory",
    "Shared memory lasts as long as its CTA. Before its last thread leaves, some thread of it must know that every "
    "other CTA has made its last access, arrivals at mbarriers included. Manual: cluster, mapa. "
    "Mend: `barrier.cluster.arrive` and `barrier.cluster.wait` before the end."};
extern constexpr Code kTensorRead{
    "tensor.unwaited-read", "tensor memory is read while an operation may still be writing it",
    "`tcgen05` operations are asynchronous. What `mma`, `cp` and `shift` wrote is there when an mbarrier's phase is "
    "complete on which a `tcgen05.commit` of the same thread, executed after them, arrives; what `tcgen05.st` wrote "
    "when "
    "its threads have executed `tcgen05.wait::st`. Other threads must be told of that by a barrier or an mbarrier. Of "
    "one "
    "warp, and only of one, products with the same accumulator and shape follow each other without a wait, and so do "
    "`cp` or `shift` and the products that read A, metadata or scale factors there. Manual: tcgen05 memory consistency "
    "model. Mend: commit and wait, or `tcgen05.wait::st`, before the read."};
extern constexpr Code kTensorWrite{
    "tensor.unwaited-write", "tensor memory is written while an operation may still be writing it",
    "Only products of one warp with the same accumulator and shape are ordered without a wait. Manual: tcgen05 memory "
    "consistency model. Mend: commit and wait for the earlier operation, or `tcgen05.wait::st`, before the write."};
extern constexpr Code kTensorOverwrite{
    "tensor.overwrites-read", "tensor memory is written while an operation may still be reading it",
    "A `tcgen05.ld` has read when its threads have executed `tcgen05.wait::ld`, a product when a `tcgen05.commit` says "
    "so; only products, `cp` and `shift` of the same warp may follow the reads of a product without a wait. Manual: "
    "tcgen05 memory consistency model. Mend: `tcgen05.wait::ld` before the threads tell that they have read, or wait "
    "for "
    "the commit."};
extern constexpr Code kTensorLifetime{
    "tensor.lifetime", "tensor memory is used in no order with its allocation or release",
    "A thread that uses columns must have been told of their `tcgen05.alloc`, and `tcgen05.dealloc` comes after every "
    "operation on them has ended. Manual: tcgen05.alloc, tcgen05.dealloc. Mend: a barrier after the allocation; waits, "
    "then a barrier, before the release."};
extern constexpr Code kTensorFence{
    "tensor.fence", "no `tcgen05.fence` stands between an operation on tensor memory and one of another thread",
    "Read strictly, the manual asks for `tcgen05.fence::before_thread_sync` after `tcgen05.wait` and before the "
    "barrier "
    "that tells others (a commit implies it), and for `tcgen05.fence::after_thread_sync` after the wait of those "
    "others. "
    "Compilers leave them out, and it is not known that a card minds: a remark, which rests on the strict reading and "
    "keeps nothing from being proved."};
extern constexpr Code kTensorShift{"tensor.shift",
                                   "rows of tensor memory are moved in a direction that rests on one measurement",
                                   "`tcgen05.shift.down` and `.ashift` move rows \"down\", and the manual does not say "
                                   "which row gets what. Here row r gets "
                                   "what row r + 1 of its 32 lanes has, as measured once for `.ashift` on a B200; that "
                                   "`tcgen05.shift` does the same is "
                                   "inferred. A remark: what is proved is proved under this reading."};
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
                                     "for all; neither does a poll of an mbarrier that is not repeated until it is "
                                     "true. Derive the warp's number from %tid; loop until the poll succeeds."};
extern constexpr Code kOrderUnmodelled{
    "schedule.order-unmodelled", "accesses may be ordered in ways that are not followed",
    "Release and acquire patterns (fences with atomics or volatile accesses, `.release`, `.acquire`) are not followed. "
    "Two accesses that only such a pattern could order are neither called a race nor called safe."};

std::span<const Code* const> codes() {
  static constexpr const Code* kAll[] = {
      &kRaceShared,     &kRaceGlobal,    &kRaceCrossCta,   &kRaceCluster,  &kRaceSameInstr,     &kDuplicateWrite,
      &kUnwaitedRead,   &kUnwaitedWrite, &kCopyOverwrites, &kCopySource,   &kOverlappingCopies, &kUnwaitedExit,
      &kBarrierReentry, &kProxyFence,    &kMapFence,       &kMbarrierInit, &kMbarrierPhase,     &kMbarrierExpect,
      &kMbarrierLag,    &kClusterStart,  &kClusterExit,    &kTensorRead,   &kTensorWrite,       &kTensorOverwrite,
      &kTensorLifetime, &kTensorFence,   &kTensorShift,    &kAtomicMix,    &kAtomicResult,      &kScheduleValue,
      &kOrderUnmodelled};
  return kAll;
}

}  // namespace plumb::check
