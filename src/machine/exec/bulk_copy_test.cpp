// SPDX-License-Identifier: Apache-2.0
#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

std::vector<std::uint32_t> numbers(unsigned count) {
  std::vector<std::uint32_t> out;
  for (unsigned i = 0; i < count; ++i) out.push_back(1000 + i);
  return out;
}

constexpr const char* kShared = ".shared .align 8 .b64 bar;\n.shared .align 128 .b8 tile[4096];\n";

// Thread 0 copies 128 bytes to `tile`; `middle` is what all threads do before they read their word of it.
Kernel load_kernel(const std::string& middle) {
  return {.body = R"(
    mov.u32 %r1, bar;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %t, 4, %r2;
    st.shared.b32 [%r3], 5;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra READY;
    mbarrier.init.shared.b64 [%r1], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 128;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%in], 128, [%r1];
  READY:
    bar.sync 0;
  )" + middle + R"(
    ld.shared.b32 %r4, [%r3];
    st.global.b32 [%mine], %r4;
  DONE:
    mbarrier.try_wait.parity.shared.b64 %p6, [%r1], 0;
    @!%p6 bra DONE;
  )",
          .before = kShared,
          .in = numbers(64),
          .target = "sm_90a"};
}

constexpr const char* kWait = "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;\n@!%p2 bra WAIT;\n";

TEST(BulkCopy, AWaitBringsTheBytes) {
  for (const char* wait : {kWait, "WAIT:\nmbarrier.test_wait.parity.shared.b64 %p2, [%r1], 0;\n@!%p2 bra WAIT;\n"}) {
    const Ran ran = run_both(load_kernel(wait));
    ASSERT_EQ(ran.message(), "");
    for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 1000 + i);
  }
}

TEST(BulkCopy, WithoutAWaitTheOldBytesAreRead) {
  const Ran ran = run_both(load_kernel(""));
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 5u);
}

TEST(BulkCopy, AWaitForTheWrongPhaseBringsNothing) {
  const Ran ran = run_both(load_kernel("WAIT:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r1], 1;\n@!%p2 bra WAIT;\n"));
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 5u);
}

TEST(BulkCopy, ASeedMovesTheMomentOfACopy) {
  // Without a wait some schedules read the new bytes, some the old ones; with one all read the new.
  unsigned old_bytes = 0, new_bytes = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Kernel racing = load_kernel(""), waiting = load_kernel(kWait);
    racing.options.schedule = waiting.options.schedule = seed;
    const Ran raced = run_both(racing), waited = run_both(waiting);
    ASSERT_EQ(raced.message(), "");
    ASSERT_EQ(waited.message(), "");
    EXPECT_EQ(run(racing).out, raced.out);
    for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(waited.out[i], 1000 + i);
    (raced.out[0] == 5 ? old_bytes : new_bytes) += 1;
  }
  EXPECT_GT(old_bytes, 0u);
  EXPECT_GT(new_bytes, 0u);
}

TEST(BulkCopy, ACopyThatNobodyWaitsForOutlivesItsBlock) {
  const Ran ran = run_both({.body = R"(
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra DONE;
    mov.u32 %r1, bar;
    mov.u32 %r2, tile;
    mbarrier.init.shared.b64 [%r1], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 128;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%in], 128, [%r1];
  DONE:
  )",
                            .before = kShared,
                            .in = numbers(64),
                            .target = "sm_90a"});
  EXPECT_EQ(ran.code(), "machine.bulk-copy");
  EXPECT_NE(ran.place().find("cp.async.bulk"), std::string::npos) << ran.place();
}

// Thread 0 stores 128 bytes of `tile` to `out`, then does `middle`, overwrites the tile and ends.
Kernel store_kernel(const std::string& middle) {
  return {.body = R"(
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %t, 4, %r2;
    st.shared.b32 [%r3], %t;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra WRITE;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r2], 128;
    cp.async.bulk.commit_group;
  )" + middle + R"(
  WRITE:
    bar.sync 0;
    st.shared.b32 [%r3], 99;
    bar.sync 0;
    @!%p1 ld.global.b32 %r6, [%out+124];
    @!%p1 st.global.b32 [%out+128], %r6;
    @!%p1 cp.async.bulk.wait_group 0;
  )",
          .before = kShared,
          .target = "sm_90a"};
}

TEST(BulkCopy, AStoreReadsWhenItsReadsAreWaitedForAndWritesWhenItsWritesAre) {
  // A full wait: the bytes are in memory for the load that follows.
  Ran ran = run_both(store_kernel("cp.async.bulk.wait_group 0;"));
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i);
  EXPECT_EQ(ran.out[32], 31u);
  // A wait for the reads: the source may be overwritten, the bytes may come later than the load.
  ran = run_both(store_kernel("cp.async.bulk.wait_group.read 0;"));
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i);
  EXPECT_EQ(ran.out[32], 0u);
  // No wait: what stands in the source at the end is stored.
  ran = run_both(store_kernel(""));
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], 99u);
}

