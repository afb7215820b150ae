// SPDX-License-Identifier: Apache-2.0
#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

constexpr const char* kBarrier = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

TEST(Cluster, ItsRegistersSayWhereABlockIs) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ctaid.y;
    mov.u32 %r3, %nctaid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mul.lo.u32 %r4, %r4, 9;
    mad.wide.u32 %rd1, %r4, 4, %out;
    mov.u32 %r5, %clusterid.x;
    mov.u32 %r6, %clusterid.y;
    mov.u32 %r7, %nclusterid.x;
    mov.u32 %r8, %cluster_ctaid.x;
    mov.u32 %r9, %cluster_ctaid.y;
    mov.u32 %r10, %cluster_nctaid.y;
    mov.u32 %r11, %cluster_ctarank;
    mov.u32 %r12, %cluster_nctarank;
    mov.pred %p1, %is_explicit_cluster;
    selp.u32 %r13, 1, 0, %p1;
    st.global.b32 [%rd1], %r5;
    st.global.b32 [%rd1+4], %r6;
    st.global.b32 [%rd1+8], %r7;
    st.global.b32 [%rd1+12], %r8;
    st.global.b32 [%rd1+16], %r9;
    st.global.b32 [%rd1+20], %r10;
    st.global.b32 [%rd1+24], %r11;
    st.global.b32 [%rd1+28], %r12;
    st.global.b32 [%rd1+32], %r13;
  )",
                            .out_words = 24 * 9,
                            .grid = {6, 4, 1},
                            .block = {1, 1, 1},
                            .target = "sm_90a",
                            .cluster = {2, 2, 1}});
  ASSERT_EQ(ran.message(), "");
  for (unsigned y = 0; y < 4; ++y) {
    for (unsigned x = 0; x < 6; ++x) {
      const std::uint32_t* at = ran.out.data() + (y * 6 + x) * 9;
      EXPECT_EQ(std::vector<std::uint32_t>(at, at + 9),
                (std::vector<std::uint32_t>{x / 2, y / 2, 3, x % 2, y % 2, 2, x % 2 + y % 2 * 2, 4, 1}));
    }
  }
  EXPECT_EQ(ran.result.counts.ctas, 24u);
}

// Each block sums one word of every block of its cluster, read through distributed shared memory.
std::string reduction(const std::string& before_read, const std::string& before_exit) {
  return R"(
    mov.u32 %r1, %ctaid.x;
    add.u32 %r2, %r1, 10;
    st.shared.b32 [word], %r2;
  )" + before_read +
         R"(
    mov.u32 %r3, word;
    mov.u32 %r4, 0;
    mov.u32 %r5, 0;
  LOOP:
    mapa.shared::cluster.u32 %r6, %r3, %r4;
    ld.shared::cluster.b32 %r7, [%r6];
    add.u32 %r5, %r5, %r7;
    add.u32 %r4, %r4, 1;
    setp.lt.u32 %p1, %r4, 4;
    @%p1 bra LOOP;
  )" + before_exit +
         R"(
    mad.wide.u32 %rd1, %r1, 4, %out;
    setp.eq.u32 %p2, %t, 0;
    @%p2 st.global.b32 [%rd1], %r5;
  )";
}

Kernel cluster_kernel(const std::string& body, Dim3 grid = {8, 1, 1}) {
  return {.body = body,
          .before = ".shared .align 16 .b32 word;\n.shared .align 8 .b64 bar;\n.shared .align 16 .b8 tile[256];\n",
          .grid = grid,
          .block = {64, 1, 1},
          .target = "sm_90a",
          .cluster = {4, 1, 1}};
}

TEST(Cluster, BlocksReadEachOthersSharedMemory) {
  for (int seed = -1; seed < 8; ++seed) {
    Kernel kernel = cluster_kernel(reduction(kBarrier, kBarrier));
    if (seed >= 0) kernel.options.schedule = static_cast<std::uint64_t>(seed);
    const Ran ran = run_both(kernel);
    ASSERT_EQ(ran.message(), "");
    for (unsigned cta = 0; cta < 8; ++cta) EXPECT_EQ(ran.out[cta], cta < 4 ? 46u : 62u);
  }
}

TEST(Cluster, WithoutABarrierTheWordsAreNotThere) {
  const Ran ran = run(cluster_kernel(reduction("", kBarrier)));
  ASSERT_EQ(ran.message(), "");
  EXPECT_NE(ran.out[0], 46u);
}

