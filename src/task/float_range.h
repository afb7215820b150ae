// SPDX-License-Identifier: Apache-2.0
// The range that a task's `init` gives for drawn floats.
#pragma once

#include <optional>
#include <string_view>

namespace plumb::task {

struct FloatRange {
  double low = 0, high = 0;  // equal: that number
};

// "uniform" is [0, 1), "uniform(-2, 0.5)" what it says, "zeros" is 0; empty for anything else, malformed text included.
std::optional<FloatRange> float_range(std::string_view init);

}  // namespace plumb::task
