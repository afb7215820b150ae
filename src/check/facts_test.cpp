// SPDX-License-Identifier: Apache-2.0
#include "check/facts.h"

#include "check/report_test.h"

namespace plumb::check {
namespace {

TEST(Facts, AnAtomicsResultCountsAsUsedWhereItIsRead) {
  const std::string atom = "mov.u32 %r3, 0;\natom.global.gpu.relaxed.add.u32 %r3, [%out], 1;\n";
  expect_clean(atom);
  for (const char* reader : {"add.u32 %r4, %r3, 1;\n", "mov.u32 %r4, %r3;\n", "st.shared.u32 [tile], %r3;\n"}) {
    const auto run = run_kernel(atom + reader, {}, "sm_90a", {1, 1, 1});
    ASSERT_EQ(run.report.unknowns.list().size(), 1u) << in_words(run);
    EXPECT_EQ(run.report.unknowns.list()[0].code->id, std::string_view("schedule.atomic-result"));
  }
}

}  // namespace
}  // namespace plumb::check
