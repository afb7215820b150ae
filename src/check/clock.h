// SPDX-License-Identifier: Apache-2.0
// Happens-before among the threads of one cluster (most often one CTA) and what they know of asynchronous work. An
// access is stamped with its warp's epoch; a thread knows an access of another thread when its clock holds that epoch
// or a later one for it. What asynchronous operations did is known by the phase of the mbarrier that counted them. What
// the async proxy may rely on is known by proxy fences: those accesses that came before one. Clocks are immutable and
// shared: after a barrier all its participants point to one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "machine/observer.h"

namespace plumb::check {

inline constexpr unsigned kWarpLanes = 32;

// What a fence makes visible: bytes of shared or global memory to the async proxy, tensor maps, or nothing but the
// mbarriers that were initialised (`fence.mbarrier_init`).
enum class Fenced : std::uint8_t { Shared, Global, TensorMap, Inits };
inline constexpr unsigned kFencedKinds = 4;

// Epochs count from here, so that an epoch before all of them can say that a thread has started, and nothing else.
inline constexpr std::uint32_t kStartEpoch = 1, kFirstEpoch = 2;

struct Clock {
  std::vector<std::uint32_t> threads;     // the last epoch known of each thread; 0: none
  std::vector<std::uint32_t> warp_least;  // least of each warp's threads
  // Completed phases known, by the mbarrier's number, and other things that end one after the other; those past the
  // end of the row: none.
  std::vector<std::uint32_t> phases;
  // What came before in every schedule, beyond that: the past of a thread that issued an asynchronous operation, whose
  // end is known. It orders no memory. Like `phases`, and like `threads`.
  std::vector<std::uint32_t> told, order;
  // By Fenced: the last epoch of each thread that a proxy fence covers; empty: none.
  std::array<std::vector<std::uint32_t>, kFencedKinds> fenced;
};

class Clocks {
 public:
  // `threads` of each of `ctas`.
  explicit Clocks(unsigned threads, unsigned ctas = 1);

  // Numbers of warps: those of each CTA begin at a multiple of this.
  unsigned stride() const { return stride_; }

  std::uint32_t epoch(unsigned warp) const { return epochs_[warp]; }
  // Counts barriers that every thread took part in: whatever was done before is known to all.
  std::uint32_t generation() const { return generation_; }
  const Clock& clock(unsigned warp, unsigned lane) const;
  std::shared_ptr<const Clock> shared_clock(unsigned warp, unsigned lane) const {
    return warps_[warp].common ? warps_[warp].common : warps_[warp].lanes[lane];
  }
  std::uint32_t live_mask(unsigned warp) const;  // lanes that exist
  // Every lane of the warp has this clock; null when lanes differ.
  const Clock* warp_clock(unsigned warp) const;
  bool knows(unsigned warp, unsigned lane, unsigned other_warp, unsigned other_lane, std::uint32_t epoch) const {
    return clock(warp, lane).threads[other_warp * kWarpLanes + other_lane] >= epoch;
  }
  std::uint32_t phases_known(unsigned warp, unsigned lane, std::uint32_t mbarrier) const {
    const std::vector<std::uint32_t>& phases = clock(warp, lane).phases;
    return mbarrier < phases.size() ? phases[mbarrier] : 0;
  }
  // An mbarrier that the other initialised in this epoch is there for the thread.
  bool knows_init(unsigned warp, unsigned lane, unsigned other_warp, unsigned other_lane, std::uint32_t epoch) const;
  // Some thread of the CTA is known to have started.
  bool knows_start(unsigned warp, unsigned lane, unsigned cta) const;
  // So many phases are complete, though perhaps not for the memory that they hand over.
  std::uint32_t phases_over(unsigned warp, unsigned lane, std::uint32_t mbarrier) const;
  // A proxy fence that the thread knows of came after what the other did in this epoch.
  bool is_fenced(Fenced kind, unsigned warp, unsigned lane, unsigned other_warp, unsigned other_lane,
                 std::uint32_t epoch) const;

  // What `who` has done until now, for one that will learn it later; their later accesses get a new epoch.
  // Phases: what is known to have ended, and nothing of what threads did themselves; Told: as Clock::told.
  enum class Covers : std::uint8_t { Everything, Phases, Told, Inits, Start };
  struct Snapshot {
    machine::WarpMask who;
    std::uint32_t epoch = 0;
    std::vector<std::shared_ptr<const Clock>> known;                              // distinct clocks of the lanes
    std::array<std::array<std::uint32_t, kWarpLanes>, kFencedKinds> own_fence{};  // by lane
    Covers covers = Covers::Everything;
  };
  Snapshot publish(machine::WarpMask who);
  // `learners` learn everything in `snapshots`. `is_total`: the snapshots are of every thread of the CTA.
  void join(std::span<const Snapshot> snapshots, std::span<const machine::WarpMask> learners);
  // What the snapshots hold together, and that this many phases of the mbarrier are complete.
  std::shared_ptr<const Clock> merge(std::span<const Snapshot> snapshots, std::uint32_t mbarrier,
                                     std::uint32_t phases) const;
  struct Count {
    std::uint32_t number = 0, count = 0;  // so many phases of this number
  };
  std::shared_ptr<const Clock> merge(std::span<const Snapshot> snapshots, std::span<const Count> counts = {}) const;
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
  void set(machine::WarpMask who, const std::shared_ptr<const Clock>& clock);
  template <class F>
  void change(machine::WarpMask who, F&& f);

  std::shared_ptr<Clock> joint(std::span<const Snapshot> snapshots) const;

  unsigned threads_, ctas_, stride_;
  std::vector<std::uint32_t> epochs_;
  std::vector<WarpState> warps_;
  std::uint32_t generation_ = 0;
};

}  // namespace plumb::check
