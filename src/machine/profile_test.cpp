// SPDX-License-Identifier: Apache-2.0
// What a profile counts of kernels whose counts are worked out by hand.
#include "machine/profile.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

constexpr std::uint32_t kPrologue = 4;  // instructions before the body of a test kernel

// Runs in both domains, which must count the same; returns the counts of each instruction of the body, then `ret`.
std::vector<InstrProfile> profile(Kernel kernel, std::function<bool(std::uint32_t)> loads_matrix = {}) {
  std::vector<InstrProfile> counted[2];
  for (const bool is_field : {false, true}) {
    Profile profile(loads_matrix);
    kernel.options.observe = [&](std::uint64_t) { return profile.observe(); };
    const Ran ran = is_field ? run_field(kernel) : run(kernel);
    EXPECT_EQ(ran.message(), "");
    std::uint64_t warps = 0, lanes = 0, macs = 0;
    for (const InstrProfile& instr : profile.instrs()) {
      warps += instr.warps, lanes += instr.lanes, macs += instr.macs;
    }
    EXPECT_EQ(warps, ran.result.counts.warp_instrs);
    EXPECT_EQ(lanes, ran.result.counts.lane_instrs);
    EXPECT_EQ(macs, ran.result.counts.mma_macs);
    counted[is_field ? 1 : 0] = profile.instrs();
  }
  EXPECT_EQ(counted[0].size(), counted[1].size());
  for (std::size_t i = 0; i < counted[0].size() && i < counted[1].size(); ++i) {
    EXPECT_EQ(counted[0][i].traffic.size(), counted[1][i].traffic.size()) << i;
    for (std::size_t j = 0; j < counted[0][i].traffic.size(); ++j) {
      EXPECT_EQ(counted[0][i].traffic[j].bytes, counted[1][i].traffic[j].bytes) << i;
    }
  }
  if (counted[0].size() < kPrologue) return {};
  return {counted[0].begin() + kPrologue, counted[0].end()};
}

// The traffic of one space and kind over all instructions.
Traffic sum(const std::vector<InstrProfile>& instrs, ProfiledSpace space, AccessKind kind, Mover mover = Mover::Lanes) {
  Traffic out{space, mover, kind};
  for (const InstrProfile& instr : instrs) {
    for (const Traffic& traffic : instr.traffic) {
      if (traffic.is_like(out)) out.add(traffic);
    }
  }
  return out;
}

TEST(Profile, CountsInstructionsAndTheLanesThatTheirGuardsLetThrough) {
  // Two blocks of a whole and a half warp; the second `add` is for no lane, the loop runs three times.
  const auto instrs = profile({.body = R"(
    setp.lt.u32 %p1, %t, 8;
    @%p1 add.u32 %r1, %t, 1;
    setp.gt.u32 %p2, %t, 100;
    @%p2 add.u32 %r1, %t, 1;
    mov.u32 %r2, 0;
  LOOP:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p3, %r2, 3;
    @%p3 bra LOOP;
  )",
                               .grid = {2, 1, 1},
                               .block = {48, 1, 1}});
  ASSERT_EQ(instrs.size(), 9u);
  EXPECT_EQ(instrs[0].warps, 4u);
  EXPECT_EQ(instrs[0].lanes, 96u);
  EXPECT_EQ(instrs[1].warps, 4u);
  EXPECT_EQ(instrs[1].lanes, 16u);  // of the first warps only
  EXPECT_EQ(instrs[3].warps, 4u);
  EXPECT_EQ(instrs[3].lanes, 0u);
  EXPECT_EQ(instrs[5].warps, 12u);
  EXPECT_EQ(instrs[7].warps, 12u);
  EXPECT_EQ(instrs[7].lanes, 96u * 2);  // taken twice
}

