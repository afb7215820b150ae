// SPDX-License-Identifier: Apache-2.0
// Happens-before among the threads of one CTA. An access is stamped with its warp's epoch; a thread knows an access of
// another thread when its clock holds that epoch or a later one for it. Clocks are immutable and shared: after a
// barrier all its participants point to one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "machine/observer.h"

namespace plumb::check {

inline constexpr unsigned kWarpLanes = 32;

struct Clock {
  std::vector<std::uint32_t> threads;     // the last epoch known of each thread; 0: none
  std::vector<std::uint32_t> warp_least;  // least of each warp's threads
};

class Clocks {
 public:
  explicit Clocks(unsigned threads);

  std::uint32_t epoch(unsigned warp) const { return epochs_[warp]; }
  // Counts barriers that every thread of the CTA took part in: whatever was done before is known to all.
  std::uint32_t generation() const { return generation_; }
  const Clock& clock(unsigned warp, unsigned lane) const;
  // Every lane of the warp has this clock; null when lanes differ.
  const Clock* warp_clock(unsigned warp) const;
  bool knows(unsigned warp, unsigned lane, unsigned other_warp, unsigned other_lane, std::uint32_t epoch) const {
    return clock(warp, lane).threads[other_warp * kWarpLanes + other_lane] >= epoch;
  }

  // What `who` has done until now, for one that will learn it later; their later accesses get a new epoch.
  struct Snapshot {
    machine::WarpMask who;
    std::uint32_t epoch = 0;
    std::vector<std::shared_ptr<const Clock>> known;  // distinct clocks of the lanes
  };
  Snapshot publish(machine::WarpMask who);
  // `learners` learn everything in `snapshots`. `is_total`: the snapshots are of every thread of the CTA.
  void join(std::span<const Snapshot> snapshots, std::span<const machine::WarpMask> learners);

 private:
  struct WarpState {
    std::shared_ptr<const Clock> common;              // null when lanes differ
    std::vector<std::shared_ptr<const Clock>> lanes;  // used when `common` is null
  };
  std::uint32_t live_mask(unsigned warp) const;

  unsigned threads_;
  std::vector<std::uint32_t> epochs_;
  std::vector<WarpState> warps_;
  std::uint32_t generation_ = 0;
};

}  // namespace plumb::check