TEST(Cluster, MemoryOfABlockThatHasExitedIsAFinding) {
  // All but the block of rank 0 leave at once.
  const Ran ran = run_both(cluster_kernel(reduction(R"(
    mov.u32 %r9, %cluster_ctarank;
    setp.ne.u32 %p3, %r9, 0;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p3 exit;
    mov.u32 %r10, 0;
  SPIN:
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p4, %r10, 20000;
    @%p4 bra SPIN;
  )",
                                                    "")));
  EXPECT_EQ(ran.code(), "machine.cluster");
  EXPECT_NE(ran.message().find("which has exited"), std::string::npos) << ran.message();
}

TEST(Cluster, AddressesCarryTheRank) {
  const Ran ran = run_both(cluster_kernel(R"(
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, word;
    shr.u32 %r3, %r2, 24;
    getctarank.shared::cluster.u32 %r4, %r2;
    cvta.shared.u64 %rd1, word;
    mapa.u64 %rd2, %rd1, 3;
    getctarank.u64 %r5, %rd2;
    mapa.u64 %rd3, %rd1, %r1;
    isspacep.shared %p1, %rd2;
    isspacep.shared::cluster %p2, %rd2;
    isspacep.shared::cta %p3, %rd3;
    selp.u32 %r6, 1, 0, %p1;
    selp.u32 %r7, 2, 0, %p2;
    selp.u32 %r8, 4, 0, %p3;
    add.u32 %r6, %r6, %r7;
    add.u32 %r6, %r6, %r8;
    setp.eq.u64 %p4, %rd1, %rd3;
    selp.u32 %r9, 1, 0, %p4;
    mad.wide.u32 %rd4, %r1, 32, %out;
    st.global.v4.b32 [%rd4], {%r3, %r4, %r5, %r6};
    st.global.b32 [%rd4+16], %r9;
  )",
                                          {4, 1, 1}));
  ASSERT_EQ(ran.message(), "");
  for (unsigned rank = 0; rank < 4; ++rank) {
    const std::uint32_t* at = ran.out.data() + 8 * rank;
    EXPECT_EQ(std::vector<std::uint32_t>(at, at + 5),
              (std::vector<std::uint32_t>{rank, rank, 3, rank == 3 ? 7u : 6u, 1}));
  }
}

TEST(Cluster, AtomicsAndStoresReachOtherBlocks) {
  const Ran ran = run_both(cluster_kernel(std::string(R"(
    mov.u32 %r1, %cluster_ctarank;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.shared.b32 [word], 0;
  )") + kBarrier + R"(
    mov.u32 %r2, word;
    mapa.shared::cluster.u32 %r3, %r2, 1;
    atom.shared::cluster.add.u32 %r4, [%r3], 1;
    cvta.shared.u64 %rd1, word;
    mapa.u64 %rd2, %rd1, 1;
    red.add.u32 [%rd2], 2;
    mov.u32 %r5, tile;
    mapa.shared::cluster.u32 %r6, %r5, 2;
    mad.lo.u32 %r6, %r1, 16, %r6;
    @%p1 st.shared::cluster.b32 [%r6], %r1;
  )" + kBarrier + R"(
    setp.eq.u32 %p2, %r1, 1;
    and.pred %p2, %p2, %p1;
    @%p2 ld.shared.b32 %r7, [word];
    @%p2 st.global.b32 [%out], %r7;
    setp.eq.u32 %p3, %r1, 2;
    and.pred %p3, %p3, %p1;
    @!%p3 bra END;
    ld.shared.b32 %r8, [tile];
    ld.shared.b32 %r9, [tile+16];
    ld.shared.b32 %r10, [tile+48];
    st.global.b32 [%out+4], %r8;
    st.global.b32 [%out+8], %r9;
    st.global.b32 [%out+12], %r10;
  END:
  )",
                                          {4, 1, 1}));
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(std::vector<std::uint32_t>(ran.out.begin(), ran.out.begin() + 4),
            (std::vector<std::uint32_t>{4 * 64 * 3, 0, 1, 3}));
}