TEST(Profile, CountsTheSectorsOfAKernelWithARaggedEnd) {
  // Three warps add 70 words that start 8 bytes into a sector: 32 + 32 + 6 lanes.
  const auto instrs = profile({.body = R"(
    setp.lt.u32 %p1, %t, 70;
    mad.wide.u32 %rd1, %t, 4, %in;
    @%p1 ld.global.b32 %r1, [%rd1+8];
    @%p1 st.global.b32 [%mine], %r1;
  )",
                               .in = std::vector<std::uint32_t>(96, 1),
                               .out_words = 96,
                               .block = {96, 1, 1}});
  const Traffic read = sum(instrs, ProfiledSpace::Global, AccessKind::Read);
  EXPECT_EQ(read.requests, 3u);
  EXPECT_EQ(read.bytes, 280u);
  EXPECT_EQ(read.sectors, 5u + 5 + 1);  // the last six words lie in bytes 264 to 288
  EXPECT_EQ(read.least_sectors, 4u + 4 + 1);
  const Traffic written = sum(instrs, ProfiledSpace::Global, AccessKind::Write);
  EXPECT_EQ(written.bytes, 280u);
  EXPECT_EQ(written.sectors, 4u + 4 + 1);
  EXPECT_EQ(sum(instrs, ProfiledSpace::Param, AccessKind::Read).bytes, 0u);  // the parameters are the prologue's
}

TEST(Profile, CountsAStrideOfGlobalMemory) {
  const auto instrs = profile({.body = "mad.wide.u32 %rd1, %t, 64, %in;\nld.global.v2.b32 {%r1, %r2}, [%rd1];",
                               .in = std::vector<std::uint32_t>(512, 1)});
  const Traffic read = sum(instrs, ProfiledSpace::Global, AccessKind::Read);
  EXPECT_EQ(read.bytes, 256u);
  EXPECT_EQ(read.sectors, 32u);
  EXPECT_EQ(read.least_sectors, 8u);
}

// Each lane writes and reads the shared word at lane * stride.
Kernel shared_kernel(unsigned stride) {
  return {.body = "mul.lo.u32 %r1, %t, " + std::to_string(4 * stride) +
                  ";\nmov.u32 %r2, tile;\nadd.u32 %r1, %r1, %r2;\nst.shared.b32 [%r1], %t;\nld.shared.b32 %r3, [%r1];",
          .before = ".shared .align 128 .b8 tile[4224];\n"};
}

TEST(Profile, CountsBankConflicts) {
  const struct {
    unsigned stride;
    std::uint64_t wavefronts;
  } cases[] = {{1, 1}, {2, 2}, {3, 1}, {4, 4}, {8, 8}, {16, 16}, {32, 32}, {33, 1}, {0, 1}};
  for (const auto& each : cases) {
    const auto instrs = profile(shared_kernel(each.stride));
    for (const AccessKind kind : {AccessKind::Read, AccessKind::Write}) {
      const Traffic traffic = sum(instrs, ProfiledSpace::Shared, kind);
      EXPECT_EQ(traffic.requests, 1u);
      EXPECT_EQ(traffic.bytes, 128u);
      EXPECT_EQ(traffic.wavefronts, each.wavefronts) << "stride " << each.stride;
      EXPECT_EQ(traffic.least_wavefronts, 1u);
    }
  }
}

TEST(Profile, CountsTheRowsOfLdmatrix) {
  for (const unsigned pitch : {64u, 128u, 144u}) {
    // Rows of 64 bytes: rows r and r + 2 share banks, so that eight rows are four deep.
    const auto instrs =
        profile({.body = "mul.lo.u32 %r1, %t, " + std::to_string(pitch) +
                         ";\nmov.u32 %r2, tile;\nadd.u32 %r1, %r1, %r2;\nst.shared.v4.b32 [%r1], {%t, %t, %t, %t};\n"
                         "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r1];",
                 .before = ".shared .align 128 .b8 tile[4608];\n"});
    const Traffic read = sum(instrs, ProfiledSpace::Shared, AccessKind::Read);
    EXPECT_EQ(read.bytes, 512u);
    EXPECT_EQ(read.least_wavefronts, 4u);
    EXPECT_EQ(read.wavefronts, pitch == 64 ? 16u : pitch == 128 ? 32u : 4u) << pitch;
  }
}

