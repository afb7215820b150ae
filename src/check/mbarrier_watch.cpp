// SPDX-License-Identifier: Apache-2.0
#include "check/mbarrier_watch.h"

#include <algorithm>

namespace plumb::check {

namespace {

bool knows(const Clock& clock, const MbarrierWatch::Event& event) {
  return clock.threads[event.warp * kWarpLanes + event.lane] >= event.epoch;
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
  completed_ = clocks.merge(arrivals_, number_, phase_ + 1);
  Completion out;
  for (const Event& expect : expected_) {
    if (!out.late_expect && !knows(*completed_, expect)) out.late_expect = expect;
  }
  for (const Event& wait : waits_[phase_]) {
    if (!out.late_wait && !knows(*completed_, wait)) out.late_wait = wait;
  }
  waits_.erase(waits_.begin(), waits_.upper_bound(phase_));
  arrivals_.clear();
  expected_.clear();
  ++phase_;
  return out;
}

std::shared_ptr<const Clock> MbarrierWatch::known_after(std::uint64_t phase) const {
  return phase + 1 == phase_ && phase_ != 0 ? completed_ : nullptr;
}

}  // namespace plumb::check
