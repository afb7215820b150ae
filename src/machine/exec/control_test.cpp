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

TEST(Control, ABreakpointIsAFindingAsATrapIs) {
  const Ran ran = run_both({.body = "brkpt;"});
  EXPECT_EQ(ran.code(), "machine.trap");
  EXPECT_EQ(ran.place(), "brkpt;");
}

TEST(Control, AnEndlessLoopEndsWithTheBudget) {
  const Ran ran = run_both({.body = "LOOP:\nbra.uni LOOP;", .options = {.workers = 1, .step_budget = 50000}});
  EXPECT_EQ(ran.code(), "machine.budget");
  EXPECT_EQ(ran.result.stop->kind, Stop::Kind::Budget);
}

TEST(Control, ACallThatNeverEndsIsUnmodelled) {
  const Ran ran = run_both({.body = "call.uni again;", .before = ".func again() {\ncall.uni again;\nret;\n}\n"});
  EXPECT_EQ(ran.code(), "machine.unmodelled");
  EXPECT_EQ(ran.result.stop->kind, Stop::Kind::Unmodelled);
  EXPECT_NE(ran.message().find("calls more than 512 functions deep"), std::string::npos) << ran.message();
}

// Registers, predicates, parameters and local variables of every run of a function are its own.
constexpr const char* kFibonacci = R"(.func (.param .b32 r) fib(.param .b32 n) {
    .reg .b32 %a<6>;
    .reg .b64 %d<3>;
    .reg .pred %p<2>;
    .local .align 4 .b8 kept[8];
    .param .b32 x, y;
    ld.param.b32 %a1, [n];
    mov.u64 %d1, kept;
    st.local.b32 [%d1+4], %a1;
    setp.lt.u32 %p1, %a1, 2;
    @%p1 bra LEAF;
    sub.u32 %a2, %a1, 1;
    st.param.b32 [x], %a2;
    call (y), fib, (x);
    ld.param.b32 %a3, [y];
    ld.local.b32 %a2, [kept+4];
    sub.u32 %a2, %a2, 2;
    st.param.b32 [x], %a2;
    call (y), fib, (x);
    ld.param.b32 %a4, [y];
    add.u32 %a1, %a3, %a4;
    @!%p1 bra LEAF;
    mov.u32 %a1, 99;
LEAF:
    st.param.b32 [r], %a1;
    ret;
  }
)";

TEST(Control, AFunctionMayCallItself) {
  const Ran ran = run_both({.body = R"(
    rem.u32 %r1, %t, 9;
    .param .b32 n, f;
    st.param.b32 [n], %r1;
    call (f), fib, (n);
    ld.param.b32 %r2, [f];
    st.global.u32 [%mine], %r2;
  )",
                            .before = kFibonacci});
  ASSERT_EQ(ran.message(), "") << ran.place();
  const unsigned expected[] = {0, 1, 1, 2, 3, 5, 8, 13, 21};
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], expected[i % 9]);
}

// A pointer to a local variable of the outer run reaches that one, not the inner run's of the same name.
TEST(Control, FramesOfOneFunctionLieApart) {
  const Ran ran = run_both({.body = R"(
    .param .b64 to;
    .param .b32 depth, f;
    mov.u64 %rd1, 0;
    st.param.b64 [to], %rd1;
    st.param.b32 [depth], 3;
    call (f), chain, (to, depth);
    ld.param.b32 %r2, [f];
    st.global.u32 [%mine], %r2;
  )",
                            .before = R"(.func (.param .b32 r) chain(.param .b64 outer, .param .b32 depth) {
    .reg .b32 %a<6>;
    .reg .b64 %d<4>;
    .reg .pred %p<3>;
    .local .align 4 .b32 own;
    .param .b64 x;
    .param .b32 y, z;
    ld.param.b64 %d1, [outer];
    ld.param.b32 %a1, [depth];
    st.local.b32 [own], %a1;
    setp.eq.u32 %p1, %a1, 3;
    @%p1 bra FIRST;
    ld.local.b32 %a2, [%d1];
    mad.lo.u32 %a2, %a2, 10, %a1;
    st.local.b32 [%d1], %a2;
FIRST:
    setp.eq.u32 %p2, %a1, 0;
    @%p2 bra LAST;
    mov.u64 %d2, own;
    st.param.b64 [x], %d2;
    sub.u32 %a3, %a1, 1;
    st.param.b32 [y], %a3;
    call (z), chain, (x, y);
    ld.param.b32 %a4, [z];
LAST:
    ld.local.b32 %a5, [own];
    @!%p2 mad.lo.u32 %a5, %a4, 100, %a5;
    st.param.b32 [r], %a5;
    ret;
  }
)"});
  ASSERT_EQ(ran.message(), "") << ran.place();
  // Each outer run finds ten times its depth plus the inner depth: 32, 21, 10, and the last 0.
  EXPECT_EQ(ran.out[0], ((0 * 100 + 10) * 100 + 21) * 100 + 32u);
}

