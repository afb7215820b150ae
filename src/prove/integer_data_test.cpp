// SPDX-License-Identifier: Apache-2.0
// Integers as data in reductions, scans and atomics: equal whatever the order, and told from what is nearly the same.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/scratch.h"
#include "prove/codes.h"
#include "prove/prove.h"

namespace plumb::prove {
namespace {

// 64 integers; out is 32 of them, and begins as data.
constexpr std::string_view kTask = R"text(grid = ["n // 32"]
[kernel]
file = "kernel.py"
function = "tally"
[[args]]
name = "x_ptr"
type = "*i32"
shape = ["n"]
[[args]]
name = "out_ptr"
type = "*i32"
shape = [32]
role = "inout"
[shapes]
prove = [{ n = 64 }]
)text";

struct Kernel {
  const char* element;  // of x
  const char* grid;
  const char* body;  // Triton: `at` is 0 to 31
  const char* role = "inout";
};

// `body` is PTX: %t is the thread of 32, %x the address of x[t], %o that of out[t], %c the block.
Outcome judge(const Kernel& kernel, const std::string& body) {
  const Scratch scratch;
  const std::filesystem::path& folder = scratch.path();
  std::string task_text(kTask);
  task_text.replace(task_text.find("*i32"), 4, std::string("*") + kernel.element);
  task_text.replace(task_text.find("n // 32"), 7, kernel.grid);
  task_text.replace(task_text.find("inout"), 5, kernel.role);
  std::ofstream(folder / "task.toml") << task_text;
  std::ofstream(folder / "kernel.py") << "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
                                         "def tally(x_ptr, out_ptr):\n    at = tl.arange(0, 32)\n    "
                                      << kernel.body << "\n";
  const bool is_byte = std::string_view(kernel.element) == "i8";
  const std::string text = std::string("//! entry = \"tally\"\n//! grid = [\"") + kernel.grid + R"text("]
//! block = [32]
//! params = ["x_ptr", "out_ptr"]
.version 8.6
.target sm_90
.address_size 64
.visible .entry tally(.param .u64 xp, .param .u64 op)
{
  .reg .pred %p;
  .reg .b32 %t, %c, %a, %b, %d, %m;
  .reg .b64 %x, %o, %i;
  ld.param.u64 %x, [xp];
  ld.param.u64 %o, [op];
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  mul.wide.u32 %i, %t, )text" +
                           (is_byte ? "1" : "4") +
                           ";\n  add.u64 %x, %x, %i;\n  mul.wide.u32 %i, %t, 4;\n  add.u64 %o, %o, %i;\n" + body +
                           "  ret;\n}\n";
  Findings findings;
  const std::optional<task::Task> task = task::load_task(folder, findings);
  const std::filesystem::path path = folder / "tally.ptx";
  const auto candidate = make_candidate(std::make_shared<Source>(path.string(), text), path, findings);
  EXPECT_TRUE(task && candidate) << render(findings, false);
  if (!task || !candidate) return {};
  Options options;
  options.witness_seconds = 0.1;
  return prove(*task, *candidate, options);
}

void expect_proved(const Kernel& kernel, const std::string& body) {
  const Outcome outcome = judge(kernel, body);
  EXPECT_TRUE(outcome.holds()) << body << to_text(outcome, false);
}
void expect_different(const Kernel& kernel, const std::string& body) {
  const Outcome outcome = judge(kernel, body);
  EXPECT_EQ(outcome.verdict, Verdict::Different) << body << to_text(outcome, false);
}

