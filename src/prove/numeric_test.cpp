// SPDX-License-Identifier: Apache-2.0
// Where sums leave a narrow format's range: two roundings may put one that lies at the edge on different sides of it,
// and that is not a candidate that overflows, or saturates, where the source does otherwise.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/scratch.h"
#include "prove/codes.h"
#include "prove/prove.h"

namespace plumb::prove {
namespace {

// Inputs of scale 100 times 654.9: about a third of them is beyond 65504.
constexpr std::string_view kTask = R"text(grid = ["cdiv(n, 1024)"]
[kernel]
file = "kernel.py"
function = "scale"
[[args]]
name = "x_ptr"
type = "*fp32"
shape = ["n"]
[[args]]
name = "out_ptr"
type = "*fp16"
shape = ["n"]
role = "out"
[tolerance]
relative = 0.001
absolute = 0.001
[shapes]
prove = [{ n = 65536 }]
)text";

constexpr std::string_view kKernel = R"text(import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr):
    at = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    tl.store(out_ptr + at, (tl.load(x_ptr + at) * 654.9).to(tl.float16))
)text";

// `body` makes the half %h of %x.
Outcome judge(const std::string& body) {
  const Scratch scratch;
  const std::filesystem::path& folder = scratch.path();
  std::ofstream(folder / "task.toml") << kTask;
  std::ofstream(folder / "kernel.py") << kKernel;
  const std::string text = R"text(//! entry = "scale"
//! grid = ["n // 256"]
//! block = [256]
//! params = ["x_ptr", "out_ptr"]
.version 8.1
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 xp, .param .u64 op)
{
  .reg .b16 %h;
  .reg .b32 %t, %c, %n;
  .reg .b64 %x_at, %out_at, %i;
  .reg .f32 %x, %y;
  ld.param.u64 %x_at, [xp];
  ld.param.u64 %out_at, [op];
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mad.lo.u32 %t, %c, %n, %t;
  mul.wide.u32 %i, %t, 4;
  add.u64 %x_at, %x_at, %i;
  mul.wide.u32 %i, %t, 2;
  add.u64 %out_at, %out_at, %i;
  ld.global.f32 %x, [%x_at];
  )text" + body + R"text(
  st.global.b16 [%out_at], %h;
  ret;
}
)text";
  Findings findings;
  const std::optional<task::Task> task = task::load_task(folder, findings);
  const std::filesystem::path path = folder / "scale.ptx";
  const auto candidate = make_candidate(std::make_shared<Source>(path.string(), text), path, findings);
  EXPECT_TRUE(task && candidate) << render(findings, false);
  if (!task || !candidate) return {};
  Options options;
  options.seed = 1;
  return prove(*task, *candidate, options);
}

bool has(const Outcome& outcome, const Code& code) {
  for (const Finding& finding : outcome.findings.list()) {
    if (finding.code == &code) return true;
  }
  return false;
}

constexpr const char* kProduct = "mul.f32 %y, %x, 0f4423B99A;\n";

TEST(Numeric, TheSameRoundingsLeaveTheRangeAlike) {
  EXPECT_TRUE(judge(std::string(kProduct) + "cvt.rn.f16.f32 %h, %y;").holds());
}

TEST(Numeric, WhatLiesAtTheEdgeMayRoundToEitherSide) {
  // Eleven bits of the input: coarser, but no other range.
  const Outcome outcome =
      judge("cvt.rn.f16.f32 %h, %x;\n cvt.f32.f16 %x, %h;\n" + std::string(kProduct) + "cvt.rn.f16.f32 %h, %y;");
  EXPECT_EQ(outcome.verdict, Verdict::Proved) << to_text(outcome, false);
  EXPECT_TRUE(has(outcome, kContractPrecision)) << to_text(outcome, false);
  EXPECT_FALSE(has(outcome, kContractRange)) << to_text(outcome, false);
}

TEST(Numeric, SaturatingIsAnotherRange) {
  const Outcome outcome = judge(std::string(kProduct) + "cvt.rn.satfinite.f16.f32 %h, %y;");
  EXPECT_EQ(outcome.verdict, Verdict::Proved) << to_text(outcome, false);
  EXPECT_TRUE(has(outcome, kContractRange)) << to_text(outcome, false);
}

}  // namespace
}  // namespace plumb::prove
