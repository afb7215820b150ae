// SPDX-License-Identifier: Apache-2.0
#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

TEST(Stack, EachAllocationIsMemoryOfItsOwn) {
  const Ran ran = run_both({.body = R"(
    add.u32 %r1, %t, 1;
    mul.wide.u32 %rd1, %r1, 4;
    alloca.u64 %rd2, %rd1, 16;
    alloca.u64 %rd3, 8;
    shl.b32 %r2, %t, 2;
    cvt.u64.u32 %rd4, %r2;
    add.u64 %rd4, %rd4, %rd2;
    st.local.u32 [%rd4], 7;
    st.local.u32 [%rd3], 9;
    ld.local.u32 %r3, [%rd4];
    and.b64 %rd5, %rd2, 15;
    cvt.u32.u64 %r4, %rd5;
    add.u32 %r3, %r3, %r4;
    st.global.u32 [%mine], %r3;
  )"});
  ASSERT_EQ(ran.message(), "") << ran.place();
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 7u);
}

TEST(Stack, WhatIsRestoredIsGone) {
  const std::string body = R"(
    stacksave.u64 %rd1;
    alloca.u64 %rd2, 64;
    st.local.u32 [%rd2], 7;
    ld.local.u32 %r1, [%rd2];
    st.global.u32 [%mine], %r1;
    stackrestore.u64 %rd1;
  )";
  const Ran good = run_both({.body = body});
  ASSERT_EQ(good.message(), "");
  EXPECT_EQ(good.out[31], 7u);
  EXPECT_EQ(run_both({.body = body + "st.local.u32 [%rd2], 8;"}).code(), "machine.out-of-bounds");
  // Taken again, it is undefined.
  const Ran again =
      run_field({.body = body + "alloca.u64 %rd3, 64;\nld.local.u64 %rd4, [%rd3];\nst.global.u32 [%rd4], 1;"});
  EXPECT_EQ(again.code(), "machine.undefined");
}

TEST(Stack, AReturnGivesBackWhatTheFunctionTook) {
  const Ran ran = run_both(
      {.body = R"(
    mov.u32 %r1, 0;
LOOP:
    call grow;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 100;
    @%p1 bra LOOP;
    stacksave.u64 %rd1;
    st.global.u32 [%mine], %rd1;
  )",
       .before = ".func grow() {\n.reg .b64 %d<2>;\nalloca.u64 %d1, 1024;\nst.local.u64 [%d1], 1;\nret;\n}\n"});
  ASSERT_EQ(ran.message(), "") << ran.place();
  EXPECT_EQ(ran.out[0], 0u);
}

TEST(Stack, MisuseIsFoundAndTooMuchIsUnmodelled) {
  EXPECT_EQ(run_both({.body = "mov.u64 %rd1, 4096;\nstackrestore.u64 %rd1;"}).code(), "machine.out-of-bounds");
  EXPECT_EQ(run_both({.body = "alloca.u64 %rd1, 65536;"}).code(), "");
  EXPECT_EQ(run_both({.body = "alloca.u64 %rd1, 65537;"}).code(), "machine.unmodelled");
}

}  // namespace
}  // namespace plumb::machine::test