TEST(Profile, TellsTheRowsOfLdmatrixFromLoadsThatLanesShare) {
  // All rows, or the 16 bytes of all lanes, at one address: matrices go one after the other, shared loads two by two.
  const auto instrs = profile({.body = R"(
    mov.u32 %r1, tile;
    st.shared.v4.b32 [%r1], {%t, %t, %t, %t};
    ld.shared.v4.b32 {%r3, %r4, %r5, %r6}, [%r1];
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}, [%r1];
  )",
                               .before = ".shared .align 128 .b8 tile[128];\n"},
                              [](std::uint32_t instr) { return instr == kPrologue + 3; });
  ASSERT_EQ(instrs.size(), 5u);
  EXPECT_EQ(instrs[1].traffic.at(0).wavefronts, 4u);
  EXPECT_EQ(instrs[2].traffic.at(0).wavefronts, 2u);
  EXPECT_EQ(instrs[3].traffic.at(0).wavefronts, 4u);
}

TEST(Profile, CountsCopiesOfLanes) {
  // 32 copies of 16 bytes from rows of 32; the last four lanes fill with zeros.
  const auto instrs = profile({.body = R"(
    mov.u32 %r1, tile;
    mad.lo.u32 %r1, %t, 16, %r1;
    mad.wide.u32 %rd1, %t, 32, %in;
    setp.lt.u32 %p1, %t, 28;
    selp.b32 %r2, 16, 0, %p1;
    cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;
    cp.async.wait_all;
  )",
                               .before = ".shared .align 128 .b8 tile[512];\n",
                               .in = std::vector<std::uint32_t>(256, 1)});
  const Traffic read = sum(instrs, ProfiledSpace::Global, AccessKind::Read);
  EXPECT_EQ(read.bytes, 448u);
  EXPECT_EQ(read.sectors, 28u);
  EXPECT_EQ(read.least_sectors, 14u);
  const Traffic written = sum(instrs, ProfiledSpace::Shared, AccessKind::Write);
  EXPECT_EQ(written.bytes, 512u);
  EXPECT_EQ(written.wavefronts, 0u);  // not known
}

TEST(Profile, CountsAMulticastOnceWhereItIsRead) {
  const std::string barrier = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  const auto instrs = profile({.body = R"(
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, bar;
    mov.u32 %r3, tile;
    setp.eq.u32 %p1, %t, 0;
    @%p1 mbarrier.init.shared.b64 [%r2], 1;
    @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 80;
    fence.mbarrier_init.release.cluster;
  )" + barrier + R"(
    setp.eq.u32 %p2, %r1, 0;
    and.pred %p2, %p2, %p1;
    mov.u16 %h1, 7;
    @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%in+16], 80, [%r2], %h1;
  W:
    mbarrier.try_wait.parity.shared.b64 %p4, [%r2], 0;
    @!%p4 bra W;
  )" + barrier,
                               .before = ".shared .align 128 .b8 tile[128];\n.shared .align 8 .b8 bar[8];\n",
                               .in = std::vector<std::uint32_t>(64, 1),
                               .grid = {3, 1, 1},
                               .target = "sm_90a",
                               .cluster = {3, 1, 1}});
  const Traffic read = sum(instrs, ProfiledSpace::Global, AccessKind::Read, Mover::Copies);
  EXPECT_EQ(read.requests, 1u);
  EXPECT_EQ(read.bytes, 80u);
  EXPECT_EQ(read.sectors, 3u);  // bytes 16 to 96
  const Traffic written = sum(instrs, ProfiledSpace::Shared, AccessKind::Write, Mover::Copies);
  EXPECT_EQ(written.bytes, 240u);
  EXPECT_EQ(sum(instrs, ProfiledSpace::Global, AccessKind::Read).bytes, 0u);
}

