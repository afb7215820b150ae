// SPDX-License-Identifier: Apache-2.0
// Where sums leave a narrow format's range: two roundings may put one that lies at the edge on different sides of it,
// and that is not a candidate that overflows, or saturates, where the source does otherwise. Where the source rounds to
// a narrow format on the way: two legal sums may round to different neighbours, and that is not a candidate that loses
// digits.
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

// The same inputs; the product is rounded to bf16 and a wide number is made of it.
constexpr std::string_view kRoundingKernel = R"text(import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, out_ptr):
    at = tl.program_id(0) * 1024 + tl.arange(0, 1024)
    y = (tl.load(x_ptr + at) * 654.5).to(tl.bfloat16).to(tl.float32)
    tl.store(out_ptr + at, y * 1.5)
)text";

// `store` puts what it makes of %x at %out_at, which is the place of an element of 2 bytes, or of 4 for `is_wide`.
Outcome judge_text(const std::string& store, std::string_view kernel, bool is_wide) {
  const Scratch scratch;
  const std::filesystem::path& folder = scratch.path();
  std::string task_text(kTask);
  if (is_wide) task_text.replace(task_text.find("*fp16"), 5, "*fp32");
  std::ofstream(folder / "task.toml") << task_text;
  std::ofstream(folder / "kernel.py") << kernel;
  const std::string text = std::string(R"text(//! entry = "scale"
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
  .reg .f32 %x, %y, %z;
  ld.param.u64 %x_at, [xp];
  ld.param.u64 %out_at, [op];
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mov.u32 %n, %ntid.x;
  mad.lo.u32 %t, %c, %n, %t;
  mul.wide.u32 %i, %t, 4;
  add.u64 %x_at, %x_at, %i;
  mul.wide.u32 %i, %t, )text") +
                           (is_wide ? "4" : "2") +
                           R"text(;
  add.u64 %out_at, %out_at, %i;
  ld.global.f32 %x, [%x_at];
  )text" + store + R"text(
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

// `body` makes the half %h of %x.
Outcome judge(const std::string& body) { return judge_text(body + "st.global.b16 [%out_at], %h;", kKernel, false); }

// `body` makes the float %y of %x.
Outcome judge_rounding(const std::string& body) {
  return judge_text(body + "st.global.f32 [%out_at], %y;", kRoundingKernel, true);
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

// The product by two others, some 2^-20 off: one element in some thousands rounds to another bf16 than the source's.
constexpr const char* kOtherProduct =
    "mul.f32 %z, %x, 0f45C80000;\n fma.rn.f32 %y, %x, 0f45DC7400, 0f00000000;\n sub.f32 %y, %y, %z;\n";
constexpr const char* kRounded =
    "cvt.rn.bf16.f32 %h, %y;\n mov.b32 %c, {0, %h};\n mov.b32 %y, %c;\n mul.f32 %y, %y, 0f3FC00000;\n";

TEST(Numeric, ASumMayRoundToTheOtherNeighbour) {
  const Outcome outcome = judge_rounding(std::string(kOtherProduct) + kRounded);
  EXPECT_TRUE(outcome.holds()) << to_text(outcome, false);
}

TEST(Numeric, DigitsLostAfterTheRoundingAreSeen) {
  // 2^31 and back: the last seven bits of a number of the largest ones' size.
  const Outcome outcome = judge_rounding(std::string(kOtherProduct) + kRounded +
                                         "add.f32 %y, %y, 0f4F000000;\n sub.f32 %y, %y, 0f4F000000;\n");
  EXPECT_EQ(outcome.verdict, Verdict::Proved) << to_text(outcome, false);
  EXPECT_TRUE(has(outcome, kContractPrecision)) << to_text(outcome, false);
}

TEST(Numeric, DigitsLostBeforeTheRoundingAreSeen) {
  const Outcome outcome = judge_rounding(
      "mul.f32 %y, %x, 0f4423A000;\n add.f32 %y, %y, 0f4E800000;\n"
      " sub.f32 %y, %y, 0f4E800000;\n" +
      std::string(kRounded));
  EXPECT_EQ(outcome.verdict, Verdict::Proved) << to_text(outcome, false);
  EXPECT_TRUE(has(outcome, kContractPrecision)) << to_text(outcome, false);
}

}  // namespace
}  // namespace plumb::prove