TEST(Cluster, OwnSharedSpaceEndsAtTheBlock) {
  const Ran ran = run_both(cluster_kernel(R"(
    mov.u32 %r2, word;
    mapa.shared::cluster.u32 %r3, %r2, 3;
    mov.u32 %r1, %cluster_ctarank;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 st.shared.b32 [%r3], 1;
  )"));
  EXPECT_EQ(ran.code(), "machine.out-of-bounds");
}

TEST(Cluster, BarrierMisuseIsAFinding) {
  EXPECT_EQ(run_both(cluster_kernel("barrier.cluster.arrive;\nbarrier.cluster.arrive;")).code(), "machine.cluster");
  EXPECT_EQ(run_both(cluster_kernel("barrier.cluster.wait;")).code(), "machine.cluster");
  EXPECT_EQ(run_both(cluster_kernel("mov.u32 %r1, word;\nmapa.shared::cluster.u32 %r2, %r1, 4;")).code(),
            "machine.cluster");
}

TEST(Cluster, ABarrierCountsExitedThreadsAndNamesMissingOnes) {
  // Threads of block 1 leave early: the others go on.
  Ran ran =
      run_both(cluster_kernel(std::string("mov.u32 %r1, %cluster_ctarank;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 exit;\n") +
                              kBarrier + "st.global.b32 [%mine], 3;"));
  EXPECT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[5], 3u);
  // Block 1 waits at another barrier instead.
  ran = run_both(cluster_kernel(std::string("mov.u32 %r1, %cluster_ctarank;\nsetp.eq.u32 %p1, %r1, 1;\n"
                                            "setp.ge.and.u32 %p2, %t, 32, %p1;\n@%p2 bar.sync 1, 64;\n") +
                                kBarrier));
  EXPECT_EQ(ran.code(), "machine.deadlock");
  EXPECT_NE(ran.message().find("cluster's barrier: 32 threads have not arrived"), std::string::npos) << ran.message();
}

TEST(Cluster, AMulticastGoesToEachBlockOfItsMask) {
  for (int seed = -1; seed < 8; ++seed) {
    Kernel kernel = cluster_kernel(std::string(R"(
      mov.u32 %r1, %cluster_ctarank;
      mov.u32 %r2, bar;
      mov.u32 %r3, tile;
      setp.eq.u32 %p1, %t, 0;
      @%p1 mbarrier.init.shared.b64 [%r2], 1;
      @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 64;
      fence.mbarrier_init.release.cluster;
    )") + kBarrier + R"(
      setp.eq.u32 %p2, %r1, 0;
      and.pred %p2, %p2, %p1;
      mov.u16 %h1, 11;
      @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%in], 64, [%r2], %h1;
      setp.eq.u32 %p3, %r1, 2;
      @%p3 bra END;
    W:
      mbarrier.try_wait.parity.shared.b64 %p4, [%r2], 0;
      @!%p4 bra W;
      mad.lo.u32 %r4, %t, 4, %r3;
      setp.lt.u32 %p5, %t, 16;
      @%p5 ld.shared.b32 %r5, [%r4];
      mad.lo.u32 %r6, %r1, 16, %t;
      mad.wide.u32 %rd1, %r6, 4, %out;
      @%p5 st.global.b32 [%rd1], %r5;
    END:
    )" + kBarrier,
                                   {4, 1, 1});
    for (unsigned i = 0; i < 16; ++i) kernel.in.push_back(70 + i);
    if (seed >= 0) kernel.options.schedule = static_cast<std::uint64_t>(seed);
    const Ran ran = run_both(kernel);
    ASSERT_EQ(ran.message(), "");
    for (unsigned rank = 0; rank < 4; ++rank) {
      for (unsigned i = 0; i < 16; ++i) EXPECT_EQ(ran.out[rank * 16 + i], rank == 2 ? 0 : 70 + i);
    }
  }
}

// Block 0 sends to block 1, which waits for the bytes.
std::string send(const std::string& instruction, unsigned bytes) {
  return std::string(R"(
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, bar;
    mov.u32 %r3, tile;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [%r2], 1;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], )") +
         std::to_string(bytes) + R"(;
    mad.lo.u32 %r9, %t, 4, %r3;
    st.shared.b32 [%r9], 100;
  )" + kBarrier +
         R"(
    mapa.shared::cluster.u32 %r4, %r3, 1;
    mapa.shared::cluster.u32 %r5, %r2, 1;
    setp.eq.u32 %p2, %r1, 0;
    and.pred %p2, %p2, %p1;
    mov.u32 %r6, 7;
    mov.u32 %r7, 8;
    @%p2 )" +
         instruction + R"(
    mov.u32 %r6, 0;
    setp.ne.u32 %p3, %r1, 1;
    @%p3 bra END;
  W:
    mbarrier.try_wait.parity.shared.b64 %p4, [%r2], 0;
    @!%p4 bra W;
    ld.shared.b32 %r8, [%r9];
    st.global.b32 [%mine], %r8;
  END:
  )" + kBarrier;
}