TEST(Control, EveryRunOfAFunctionStartsUndefined) {
  const std::string body = R"(
    .param .b32 n, f;
    st.param.b32 [n], 1;
    call (f), sometimes, (n);
    st.param.b32 [n], 0;
    call (f), sometimes, (n);
    ld.param.b32 %r2, [f];
    cvt.u64.u32 %rd1, %r2;
    add.u64 %rd1, %rd1, %out;
    st.global.u32 [%rd1], %r2;
  )";
  const Ran ran = run_field({.body = body, .before = R"(.func (.param .b32 r) sometimes(.param .b32 n) {
    .reg .b32 %a<3>;
    .reg .pred %p<2>;
    ld.param.b32 %a1, [n];
    setp.ne.u32 %p1, %a1, 0;
    @%p1 mov.u32 %a2, 4;
    st.param.b32 [r], %a2;
    ret;
  }
)"});
  EXPECT_EQ(ran.code(), "machine.undefined");
}

constexpr const char* kTwoFunctions = R"(.func (.reg .u32 r) twice(.reg .u32 x) {
    add.u32 r, x, x;
    ret;
  }
  .func (.reg .u32 r) square(.reg .u32 x) {
    mul.lo.u32 r, x, x;
    ret;
  }
  .func (.reg .u32 r) sum(.reg .u32 x, .reg .u32 y) {
    add.u32 r, x, y;
    ret;
  }
)";

TEST(Control, ParametersMayBeRegisters) {
  const Ran ran = run_both({.body = R"(
    call (%r1), square, (%t);
    call (%r2), sum, (%r1, 7);
    st.global.u32 [%mine], %r2;
  )",
                            .before = kTwoFunctions});
  ASSERT_EQ(ran.message(), "") << ran.place();
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i * i + 7);
}

TEST(Control, EachLaneCallsTheFunctionWhoseAddressItHolds) {
  const Ran ran = run_both({.body = R"(
    and.b32 %r1, %t, 1;
    setp.eq.u32 %p1, %r1, 0;
    mov.u64 %rd1, twice;
    mov.u64 %rd2, square;
    selp.b64 %rd3, %rd1, %rd2, %p1;
P: .callprototype (.reg .u32 _) _ (.reg .u32 _);
    call (%r2), %rd3, (%t), P;
    st.global.u32 [%mine], %r2;
  )",
                            .before = kTwoFunctions});
  ASSERT_EQ(ran.message(), "") << ran.place();
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i % 2 == 0 ? 2 * i : i * i);
}

TEST(Control, ATableOfFunctionsIsCalled) {
  const Ran ran = run_both({.body = R"(
    rem.u32 %r1, %t, 2;
    mul.wide.u32 %rd1, %r1, 8;
    mov.u64 %rd2, table;
    add.u64 %rd2, %rd2, %rd1;
    ld.global.u64 %rd3, [%rd2];
T: .calltargets square, twice;
    call (%r2), %rd3, (%t), T;
    st.global.u32 [%mine], %r2;
  )",
                            .before = std::string(kTwoFunctions) + ".global .u64 table[2] = {square, twice};\n"});
  ASSERT_EQ(ran.message(), "") << ran.place();
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i % 2 == 1 ? 2 * i : i * i);
}

TEST(Control, ACallOfWhatIsNoFunctionIsFound) {
  const char* const prototype = "P: .callprototype (.reg .u32 _) _ (.reg .u32 _);\n";
  const auto code = [&](const std::string& address, const std::string& label) {
    Kernel kernel{.body = label + "mov.u64 %rd4, twice;\nmov.u64 %rd3, " + address + ";\ncall (%r2), %rd3, (%t), " +
                          label.substr(0, 1) + ";\nst.global.u32 [%mine], %r2;",
                  .before = kTwoFunctions};
    return run_both(kernel).code();
  };
  EXPECT_EQ(code("square", prototype), "");
  EXPECT_EQ(code("1234", prototype), "machine.call");
  EXPECT_EQ(code("sum", prototype), "machine.call");  // takes two
  EXPECT_EQ(code("square", "T: .calltargets twice;\n"), "machine.call");
}

TEST(Control, ClocksGoOnAndAreNoFunctionOfTheInputs) {
  const Kernel kernel{.body = R"(
    mov.u64 %rd1, %clock64;
    mov.u64 %rd2, %globaltimer;
    mov.u32 %r1, %clock;
    setp.lt.u64 %p1, %rd1, %rd2;
    selp.u32 %r2, 1, 0, %p1;
    cvt.u32.u64 %r3, %rd2;
    setp.lt.u32 %p1, %r3, %r1;
    selp.u32 %r4, 2, 0, %p1;
    add.u32 %r2, %r2, %r4;
    st.global.u32 [%mine], %r2;
  )"};
  const Ran ran = run(kernel);
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[5], 3u);
  const Ran field = run_field(kernel);
  EXPECT_EQ(field.code(), "machine.unmodelled");
  EXPECT_EQ(field.place(), "mov.u64 %rd1, %clock64;");
}

TEST(Control, AVectorIsMovedAsAWhole) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r1, 10;
    mov.u32 %r2, 20;
    mov.v2.u32 {%r1, %r2}, {%r2, %r1};
    st.global.u32 [%mine], %r1;
    st.global.u32 [%mine+128], %r2;
  )"});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 20u);
  EXPECT_EQ(ran.out[32], 10u);
}

TEST(Control, WhatIsNotReachedNeedsNoMeaning) {
  const Ran ran = run_both({.body = R"(
    setp.gt.u32 %p1, %t, 99;
    @%p1 mov.u32 %r1, %smid;
    st.global.u32 [%mine], 5;
  )"});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[3], 5u);
}

}  // namespace
}  // namespace plumb::machine::test
