// SPDX-License-Identifier: Apache-2.0
// The sixteen barriers of a CTA. Aligned arrivals count a whole warp, others the lanes that came; a barrier without a
// count waits for every lane that has not exited.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace plumb::machine {

inline constexpr unsigned kBarriers = 16;

struct Barrier {
  std::vector<std::uint32_t> arrived;  // lanes per warp in this phase
  std::uint32_t threads = 0;           // arrived so far, as the hardware counts
  std::uint32_t expected = 0;          // 0: all threads of the CTA
  bool is_active = false;              // somebody has arrived
  bool is_reduction = false;
  std::uint32_t popcount = 0;  // of the predicates of a reduction
  std::uint32_t voters = 0;
};

}  // namespace plumb::machine
