// SPDX-License-Identifier: Apache-2.0
#include "machine/grid.h"

#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

TEST(Grid, ClustersAreNumberedByTheirFirstBlocks) {
  const Clusters clusters({6, 4, 2}, {2, 2, 1});
  // First blocks: 0 2 4, 12 14 16, then the next layer of z from 24.
  EXPECT_EQ(clusters.from(0), 0u);
  EXPECT_EQ(clusters.from(1), 1u);
  EXPECT_EQ(clusters.from(5), 3u);
  EXPECT_EQ(clusters.from(12), 3u);
  EXPECT_EQ(clusters.from(17), 6u);
  EXPECT_EQ(clusters.from(24), 6u);
  EXPECT_EQ(clusters.from(1000), 12u);
}

// Thread 0 of each block waits for the block after it, so that blocks in order never get on.
std::string chain(const char* pause) {
  return std::string(R"(
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra DONE;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %nctaid.x;
    sub.u32 %r3, %r2, 1;
    mad.wide.u32 %rd1, %r1, 4, %out;
    mov.u32 %r4, 1;
    setp.eq.u32 %p2, %r1, %r3;
    @%p2 bra WRITE;
  WAIT:
    ld.acquire.gpu.global.b32 %r4, [%rd1+4];
    setp.ne.u32 %p3, %r4, 0;
    @%p3 bra GOT;
  )") + pause +
         R"(
    bra WAIT;
  GOT:
    add.u32 %r4, %r4, 1;
  WRITE:
    st.release.gpu.global.b32 [%rd1], %r4;
  DONE:
  )";
}

TEST(Grid, ABlockMayWaitForALaterOne) {
  for (const char* pause : {"", "nanosleep.u32 100;"}) {
    for (const unsigned workers : {1u, 2u}) {
      Kernel kernel{.body = chain(pause), .grid = {12, 1, 1}};
      kernel.options.workers = workers;
      const Ran ran = run(kernel);
      ASSERT_EQ(ran.message(), "");
      for (unsigned i = 0; i < 12; ++i) EXPECT_EQ(ran.out[i], 12 - i);
      EXPECT_EQ(ran.result.counts.ctas, 12u);
    }
  }
  EXPECT_EQ(run_field({.body = chain(""), .grid = {6, 1, 1}}).out[0], 6u);
}

TEST(Grid, AllBlocksMayMeet) {
  // A barrier of the grid by an atomic counter, twice.
  const Ran ran = run({.body = R"(
    setp.ne.u32 %p1, %t, 0;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r5, 0;
  ROUND:
    @%p1 bra MET;
    atom.add.acq_rel.gpu.global.u32 %r2, [%out], 1;
    add.u32 %r5, %r5, 9;
  WAIT:
    ld.acquire.gpu.global.u32 %r3, [%out];
    setp.lt.u32 %p2, %r3, %r5;
    @%p2 bra WAIT;
  MET:
    bar.sync 0;
    setp.lt.u32 %p3, %r5, 18;
    @%p1 mov.u32 %r6, 1;
    @!%p1 mov.u32 %r6, 0;
    setp.eq.u32 %p4, %r6, 0;
    and.pred %p3, %p3, %p4;
    @%p3 bra ROUND;
    @%p1 bra DONE;
    mad.wide.u32 %rd1, %r1, 4, %out;
    st.global.u32 [%rd1+4], %r3;
  DONE:
  )",
                       .grid = {9, 1, 1},
                       .block = {1, 1, 1}});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 18u);
  for (unsigned i = 0; i < 9; ++i) EXPECT_EQ(ran.out[1 + i], 18u);
}

TEST(Grid, ADefectEndsTheBlocksThatWaitForIt) {
  Kernel kernel{.body = chain(""), .grid = {4, 1, 1}};
  kernel.body = "mov.u32 %r9, %ctaid.x;\nsetp.eq.u32 %p4, %r9, 2;\n@%p4 trap;\n" + kernel.body;
  EXPECT_EQ(run(kernel).code(), "machine.trap");
}

}  // namespace
}  // namespace plumb::machine::test
