// SPDX-License-Identifier: Apache-2.0
// The checker over runs of whole kernels: what it does not follow makes its answer unknown, never wrong.
#include "check/codes.h"
#include "check/report_test.h"

namespace plumb::check {
namespace {

TEST(Collector, SharedMemoryHandedOverByABarrierIsClean) {
  const Report report =
      report_of(std::string(kStart) + "st.shared.b32 [%r3], %t;\nbar.sync 0;\nld.shared.b32 %r5, [%r4];\n");
  EXPECT_TRUE(report.is_clean());
}

TEST(Collector, AnMbarrierOrdersWhatItsWaitersWereTold) {
  const std::string start = std::string(kStart) + R"(
    @%p1 mbarrier.init.shared.b64 [%r1], 64;
    bar.sync 0;
    st.shared.b32 [%r3], %t;
    mbarrier.arrive.shared.b64 %rd1, [%r1];
  )";
  const std::string poll = "mbarrier.try_wait.shared.b64 %p2, [%r1], %rd1;\n";
  const std::string load = "ld.shared.b32 %r5, [%r4];\n";
  EXPECT_TRUE(report_of(start + "W:\n" + poll + "@!%p2 bra W;\n" + load).is_clean());
  // Without the wait, it is a race; with a poll that is not repeated, nobody knows.
  const Report race = report_of(start + load);
  ASSERT_TRUE(race.findings.has_error());
  EXPECT_EQ(race.findings.list().front().code, &kRaceShared);
  EXPECT_FALSE(report_of(start + poll + load).unknowns.empty());
}

TEST(Collector, ThreadsMayStoreOneValueToOnePlace) {
  const std::string start = std::string(kStart) + "mov.b32 %r5, 7;\n";
  for (const char* store : {"st.shared.b32 [tile], %r5;", "st.shared.v2.b32 [tile], {0, 16843009};",
                            "st.shared.v4.b32 [tile], {0, 0, 0, 0};", "st.global.b32 [%out], %r5;"}) {
    const Report report = report_of(start + store);
    EXPECT_TRUE(report.is_clean()) << store;
    ASSERT_FALSE(report.findings.list().empty()) << store;
    EXPECT_EQ(report.findings.list().front().code, &kDuplicateWrite);
  }
  const Fault different{"values", "{0, 16843009}", "{0, %t}", "race.same-instruction", "st.shared.v2"};
  expect_found(start + "st.shared.v2.b32 [tile], {0, 16843009};\n", different);
}

// Compilers use memory again in which mbarriers were that nobody uses any more.
const std::string kOverwrite = std::string(kStart) + R"(
  mov.u32 %r7, 256;
  @%p1 mbarrier.init.shared.b64 [%r1], 64;
  bar.sync 0;
  mbarrier.arrive.shared.b64 %rd1, [%r1];
W:
  mbarrier.try_wait.shared.b64 %p2, [%r1], %rd1;
  @!%p2 bra W;
  bar.sync 0;
  @%p1 st.shared.b64 [%r1], 0;  // the end of the mbarrier
  bar.sync 0;
  ld.shared.b32 %r5, [%r1];
)";

TEST(Collector, AnIdleMbarrierMayBeOverwritten) {
  expect_clean(kOverwrite);
  expect_found(kOverwrite,
               {"unordered", "@!%p2 bra W;\n  bar.sync 0;", "@!%p2 bra W;", "mbarrier.lifetime", "// the end"});
  expect_found(kOverwrite, {"half_arrived", "W:", "@%p1 mbarrier.arrive.shared.b64 _, [%r1];\nW:", "machine.mbarrier",
                            "// the end"});
  expect_found(kOverwrite, {"used_later", "ld.shared.b32 %r5, [%r1];", "mbarrier.arrive.shared.b64 %rd1, [%r1];",
                            "machine.mbarrier", "mbarrier.arrive"});
  expect_found(kOverwrite, {"read_alive", "W:", "ld.shared.b32 %r5, [%r1];\nW:", "machine.mbarrier", "ld.shared.b32"});
}

TEST(Collector, FencesBetweenProxiesAloneAreClean) { EXPECT_TRUE(report_of("fence.proxy.async;\n").is_clean()); }

}  // namespace
}  // namespace plumb::check
