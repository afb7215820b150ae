// SPDX-License-Identifier: Apache-2.0
// What only clusters of several CTAs have: their barrier, fences that relaxed arrivals rely on, and shared memory of
// other CTAs, which must have started and must not have left. Rules: barrier.cluster, fence and mapa in the PTX manual.
#include <algorithm>
#include <bit>

#include "check/codes.h"
#include "check/race.h"

namespace plumb::check {

using machine::WarpMask;

// -- barrier.cluster. -------------------------------------------------------------------------------------------------

void RaceChecker::fence(std::uint32_t, WarpMask who, machine::Scope scope) {
  log_.has_fence = true;
  if (ctas_.size() == 1 || scope < machine::Scope::Cluster) return;
  flush_waits();
  keep_fence(clocks_.publish(who));
}

// Of no effect in a cluster of one CTA.
void RaceChecker::cluster_fence(std::uint32_t instr, WarpMask who) {
  if (ctas_.size() == 1) return;
  if (!facts_[instr].is_init_fence) return Observer::cluster_fence(instr, who);
  flush_waits();
  Clocks::Snapshot snapshot = clocks_.publish(who);
  snapshot.covers = Clocks::Covers::Inits;
  keep_fence(std::move(snapshot));
}

// A later fence of the same lanes and kind covers what this one does.
void RaceChecker::keep_fence(Clocks::Snapshot snapshot) {
  std::vector<Clocks::Snapshot>& kept = fenced_by_[snapshot.who.warp];
  std::erase_if(kept, [&](const Clocks::Snapshot& old) {
    return old.covers == snapshot.covers && (old.who.mask & ~snapshot.who.mask) == 0;
  });
  kept.push_back(std::move(snapshot));
}

WarpMask RaceChecker::take_alike(WarpMask& who) const {
  const std::uint32_t* const arrivals = &cluster_arrivals_[who.warp * kWarpLanes];
  const std::uint32_t wanted = arrivals[std::countr_zero(who.mask)];
  WarpMask alike{who.warp, 0};
  for (std::uint32_t left = who.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (arrivals[lane] == wanted) alike.mask |= 1U << lane;
  }
  who.mask &= ~alike.mask;
  return alike;
}

void RaceChecker::cluster_arrived(std::uint32_t, WarpMask who, bool releases) {
  flush_waits();
  while (who.mask != 0) {
    const WarpMask alike = take_alike(who);
    std::uint32_t* const arrivals = &cluster_arrivals_[who.warp * kWarpLanes];
    const std::uint32_t phase = arrivals[std::countr_zero(alike.mask)];
    for (std::uint32_t left = alike.mask; left != 0; left &= left - 1) ++arrivals[std::countr_zero(left)];
    if (cluster_phases_.size() <= phase) cluster_phases_.resize(phase + 1);
    std::vector<Clocks::Snapshot>& published = cluster_phases_[phase].arrivals;
    Clocks::Snapshot snapshot = clocks_.publish(alike);
    if (!releases) {
      snapshot.covers = Clocks::Covers::Start;
      for (const Clocks::Snapshot& fence : fenced_by_[who.warp]) {
        if ((fence.who.mask & ~alike.mask) == 0) published.push_back(fence);
      }
    }
    published.push_back(std::move(snapshot));
  }
}

// The machine lets a thread go on when everybody has arrived in the phase of its last arrival.
void RaceChecker::cluster_waited(std::uint32_t, WarpMask who) {
  flush_waits();
  while (who.mask != 0) {
    const WarpMask alike = take_alike(who);
    const std::uint32_t arrivals =
        cluster_arrivals_[alike.warp * kWarpLanes + static_cast<unsigned>(std::countr_zero(alike.mask))];
    if (arrivals == 0) continue;
    ClusterPhase& phase = cluster_phases_[arrivals - 1];
    if (!phase.known) {
      phase.known = clocks_.merge(phase.arrivals);
      phase.arrivals.clear();
    }
    clocks_.learn(phase.known, alike);
  }
}

// -- Shared memory of other CTAs. -------------------------------------------------------------------------------------

void RaceChecker::use_window(std::uint32_t instr, WarpMask who, std::uint64_t address, bool is_async) {
  const auto rank = static_cast<std::uint32_t>(address >> kWindowBits);
  if (rank == rank_of(who.warp)) return;
  RemoteUse& use = remote_uses_[{rank, who.warp}];
  for (std::uint32_t left = who.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    if ((use.knows_start >> lane & 1) == 0) {
      if (!clocks_.knows_start(who.warp, lane, rank)) {
        const Site here = site(instr, who.warp, lane);
        add_conflict(kClusterStart, here, here, address, 1);
      }
      use.knows_start |= 1U << lane;
    }
    if (is_async) continue;  // its mbarrier is in the other CTA, and the machine sees to it that somebody waits
    use.lanes |= 1U << lane;
    use.instr[lane] = instr, use.epoch[lane] = clocks_.epoch(who.warp);
  }
}

// A CTA's memory lasts until its last thread has left; some thread of it must know of every use by others.
void RaceChecker::check_ends() {
  for (const auto& [place, use] : remote_uses_) {
    const auto [rank, warp] = place;
    const auto exits = exits_.find(rank);
    if (exits == exits_.end()) continue;  // the run was stopped
    const std::shared_ptr<const Clock> known = clocks_.merge(exits->second);
    for (std::uint32_t left = use.lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      if (known->threads[warp * kWarpLanes + lane] >= use.epoch[lane]) continue;
      const Site here = site(use.instr[lane], warp, lane);
      add_conflict(kClusterExit, {use.instr[lane], 0, ctas_[rank]}, here, std::uint64_t{rank} << kWindowBits, 1);
    }
  }
}

}  // namespace plumb::check
