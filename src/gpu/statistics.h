// SPDX-License-Identifier: Apache-2.0
// Medians, and intervals by resampling: no distribution is assumed.
#pragma once

#include <cstdint>
#include <vector>

namespace plumb::gpu {

struct Interval {
  double value = 0, low = 0, high = 0;
};

double quantile(std::vector<double> values, double part);  // 0 for no values
inline double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

// The median of per-round ratios, with its 95% percentile-bootstrap interval over rounds. Rounds are the unit of
// resampling, because the samples of one round share what the card did at that time.
Interval median_interval(const std::vector<double>& values, std::uint64_t seed, unsigned resamples = 4000);

}  // namespace plumb::gpu