TEST(Profile, CountsWhatTensorCoresMultiply) {
  const auto instrs = profile({.body = R"(
    mov.b32 %r1, 0;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r1, %r1, %r1}, {%r1, %r1}, {%r1, %r1, %r1, %r1};
  )",
                               .block = {64, 1, 1}});
  ASSERT_EQ(instrs.size(), 3u);
  EXPECT_EQ(instrs[1].warps, 2u);
  EXPECT_EQ(instrs[1].macs, 2u * 16 * 8 * 16);
  EXPECT_EQ(instrs[0].macs + instrs[2].macs, 0u);
}

TEST(Profile, CountsAProductOfAWarpgroupWhereItIsIssued) {
  // A (64x16) from registers, B (16x8 of 2 bytes) in shared memory: no swizzle, two pieces of 8 x 16 bytes.
  const std::uint64_t descriptor = (128ull >> 4) << 16 | (256ull >> 4) << 32;
  const auto instrs = profile({.body = R"(
    mov.u32 %r1, tile;
    setp.lt.u32 %p1, %t, 16;
    mad.lo.u32 %r2, %t, 16, %r1;
    mov.b32 %r3, 0;
    @%p1 st.shared.v4.b32 [%r2], {%r3, %r3, %r3, %r3};
    fence.proxy.async;
    bar.sync 0;
    setp.ne.u32 %p2, 0, 0;
    mov.b64 %rd1, )" + std::to_string(descriptor) +
                                       R"(;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r3, %r3, %r3, %r3}, %rd1, %p2, 1, 1, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
  )",
                               .before = ".shared .align 1024 .b8 tile[1024];\n",
                               .block = {128, 1, 1},
                               .target = "sm_90a"});
  ASSERT_EQ(instrs.size(), 14u);
  EXPECT_EQ(instrs[10].warps, 4u);
  EXPECT_EQ(instrs[10].macs, 64u * 8 * 16);
  EXPECT_EQ(instrs[12].macs, 0u);
  const Traffic read = sum(instrs, ProfiledSpace::Shared, AccessKind::Read, Mover::TensorCores);
  EXPECT_EQ(read.requests, 1u);
  EXPECT_EQ(read.bytes, 256u);
}

TEST(Profile, TellsTheMemoriesApart) {
  const auto instrs = profile({.body = R"(
    mad.wide.u32 %rd1, %t, 4, %in;
    atom.global.add.u32 %r1, [%out], 1;
    mov.u32 %r2, tile;
    st.shared.b32 [%r2], 0;
    atom.shared.add.u32 %r3, [%r2], 1;
    mov.u64 %rd3, tile;
    cvta.shared.u64 %rd2, %rd3;
    ld.b32 %r4, [%rd2];
    ld.b32 %r5, [%rd1];
    ld.const.b32 %r6, [table+4];
  )",
                               .before = ".shared .align 4 .b8 tile[4];\n.const .align 4 .b32 table[2] = {1, 2};\n",
                               .in = std::vector<std::uint32_t>(32, 1)});
  EXPECT_EQ(sum(instrs, ProfiledSpace::Global, AccessKind::Atomic).bytes, 128u);
  EXPECT_EQ(sum(instrs, ProfiledSpace::Global, AccessKind::Atomic).sectors, 1u);
  EXPECT_EQ(sum(instrs, ProfiledSpace::Shared, AccessKind::Atomic).bytes, 128u);
  EXPECT_EQ(sum(instrs, ProfiledSpace::Shared, AccessKind::Read).bytes, 128u);
  EXPECT_EQ(sum(instrs, ProfiledSpace::Shared, AccessKind::Read).wavefronts, 1u);
  EXPECT_EQ(sum(instrs, ProfiledSpace::Global, AccessKind::Read).bytes, 128u);
  EXPECT_EQ(sum(instrs, ProfiledSpace::Global, AccessKind::Read).sectors, 4u);
  EXPECT_EQ(sum(instrs, ProfiledSpace::Const, AccessKind::Read).bytes, 128u);
}

}  // namespace
}  // namespace plumb::machine::test
