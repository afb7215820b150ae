// SPDX-License-Identifier: Apache-2.0
// One mbarrier as the checker sees it: who arrived in the phase that is open, who was told of the one before, and
// whether every schedule counts the same arrivals, bytes and waits into the same phases. The conditions:
//   - who arrives in phase p, announces bytes or has bytes counted there, knew that phase p - 1 was complete;
//   - who waits for phase p knew that phase p - 1 was complete, else it may be let through by phase p - 2;
//   - what completes phase p comes after every wait for phase p - 1, else such a wait may find the parity turned twice;
//   - bytes are announced before the last arrival of their phase.
// Then each phase is one set of events in every schedule (async-barriers of the PTX manual; the arrival that completes
// a phase, and the wait that sees it, are its only order).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "check/clock.h"
#include "check/log.h"

namespace plumb::check {

class MbarrierWatch {
 public:
  // Something that a thread did at the barrier.
  struct Event {
    std::uint32_t instr = 0, warp = 0, lane = 0, epoch = 0;
  };

  MbarrierWatch() = default;
  MbarrierWatch(std::uint32_t number, const Event& init) : number_(number), init_(init) { last_[thread(init)] = init; }

  std::uint32_t number() const { return number_; }  // in clocks
  const Event& init() const { return init_; }
  std::uint32_t phase() const { return phase_; }

  // Every use of the barrier by a thread.
  void used(const Event& event) { last_[thread(event)] = event; }
  // The last use by a thread that this one does not know of.
  std::optional<Event> unknown_use(const Clocks& clocks, std::uint32_t warp, std::uint32_t lane) const;

  void expects(const Event& event) { expected_.push_back(event); }
  void arrives(Clocks::Snapshot snapshot) { arrivals_.push_back(std::move(snapshot)); }
  // Bytes have been counted: what the thread that issued their copy knew.
  void lands(Clocks::Snapshot snapshot) { transfers_.push_back(std::move(snapshot)); }
  // The phase says that so many of something have ended.
  void tells(Clocks::Count count) { told_.push_back(count); }
  void waited(const Event& event, std::uint64_t phase) {
    waits_[static_cast<std::uint32_t>(phase + 1)].push_back(event);
  }

  // What was wrong with the phase that is now complete.
  struct Completion {
    std::optional<Event> late_expect;  // announced, perhaps, after the last arrival
    std::optional<Event> late_wait;    // for the phase before, perhaps not over
  };
  Completion complete(const Clocks& clocks);
  // What a wait for this phase brings; null: nothing.
  std::shared_ptr<const Clock> known_after(std::uint64_t phase) const;

 private:
  static std::uint32_t thread(const Event& event) { return event.warp * kWarpLanes + event.lane; }

  std::uint32_t number_ = 0;
  Event init_;
  std::uint32_t phase_ = 0;
  std::vector<Clocks::Snapshot> arrivals_;             // of the open phase
  std::vector<Clocks::Snapshot> transfers_;            // likewise
  std::vector<Clocks::Count> told_;                    // likewise
  std::vector<Event> expected_;                        // likewise
  std::map<std::uint32_t, std::vector<Event>> waits_;  // by the phase that follows the one waited for
  std::shared_ptr<const Clock> completed_;             // of the last complete phase
  std::map<std::uint32_t, Event> last_;
};

}  // namespace plumb::check