// Where the two signs, or sums and bits, are mixed, or where small integers seldom show it, the answer may be
// `unknown`.
void expect_not_proved(const Kernel& kernel, const std::string& body) {
  const Outcome outcome = judge(kernel, body);
  EXPECT_NE(outcome.verdict, Verdict::Proved) << body << to_text(outcome, false);
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

constexpr Kernel kSumOfBytes = {"i8", "1",
                                "tl.store(out_ptr + at, tl.sum(tl.load(x_ptr + tl.arange(0, 64)), 0) + at * 0)"};
const std::string kSum =
    "ld.global.s8 %a, [%x];\n ld.global.s8 %b, [%x+32];\n add.s32 %a, %a, %b;\n"
    "redux.sync.add.s32 %d, %a, 0xffffffff;\n st.global.u32 [%o], %d;\n";

TEST(IntegerData, ASumIsTheSameInAnyOrder) {
  expect_proved(kSumOfBytes, kSum);
  expect_different(kSumOfBytes, changed(kSum, "ld.global.s8 %b", "ld.global.u8 %b"));
  expect_different(kSumOfBytes, changed(kSum, "[%x+32]", "[%x+31]"));
  expect_different(kSumOfBytes, changed(kSum, "redux.sync.add", "redux.sync.max"));
}

constexpr Kernel kMaxOfWords = {"i32", "1",
                                "tl.store(out_ptr + at, tl.max(tl.load(x_ptr + tl.arange(0, 64)), 0) + at * 0)"};
const std::string kMax =
    "ld.global.u32 %a, [%x];\n ld.global.u32 %b, [%x+128];\n max.s32 %a, %a, %b;\n"
    "redux.sync.max.s32 %d, %a, 0xffffffff;\n st.global.u32 [%o], %d;\n";

TEST(IntegerData, AMaximumIsTheSameInAnyOrder) {
  expect_proved(kMaxOfWords, kMax);
  expect_not_proved(kMaxOfWords, changed(kMax, "max.s32 %a", "max.u32 %a"));
  expect_different(kMaxOfWords, changed(kMax, "max.s32 %d", "min.s32 %d"));
  expect_not_proved(kMaxOfWords, changed(kMax, "[%x+128]", "[%x+124]"));
  expect_different(kMaxOfWords, changed(kMax, "max.s32 %a, %a, %b", "mov.u32 %a, %b"));
}

// How many of 64 numbers are above one.
constexpr Kernel kCount = {
    "fp32", "1", "tl.store(out_ptr + at, tl.sum((tl.load(x_ptr + tl.arange(0, 64)) > 1.0).to(tl.int32), 0) + at * 0)"};
const std::string kCountAbove =
    "ld.global.b32 %a, [%x];\n ld.global.b32 %b, [%x+128];\n setp.gt.f32 %p, %a, 0f3F800000;\n selp.b32 %a, 1, 0, %p;\n"
    "setp.gt.f32 %p, %b, 0f3F800000;\n selp.b32 %b, 1, 0, %p;\n add.s32 %a, %a, %b;\n"
    "redux.sync.add.s32 %d, %a, 0xffffffff;\n st.global.u32 [%o], %d;\n";

TEST(IntegerData, ASumOfConditionsIsTheSameInAnyOrder) {
  expect_proved(kCount, kCountAbove);
  std::string negative = changed(kCountAbove, "%a, 1, 0", "%a, -1, 0");
  negative = changed(changed(negative, "%b, 1, 0", "%b, -1, 0"), "st.global", "sub.s32 %d, 0, %d;\n st.global");
  expect_proved(kCount, negative);
  for (const auto& [from, to] :
       {std::pair("setp.gt.f32 %p, %b", "setp.ge.f32 %p, %b"), std::pair("setp.gt.f32 %p, %b", "setp.lt.f32 %p, %b"),
        std::pair("%b, 0f3F800000", "%b, 0f3F800001"), std::pair("%b, 1, 0", "%b, 2, 0"),
        std::pair("[%x+128]", "[%x+124]"), std::pair("add.s32 %a", "or.b32 %a"), std::pair("add.s32 %a", "max.s32 %a"),
        std::pair("add.s32 %a, %a, %b", "mov.u32 %a, %b")}) {
    expect_not_proved(kCount, changed(kCountAbove, from, to));
  }
}

constexpr Kernel kCumsum = {"i32", "1", "tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at), 0))"};
const std::string kScan =
    "ld.global.u32 %a, [%x];\n mov.u32 %m, 1;\nLoop:\n shfl.sync.up.b32 %b, %a, %m, 0, 0xffffffff;\n"
    "setp.ge.u32 %p, %t, %m;\n @%p add.s32 %a, %a, %b;\n shl.b32 %m, %m, 1;\n setp.lt.u32 %p, %m, 32;\n"
    "@%p bra Loop;\n st.global.u32 [%o], %a;\n";

TEST(IntegerData, AScanIsTheSumOfWhatCameBefore) {
  expect_proved(kCumsum, kScan);
  expect_different(kCumsum, changed(kScan, "setp.ge.u32", "setp.gt.u32"));
  expect_different(kCumsum, changed(kScan, "%m, 32", "%m, 16"));
}

// Modulo 2^32: where a sum wraps, it wraps on both sides.
constexpr Kernel kProduct = {"i32", "1", "x = tl.load(x_ptr + at)\n    tl.store(out_ptr + at, x * x - x)"};

TEST(IntegerData, ProductsThatWrapAreTheSameModuloTheirWidth) {
  expect_proved(kProduct,
                "ld.global.u32 %a, [%x];\n sub.s32 %b, %a, 1;\n mul.lo.s32 %a, %b, %a;\n st.global.u32 [%o], %a;\n");
  expect_different(kProduct,
                   "ld.global.u32 %a, [%x];\n sub.s32 %b, %a, 2;\n mul.lo.s32 %a, %b, %a;\n st.global.u32 [%o], %a;\n");
}

constexpr Kernel kAtomicAdd = {"i32", "n // 32",
                               "tl.atomic_add(out_ptr + at, tl.load(x_ptr + tl.program_id(0) * 32 + at))"};
const std::string kRed =
    "mul.wide.u32 %i, %c, 128;\n add.u64 %x, %x, %i;\n ld.global.u32 %a, [%x];\n red.global.add.u32 [%o], %a;\n";

TEST(IntegerData, AtomicSumsCommute) {
  expect_proved(kAtomicAdd, kRed);
  expect_not_proved(kAtomicAdd, changed(kRed, "red.global.add.u32", "red.global.xor.b32"));
  expect_different(kAtomicAdd, changed(kRed, "%c, 128", "%c, 64"));
}

constexpr Kernel kAtomicMax = {"i32", "1", "tl.atomic_max(out_ptr + at, tl.load(x_ptr + at))"};
const std::string kRedMax = "ld.global.u32 %a, [%x];\n red.global.max.s32 [%o], %a;\n";

TEST(IntegerData, AnAtomicMaximumKnowsItsSign) {
  expect_proved(kAtomicMax, kRedMax);
  expect_different(kAtomicMax, changed(kRedMax, "max.s32", "max.u32"));
  expect_different(kAtomicMax, changed(kRedMax, "max.s32", "min.s32"));
}

constexpr Kernel kExchange = {"i32", "1",
                              "tl.atomic_cas(out_ptr + at, tl.full([32], 1, tl.int32), tl.full([32], 2, tl.int32))"};

TEST(IntegerData, AnExchangeThatComparesDataIsUnknown) {
  const Outcome outcome = judge(kExchange, "mov.u32 %a, 1;\n mov.u32 %b, 2;\n atom.global.cas.b32 %d, [%o], %a, %b;\n");
  EXPECT_EQ(outcome.verdict, Verdict::Unknown) << to_text(outcome, false);
}

constexpr Kernel kCopy = {"i32", "1", "tl.store(out_ptr + at, tl.load(x_ptr + at))", "out"};

bool has(const Outcome& outcome, const Code& code) {
  for (const Finding& finding : outcome.findings.list()) {
    if (finding.code == &code) return true;
  }
  return false;
}

TEST(IntegerData, WhatIsStoredAndMeansNothingIsNotWhatIsNotStored) {
  const std::string load = "ld.global.u32 %a, [%x];\n";
  expect_proved(kCopy, load + "st.global.u32 [%o], %a;\n");
  for (const char* store : {"st.global.u32 [%o], %d;\n", "add.s32 %a, %a, %d;\n st.global.u32 [%o], %a;\n"}) {
    const Outcome outcome = judge(kCopy, load + store);
    EXPECT_EQ(outcome.verdict, Verdict::Different);
    EXPECT_TRUE(has(outcome, kUndefinedOutput)) << to_text(outcome, false);
  }
  const Outcome outcome = judge(kCopy, load + "setp.lt.u32 %p, %t, 31;\n @%p st.global.u32 [%o], %a;\n");
  EXPECT_EQ(outcome.verdict, Verdict::Different);
  EXPECT_TRUE(has(outcome, kElementMissing)) << to_text(outcome, false);
}

}  // namespace
}  // namespace plumb::prove
