// SPDX-License-Identifier: Apache-2.0
#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

TEST(Memory, ReadingPastABufferNamesItAndTheDistance) {
  const Ran ran = run_both({.body = R"(
    mad.wide.u32 %rd1, %t, 4, %in;
    ld.global.u32 %r1, [%rd1];
    st.global.u32 [%mine], %r1;
  )",
                            .in = std::vector<std::uint32_t>(31, 3)});
  EXPECT_EQ(ran.code(), "machine.out-of-bounds");
  EXPECT_EQ(ran.message(),
            "thread (31,0,0) of block (0,0,0) reads 4 bytes at `in`+124, 0 bytes past its end of 124 bytes");
  EXPECT_NE(ran.place().find("ld.global.u32"), std::string::npos);
}

TEST(Memory, WritingBeforeABufferIsFound) {
  const Ran ran = run_both({.body = "add.s64 %rd1, %out, -8;\nst.global.u32 [%rd1], %t;"});
  EXPECT_EQ(ran.code(), "machine.out-of-bounds");
  EXPECT_NE(ran.message().find("writes 4 bytes at"), std::string::npos);
}

TEST(Memory, AVectorThatCrossesTheEndIsFound) {
  const Ran ran = run_both({.body = "setp.eq.u32 %p1, %t, 0;\n@%p1 ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%in+16];",
                            .in = std::vector<std::uint32_t>(6, 3)});
  EXPECT_EQ(ran.code(), "machine.out-of-bounds");
  EXPECT_NE(ran.message().find("`in`+16, only 8 bytes before its end of 24 bytes"), std::string::npos) << ran.message();
}

TEST(Memory, AMisalignedVectorIsFound) {
  const Ran ran = run_both({.body = "ld.global.v2.u32 {%r1,%r2}, [%in+4];", .in = {1, 2, 3, 4}});
  EXPECT_EQ(ran.code(), "machine.misaligned");
  EXPECT_NE(ran.message().find("(`in`+4), which is not a multiple of 8"), std::string::npos) << ran.message();
}

TEST(Memory, SharedMemoryHasBounds) {
  const Ran ran = run_both(
      {.body = "mov.u32 %r1, tile;\nst.shared.u32 [%r1+64], %t;", .before = ".shared .align 16 .b8 tile[64];\n"});
  EXPECT_EQ(ran.code(), "machine.out-of-bounds");
  EXPECT_NE(ran.message().find("past the 64 bytes of shared memory"), std::string::npos) << ran.message();
}

TEST(Memory, NarrowLoadsExtendAsTheirTypeSays) {
  const Ran ran = run_both({.body = R"(
    ld.global.s8 %r1, [%in];
    ld.global.u8 %r2, [%in];
    ld.global.s16 %r3, [%in];
    ld.global.b16 %r4, [%in];
    ld.global.s32 %rd1, [%in+4];
    setp.eq.s64 %p1, %rd1, -2;
    selp.u32 %r5, 1, 0, %p1;
    st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};
    st.global.u32 [%out+16], %r5;
    st.global.b8 [%out+20], %r1;
  )",
                            .in = {0x1234fffe, 0xfffffffe}});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 0xfffffffeu);
  EXPECT_EQ(ran.out[1], 0xfeu);
  EXPECT_EQ(ran.out[2], 0xfffffffeu);
  EXPECT_EQ(ran.out[3], 0xfffeu);
  EXPECT_EQ(ran.out[4], 1u);
  EXPECT_EQ(ran.out[5], 0xfeu);
}

TEST(Memory, AFalseGuardLeavesTheDestinationAndReadsNothing) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r1, 42;
    setp.gt.u32 %p1, %t, 99;
    @%p1 ld.global.u32 %r1, [%in+4096];
    st.global.u32 [%mine], %r1;
  )"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 42u);
}

TEST(Memory, LocalMemoryIsTheLanesOwn) {
  const Ran ran = run_both({.body = R"(
    .local .align 4 .b8 stack[16];
    mov.u64 %rd1, stack;
    st.local.u32 [%rd1+8], %t;
    cvta.local.u64 %rd2, %rd1;
    ld.u32 %r1, [%rd2+8];
    st.global.u32 [%mine], %r1;
  )"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i);
}

TEST(Memory, GenericAddressesFindTheirSpace) {
  const Ran ran = run_both({.body = R"(
    mov.u64 %rd1, tile;
    cvta.shared.u64 %rd2, %rd1;
    mad.wide.u32 %rd3, %t, 4, %rd2;
    st.u32 [%rd3], %t;
    cvta.to.shared.u64 %rd4, %rd3;
    ld.shared.u32 %r1, [%rd4];
    isspacep.shared %p1, %rd3;
    isspacep.global %p2, %mine;
    isspacep.shared %p3, %mine;
    selp.u32 %r2, 100, 0, %p1;
    selp.u32 %r3, 200, 0, %p2;
    selp.u32 %r4, 400, 0, %p3;
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    add.u32 %r1, %r1, %r4;
    st.u32 [%mine], %r1;
  )",
                            .before = ".shared .align 16 .b8 tile[128];\n"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 300 + i);
}

TEST(Memory, ConstantsAndModuleVariablesHoldTheirInitialBytes) {
  const Ran ran =
      run_both({.body = R"(
    ld.const.u32 %r1, [table+4];
    ld.global.u32 %r2, [counter];
    mov.u64 %rd1, counter;
    ld.global.u32 %r3, [%rd1+4];
    st.global.u32 [%out], %r1;
    st.global.u32 [%out+4], %r2;
    st.global.u32 [%out+8], %r3;
  )",
                .before = ".const .align 4 .u32 table[2] = {5, 6};\n.global .align 4 .u32 counter[2] = {9};\n"});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 6u);
  EXPECT_EQ(ran.out[1], 9u);
  EXPECT_EQ(ran.out[2], 0u);
}

