// SPDX-License-Identifier: Apache-2.0
// Clusters of two CTAs, and what is asynchronous across them: kernels that keep the rules are clean, and each planted
// fault is found where it is.
#include "check/report_test.h"

namespace plumb::check {
namespace {

constexpr machine::Dim3 kPair{2, 1, 1};

// %r8: the other rank; %r6, %r9: this thread's word of the other's tile, its mbarrier; %p3: rank 0; %p2: its thread 0.
const std::string kPairStart = std::string(kStart) + R"(
  mov.u32 %r7, %cluster_ctarank;
  xor.b32 %r8, %r7, 1;
  mapa.shared::cluster.u32 %r6, %r3, %r8;
  mapa.shared::cluster.u32 %r9, %r1, %r8;
  setp.eq.u32 %p3, %r7, 0;
  and.pred %p2, %p1, %p3;
)";

class Pair : public testing::TestWithParam<std::pair<const std::string*, Fault>> {};
TEST_P(Pair, FaultIsFound) { expect_found(*GetParam().first, GetParam().second, kPair); }

auto faults(const std::string& kernel, const std::vector<Fault>& list) {
  std::vector<std::pair<const std::string*, Fault>> all;
  for (const Fault& fault : list) all.emplace_back(&kernel, fault);
  return testing::ValuesIn(all);
}
std::string name_of(const testing::TestParamInfo<Pair::ParamType>& tested) { return tested.param.second.name; }

// -- Words of the other CTA, by the cluster's barrier. ----------------------------------------------------------------

const std::string kExchange = kPairStart + R"(
  st.shared.b32 [%r3], %t;
  barrier.cluster.arrive.aligned;  // hand over
  barrier.cluster.wait.aligned;
  ld.shared::cluster.b32 %r10, [%r6];
  barrier.cluster.arrive.aligned;  // let go
  barrier.cluster.wait.aligned;
  st.shared.b32 [%r3], %r10;
)";

TEST(Cluster, ItsBarrierHandsOverSharedMemory) { expect_clean(kExchange, kPair); }
TEST(Cluster, ARelaxedArrivalHandsOverWhatAFenceCovers) {
  std::string text = kExchange;
  text.replace(text.find("barrier.cluster.arrive"), 22, "fence.acq_rel.cluster;\nbarrier.cluster.arrive.relaxed");
  expect_clean(text, kPair);
}
INSTANTIATE_TEST_SUITE_P(
    Exchange, Pair,
    faults(kExchange,
           {{"relaxed", "arrive.aligned;  // hand", "arrive.relaxed.aligned;  // hand", "race.cluster", "ld.shared::c"},
            {"init_fence_only", "barrier.cluster.arrive.aligned;  // hand",
             "fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive.relaxed.aligned;  // hand", "race.cluster",
             "ld.shared::c"},
            {"late_store", "barrier.cluster.wait.aligned;", "barrier.cluster.wait.aligned;\nst.shared.b32 [%r3], 1;",
             "race.cluster", "ld.shared::c"},
            {"barrier_of_the_block", "barrier.cluster.arrive.aligned;  // hand over\n  barrier.cluster.wait.aligned;",
             "bar.sync 0;", "race.cluster", "ld.shared::c"},
            {"not_started", "barrier.cluster.arrive.aligned;  // hand over\n  barrier.cluster.wait.aligned;",
             "bar.sync 0;", "cluster.unstarted", "ld.shared::c"},
            {"early_exit", "barrier.cluster.arrive.aligned;  // let go\n  barrier.cluster.wait.aligned;\n  st.shared",
             "// st.shared", "cluster.early-exit", "ld.shared::c"},
            {"overwritten", "barrier.cluster.arrive.aligned;  // let go\n  barrier.cluster.wait.aligned;", "",
             "race.cluster", "st.shared.b32 [%r3], %r10"},
            {"both_write", "ld.shared::cluster.b32 %r10, [%r6];",
             "st.shared::cluster.b32 [%r6], 5;\nst.shared.b32 [%r3], 6;", "race.cluster", "st.shared"}}),
    name_of);

// -- Arrivals at the other CTA's mbarrier. ----------------------------------------------------------------------------

// Rank 1 writes the tile of rank 0, which waits at its mbarrier.
const std::string kArrive = kPairStart + R"(
  @%p1 mbarrier.init.shared::cta.b64 [%r1], 64;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.aligned;
  @%p3 bra WAIT;
  st.shared::cluster.b32 [%r6], %t;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];
  bra END;
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r1], 0;
  @!%p4 bra WAIT;
  ld.shared.b32 %r10, [%r4];
