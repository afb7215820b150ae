// SPDX-License-Identifier: Apache-2.0
#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

TEST(Control, BothSidesOfABranchRunAndMeetAgain) {
  const Ran ran = run_both({.body = R"(
    and.b32 %r1, %t, 1;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra EVEN;
    mov.u32 %r2, 100;
    bra.uni JOIN;
EVEN:
    mov.u32 %r2, 200;
JOIN:
    activemask.b32 %r3;
    add.u32 %r2, %r2, %t;
    st.global.u32 [%mine], %r2;
    st.global.u32 [%mine+128], %r3;
  )"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(ran.out[i], (i % 2 == 0 ? 200 : 100) + i);
    EXPECT_EQ(ran.out[32 + i], 0xffffffffu);
  }
}

TEST(Control, LoopsMayHaveADifferentTripCountInEachLane) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
LOOP:
    setp.ge.u32 %p1, %r1, %t;
    @%p1 bra DONE;
    add.u32 %r1, %r1, 1;
    add.u32 %r2, %r2, %r1;
    bra.uni LOOP;
DONE:
    st.global.u32 [%mine], %r2;
  )"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i * (i + 1) / 2);
}

TEST(Control, LanesThatSpinLetTheLanesThatTheyWaitForRun) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r5, flag;
    st.shared.u32 [%r5], 0;
    bar.sync 0;
    setp.ne.u32 %p2, %t, 0;
    @%p2 bra WAIT;
    bra.uni SET;
WAIT:
    ld.volatile.shared.u32 %r1, [%r5];
    setp.ne.u32 %p1, %r1, 7;
    @%p1 bra WAIT;
    bra.uni END;
SET:
    mov.u32 %r2, 7;
    st.volatile.shared.u32 [%r5], %r2;
    mov.u32 %r1, 9;
END:
    st.global.u32 [%mine], %r1;
  )",
                            .before = ".shared .align 4 .b8 flag[4];\n",
                            .options = {.workers = 1, .step_budget = 100000}});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 9u);
  for (unsigned i = 1; i < 32; ++i) EXPECT_EQ(ran.out[i], 7u);
}

TEST(Control, AWarpThatSpinsLetsOtherWarpsRun) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r5, flag;
    st.shared.u32 [%r5], 0;
    bar.sync 0;
    setp.ge.u32 %p2, %t, 32;
    @%p2 bra SET;
WAIT:
    ld.volatile.shared.u32 %r1, [%r5];
    setp.ne.u32 %p1, %r1, 7;
    @%p1 bra WAIT;
    st.global.u32 [%mine], %r1;
    bra.uni END;
SET:
    mov.u32 %r2, 7;
    st.volatile.shared.u32 [%r5], %r2;
END:
  )",
                            .before = ".shared .align 4 .b8 flag[4];\n",
                            .block = {64, 1, 1},
                            .options = {.workers = 1, .step_budget = 1000000}});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 7u);
}

TEST(Control, AFunctionGetsItsArgumentsAndGivesItsResultInEachLane) {
  const Ran ran = run_both({.body = R"(
    and.b32 %r1, %t, 3;
    setp.eq.u32 %p1, %r1, 0;
    mov.u32 %r4, 1;
    @%p1 bra SKIP;
    {
    .param .b32 arg;
    .param .b32 res;
    st.param.b32 [arg], %t;
    call.uni (res), square, (arg);
    ld.param.b32 %r4, [res];
    }
SKIP:
    st.global.u32 [%mine], %r4;
  )",
                            .before = R"(.func (.param .b32 r) square(.param .b32 x) {
    .reg .b32 %a<4>;
    ld.param.b32 %a1, [x];
    mul.lo.u32 %a2, %a1, %a1;
    st.param.b32 [r], %a2;
    ret;
  }
)"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i % 4 == 0 ? 1 : i * i);
}

TEST(Control, AnIndexedBranchSendsEachLaneToItsTarget) {
  const Ran ran = run_both({.body = R"(
    rem.u32 %r1, %t, 3;
    mov.u32 %r2, 0;
TARGETS: .branchtargets A, B, C;
    brx.idx %r1, TARGETS;
A:
    add.u32 %r2, %r2, 1;
B:
    add.u32 %r2, %r2, 10;
C:
    add.u32 %r2, %r2, 100;
    st.global.u32 [%mine], %r2;
  )"});
  ASSERT_EQ(ran.message(), "");
  const unsigned expected[] = {111, 110, 100};
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], expected[i % 3]);
}

TEST(Control, LanesThatExitWriteNothingMore) {
  const Ran ran = run_both({.body = R"(
    setp.gt.u32 %p1, %t, 9;
    @%p1 exit;
    st.global.u32 [%mine], 5;
  )"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i > 9 ? 0u : 5u);
}

TEST(Control, ATrapIsAFindingAtItsPlace) {
  const Ran ran = run_both({.body = "setp.eq.u32 %p1, %t, 4;\n@%p1 trap;"});
  EXPECT_EQ(ran.code(), "machine.trap");
  EXPECT_EQ(ran.message(), "thread (4,0,0) of block (0,0,0) executes `trap`");
  EXPECT_NE(ran.place().find("trap"), std::string::npos);
}

TEST(Control, AnEndlessLoopEndsWithTheBudget) {
  const Ran ran = run_both({.body = "LOOP:\nbra.uni LOOP;", .options = {.workers = 1, .step_budget = 50000}});
  EXPECT_EQ(ran.code(), "machine.budget");
  EXPECT_EQ(ran.result.stop->kind, Stop::Kind::Budget);
}

TEST(Control, ARecursiveCallIsUnmodelled) {
  const Ran ran = run_both({.body = "call.uni again;", .before = ".func again() {\ncall.uni again;\nret;\n}\n"});
  EXPECT_EQ(ran.code(), "machine.unmodelled");
  EXPECT_EQ(ran.result.stop->kind, Stop::Kind::Unmodelled);
}

TEST(Control, WhatIsNotReachedNeedsNoMeaning) {
  const Ran ran = run_both({.body = R"(
    setp.gt.u32 %p1, %t, 99;
    @%p1 brkpt;
    st.global.u32 [%mine], 5;
  )"});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[3], 5u);
}

}  // namespace
}  // namespace plumb::machine::test
