// SPDX-License-Identifier: Apache-2.0
// The checker over runs of whole kernels: what it does not follow makes its answer unknown, never wrong.
#include <gtest/gtest.h>

#include <cstring>

#include "check/check.h"
#include "check/codes.h"
#include "domain/ieee/ieee.h"

namespace plumb::check {
namespace {

Report report_of(const std::string& body, const machine::Dim3& cluster = {}) {
  const std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.shared .align 8 .b64 bar;\n.shared .align 256 .b8 tile[1024];\n"
      ".visible .entry k(.param .u64 out) {\n.reg .b64 %rd<8>, %out;\n.reg .b32 %r<16>, %t;\n.reg .pred %p<8>;\n"
      "ld.param.u64 %out, [out];\nmov.u32 %t, %tid.x;\n" +
      body + "\nret;\n}\n";
  Findings findings;
  const auto module = ptx::load(std::make_shared<Source>("kernel.ptx", text), findings);
  const auto program = module ? machine::Program<domain::Ieee>::decode(*module, "k", findings) : std::nullopt;
  EXPECT_TRUE(program) << render(findings, false);
  if (!program) return {};
  domain::Memory memory(false);
  const domain::Buffer& out = memory.add("out", 4096, domain::Init::Concrete, domain::Format::F32);
  machine::Launch launch;
  launch.entry = "k", launch.grid = cluster, launch.block = {64, 1, 1}, launch.cluster = cluster;
  launch.params.resize(8);
  std::memcpy(launch.params.data(), &out.address, 8);
  Collector collector(*module, *(*module)->find_entry("k"), launch, &memory);
  machine::Options options;
  options.workers = 1;
  options.observe = [&](std::uint64_t cta) { return collector.observe(cta); };
  domain::Ieee ieee;
  const machine::Result result = program->run(launch, {&ieee}, memory, options);
  EXPECT_FALSE(result.stop) << result.stop->finding.message;
  return collector.finish(result.counts.executed);
}

const char* const kStart = R"(
  mov.u32 %r1, bar;
  mov.u32 %r2, tile;
  mad.lo.u32 %r3, %t, 4, %r2;
  xor.b32 %r4, %r3, 128;
  setp.eq.u32 %p1, %t, 0;
)";

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

TEST(Collector, WhatClustersDoIsUnknown) {
  const std::string barrier = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  EXPECT_FALSE(report_of(barrier, {2, 1, 1}).unknowns.empty());
  EXPECT_FALSE(report_of(std::string(kStart) + "st.shared.b32 [%r3], %t;\n" + barrier +
                             "mapa.shared::cluster.u32 %r6, %r3, 1;\nld.shared::cluster.b32 %r7, [%r6];\n" + barrier,
                         {2, 1, 1})
                   .unknowns.empty());
  EXPECT_TRUE(report_of("fence.proxy.async;\n").is_clean());
}

}  // namespace
}  // namespace plumb::check