END:
)";

TEST(Cluster, ARemoteArrivalHandsOver) { expect_clean(kArrive, kPair); }
INSTANTIATE_TEST_SUITE_P(
    Arrive, Pair,
    faults(kArrive,
           {{"no_init_fence", "fence.mbarrier_init.release.cluster;", "", "mbarrier.lifetime", "mbarrier.arrive"},
            {"late_init_fence", "fence.mbarrier_init.release.cluster;\n  barrier.cluster.arrive.relaxed.aligned;",
             "barrier.cluster.arrive.relaxed.aligned;\n  fence.mbarrier_init.release.cluster;", "mbarrier.lifetime",
             "mbarrier.arrive"},
            {"relaxed_arrival", "mbarrier.arrive.release", "mbarrier.arrive.relaxed", "race.cluster", "ld.shared.b32"},
            {"relaxed_wait", "parity.acquire", "parity.relaxed", "race.cluster", "ld.shared.b32"},
            {"store_after", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];",
             "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r9];\nst.shared::cluster.b32 [%r6], 7;",
             "race.cluster", "ld.shared.b32"},
            {"leaves_early", "@%p3 bra WAIT;", "@%p3 bra END;", "machine.cluster", "st.shared::cluster"}}),
    name_of);

// -- Copies into both CTAs. -------------------------------------------------------------------------------------------

// Rank 0 copies 256 bytes to both twice; a word of each arrives at the second mbarrier of rank 0 when it has read.
const std::string kMulticast = kPairStart + R"(
  mov.u16 %h1, 3;
  add.u32 %r11, %r1, 8;
  mapa.shared::cluster.u32 %r12, %r11, 0;
  mov.u32 %r13, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
  @%p1 mbarrier.init.shared::cta.b64 [%r11], 128;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
ROUND:
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;
  @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], [%in], 256, [%r1], %h1;
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1], %r13;
  @!%p4 bra FULL;
  ld.shared.b32 %r10, [%r3];
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];
  @!%p2 bra NEXT;
EMPTY:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r11], %r13;
  @!%p4 bra EMPTY;
NEXT:
  bar.sync 0;
  add.u32 %r13, %r13, 1;
  setp.lt.u32 %p5, %r13, 2;
  @%p5 bra ROUND;
  barrier.cluster.arrive.aligned;  // end
  barrier.cluster.wait.aligned;
)";

TEST(Cluster, MulticastCopiesAreKnownByTheMbarriersOfEach) { expect_clean(kMulticast, kPair); }
INSTANTIATE_TEST_SUITE_P(
    Multicast, Pair,
    faults(kMulticast,
           {{"own_readers_only", "[%r11], 128;", "[%r11], 64;", "async.overlapping-copies", "cp.async.bulk"},
            {"relaxed_release", "mbarrier.arrive.release", "mbarrier.arrive.relaxed", "async.overwrites-read",
             "cp.async.bulk"},
            {"not_waited", "FULL:\n  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1], %r13;\n  @!%p4 bra FULL;",
             "FULL:", "async.unwaited-read", "ld.shared.b32"},
            {"early_release",
             "ld.shared.b32 %r10, [%r3];\n  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];",
             "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r12];\n  ld.shared.b32 %r10, [%r3];",
             "async.overwrites-read", "cp.async.bulk"},
            {"not_started", "barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\nROUND",
             "bar.sync 0;\nROUND", "cluster.unstarted", "cp.async.bulk"}}),
    name_of);

// -- st.async, red.async. ---------------------------------------------------------------------------------------------

const std::string kStoreAsync = kPairStart + R"(
  @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;
  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r6], %t, [%r9];
FULL:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r1], 0;
  @!%p4 bra FULL;
  ld.shared.b32 %r10, [%r4];
)";

TEST(Cluster, StoresAreKnownByTheMbarrierThatCountedThem) { expect_clean(kStoreAsync, kPair); }
INSTANTIATE_TEST_SUITE_P(
    StoreAsync, Pair,
    faults(kStoreAsync,
           {{"read_first", "FULL:", "ld.shared.b32 %r11, [%r3];\nFULL:", "async.unwaited-read", "ld.shared.b32 %r11"},
            {"written_first", "FULL:", "st.shared.b32 [%r3], 1;\nFULL:", "async.unwaited-write", "st.shared.b32"},
            {"twice_at_once",
             "FULL:", "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r6], 4, [%r9];\nFULL:",
             "async.overlapping-copies", "[%r6], 4"}}),
    name_of);

