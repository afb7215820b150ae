// SPDX-License-Identifier: Apache-2.0
// What ptxas 13.0 printed for real files, read.
#include "session/ptxas.h"

#include <gtest/gtest.h>

namespace plumb::session {
namespace {

SourcePtr source() { return std::make_shared<Source>("k.ptx", "one\n  two three\n\nfour\n"); }

TEST(Ptxas, RegistersAndSpillsBelongToTheirFunction) {
  const PtxasReport report = read_ptxas(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
      "ptxas info    : Function properties for k\n"
      "    16 bytes stack frame, 20 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 50000 bytes smem\n"
      "ptxas info    : Compile time = 245.844 ms\n"
      "ptxas info    : Function properties for f\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n",
      true, source());
  ASSERT_EQ(report.functions.size(), 2u);
  const PtxasFunction& k = report.functions[0];
  EXPECT_EQ(k.name, "k");
  EXPECT_EQ(k.registers, 40u);
  EXPECT_EQ(k.barriers, 1u);
  EXPECT_EQ(k.stack_bytes, 16u);
  EXPECT_EQ(k.spill_stores, 20u);
  EXPECT_EQ(k.spill_loads, 24u);
  EXPECT_EQ(k.shared_bytes, 50000u);
  EXPECT_EQ(report.functions[1].registers, 0u);
  ASSERT_EQ(report.findings.list().size(), 1u);
  EXPECT_EQ(report.findings.list()[0].code->id, "session.spills");
  EXPECT_TRUE(report.accepts);
}

TEST(Ptxas, ErrorsStandAtTheirLines) {
  const PtxasReport report = read_ptxas(
      "ptxas /tmp/k.ptx, line 2; error   : Arguments mismatch for instruction 'add'\n"
      "ptxas fatal   : Ptx assembly aborted due to errors\n",
      false, source());
  ASSERT_EQ(report.findings.list().size(), 1u);  // the second line is a consequence
  const Finding& error = report.findings.list()[0];
  EXPECT_EQ(error.message, "ptxas: Arguments mismatch for instruction 'add'");
  EXPECT_EQ(error.place.source->slice(error.place.span), "two three");
  EXPECT_FALSE(report.accepts);
}

TEST(Ptxas, AFatalErrorAloneIsTold) {
  const PtxasReport report =
      read_ptxas("ptxas fatal   : Value 'sm_101a' is not defined for option 'gpu-name'\n", false, source());
  ASSERT_EQ(report.findings.list().size(), 1u);
  EXPECT_TRUE(report.findings.has_error());
}

TEST(Ptxas, WhatSlowsAKernelDownIsAWarning) {
  const PtxasReport report = read_ptxas(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
      "insufficient register resources for the wgmma pipeline in the function 'k'\n"
      "ptxas k.ptx, line 4; warning : something\n",
      true, source());
  ASSERT_EQ(report.findings.list().size(), 2u);
  EXPECT_FALSE(report.findings.has_error());
  EXPECT_EQ(report.findings.list()[1].place.source->slice(report.findings.list()[1].place.span), "four");
}

}  // namespace
}  // namespace plumb::session