TEST(BulkCopy, AWaitLeavesTheNewestGroupsInFlight) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %t, 4, %r2;
    st.shared.b32 [%r3], 1;
    bar.warp.sync 0xffffffff;
    setp.ne.u32 %p1, %t, 0;
    @%p1 bra DONE;
    cp.async.bulk.global.shared::cta.bulk_group [%out], [%r2], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.global.shared::cta.bulk_group [%out+16], [%r2], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 1;
    ld.global.v2.b32 {%r4, %r5}, [%out+12];
    cp.async.bulk.wait_group 0;
  DONE:
    @!%p1 st.global.v2.b32 [%out+32], {%r4, %r5};
  )",
                            .before = kShared,
                            .target = "sm_90a"});
  EXPECT_EQ(ran.code(), "machine.misaligned");  // +12: not a multiple of 8
}

TEST(BulkCopy, AnUnreadSourceMustNotLeaveWithItsBlock) {
  Kernel kernel = store_kernel("");
  kernel.body = kernel.body.substr(0, kernel.body.rfind("@!%p1 cp.async.bulk.wait_group"));
  const Ran ran = run_both(kernel);
  EXPECT_EQ(ran.code(), "machine.bulk-copy");
}

TEST(BulkCopy, ReductionsGoElementByElement) {
  struct Case {
    const char* op;
    std::uint32_t old, value, result;
  };
  for (const Case& each :
       {Case{"add.u32", 5, 7, 12}, Case{"min.s32", 5, 0xffffffff, 0xffffffff}, Case{"max.u32", 5, 7, 7},
        Case{"inc.u32", 7, 7, 0}, Case{"dec.u32", 0, 9, 9}, Case{"and.b32", 6, 3, 2}, Case{"or.b32", 6, 3, 7},
        Case{"xor.b32", 6, 3, 5}, Case{"add.f32", 0x3f800000, 0x40000000, 0x40400000},
        Case{"add.f32", 1, 1, 2},  // subnormals are kept
        Case{"add.noftz.f16", 0x3c004000, 0x3c003c00, 0x40004200},
        Case{"max.bf16", 0x3f804000, 0xbf804080, 0x3f804080}}) {
    const Ran ran = run({.body = R"(
      mov.u32 %r2, tile;
      mad.lo.u32 %r3, %t, 4, %r2;
      st.shared.b32 [%r3], )" + std::to_string(each.value) +
                                 R"(;
      st.global.b32 [%mine], )" + std::to_string(each.old) +
                                 R"(;
      bar.warp.sync 0xffffffff;
      setp.ne.u32 %p1, %t, 0;
      @%p1 bra DONE;
      cp.reduce.async.bulk.global.shared::cta.bulk_group.)" +
                                 each.op + R"( [%out], [%r2], 128;
      cp.async.bulk.commit_group;
      cp.async.bulk.wait_group 0;
    DONE:
    )",
                         .before = kShared,
                         .target = "sm_90a"});
    ASSERT_EQ(ran.message(), "") << each.op;
    for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], each.result) << each.op;
  }
}

TEST(BulkCopy, WrongOperandsAreFindings) {
  const auto code = [](const std::string& copy) {
    return run_both({.body = "setp.ne.u32 %p1, %t, 0;\n@%p1 bra DONE;\nmov.u32 %r1, bar;\nmov.u32 %r2, tile;\n"
                             "mov.u32 %r5, 24;\nmbarrier.init.shared.b64 [%r1], 1;\n"
                             "mbarrier.arrive.expect_tx.shared.b64 _, [%r1], 16;\n" +
                             copy + "\nDONE:\n",
                     .before = kShared,
                     .in = numbers(8),
                     .target = "sm_90a"})
        .code();
  };
  const std::string load = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes ";
  EXPECT_EQ(code(load + "[%r2], [%in], %r5, [%r1];"), "machine.bulk-copy");
  EXPECT_EQ(code(load + "[%r2+8], [%in], 16, [%r1];"), "machine.misaligned");
  EXPECT_EQ(code(load + "[%r2], [%in+8], 16, [%r1];"), "machine.misaligned");
  EXPECT_EQ(code(load + "[%r2], [%in+16], 32, [%r1];"), "machine.out-of-bounds");
  EXPECT_EQ(code(load + "[%r2+4096], [%in], 16, [%r1];"), "machine.out-of-bounds");
  EXPECT_EQ(code(load + "[%r2], [%in], 16, [%r2];"), "machine.mbarrier");
  EXPECT_EQ(code(load + "[%r1], [%in], 16, [%r1];"), "machine.mbarrier");
  // 32 bytes where 16 are expected: the phase is still open for its bytes when they are counted twice.
  EXPECT_EQ(
      code(load + "[%r2], [%in], 32, [%r1];\nW:\nmbarrier.try_wait.parity.shared.b64 %p2, [%r1], 0;\n@!%p2 bra W;"),
      "machine.deadlock");
}

