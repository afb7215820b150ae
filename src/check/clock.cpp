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

void take_larger(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
}

void add(Clock& into, const Clock& from) {
  take_larger(into.threads, from.threads);
  take_larger(into.phases, from.phases);
  for (unsigned kind = 0; kind < kFencedKinds; ++kind) take_larger(into.fenced[kind], from.fenced[kind]);
}

// What the lanes of a snapshot did themselves.
void add_own(Clock& into, const Clocks::Snapshot& snapshot) {
  const auto raise = [&](std::vector<std::uint32_t>& epochs, unsigned lane, std::uint32_t epoch) {
    std::uint32_t& known = epochs[snapshot.who.warp * kWarpLanes + lane];
    known = std::max(known, epoch);
  };
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    if ((snapshot.who.mask >> lane & 1) == 0) continue;
    raise(into.threads, lane, snapshot.epoch);
    for (unsigned kind = 0; kind < kFencedKinds; ++kind) {
      const std::uint32_t fence = snapshot.own_fence[kind][lane];
      if (fence == 0) continue;
      into.fenced[kind].resize(into.threads.size());
      raise(into.fenced[kind], lane, fence);
    }
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
  warps_.assign(warps, WarpState{first, {}, {}});
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
  const WarpState& state = warps_[who.warp];
  Snapshot snapshot{who, epochs_[who.warp], {}, state.own_fence};
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
  for (std::size_t source = 1; source < sources.size(); ++source) add(*joint, *sources[source]);
  for (const Snapshot& snapshot : snapshots) add_own(*joint, snapshot);
  set_least(*joint);
  for (const machine::WarpMask& who : learners) set(who, joint);
  if (published == threads_ && learning == threads_) ++generation_;
}

void Clocks::set(machine::WarpMask who, const std::shared_ptr<const Clock>& clock) {
  WarpState& state = warps_[who.warp];
  if ((who.mask & live_mask(who.warp)) == live_mask(who.warp)) {
    state.common = clock;
    state.lanes.clear();
    return;
  }
  if (state.common) {
    state.lanes.assign(kWarpLanes, state.common);
    state.common.reset();
  }
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    if ((who.mask >> lane & 1) != 0) state.lanes[lane] = clock;
  }
}

std::shared_ptr<const Clock> Clocks::merge(std::span<const Snapshot> snapshots, std::uint32_t mbarrier,
                                           std::uint32_t phases) const {
  auto joint = std::make_shared<Clock>();
  joint->threads.resize(warps_.size() * kWarpLanes);
  for (const Snapshot& snapshot : snapshots) {
    for (const auto& known : snapshot.known) add(*joint, *known);
    add_own(*joint, snapshot);
  }
  if (joint->phases.size() <= mbarrier) joint->phases.resize(mbarrier + 1);
  joint->phases[mbarrier] = std::max(joint->phases[mbarrier], phases);
  set_least(*joint);
  return joint;
}

// Gives lanes that share a clock a changed one that they share again.
template <class F>
void Clocks::change(machine::WarpMask who, F&& f) {
  while (who.mask != 0) {
    const unsigned first = static_cast<unsigned>(std::countr_zero(who.mask));
    const Clock* old = &clock(who.warp, first);
    std::uint32_t alike = 0;
    for (unsigned lane = first; lane < kWarpLanes; ++lane) {
      if ((who.mask >> lane & 1) != 0 && &clock(who.warp, lane) == old) alike |= 1U << lane;
    }
    auto changed = std::make_shared<Clock>(*old);
    f(*changed);
    set({who.warp, alike}, changed);
    who.mask &= ~alike;
  }
}

void Clocks::learn(const std::shared_ptr<const Clock>& known, machine::WarpMask who) {
  change(who, [&](Clock& clock) {
    add(clock, *known);
    set_least(clock);
  });
}

bool Clocks::is_fenced(Fenced kind, unsigned warp, unsigned lane, unsigned other_warp, unsigned other_lane,
                       std::uint32_t epoch) const {
  const auto at = static_cast<unsigned>(kind);
  if (warp == other_warp && lane == other_lane && warps_[warp].own_fence[at][lane] >= epoch) return true;
  const std::vector<std::uint32_t>& fenced = clock(warp, lane).fenced[at];
  const unsigned other = other_warp * kWarpLanes + other_lane;
  return other < fenced.size() && fenced[other] >= epoch;
}

void Clocks::fence(Fenced kind, machine::WarpMask who) {
  const auto at = static_cast<unsigned>(kind);
  WarpState& state = warps_[who.warp];
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    if ((who.mask >> lane & 1) != 0) state.own_fence[at][lane] = epochs_[who.warp];
  }
  ++epochs_[who.warp];  // what comes after the fence is not covered
  change(who, [&](Clock& clock) { take_larger(clock.fenced[at], clock.threads); });
}

}  // namespace plumb::check
