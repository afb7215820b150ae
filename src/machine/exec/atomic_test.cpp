// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

TEST(Atomic, AddsOfAllBlocksAreCountedAndOldValuesAreDistinct) {
  Kernel kernel{.body = R"(
    atom.global.add.u32 %r1, [%in], 1;
    mad.wide.u32 %rd1, %r1, 4, %out;
    st.global.u32 [%rd1], %r1;
  )",
                .in = {0},
                .out_words = 256,
                .grid = {8, 1, 1}};
  kernel.options.workers = 2;
  const Ran ran = run(kernel);
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(ran.out[i], i);
}

TEST(Atomic, IntegerOperationsFollowTheManual) {
  struct Case {
    const char* op;
    std::uint32_t old, b, expected;
  };
  const Case cases[] = {{"and.b32", 12, 10, 8},
                        {"or.b32", 12, 10, 14},
                        {"xor.b32", 12, 10, 6},
                        {"add.s32", 5, 0xffffffff, 4},
                        {"inc.u32", 7, 7, 0},
                        {"inc.u32", 6, 7, 7},
                        {"dec.u32", 0, 7, 7},
                        {"dec.u32", 9, 7, 7},
                        {"dec.u32", 5, 7, 4},
                        {"min.s32", 0xffffffff, 3, 0xffffffff},
                        {"min.u32", 0xffffffff, 3, 3},
                        {"max.s32", 0xffffffff, 3, 3},
                        {"max.u32", 0xffffffff, 3, 0xffffffff},
                        {"exch.b32", 5, 9, 9}};
  for (const Case& one : cases) {
    const Ran ran = run_both({.body = "ld.global.u32 %r3, [%in];\nld.global.u32 %r1, [%in+4];\n"
                                      "st.global.u32 [%out], %r3;\nsetp.eq.u32 %p1, %t, 0;\n"
                                      "@%p1 atom.global." +
                                      std::string(one.op) +
                                      " %r2, [%out], %r1;\n"
                                      "@%p1 st.global.u32 [%out+4], %r2;",
                              .in = {one.old, one.b}});
    ASSERT_EQ(ran.message(), "") << one.op;
    EXPECT_EQ(ran.out[0], one.expected) << one.op;
    EXPECT_EQ(ran.out[1], one.old) << one.op;
  }
}

TEST(Atomic, CompareAndSwapStoresOnlyOnEquality) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r5, cell;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.shared.u32 [%r5], 3;
    bar.sync 0;
    atom.shared.cas.b32 %r1, [%r5], 3, %t;
    st.global.u32 [%mine], %r1;
    bar.sync 0;
    ld.shared.u32 %r2, [%r5];
    st.global.u32 [%mine+128], %r2;
  )",
                            .before = ".shared .align 4 .b8 cell[4];\n"});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 3u);                                    // lane 0 swapped in 0
  for (unsigned i = 1; i < 32; ++i) EXPECT_EQ(ran.out[i], 0u);  // so that the others failed
  EXPECT_EQ(ran.out[32], 0u);
}

TEST(Atomic, FloatSumsFlushSubnormalsInGlobalMemoryOnly) {
  const std::uint32_t subnormal = 0x00400000;
  const Ran ran = run({.body = R"(
    mov.u32 %r5, cell;
    ld.global.f32 %f1, [%in];
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.shared.u32 [%r5], 0;
    @%p1 red.shared.add.f32 [%r5], %f1;
    @%p1 red.global.add.f32 [%out], %f1;
    ld.shared.u32 %r1, [%r5];
    @%p1 st.global.u32 [%out+4], %r1;
  )",
                       .before = ".shared .align 4 .b8 cell[4];\n",
                       .in = {subnormal}});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 0u);
  EXPECT_EQ(ran.out[1], subnormal);
}

TEST(Atomic, FloatSumsAddEveryLane) {
  const Ran ran = run({.body = "cvt.rn.f32.u32 %f1, %t;\nred.global.add.f32 [%out], %f1;"});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(std::bit_cast<float>(ran.out[0]), 496.0f);
}

TEST(Atomic, LocalMemoryHasNone) {
  const Ran ran = run_both({.body = R"(
    .local .align 4 .b8 stack[16];
    mov.u64 %rd1, stack;
    cvta.local.u64 %rd2, %rd1;
    red.add.u32 [%rd2], 1;
  )"});
  EXPECT_EQ(ran.code(), "machine.out-of-bounds");
}

TEST(Atomic, WordsOf128BitsAreExchangedAndCompared) {
  const Ran ran = run_both({.body = R"(
    .reg .b128 %q<4>;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra DONE;
    mov.b64 %rd1, 1;
    mov.b64 %rd2, 2;
    mov.b64 %rd3, 3;
    mov.b64 %rd4, 4;
    st.global.v2.b64 [%out], {%rd1, %rd2};
    mov.b128 %q0, {%rd3, %rd4};
    atom.global.exch.b128 %q1, [%out], %q0;
    mov.b128 {%rd5, %rd6}, %q1;
    st.global.v2.b64 [%out+16], {%rd5, %rd6};
    mov.b128 %q2, {%rd1, %rd4};
    atom.global.cas.b128 %q3, [%out], %q2, %q1;
    ld.global.v2.b64 {%rd7, %rd8}, [%out];
    st.global.v2.b64 [%out+32], {%rd7, %rd8};
    atom.global.cas.b128 %q3, [%out], %q0, %q2;
    mov.b128 {%rd5, %rd6}, %q3;
    st.global.v2.b64 [%out+48], {%rd5, %rd6};
  DONE:
  )",
                            .target = "sm_90a"});
  ASSERT_EQ(ran.message(), "");
  std::vector<std::uint32_t> low;
  for (unsigned i = 0; i < 8; ++i) low.push_back(ran.out[2 * i]);
  // In the end, what was exchanged; the failed swap changed nothing; the last one put {1, 4}.
  EXPECT_EQ(low, (std::vector<std::uint32_t>{1, 4, 1, 2, 3, 4, 3, 4}));
}

}  // namespace
}  // namespace plumb::machine::test