TEST(Cluster, StoresAndReductionsToAnotherBlockSignalItsBarrier) {
  Ran ran = run_both(cluster_kernel(
      send("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r4], {%r6, %r7}, [%r5];", 8), {4, 1, 1}));
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(std::vector<std::uint32_t>(ran.out.begin(), ran.out.begin() + 3), (std::vector<std::uint32_t>{7, 8, 100}));
  ran = run_both(cluster_kernel(
      send("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r4], %r6, [%r5];", 4),
      {4, 1, 1}));
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(std::vector<std::uint32_t>(ran.out.begin(), ran.out.begin() + 2), (std::vector<std::uint32_t>{107, 100}));
  ran = run_both(cluster_kernel(
      send("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4+16], [%r3], 32, [%r5];", 32),
      {4, 1, 1}));
  ASSERT_EQ(ran.message(), "");
  ran = run_both(cluster_kernel(send("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes."
                                     "add.u32 [%r4+16], [%r3], 32, [%r5];",
                                     32),
                                {4, 1, 1}));
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[3], 100u);
  EXPECT_EQ(ran.out[4], 200u);
  EXPECT_EQ(ran.out[11], 200u);
  EXPECT_EQ(ran.out[12], 100u);
  // The mbarrier must be the receiver's.
  ran = run_both(cluster_kernel(send("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], %r6, [%r2];", 4),
                                {4, 1, 1}));
  EXPECT_EQ(ran.code(), "machine.bulk-copy");
}

TEST(Cluster, RemoteArrivalsCount) {
  const Ran ran = run_both(cluster_kernel(std::string(R"(
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, bar;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [%r2], 256;
  )") + kBarrier + R"(
    mapa.shared::cluster.u32 %r3, %r2, 2;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];
    setp.ne.u32 %p2, %r1, 2;
    @%p2 bra END;
  W:
    mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r2], 0;
    @!%p3 bra W;
    st.global.b32 [%mine], 1;
  END:
  )" + kBarrier,
                                          {4, 1, 1}));
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(ran.out[i], 1u);
}

TEST(Registers, AreTakenWhenOthersHaveGivenThemUp) {
  // Two warpgroups with 128 registers a thread: one gives up 64, the other takes them, and waits for that.
  const auto kernel = [](const char* taken) {
    Kernel out{.body = std::string(R"(
      setp.lt.u32 %p1, %t, 128;
      @%p1 bra TAKE;
      mov.u32 %r1, 0;
    SPIN:
      add.u32 %r1, %r1, 1;
      setp.lt.u32 %p2, %r1, 20000;
      @%p2 bra SPIN;
      setmaxnreg.dec.sync.aligned.u32 64;
      bra END;
    TAKE:
      setmaxnreg.inc.sync.aligned.u32 )") +
                       taken + ";\nEND:\nst.global.b32 [%mine], 1;",
               .out_words = 256,
               .block = {256, 1, 1},
               .target = "sm_90a"};
    out.directives = ".maxnreg 128\n";
    return out;
  };
  Ran ran = run_both(kernel("192"));
  EXPECT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 1u);
  ran = run_both(kernel("200"));
  EXPECT_EQ(ran.code(), "machine.deadlock");
  EXPECT_NE(ran.message().find("for 72 more registers a thread"), std::string::npos) << ran.message();
  EXPECT_EQ(run_both(kernel("120")).code(), "machine.launch");
}

TEST(Cluster, TheEntryMayRequireItsShape) {
  Kernel kernel = cluster_kernel("mov.u32 %r1, %cluster_nctarank;\nst.global.b32 [%mine], %r1;");
  kernel.cluster = {};
  kernel.directives = ".reqnctapercluster 4, 1, 1\n";
  const Ran ran = run_both(kernel);
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 4u);
  kernel.cluster = {2, 1, 1};
  EXPECT_EQ(run(kernel).code(), "machine.launch");
}

TEST(Cluster, RangesOfBlocksCoverEachClusterOnce) {
  std::uint64_t blocks = 0;
  for (std::uint64_t first = 0; first < 24; first += 5) {
    Kernel kernel = cluster_kernel("mov.u32 %r1, %cluster_nctarank;", {6, 4, 1});
    kernel.cluster = {2, 2, 1};
    kernel.options.first_cta = first, kernel.options.last_cta = first + 5;
    const Ran ran = run(kernel);
    ASSERT_EQ(ran.message(), "");
    blocks += ran.result.counts.ctas;
  }
  EXPECT_EQ(blocks, 24u);
}

TEST(Cluster, ALaunchMustFit) {
  Kernel kernel = cluster_kernel("");
  kernel.grid = {6, 1, 1};
  EXPECT_EQ(run(kernel).code(), "machine.launch");
  kernel = cluster_kernel("");
  kernel.cluster = {17, 1, 1}, kernel.grid = {17, 1, 1};
  EXPECT_EQ(run(kernel).code(), "machine.launch");
  kernel = cluster_kernel("");
  kernel.target = "sm_89";
  EXPECT_EQ(run(kernel).code(), "machine.launch");
}

}  // namespace
}  // namespace plumb::machine::test
