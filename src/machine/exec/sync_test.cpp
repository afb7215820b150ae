// SPDX-License-Identifier: Apache-2.0
#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

const char* const kShared = ".shared .align 16 .b8 tile[1024];\n";

TEST(Barrier, EveryWriteBeforeItIsSeenAfterIt) {
  const Ran ran = run_both({.body = R"(
    shl.b32 %r1, %t, 2;
    mov.u32 %r2, tile;
    add.u32 %r3, %r2, %r1;
    st.shared.u32 [%r3], %t;
    bar.sync 0;
    sub.u32 %r4, 252, %r1;
    add.u32 %r5, %r2, %r4;
    ld.shared.u32 %r6, [%r5];
    st.global.u32 [%mine], %r6;
  )",
                            .before = kShared,
                            .block = {64, 1, 1}});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(ran.out[i], 63 - i);
}

TEST(Barrier, ThreadsThatExitedAreNotAwaited) {
  const Ran ran = run_both({.body = R"(
    setp.ge.u32 %p1, %t, 40;
    @%p1 exit;
    bar.sync 0;
    st.global.u32 [%mine], 1;
  )",
                            .block = {64, 1, 1}});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[39], 1u);
  EXPECT_EQ(ran.out[40], 0u);
}

TEST(Barrier, OneThatAWarpSkipsDeadlocksAndTheFindingSaysWhoWaitsWhere) {
  const Ran ran = run_both({.body = R"(
    setp.lt.u32 %p1, %t, 32;
    @%p1 bra SKIP;
    bar.sync 1;
SKIP:
    bar.sync 0;
  )",
                            .block = {64, 1, 1}});
  EXPECT_EQ(ran.code(), "machine.deadlock");
  EXPECT_EQ(ran.message(),
            "no thread of block (0,0,0) can go on: all lanes of warp 0 wait at barrier 0: 32 threads have not arrived");
  EXPECT_NE(ran.place().find("bar.sync 0"), std::string::npos);
  ASSERT_EQ(ran.result.stop->finding.notes.size(), 1u);
  EXPECT_EQ(ran.result.stop->finding.notes[0].text,
            "all lanes of warp 1 wait at barrier 1: 32 threads have not arrived");
}

TEST(Barrier, InsideADivergentBranchItIsFound) {
  const Ran ran = run_both({.body = R"(
    setp.lt.u32 %p1, %t, 16;
    @!%p1 bra OTHER;
    bar.sync 0;
    bra.uni END;
OTHER:
    bar.sync 0;
END:
  )"});
  EXPECT_EQ(ran.code(), "machine.collective");
}

TEST(Barrier, ACountThatNobodyReachesDeadlocks) {
  const Ran ran = run_both({.body = "bar.sync 2, 96;", .block = {64, 1, 1}});
  EXPECT_EQ(ran.code(), "machine.deadlock");
  EXPECT_NE(ran.message().find("64 of 96 threads arrived"), std::string::npos) << ran.message();
}

TEST(Barrier, ProducersArriveAndConsumersWait) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r2, tile;
    setp.ge.u32 %p1, %t, 32;
    @%p1 bra CONSUME;
    shl.b32 %r1, %t, 2;
    add.u32 %r3, %r2, %r1;
    add.u32 %r7, %t, 1000;
    st.shared.u32 [%r3], %r7;
    bar.arrive 3, 64;
    bra.uni END;
CONSUME:
    bar.sync 3, 64;
    sub.u32 %r4, %t, 32;
    shl.b32 %r1, %r4, 2;
    add.u32 %r3, %r2, %r1;
    ld.shared.u32 %r6, [%r3];
    st.global.u32 [%mine], %r6;
END:
  )",
                            .before = kShared,
                            .block = {64, 1, 1}});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 32; i < 64; ++i) EXPECT_EQ(ran.out[i], 1000 + i - 32);
}

TEST(Barrier, ArrivingTwiceInOnePhaseIsMisuse) {
  const Ran ran =
      run_both({.body = "setp.ge.u32 %p1, %t, 32;\n@%p1 bra END;\nbar.arrive 1, 96;\nbar.arrive 1, 96;\nEND:",
                .block = {64, 1, 1}});
  EXPECT_EQ(ran.code(), "machine.barrier");
  EXPECT_NE(ran.message().find("again"), std::string::npos);
}

TEST(Barrier, DifferentCountsInOnePhaseAreMisuse) {
  const Ran ran = run_both({.body = R"(
    setp.ge.u32 %p1, %t, 32;
    @%p1 bra OTHER;
    bar.arrive 1, 96;
    bra.uni END;
OTHER:
    bar.arrive 1, 64;
END:
  )",
                            .block = {64, 1, 1}});
  EXPECT_EQ(ran.code(), "machine.barrier");
}

TEST(Barrier, ANumberAboveFifteenIsMisuse) {
  const Ran ran = run_both({.body = "add.u32 %r1, %t, 0;\nmov.u32 %r1, 16;\nbar.sync %r1;"});
  EXPECT_EQ(ran.code(), "machine.barrier");
}

TEST(Barrier, ReductionsCountAndJoinThePredicates) {
  const Ran ran = run_both({.body = R"(
    setp.lt.u32 %p1, %t, 40;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, !%p1;
    selp.u32 %r2, 1, 0, %p2;
    selp.u32 %r3, 2, 0, %p3;
    or.b32 %r4, %r2, %r3;
    shl.b32 %r4, %r4, 8;
    add.u32 %r5, %r1, %r4;
    st.global.u32 [%mine], %r5;
  )",
                            .block = {64, 1, 1}});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(ran.out[i], 40u + 0x200);
}

TEST(WarpBarrier, LanesAtDifferentPlacesMeet) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r2, tile;
    setp.eq.u32 %p1, %t, 0;
    @%p1 bra WRITER;
    bar.warp.sync 0xffffffff;
    ld.shared.u32 %r1, [%r2];
    bra.uni END;
WRITER:
    mov.u32 %r1, 77;
    st.shared.u32 [%r2], %r1;
    bar.warp.sync 0xffffffff;
END:
    st.global.u32 [%mine], %r1;
  )",
                            .before = kShared});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 77u);
}

TEST(WarpBarrier, ALaneThatNeverComesIsFound) {
  const Ran ran = run_both({.body = R"(
    setp.eq.u32 %p1, %t, 5;
    @%p1 bra OTHER;
    bar.warp.sync 0xffffffff;
    bra.uni END;
OTHER:
    bar.warp.sync 0x20;
    bar.warp.sync 0x3f;
END:
  )"});
  EXPECT_EQ(ran.code(), "machine.collective");
}

}  // namespace
}  // namespace plumb::machine::test
