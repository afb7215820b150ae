// SPDX-License-Identifier: Apache-2.0
#include "task/float_range.h"

#include <gtest/gtest.h>

namespace plumb::task {
namespace {

TEST(FloatRange, ReadsTheNamedAndTheGivenRanges) {
  const auto range = [](std::string_view text) { return float_range(text).value(); };
  EXPECT_EQ(range("uniform").low, 0);
  EXPECT_EQ(range("uniform").high, 1);
  EXPECT_EQ(range("zeros").high, 0);
  EXPECT_EQ(range("uniform(-2, 0.5)").low, -2);
  EXPECT_EQ(range("uniform( -1e3,1e-3 )").high, 1e-3);
}

TEST(FloatRange, RefusesEverythingElse) {
  for (const char* text : {"", "normal", "uniform(", "uniform()", "uniform(1)", "uniform(1, )", "uniform(2, 1)",
                           "uniform(0, inf)", "uniform(0, nan)", "uniform(0, 1", "uniform(0, 1, 2)", "uniform(a, b)"}) {
    EXPECT_FALSE(float_range(text)) << text;
  }
}

}  // namespace
}  // namespace plumb::task