const std::string kReduceAsync = kPairStart + R"(
  mapa.shared::cluster.u32 %r12, %r2, %r8;
  @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
  @%p1 st.shared.b32 [%r2], 0;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r12], %t, [%r9];
FULL:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p4, [%r1], 0;
  @!%p4 bra FULL;
  ld.shared.b32 %r10, [%r2];
)";

TEST(Cluster, ReductionsOfOneKindMayMeet) { expect_clean(kReduceAsync, kPair); }
INSTANTIATE_TEST_SUITE_P(
    ReduceAsync, Pair,
    faults(kReduceAsync,
           {{"two_kinds", "FULL:",
             "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [%r12], 4, [%r9];\nFULL:",
             "async.overlapping-copies", "max.u32"},
            {"late_zero", "FULL:", "@%p1 st.shared.b32 [%r2], 1;\nFULL:", "async.unwaited-write",
             "st.shared.b32 [%r2], 1"}}),
    name_of);

// -- cp.async that arrives at an mbarrier, in one CTA. ----------------------------------------------------------------

const std::string kCopyArrive = std::string(kStart) + R"(
  @%p1 mbarrier.init.shared::cta.b64 [%r1], 64;
  bar.sync 0;
  mad.wide.u32 %rd1, %t, 4, %in;
  cp.async.ca.shared.global [%r3], [%rd1], 4;
  cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1], 0;
  @!%p4 bra FULL;
  ld.shared.b32 %r10, [%r4];
  bar.sync 0;
  st.shared.b32 [%r3], %r10;
)";

class OneCta : public testing::TestWithParam<std::pair<const std::string*, Fault>> {};
TEST_P(OneCta, FaultIsFound) { expect_found(*GetParam().first, GetParam().second); }

TEST(CopyArrive, WhoWaitsKnowsTheCopiesOfAll) {
  expect_clean(kCopyArrive);
  std::string counted = kCopyArrive;  // each arrival adds itself to the count, so that others must end the phase
  counted.replace(counted.find(".noinc"), 6, "");
  counted.replace(counted.find("FULL:"), 5, "mbarrier.arrive.shared.b64 _, [%r1];\nFULL:");
  expect_clean(counted);
}
INSTANTIATE_TEST_SUITE_P(
    CopyArrive, OneCta,
    faults(kCopyArrive,
           {{"not_waited", "FULL:\n  mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r1], 0;\n  @!%p4 bra FULL;", "",
             "async.unwaited-read", "ld.shared.b32"},
            {"copy_after_arrival",
             "cp.async.ca.shared.global [%r3], [%rd1], 4;\n  cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];",
             "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];\n  cp.async.ca.shared.global [%r3], [%rd1], 4;",
             "async.unwaited-read", "ld.shared.b32"},
            {"plain_arrival", "cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];",
             "mbarrier.arrive.shared.b64 _, [%r1];", "async.unwaited-read", "ld.shared.b32"},
            {"overwritten", "ld.shared.b32 %r10, [%r4];\n  bar.sync 0;", "ld.shared.b32 %r10, [%r4];", "race.shared",
             "st.shared.b32 [%r3]"},
            {"second_copy", "FULL:", "cp.async.ca.shared.global [%r3], [%rd1], 4;\nFULL:", "async.overlapping-copies",
             "cp.async.ca"}}),
    name_of);

TEST(CopyArrive, AFenceForTheAsyncProxyAfterAnMbarrierIsNotFollowed) {
  std::string text = kCopyArrive;
  text.replace(text.find("bar.sync 0;\n  st.shared"), 11,
               "bar.sync 0;\n@%p1 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r2], 256;\n"
               "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nbar.sync 0;");
  EXPECT_FALSE(report_of(text).unknowns.empty());
}

// -- st.bulk. ---------------------------------------------------------------------------------------------------------

TEST(BulkStore, IsAStoreOfItsThread) {
  const std::string text = std::string(kStart) +
                           "mov.u64 %rd1, 256;\n@%p1 st.bulk.weak.shared::cta [%r2], %rd1, 0;\nbar.sync 0;\n"
                           "ld.shared.b32 %r5, [%r3];\n";
  expect_clean(text, {}, "sm_100a");
  expect_found(text, {"no_barrier", "bar.sync 0;", "", "race.shared", "ld.shared"}, {}, "sm_100a");
}

}  // namespace
}  // namespace plumb::check
