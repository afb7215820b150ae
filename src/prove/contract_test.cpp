// SPDX-License-Identifier: Apache-2.0
// Quotients against what the source promises: `/` divides over the whole range to two units in the last place, `div_rn`
// is correctly rounded.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/scratch.h"
#include "prove/codes.h"
#include "prove/prove.h"

namespace plumb::prove {
namespace {

constexpr std::string_view kTask = R"text(grid = ["cdiv(n, 32)"]
[kernel]
file = "kernel.py"
function = "quotient"
[[args]]
name = "x_ptr"
type = "*fp32"
shape = ["n"]
[[args]]
name = "y_ptr"
type = "*fp32"
shape = ["n"]
[[args]]
name = "out_ptr"
type = "*fp32"
shape = ["n"]
role = "out"
[[args]]
name = "n"
type = "i32"
value = "n"
[tolerance]
relative = 0.001
absolute = 0.001
[shapes]
prove = [{ n = 64 }]
)text";

std::string kernel(const std::string& expression) {
  return "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef quotient(x_ptr, y_ptr, out_ptr, n):\n"
         "    at = tl.program_id(0) * 32 + tl.arange(0, 32)\n    x = tl.load(x_ptr + at)\n    y = tl.load(y_ptr + at)\n"
         "    tl.store(out_ptr + at, " +
         expression + ")\n";
}

// `body` makes %r of %x and %y.
std::string ptx(const std::string& body) {
  return R"text(//! entry = "quotient"
//! grid = ["cdiv(n, 32)"]
//! block = [32]
//! params = ["x_ptr", "y_ptr", "out_ptr", "n"]
.version 7.8
.target sm_89
.address_size 64
.visible .entry quotient(.param .u64 xp, .param .u64 yp, .param .u64 op, .param .u32 np)
{
  .reg .b32 %t, %c;
  .reg .b64 %a, %b, %o, %i;
  .reg .f32 %x, %y, %r, %s;
  ld.param.u64 %a, [xp];
  ld.param.u64 %b, [yp];
  ld.param.u64 %o, [op];
  mov.u32 %t, %tid.x;
  mov.u32 %c, %ctaid.x;
  shl.b32 %c, %c, 5;
  add.u32 %t, %t, %c;
  mul.wide.u32 %i, %t, 4;
  add.u64 %a, %a, %i;
  add.u64 %b, %b, %i;
  add.u64 %o, %o, %i;
  ld.global.f32 %x, [%a];
  ld.global.f32 %y, [%b];
  )text" +
         body +
         R"text(
  st.global.f32 [%o], %r;
  ret;
}
)text";
}

Outcome judge(const std::string& expression, const std::string& body) {
  const Scratch scratch;
  const std::filesystem::path& folder = scratch.path();
  std::ofstream(folder / "task.toml") << kTask;
  std::ofstream(folder / "kernel.py") << kernel(expression);
  Findings findings;
  const std::optional<task::Task> task = task::load_task(folder, findings);
  const std::filesystem::path path = folder / "quotient.ptx";
  const auto candidate = make_candidate(std::make_shared<Source>(path.string(), ptx(body)), path, findings);
  EXPECT_TRUE(task && candidate) << render(findings, false);
  if (!task || !candidate) return {};
  return prove(*task, *candidate, {});
}

bool has(const Outcome& outcome, const Code& code) {
  for (const Finding& finding : outcome.findings.list()) {
    if (finding.code == &code) return true;
  }
  return false;
}

TEST(Contract, DivisionKeepsWhatTheSourcePromises) {
  for (const char* body : {"div.full.f32 %r, %x, %y;", "div.rn.f32 %r, %x, %y;"}) {
    const Outcome outcome = judge("x / y", body);
    EXPECT_TRUE(outcome.holds()) << body << "\n" << to_text(outcome, false);
  }
  EXPECT_TRUE(judge("tl.math.div_rn(x, y)", "div.rn.f32 %r, %x, %y;").holds());
}

TEST(Contract, AReciprocalForMiddlingDivisorsIsWeakerThanAFullDivision) {
  for (const char* body :
       {"div.approx.f32 %r, %x, %y;", "div.approx.ftz.f32 %r, %x, %y;",
        "rcp.approx.ftz.f32 %s, %y;\n mul.f32 %r, %x, %s;", "rcp.approx.f32 %s, %y;\n mul.f32 %r, %x, %s;"}) {
    const Outcome outcome = judge("x / y", body);
    EXPECT_EQ(outcome.verdict, Verdict::Proved) << body << "\n" << to_text(outcome, false);
    EXPECT_EQ(outcome.contract, Contract::Weaker) << body;
    EXPECT_TRUE(has(outcome, kContractRange)) << body << "\n" << to_text(outcome, false);
  }
}

TEST(Contract, AReciprocalOfWhatIsAtLeastOneIsAsGood) {
  const std::string source = "x / (1.0 + y * y)";
  EXPECT_TRUE(
      judge(source, "fma.rn.f32 %s, %y, %y, 0f3F800000;\n rcp.approx.ftz.f32 %s, %s;\n mul.f32 %r, %x, %s;").holds());
  const Outcome half = judge("x / (0.5 + y * y)",
                             "fma.rn.f32 %s, %y, %y, 0f3F000000;\n rcp.approx.ftz.f32 %s, %s;\n mul.f32 %r, %x, %s;");
  EXPECT_EQ(half.contract, Contract::Weaker);
}

TEST(Contract, AnApproximateDivisionIsWeakerThanACorrectlyRoundedOne) {
  const Outcome outcome = judge("tl.math.div_rn(x, y)", "div.full.f32 %r, %x, %y;");
  EXPECT_EQ(outcome.verdict, Verdict::Proved) << to_text(outcome, false);
  EXPECT_EQ(outcome.contract, Contract::Weaker);
  EXPECT_TRUE(has(outcome, kContractPrecision)) << to_text(outcome, false);
}

}  // namespace
}  // namespace plumb::prove
