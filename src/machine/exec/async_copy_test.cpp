// SPDX-License-Identifier: Apache-2.0
#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

std::vector<std::uint32_t> numbers(unsigned count) {
  std::vector<std::uint32_t> out;
  for (unsigned i = 0; i < count; ++i) out.push_back(1000 + i);
  return out;
}

// Each lane copies its word of `in`, does `middle`, and writes what it then finds.
Kernel copy_kernel(const std::string& middle) {
  return {.body = R"(
    shl.b32 %r1, %t, 2;
    mov.u32 %r2, tile;
    add.u32 %r3, %r2, %r1;
    st.shared.u32 [%r3], 5;
    mad.wide.u32 %rd1, %t, 4, %in;
    cp.async.ca.shared.global [%r3], [%rd1], 4;
)" + middle + R"(
    ld.shared.u32 %r4, [%r3];
    st.global.u32 [%mine], %r4;
  )",
          .before = ".shared .align 16 .b8 tile[1024];\n",
          .in = numbers(64)};
}

TEST(AsyncCopy, AWaitForAllBringsTheBytes) {
  const Ran ran = run_both(copy_kernel("cp.async.wait_all;"));
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 1000 + i);
}

TEST(AsyncCopy, AWaitForItsGroupBringsTheBytes) {
  const Ran ran = run_both(copy_kernel("cp.async.commit_group;\ncp.async.wait_group 0;"));
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 1000 + i);
}

TEST(AsyncCopy, WithoutAWaitTheOldBytesAreRead) {
  for (const char* middle :
       {"", "cp.async.commit_group;", "cp.async.wait_group 0;", "cp.async.commit_group;\ncp.async.wait_group 1;"}) {
    const Ran ran = run_both(copy_kernel(middle));
    ASSERT_EQ(ran.message(), "");
    for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 5u) << middle;
  }
}

TEST(AsyncCopy, ASeedMovesTheMomentOfACopy) {
  unsigned old_bytes = 0, new_bytes = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Kernel racing = copy_kernel("mov.u32 %r9, 0;\nmov.u32 %r9, 0;\nmov.u32 %r9, 0;");
    Kernel waiting = copy_kernel("cp.async.wait_all;");
    racing.options.schedule = waiting.options.schedule = seed;
    for (const std::uint32_t word : run_both(racing).out) {
      old_bytes += word == 5;
      new_bytes += word >= 1000;
    }
    const Ran waited = run_both(waiting);
    for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(waited.out[i], 1000 + i);
  }
  EXPECT_GT(old_bytes, 0u);
  EXPECT_GT(new_bytes, 0u);
}

TEST(AsyncCopy, AWaitLeavesTheNewestGroupsInFlight) {
  const Ran ran = run_both({.body = R"(
    shl.b32 %r1, %t, 2;
    mov.u32 %r2, tile;
    add.u32 %r3, %r2, %r1;
    st.shared.u32 [%r3], 5;
    st.shared.u32 [%r3+128], 6;
    mad.wide.u32 %rd1, %t, 4, %in;
    cp.async.ca.shared.global [%r3], [%rd1], 4;
    cp.async.commit_group;
    cp.async.ca.shared.global [%r3+128], [%rd1+128], 4;
    cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u32 %r4, [%r3];
    ld.shared.u32 %r5, [%r3+128];
    st.global.u32 [%mine], %r4;
    st.global.u32 [%mine+128], %r5;
  )",
                            .before = ".shared .align 16 .b8 tile[1024];\n",
                            .in = numbers(64)});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(ran.out[i], 1000 + i);
    EXPECT_EQ(ran.out[32 + i], 6u);
  }
}

TEST(AsyncCopy, GroupsAreEachLanesOwn) {
  // Odd lanes commit one more group than even lanes, so that `wait_group 1` means another copy for them.
  const Ran ran = run_both({.body = R"(
    shl.b32 %r1, %t, 2;
    mov.u32 %r2, tile;
    add.u32 %r3, %r2, %r1;
    st.shared.u32 [%r3], 5;
    mad.wide.u32 %rd1, %t, 4, %in;
    cp.async.ca.shared.global [%r3], [%rd1], 4;
    cp.async.commit_group;
    and.b32 %r6, %t, 1;
    setp.eq.u32 %p1, %r6, 1;
    @%p1 cp.async.commit_group;
    cp.async.wait_group 1;
    ld.shared.u32 %r4, [%r3];
    st.global.u32 [%mine], %r4;
  )",
                            .before = ".shared .align 16 .b8 tile[1024];\n",
                            .in = numbers(64)});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i % 2 == 1 ? 1000 + i : 5u);
}

TEST(AsyncCopy, AShortSourceIsFilledWithZeros) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %t, 16, %r2;
    mad.wide.u32 %rd1, %t, 16, %in;
    setp.lt.u32 %p1, %t, 2;
    selp.b32 %r4, 8, 0, %p1;
    cp.async.cg.shared.global [%r3], [%rd1], 16, %r4;
    cp.async.wait_all;
    ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r3];
    setp.lt.u32 %p2, %t, 4;
    mad.wide.u32 %rd2, %t, 16, %out;
    @%p2 st.global.v4.u32 [%rd2], {%r5, %r6, %r7, %r8};
  )",
                            .before = ".shared .align 16 .b8 tile[512];\n",
                            .in = numbers(8)});  // lanes from 2 on would read past it, but read nothing
  ASSERT_EQ(ran.message(), "");
  const std::vector<std::uint32_t> expected = {1000, 1001, 0, 0, 1004, 1005, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(std::vector<std::uint32_t>(ran.out.begin(), ran.out.begin() + 16), expected);
}

TEST(AsyncCopy, BoundsAndAlignmentAreCheckedAtTheInstruction) {
  const char* const before = ".shared .align 16 .b8 tile[64];\n";
  Ran ran = run_both({.body = "mov.u32 %r2, tile;\ncp.async.cg.shared.global [%r2], [%in+16], 16;",
                      .before = before,
                      .in = numbers(6)});
  EXPECT_EQ(ran.code(), "machine.out-of-bounds");
  ran = run_both({.body = "mov.u32 %r2, tile;\ncp.async.cg.shared.global [%r2+56], [%in], 16;",
                  .before = before,
                  .in = numbers(6)});
  EXPECT_EQ(ran.code(), "machine.misaligned");
  ran = run_both({.body = "mov.u32 %r2, tile;\ncp.async.cg.shared.global [%r2+64], [%in], 16;",
                  .before = before,
                  .in = numbers(6)});
  EXPECT_EQ(ran.code(), "machine.out-of-bounds");
  ran = run_both({.body = "mov.u32 %r2, tile;\nmov.u32 %r3, 17;\ncp.async.cg.shared.global [%r2], [%in], 16, %r3;",
                  .before = before,
                  .in = numbers(6)});
  EXPECT_EQ(ran.code(), "machine.async-copy");
}

}  // namespace
}  // namespace plumb::machine::test
