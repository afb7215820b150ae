// SPDX-License-Identifier: Apache-2.0
#include "check/mbarrier_watch.h"

#include <algorithm>

namespace plumb::check {

namespace {

bool knows(const Clock& clock, const MbarrierWatch::Event& event) {
  const std::size_t thread = event.warp * kWarpLanes + event.lane;
  return clock.threads[thread] >= event.epoch || (thread < clock.order.size() && clock.order[thread] >= event.epoch);
}

}  // namespace

std::optional<MbarrierWatch::Event> MbarrierWatch::unknown_use(const Clocks& clocks, std::uint32_t warp,
                                                               std::uint32_t lane) const {
  for (const auto& [who, event] : last_) {
    const bool is_own = event.warp == warp && event.lane == lane;
    if (!is_own && !clocks.knows(warp, lane, event.warp, event.lane, event.epoch)) return event;
  }
  return std::nullopt;
}

MbarrierWatch::Completion MbarrierWatch::complete(const Clocks& clocks) {
  told_.push_back({number_, phase_ + 1});
  // The last arrival may come before any copy; the end of the phase comes after all of them.
  const std::shared_ptr<const Clock> arrived = clocks.merge(arrivals_, told_);
  arrivals_.insert(arrivals_.end(), transfers_.begin(), transfers_.end());
  completed_ = transfers_.empty() ? arrived : clocks.merge(arrivals_, told_);
  Completion out;
  for (const Event& expect : expected_) {
    if (!out.late_expect && !knows(*arrived, expect)) out.late_expect = expect;
  }
  for (const Event& wait : waits_[phase_]) {
    if (!out.late_wait && !knows(*completed_, wait)) out.late_wait = wait;
  }
  waits_.erase(waits_.begin(), waits_.upper_bound(phase_));
  arrivals_.clear();
  transfers_.clear();
  told_.clear();
  expected_.clear();
  ++phase_;
  return out;
}

std::shared_ptr<const Clock> MbarrierWatch::known_after(std::uint64_t phase) const {
  return phase + 1 == phase_ && phase_ != 0 ? completed_ : nullptr;
}

}  // namespace plumb::check