// A producer warp and a consumer warp over a ring of stages, the way that kernels are written for sm_90.
std::string pipeline(const std::string& full_wait, const std::string& empty_wait) {
  return R"(
    mov.u32 %r1, full;
    mov.u32 %r2, empty;
    mov.u32 %r3, tile;
    setp.eq.u32 %p1, %t, 0;
    @!%p1 bra STARTED;
    mbarrier.init.shared.b64 [%r1], 1;
    mbarrier.init.shared.b64 [%r1+8], 1;
    mbarrier.init.shared.b64 [%r2], 32;
    mbarrier.init.shared.b64 [%r2+8], 32;
    fence.mbarrier_init.release.cluster;
  STARTED:
    bar.sync 0;
    mov.u32 %r4, 0;
    setp.ge.u32 %p2, %t, 32;
    mov.u32 %r12, 0;
    @%p2 bra CONSUME;
    @!%p1 bra END;
  PRODUCE:
    and.b32 %r5, %r4, 1;
    shr.b32 %r6, %r4, 1;
    and.b32 %r6, %r6, 1;
    xor.b32 %r6, %r6, 1;
    mad.lo.u32 %r7, %r5, 8, %r2;
  )" + empty_wait +
         R"(
    mad.lo.u32 %r8, %r5, 8, %r1;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r8], 128;
    mad.lo.u32 %r9, %r5, 128, %r3;
    mad.wide.u32 %rd1, %r4, 128, %in;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%rd1], 128, [%r8];
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p4, %r4, 8;
    @%p4 bra PRODUCE;
    bra END;
  CONSUME:
    and.b32 %r5, %r4, 1;
    shr.b32 %r6, %r4, 1;
    and.b32 %r6, %r6, 1;
    mad.lo.u32 %r8, %r5, 8, %r1;
  )" + full_wait +
         R"(
    mad.lo.u32 %r9, %r5, 128, %r3;
    mad.lo.u32 %r9, %t, 4, %r9;
    ld.shared.b32 %r10, [%r9+-128];
    mad.lo.u32 %r12, %r12, 3, %r10;
    mad.lo.u32 %r7, %r5, 8, %r2;
    mbarrier.arrive.shared.b64 _, [%r7];
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p4, %r4, 8;
    @%p4 bra CONSUME;
    st.global.b32 [%mine+-128], %r12;
  END:
  )";
}

constexpr const char* kPipelineShared =
    ".shared .align 8 .b64 full[2];\n.shared .align 8 .b64 empty[2];\n.shared .align 128 .b8 tile[256];\n";
constexpr const char* kFullWait = "W1:\nmbarrier.try_wait.parity.shared.b64 %p5, [%r8], %r6;\n@!%p5 bra W1;\n";
constexpr const char* kEmptyWait = "W2:\nmbarrier.try_wait.parity.shared.b64 %p5, [%r7], %r6;\n@!%p5 bra W2;\n";

std::vector<std::uint32_t> pipeline_result() {
  std::vector<std::uint32_t> sums(32);
  for (unsigned tile = 0; tile < 8; ++tile) {
    for (unsigned lane = 0; lane < 32; ++lane) sums[lane] = sums[lane] * 3 + 1000 + tile * 32 + lane;
  }
  return sums;
}

TEST(BulkCopy, APipelineOfAProducerAndAConsumerWorksUnderEverySchedule) {
  for (int seed = -1; seed < 12; ++seed) {
    for (const char* full :
         {kFullWait, "W1:\nmbarrier.test_wait.parity.shared.b64 %p5, [%r8], %r6;\n@!%p5 bra W1;\n"}) {
      Kernel kernel{.body = pipeline(full, kEmptyWait),
                    .before = kPipelineShared,
                    .in = numbers(256),
                    .block = {64, 1, 1},
                    .target = "sm_90a"};
      if (seed >= 0) kernel.options.schedule = static_cast<std::uint64_t>(seed);
      const Ran ran = run_both(kernel);
      ASSERT_EQ(ran.message(), "") << seed;
      EXPECT_EQ(std::vector<std::uint32_t>(ran.out.begin(), ran.out.begin() + 32), pipeline_result()) << seed;
    }
  }
}

TEST(BulkCopy, APipelineWithoutAWaitGivesWrongNumbers) {
  const Ran ran = run({.body = pipeline("", kEmptyWait),
                       .before = kPipelineShared,
                       .in = numbers(256),
                       .block = {64, 1, 1},
                       .target = "sm_90a"});
  // The consumer reads what was never written; then it runs ahead of the bytes, or the block ends before they came.
  EXPECT_TRUE(ran.result.stop.has_value() ||
              std::vector<std::uint32_t>(ran.out.begin(), ran.out.begin() + 32) != pipeline_result());
}

}  // namespace
}  // namespace plumb::machine::test
