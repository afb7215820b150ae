// SPDX-License-Identifier: Apache-2.0
#include "mutate/mutate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "ptx/module.h"

namespace plumb::mutate {
namespace {

// Holds something for every operator to break.
constexpr std::string_view kText = R"(.version 8.6
.target sm_100a
.address_size 64
.extern .shared .align 128 .b8 pool[];
.visible .entry k(.param .u64 .ptr .global .align 16 out, .param .u64 .ptr map)
{
  .reg .pred p, q;
  .reg .b16 h<4>;
  .reg .b32 r<16>;
  .reg .b64 d<8>;
  .reg .f32 f<8>;
  ld.param.b64 d1, [out];
  ld.param.b64 d2, [map];
  mov.u32 r1, %tid.x;
  mov.u32 r2, pool;
  mov.b64 d3, 0x4000004000010000;
  setp.lt.s32 p, r1, 7;
  selp.b32 r3, r1, r2, p;
  add.s32 r4, r3, 4;
  shl.b32 r5, r4, 2;
  max.s32 r6, r4, r5;
  mov.f32 f1, 0f3FB8AA3B;
  add.f32 f2, f1, f1;
  fma.rn.f32 f3, f2, f1, f2;
  sqrt.rn.f32 f4, f3;
  cvt.rn.bf16.f32 h1, f4;
  shfl.sync.bfly.b32 r7, r6, 1, 31, 0xffffffff;
  mbarrier.init.shared::cta.b64 [r2], 2;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [r2], 4096;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [r2+128], [d2, {r4, r5}], [r2];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 q, [r2], 0;
  @!q bra WAIT;
  cp.async.cg.shared.global [r2+16], [d1], 16, r6;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 1, 128;
  bar.warp.sync 0xffffffff;
  fence.acq_rel.gpu;
  ld.acquire.gpu.global.b32 r10, [d1];
  fence.proxy.async.shared::cta;
  ldmatrix.sync.aligned.m8n8.x2.shared.b16 {r8, r9}, [r2];
  tcgen05.mma.cta_group::1.kind::f16 [r8], d3, d3, r9, p;
  @p red.relaxed.gpu.global.add.u32 [d1+4], r7;
  st.global.b32 [d1], r3;
  ret;
}
)";

SourcePtr source() { return std::make_shared<const Source>("k.ptx", std::string(kText)); }

ptx::CheckedModule module() {
  Findings findings;
  auto loaded = ptx::load(source(), findings);
  EXPECT_TRUE(loaded) << render(findings, false);
  return std::move(*loaded);
}

TEST(Mutate, EveryOperatorFindsSomethingToBreak) {
  std::set<std::string_view> used;
  for (const Mutant& mutant : mutants(module(), {})) used.insert(mutant.op->name);
  for (const Operator& op : operators()) EXPECT_TRUE(used.contains(op.name)) << op.name;
  EXPECT_GE(operators().size(), 25U);
}

TEST(Mutate, EveryMutantIsValidOtherAndHasTheSameLines) {
  const SourcePtr text = source();
  const auto lines = std::count(kText.begin(), kText.end(), '\n');
  for (const Mutant& mutant : mutants(module(), {})) {
    const std::string broken = apply(mutant, *text);
    EXPECT_NE(broken, kText);
    EXPECT_EQ(std::count(broken.begin(), broken.end(), '\n'), lines) << mutant.op->name << ": " << mutant.replacement;
    Findings findings;
    EXPECT_TRUE(ptx::load(std::make_shared<const Source>("m.ptx", broken), findings)) << render(findings, false);
  }
}

TEST(Mutate, OperatorsTakeTurnsAndASeedRepeats) {
  const auto drawn = mutants(module(), {{}, 7, 20, {}});
  ASSERT_EQ(drawn.size(), 20U);
  std::set<std::string_view> used;
  for (const Mutant& mutant : drawn) used.insert(mutant.op->name);
  EXPECT_EQ(used.size(), 20U);
  const auto again = mutants(module(), {{}, 7, 20, {}});
  for (std::size_t i = 0; i < drawn.size(); ++i) EXPECT_EQ(drawn[i].replacement, again[i].replacement);
}

TEST(Mutate, NothingIsPlantedInLinesThatAreLeftOut) {
  Options options;
  for (std::uint32_t line = 1; line < 40; ++line) options.skipped_lines.push_back(line);
  for (const Mutant& mutant : mutants(module(), options)) EXPECT_GE(source()->locate(mutant.span.begin).line, 40U);
}

std::string only(std::string_view name) {
  const auto drawn = mutants(module(), {{find_operator(name)}, 1, 0, {}});
  EXPECT_EQ(drawn.size(), 1U) << name;
  return drawn.empty() ? "" : drawn.front().replacement;
}

TEST(Mutate, AnOperatorBreaksWhatItNames) {
  EXPECT_EQ(only("barrier-name"), "2");
  EXPECT_EQ(only("mbarrier-wait-drop"), "setp.eq.u32 q, 0, 0;");
  EXPECT_EQ(only("mbarrier-parity"), "1");
  EXPECT_EQ(only("proxy-kind"), ".alias");
  EXPECT_EQ(only("coordinate-order"), "r5, r4");
  EXPECT_EQ(only("accumulate"),
            "{ .reg .pred plumb_flag; not.pred plumb_flag, p; tcgen05.mma.cta_group::1.kind::f16 [r8], d3, d3, r9, "
            "plumb_flag; }");
}

}  // namespace
}  // namespace plumb::mutate