TEST(Memory, AnImageHoldsTheAddressOfAFunctionOrAVariable) {
  const Ran ran = run({.body = R"(
    ld.global.u64 %rd1, [of_table];
    ld.global.u64 %rd1, [%rd1];
    mov.u64 %rd2, f;
    sub.u64 %rd1, %rd1, %rd2;
    cvt.u32.u64 %r1, %rd1;
    ld.global.u64 %rd1, [of_other];
    ld.global.u32 %r2, [%rd1];
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%out], %r1;
  )",
                       .before = ".func f { ret; }\n.global .u64 table[2] = {f, 1};\n.global .u64 of_table[1] = "
                                 "{table};\n.global .u64 other[1] = {3};\n.global .u64 of_other[1] = {other};\n"});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 3u);
}

TEST(Memory, AnImageWithTheAddressOfAKernelIsNotRead) {
  const std::string before =
      ".visible .entry other_kernel() { ret; }\n.global .u64 table[2] = {other_kernel, 1};\n"
      ".global .u64 of_table[1] = {table};\n";
  for (const char* name : {"table", "of_table"}) {
    const Ran ran = run({.body = "ld.global.u64 %rd1, [" + std::string(name) + "];", .before = before});
    EXPECT_NE(ran.message().find("the address of a variable without a place"), std::string::npos) << ran.message();
  }
}

TEST(Memory, DynamicSharedMemoryFollowsTheStaticVariables) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r1, dynamic;
    mov.u32 %r2, fixed;
    sub.u32 %r3, %r1, %r2;
    st.shared.u32 [%r1+60], %t;
    st.global.u32 [%mine], %r3;
  )",
                            .before = ".shared .align 4 .b8 fixed[20];\n.extern .shared .align 16 .b8 dynamic[];\n",
                            .dynamic_shared = 64});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 32u);
}

TEST(Memory, ARegisterThatWasNeverWrittenIsNoAddress) {
  const Ran ran = run_field({.body = "ld.global.u32 %r1, [%rd5];"});
  EXPECT_EQ(ran.code(), "machine.undefined");
  EXPECT_EQ(ran.message(), "the address of thread (0,0,0) of block (0,0,0) was never written");
}

TEST(Memory, APredicateThatWasNeverWrittenGuardsNothing) {
  const Ran ran = run_field({.body = "@%p5 st.global.u32 [%mine], %t;"});
  EXPECT_EQ(ran.code(), "machine.undefined");
}

TEST(Memory, CopyingWhatWasNeverWrittenIsFineUntilItSteers) {
  const Ran ran = run_field({.body = R"(
    mov.b64 %rd6, %rd5;
    add.s64 %rd7, %rd6, 4;
    st.global.u32 [%mine], %t;
    ld.global.u32 %r1, [%rd7];
  )"});
  EXPECT_EQ(ran.code(), "machine.undefined");
  EXPECT_NE(ran.place().find("ld.global.u32"), std::string::npos);
}

TEST(Move, PacksAndUnpacksElementsLowestFirst) {
  const Ran ran = run_both({.body = R"(
    mov.b32 %r1, 0x12345678;
    mov.b32 {%h1, %h2}, %r1;
    mov.b32 %r2, {%h2, %h1};
    mov.b64 %rd1, {%r1, %r2};
    mov.b64 {%h3, %h4, %h5, %h6}, %rd1;
    mov.b32 %r3, {%h6, %h3};
    mov.b64 {_, %r4}, %rd1;
    st.global.v4.u32 [%out], {%r2, %r3, %r4, %r1};
  )"});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 0x56781234u);
  EXPECT_EQ(ran.out[1], 0x56785678u);
  EXPECT_EQ(ran.out[2], 0x56781234u);
}

TEST(Move, SpecialRegistersSayWhereAThreadIs) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r1, %tid.y;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %ctaid.y;
    mov.u32 %r4, %nctaid.x;
    mov.u32 %r5, %laneid;
    mad.lo.u32 %r6, %r1, %r2, %t;
    mad.lo.u32 %r7, %r3, %r4, 0;
    mov.u32 %r8, %ctaid.x;
    add.u32 %r7, %r7, %r8;
    mad.lo.u32 %r9, %r7, 8, %r6;
    mad.wide.u32 %rd1, %r9, 4, %out;
    mad.lo.u32 %r10, %r9, 100, %r5;
    st.global.u32 [%rd1], %r10;
  )",
                            .grid = {2, 3, 1},
                            .block = {4, 2, 1}});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 48; ++i) EXPECT_EQ(ran.out[i], i * 100 + i % 8);
}

}  // namespace
}  // namespace plumb::machine::test
