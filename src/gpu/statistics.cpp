// SPDX-License-Identifier: Apache-2.0
#include "gpu/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace plumb::gpu {

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - std::floor(at)) * (values[above] - values[below]);
}

Interval median_interval(const std::vector<double>& values, std::uint64_t seed, unsigned resamples) {
  Interval out;
  out.value = out.low = out.high = median(values);
  if (values.size() < 2) return out;
  std::vector<double> medians, drawn(values.size());
  medians.reserve(resamples);
  std::uint64_t state = seed;
  for (unsigned i = 0; i < resamples; ++i) {
    for (double& value : drawn) value = values[mix64(state++) % values.size()];
    medians.push_back(median(drawn));
  }
  out.low = quantile(medians, 0.025);
  out.high = quantile(medians, 0.975);
  return out;
}

}  // namespace plumb::gpu
