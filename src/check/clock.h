// SPDX-License-Identifier: Apache-2.0
// Happens-before among the threads of one CTA and what they know of asynchronous work. An access is stamped with its
// warp's epoch; a thread knows an access of another thread when its clock holds that epoch or a later one for it. What
// asynchronous operations did is known by the phase of the mbarrier that counted them. What the async proxy may rely on
// is known by proxy fences: those accesses that came before one. Clocks are immutable and shared: after a barrier all
// its participants point to one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "machine/observer.h"

namespace plumb::check {

inline constexpr unsigned kWarpLanes = 32;

// What a fence makes visible to another proxy: bytes of shared or global memory to the async proxy, or tensor maps.
enum class Fenced : std::uint8_t { Shared, Global, TensorMap };
inline constexpr unsigned kFencedKinds = 3;

struct Clock {
  std::vector<std::uint32_t> threads;     // the last epoch known of each thread; 0: none
  std::vector<std::uint32_t> warp_least;  // least of each warp's threads
  // Completed phases known, by the mbarrier's number; those past the end: none.
  std::vector<std::uint32_t> phases;
  // By Fenced: the last epoch of each thread that a proxy fence covers; empty: none.
  std::array<std::vector<std::uint32_t>, kFencedKinds> fenced;
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
  std::uint32_t phases_known(unsigned warp, unsigned lane, std::uint32_t mbarrier) const {
    const std::vector<std::uint32_t>& phases = clock(warp, lane).phases;
    return mbarrier < phases.size() ? phases[mbarrier] : 0;
  }
  // A proxy fence that the thread knows of came after what the other did in this epoch.
  bool is_fenced(Fenced kind, unsigned warp, unsigned lane, unsigned other_warp, unsigned other_lane,
                 std::uint32_t epoch) const;

  // What `who` has done until now, for one that will learn it later; their later accesses get a new epoch.
  struct Snapshot {
    machine::WarpMask who;
    std::uint32_t epoch = 0;
    std::vector<std::shared_ptr<const Clock>> known;                              // distinct clocks of the lanes
    std::array<std::array<std::uint32_t, kWarpLanes>, kFencedKinds> own_fence{};  // by lane
  };
  Snapshot publish(machine::WarpMask who);
  // `learners` learn everything in `snapshots`. `is_total`: the snapshots are of every thread of the CTA.
  void join(std::span<const Snapshot> snapshots, std::span<const machine::WarpMask> learners);
  // What the snapshots hold together, and that this many phases of the mbarrier are complete.
  std::shared_ptr<const Clock> merge(std::span<const Snapshot> snapshots, std::uint32_t mbarrier,
                                     std::uint32_t phases) const;
  // What the lanes knew and what is known here.
  void learn(const std::shared_ptr<const Clock>& known, machine::WarpMask who);
  // Each lane fences what it knows, its own accesses included.
  void fence(Fenced kind, machine::WarpMask who);

 private:
  struct WarpState {
    std::shared_ptr<const Clock> common;                                          // null when lanes differ
    std::vector<std::shared_ptr<const Clock>> lanes;                              // used when `common` is null
    std::array<std::array<std::uint32_t, kWarpLanes>, kFencedKinds> own_fence{};  // epochs, by lane
  };
  std::uint32_t live_mask(unsigned warp) const;
  void set(machine::WarpMask who, const std::shared_ptr<const Clock>& clock);
  template <class F>
  void change(machine::WarpMask who, F&& f);

  unsigned threads_;
  std::vector<std::uint32_t> epochs_;
  std::vector<WarpState> warps_;
  std::uint32_t generation_ = 0;
};

}  // namespace plumb::check
