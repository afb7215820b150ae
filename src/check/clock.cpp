// SPDX-License-Identifier: Apache-2.0
#include "check/clock.h"

#include <algorithm>
#include <bit>

namespace plumb::check {

namespace {

void set_least(Clock& clock) {
  const std::size_t warps = clock.threads.size() / kWarpLanes;
  clock.warp_least.resize(warps);
  for (std::size_t warp = 0; warp < warps; ++warp) {
    const auto begin = clock.threads.begin() + static_cast<std::ptrdiff_t>(warp * kWarpLanes);
    clock.warp_least[warp] = *std::min_element(begin, begin + kWarpLanes);
  }
}

}  // namespace

Clocks::Clocks(unsigned threads) : threads_(threads) {
  const unsigned warps = (threads + kWarpLanes - 1) / kWarpLanes;
  epochs_.assign(warps, 1);
  auto first = std::make_shared<Clock>();
  first->threads.assign(std::size_t{warps} * kWarpLanes, 0);
  // Lanes that do not exist are known for ever, so that they do not hold back their warp's least.
  for (unsigned thread = threads; thread < warps * kWarpLanes; ++thread) first->threads[thread] = ~0U;
  set_least(*first);
  warps_.assign(warps, WarpState{first, {}});
}

const Clock& Clocks::clock(unsigned warp, unsigned lane) const {
  const WarpState& state = warps_[warp];
  return state.common ? *state.common : *state.lanes[lane];
}

const Clock* Clocks::warp_clock(unsigned warp) const { return warps_[warp].common.get(); }

std::uint32_t Clocks::live_mask(unsigned warp) const {
  const unsigned begin = warp * kWarpLanes;
  if (begin + kWarpLanes <= threads_) return ~0U;
  return begin >= threads_ ? 0 : (1U << (threads_ - begin)) - 1;
}

Clocks::Snapshot Clocks::publish(machine::WarpMask who) {
  Snapshot snapshot{who, epochs_[who.warp], {}};
  const WarpState& state = warps_[who.warp];
  if (state.common) {
    snapshot.known.push_back(state.common);
  } else {
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      if ((who.mask >> lane & 1) == 0) continue;
      const auto& known = state.lanes[lane];
      if (std::find(snapshot.known.begin(), snapshot.known.end(), known) == snapshot.known.end()) {
        snapshot.known.push_back(known);
      }
    }
  }
  ++epochs_[who.warp];
  return snapshot;
}

void Clocks::join(std::span<const Snapshot> snapshots, std::span<const machine::WarpMask> learners) {
  std::vector<const Clock*> sources;
  std::uint64_t published = 0;
  for (const Snapshot& snapshot : snapshots) {
    published += static_cast<std::uint64_t>(std::popcount(snapshot.who.mask & live_mask(snapshot.who.warp)));
    for (const auto& known : snapshot.known) {
      if (std::find(sources.begin(), sources.end(), known.get()) == sources.end()) sources.push_back(known.get());
    }
  }
  std::uint64_t learning = 0;
  for (const machine::WarpMask& who : learners) {
    learning += static_cast<std::uint64_t>(std::popcount(who.mask & live_mask(who.warp)));
    // A learner keeps what it knew even when it published nothing.
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      if ((who.mask >> lane & 1) == 0) continue;
      const Clock* known = &clock(who.warp, lane);
      if (std::find(sources.begin(), sources.end(), known) == sources.end()) sources.push_back(known);
      if (warps_[who.warp].common) break;
    }
  }
  if (sources.empty()) return;

  auto joint = std::make_shared<Clock>(*sources.front());
  for (std::size_t source = 1; source < sources.size(); ++source) {
    for (std::size_t thread = 0; thread < joint->threads.size(); ++thread) {
      joint->threads[thread] = std::max(joint->threads[thread], sources[source]->threads[thread]);
    }
  }
  for (const Snapshot& snapshot : snapshots) {
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      if ((snapshot.who.mask >> lane & 1) == 0) continue;
      std::uint32_t& known = joint->threads[snapshot.who.warp * kWarpLanes + lane];
      known = std::max(known, snapshot.epoch);
    }
  }
  set_least(*joint);
  for (const machine::WarpMask& who : learners) {
    WarpState& state = warps_[who.warp];
    if ((who.mask & live_mask(who.warp)) == live_mask(who.warp)) {
      state.common = joint;
      state.lanes.clear();
      continue;
    }
    if (state.common) {
      state.lanes.assign(kWarpLanes, state.common);
      state.common.reset();
    }
    for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
      if ((who.mask >> lane & 1) != 0) state.lanes[lane] = joint;
    }
  }
  if (published == threads_ && learning == threads_) ++generation_;
}

}  // namespace plumb::check
