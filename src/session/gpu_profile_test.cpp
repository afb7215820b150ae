// SPDX-License-Identifier: Apache-2.0
#include "session/gpu_profile.h"

#include <gtest/gtest.h>

namespace plumb::session {
namespace {

TEST(CountInstructions, TakesOpcodesWithModifiersAndSkipsPredicatesAndEncodings) {
  const auto counts = count_instructions(
      "	code for sm_90\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;           /* 0x00000a00ff017b82 */\n"
      "                                                                    /* 0x000fe20000000800 */\n"
      "        /*0010*/              @!P0 LDG.E.128 R4, [R2.64] ;          /* 0x0000000402047981 */\n"
      "        /*0020*/                   LDG.E.128 R8, [R2.64+0x10] ;     /* 0x0000000402087981 */\n"
      "        /*0030*/                   EXIT ;                           /* 0x000000000000794d */\n");
  const std::map<std::string, unsigned> wanted = {{"LDC", 1}, {"LDG.E.128", 2}, {"EXIT", 1}};
  EXPECT_EQ(counts, wanted);
}

TEST(ReadCounters, TakesWhatWasAskedForOfTheFirstKernelBelowNamesAndUnits) {
  const auto values = read_counters(
      "==PROF== Connected to process 1\n"
      "\"ID\",\"Kernel Name\",\"device__attribute_chip\",\"gpu__time_duration.max\",\"gpu__time_duration.sum\","
      "\"dram__throughput.avg.pct_of_peak_sustained_elapsed\"\n"
      "\"\",\"\",\"\",\"ns\",\"ns\",\"%\"\n"
      "\"0\",\"add(a, b)\",\"384\",\"234,567\",\"234,567\",\"81.5\"\n"
      "\"1\",\"add(a, b)\",\"384\",\"1\",\"1\",\"2\"\n");
  const std::map<std::string, double> wanted = {{"gpu__time_duration.sum", 234567},
                                                {"dram__throughput.avg.pct_of_peak_sustained_elapsed", 81.5}};
  EXPECT_EQ(values, wanted);
  EXPECT_TRUE(read_counters("==ERROR== ERR_NVGPUCTRPERM\n").empty());
}

}  // namespace
}  // namespace plumb::session
