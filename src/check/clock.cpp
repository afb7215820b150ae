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
  take_larger(into.told, from.told);
  take_larger(into.order, from.order);
  for (unsigned kind = 0; kind < kFencedKinds; ++kind) take_larger(into.fenced[kind], from.fenced[kind]);
}

void raise(std::vector<std::uint32_t>& epochs, std::size_t thread, std::size_t threads, std::uint32_t epoch) {
  if (epochs.size() < threads) epochs.resize(threads);
  epochs[thread] = std::max(epochs[thread], epoch);
}

// What the lanes of a snapshot did themselves.
void add_own(Clock& into, const Clocks::Snapshot& snapshot) {
  using Covers = Clocks::Covers;
  std::vector<std::uint32_t>& inits = into.fenced[static_cast<unsigned>(Fenced::Inits)];
  const std::size_t threads = into.threads.size();
  for (unsigned lane = 0; lane < kWarpLanes; ++lane) {
    if ((snapshot.who.mask >> lane & 1) == 0) continue;
    const std::size_t thread = snapshot.who.warp * kWarpLanes + lane;
    if (snapshot.covers == Covers::Phases || snapshot.covers == Covers::Told) {
      raise(into.order, thread, threads, snapshot.epoch);
      continue;
    }
    if (snapshot.covers != Covers::Everything) {
      raise(inits, thread, threads, snapshot.covers == Covers::Inits ? snapshot.epoch : kStartEpoch);
      continue;
    }
    raise(into.threads, thread, threads, snapshot.epoch);
    for (unsigned kind = 0; kind < kFencedKinds; ++kind) {
      const std::uint32_t fence = snapshot.own_fence[kind][lane];
      if (fence != 0) raise(into.fenced[kind], thread, threads, fence);
    }
  }
}

// Everything that the snapshot stands for.
void add_snapshot(Clock& into, const Clocks::Snapshot& snapshot) {
  using Covers = Clocks::Covers;
  constexpr auto kInits = static_cast<unsigned>(Fenced::Inits);
  for (const auto& known : snapshot.known) {
    if (snapshot.covers == Covers::Everything) add(into, *known);
    if (snapshot.covers == Covers::Phases) take_larger(into.phases, known->phases);
    if (snapshot.covers == Covers::Phases || snapshot.covers == Covers::Told) {
      take_larger(into.told, known->phases);
      take_larger(into.told, known->told);
      take_larger(into.order, known->threads);
      take_larger(into.order, known->order);
    }
    if (snapshot.covers == Covers::Inits) {
      take_larger(into.fenced[kInits], known->threads);
      take_larger(into.fenced[kInits], known->fenced[kInits]);
    }
  }
  add_own(into, snapshot);
}

}  // namespace

Clocks::Clocks(unsigned threads, unsigned ctas) : threads_(threads), ctas_(ctas) {
  constexpr unsigned kGroupWarps = 4;  // a warpgroup lies in one CTA
  stride_ = (threads + kWarpLanes - 1) / kWarpLanes;
  if (ctas > 1) stride_ = (stride_ + kGroupWarps - 1) / kGroupWarps * kGroupWarps;
  const unsigned warps = stride_ * ctas;
  epochs_.assign(warps, kFirstEpoch);
  auto first = std::make_shared<Clock>();
  first->threads.assign(std::size_t{warps} * kWarpLanes, 0);
  // Lanes that do not exist are known for ever, so that they do not hold back their warp's least.
  for (unsigned thread = 0; thread < warps * kWarpLanes; ++thread) {
    if ((live_mask(thread / kWarpLanes) >> thread % kWarpLanes & 1) == 0) first->threads[thread] = ~0U;
  }
  set_least(*first);
  warps_.assign(warps, WarpState{first, {}, {}});
}

const Clock& Clocks::clock(unsigned warp, unsigned lane) const {
  const WarpState& state = warps_[warp];
  return state.common ? *state.common : *state.lanes[lane];
}

const Clock* Clocks::warp_clock(unsigned warp) const { return warps_[warp].common.get(); }

std::uint32_t Clocks::live_mask(unsigned warp) const {
  const unsigned begin = warp % stride_ * kWarpLanes;
  if (begin + kWarpLanes <= threads_) return ~0U;
  return begin >= threads_ ? 0 : (1U << (threads_ - begin)) - 1;
}

Clocks::Snapshot Clocks::publish(machine::WarpMask who) {
  const WarpState& state = warps_[who.warp];
  Snapshot snapshot{who, epochs_[who.warp], {}, state.own_fence, Covers::Everything};
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
  const std::uint64_t everybody = std::uint64_t{threads_} * ctas_;
  if (published == everybody && learning == everybody) ++generation_;
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

std::shared_ptr<Clock> Clocks::joint(std::span<const Snapshot> snapshots) const {
  auto joint = std::make_shared<Clock>();
  joint->threads.resize(warps_.size() * kWarpLanes);
  for (const Snapshot& snapshot : snapshots) add_snapshot(*joint, snapshot);
  set_least(*joint);
  return joint;
}

std::shared_ptr<const Clock> Clocks::merge(std::span<const Snapshot> snapshots, std::span<const Count> counts) const {
  std::shared_ptr<Clock> merged = joint(snapshots);
  for (const Count& one : counts) {
    if (merged->phases.size() <= one.number) merged->phases.resize(one.number + 1);
    merged->phases[one.number] = std::max(merged->phases[one.number], one.count);
  }
  return merged;
}

std::shared_ptr<const Clock> Clocks::merge(std::span<const Snapshot> snapshots, std::uint32_t mbarrier,
                                           std::uint32_t phases) const {
  const Count count{mbarrier, phases};
  return merge(snapshots, {&count, 1});
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

bool Clocks::knows_init(unsigned warp, unsigned lane, unsigned other_warp, unsigned other_lane,
                        std::uint32_t epoch) const {
  if (knows(warp, lane, other_warp, other_lane, epoch)) return true;
  const std::vector<std::uint32_t>& inits = clock(warp, lane).fenced[static_cast<unsigned>(Fenced::Inits)];
  const std::size_t other = other_warp * kWarpLanes + other_lane;
  return other < inits.size() && inits[other] >= epoch;
}

std::uint32_t Clocks::phases_over(unsigned warp, unsigned lane, std::uint32_t mbarrier) const {
  const std::vector<std::uint32_t>& told = clock(warp, lane).told;
  return std::max(phases_known(warp, lane, mbarrier), mbarrier < told.size() ? told[mbarrier] : 0);
}

bool Clocks::knows_start(unsigned warp, unsigned lane, unsigned cta) const {
  const Clock& known = clock(warp, lane);
  const std::vector<std::uint32_t>& inits = known.fenced[static_cast<unsigned>(Fenced::Inits)];
  const std::size_t begin = std::size_t{cta} * stride_ * kWarpLanes;
  for (std::size_t thread = begin; thread < begin + threads_; ++thread) {
    if (known.threads[thread] != 0 || (thread < inits.size() && inits[thread] != 0)) return true;
  }
  return false;
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
