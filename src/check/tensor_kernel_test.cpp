// SPDX-License-Identifier: Apache-2.0
// Tensor memory in whole kernels for sm_100a: one that keeps every rule, and the same with one line changed, found at
// the line that the fault is at.
#include "check/report_test.h"

namespace plumb::check {
namespace {

constexpr machine::Dim3 kBlock{128, 1, 1};

std::string registers(const char* name, unsigned count) {
  std::string list = "{";
  for (unsigned i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + std::string(name) + std::to_string(i);
  return list + "}";
}

// Two products with one accumulator of 128 x 64: A in shared memory, then A in tensor memory, where the threads have
// stored it.
const std::string kProducts = R"(
  .reg .b32 %c<64>;
  mov.u32 %r1, bar;
  mov.u32 %r2, tile;
  mov.u32 %r3, taddr;
  shr.u32 %r4, %t, 5;
  setp.eq.u32 %p1, %t, 0;
  setp.eq.u32 %p2, %r4, 0;
  @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
  @!%p2 bra STAGE;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r3], 128;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
STAGE:
  mad.lo.u32 %r5, %t, 192, %r2;
  mov.u32 %r6, 0;
ZERO:
  add.u32 %r7, %r5, %r6;
  st.shared.v4.b32 [%r7], {0, 0, 0, 0};
  add.u32 %r6, %r6, 16;
  setp.lt.u32 %p3, %r6, 192;
  @%p3 bra ZERO;
  fence.proxy.async.shared::cta;
  bar.sync 0;  // allocated
  ld.shared.b32 %r8, [%r3];
  shl.b32 %r9, %r4, 21;
  add.u32 %r9, %r9, %r8;
  mov.b32 %r20, 0;
  tcgen05.st.sync.aligned.32x32b.x32.b32 [%r9 + 64], )" +
                              [] {
                                std::string zeros = "{";
                                for (unsigned i = 0; i < 32; ++i) zeros += i == 0 ? "%r20" : ", %r20";
                                return zeros + "}";
                              }() +
                              R"(;
  tcgen05.wait::st.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;  // stored
  tcgen05.fence::after_thread_sync;
  @!%p2 bra WAIT;
  elect.sync %r10|%p4, -1;
  @!%p4 bra JOIN;
  shr.u32 %r11, %r2, 4;
  cvt.u64.u32 %rd1, %r11;
  or.b64 %rd1, %rd1, 0x4000404000010000;
  add.u64 %rd2, %rd1, 1024;
  tcgen05.mma.cta_group::1.kind::f16 [%r8], %rd1, %rd2, 0x08100490, 0;  // SS
  add.u32 %r12, %r8, 64;
  tcgen05.mma.cta_group::1.kind::f16 [%r8], [%r12], %rd2, 0x08100490, 1;  // TS
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];
JOIN:
  bar.warp.sync -1;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r1], 0;
  @!%p5 bra WAIT;
  bar.warp.sync -1;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x64.b32 )" +
                              registers("%c", 64) + R"(, [%r9];
  tcgen05.wait::ld.sync.aligned;
  tcgen05.fence::before_thread_sync;
  bar.sync 0;  // read
  @!%p2 bra END;
  tcgen05.fence::after_thread_sync;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 128;
END:
)";

TEST(TensorProducts, KeepEveryRule) { expect_clean(kProducts, {}, "sm_100a", kBlock); }

class TensorProducts : public testing::TestWithParam<Fault> {};
TEST_P(TensorProducts, FaultIsFound) { expect_found(kProducts, GetParam(), {}, "sm_100a", kBlock); }

const char* const kWaitLoop = "WAIT:\n  mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r1], 0;\n  @!%p5 bra WAIT;";

INSTANTIATE_TEST_SUITE_P(
    Misuse, TensorProducts,
    testing::Values(
        Fault{"not_waited", kWaitLoop, "WAIT:", "tensor.unwaited-read", "tcgen05.ld"},
        Fault{"polled_once", "  @!%p5 bra WAIT;", "", "schedule.value", "try_wait"},
        Fault{"one_thread_waits", kWaitLoop,
              "WAIT:\n@!%p1 bra GO;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 %p5, [%r1], 0;\n@!%p5 bra "
              "AGAIN;\nGO:",
              "tensor.unwaited-read", "tcgen05.ld"},
        Fault{"commit_first", "tcgen05.mma.cta_group::1.kind::f16 [%r8], %rd1,",
              "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];\n"
              "tcgen05.mma.cta_group::1.kind::f16 [%r8], %rd1,",
              "tensor.unwaited-read", "tcgen05.ld"},
        Fault{"no_wait_st", "tcgen05.wait::st.sync.aligned;", "", "tensor.unwaited-read", "// TS"},
        Fault{"stores_not_told", "bar.sync 0;  // stored", "bar.warp.sync -1;", "tensor.unwaited-read", "// TS"},
        Fault{"no_proxy_fence", "fence.proxy.async.shared::cta;", "", "proxy.missing-fence", "// SS"},
        Fault{"overwritten_operand", "WAIT:", "WAIT:\n@%p1 st.shared.b32 [%r2], 0;", "async.source-written",
              "@%p1 st.shared.b32"},
        Fault{"overwritten_a", "WAIT:\n", "WAIT:\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%r9 + 64], {%r20};\n",
              "tensor.overwrites-read", "x1.b32 [%r9 + 64]"},
        Fault{"other_shape", "%rd2, 0x08100490, 1;", "%rd2, 0x08080490, 1;", "tensor.unwaited-read", "// TS"},
        Fault{"chained", "add.u32 %r12, %r8, 64;", "mov.u32 %r12, %r8;", "tensor.unwaited-read", "// TS"},
        Fault{"address_not_told", "bar.sync 0;  // allocated", "", "race.shared", "ld.shared.b32 %r8"},
        Fault{"no_barrier_before_dealloc", "bar.sync 0;  // read", "", "machine.tensor-memory", "tcgen05.ld"}),
    [](const auto& tested) { return tested.param.name; });

// A fence of the strict reading is left out: a remark, at what comes after it, with the line that mends it.
void expect_remark(const char* from, const char* to, const char* place) {
  std::string text = kProducts;
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, std::string_view(from).size(), to);
  const Report report = report_of(text, {}, "sm_100a", kBlock);
  EXPECT_TRUE(report.is_clean());
  ASSERT_EQ(report.findings.list().size(), 1u);
  const Finding& finding = report.findings.list().front();
  EXPECT_EQ(finding.code->id, std::string_view("tensor.fence"));
  const Source& source = *finding.place.source;
  EXPECT_NE(source.line(source.locate(finding.place.span.begin).line).find(place), std::string_view::npos);
  EXPECT_NE(finding.hint.find("tcgen05.fence::after_thread_sync;"), std::string::npos);
}

TEST(TensorProducts, WantOfAFenceIsARemark) {
  expect_remark("tcgen05.fence::after_thread_sync;\n  tcgen05.ld", "tcgen05.ld", "tcgen05.ld");
  expect_remark("tcgen05.fence::before_thread_sync;\n  bar.sync 0;  // stored", "bar.sync 0;", "// TS");
  expect_remark("tcgen05.fence::before_thread_sync;\n  bar.sync 0;  // read", "bar.sync 0;", "tcgen05.dealloc");
}

}  // namespace
}  // namespace plumb::check
