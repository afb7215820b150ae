// SPDX-License-Identifier: Apache-2.0
// Watches one CTA: every access is compared with what the shadow memory holds, under the happens-before of barriers and
// of waits for cp.async. `finish` hands over what was seen.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "check/clock.h"
#include "check/facts.h"
#include "check/log.h"
#include "check/shadow.h"
#include "machine/observer.h"

namespace plumb::check {

class RaceChecker final : public machine::Observer {
 public:
  RaceChecker(const std::vector<InstrFacts>& facts, unsigned threads, std::uint64_t cta);

  void access(const machine::Access& access) override;
  void async_copy_issued(std::uint64_t id, std::uint32_t instr, machine::WarpMask who, const std::uint64_t* shared,
                         const std::uint64_t* global, std::uint32_t size, const std::uint32_t* source_size) override;
  void async_copy_waited(std::uint64_t id, machine::WarpMask who) override;
  void barrier_arrived(std::uint32_t instr, std::uint32_t barrier, machine::WarpMask who) override;
  void barrier_completed(std::uint32_t barrier, std::span<const machine::WarpMask> participants) override;
  void warp_synchronized(std::uint32_t instr, machine::WarpMask who) override;
  void fence(std::uint32_t instr, machine::WarpMask who, machine::Scope scope) override;
  void exited(machine::WarpMask who) override;

  CtaLog finish();

 private:
  // One warp instruction's accesses to one granule.
  struct Touch {
    machine::MemorySpace space = machine::MemorySpace::Shared;
    RecordKind kind = RecordKind::Read;
    std::uint32_t instr = 0;
    std::uint16_t warp = 0;
    std::uint64_t granule = 0;
    Pattern pattern;
    std::uint64_t key = 0;
  };
  struct Copy {
    std::uint32_t instr = 0, warp = 0, lanes = 0, size = 0;
    std::uint64_t shared[kWarpLanes], global[kWarpLanes];
    std::uint32_t source_size[kWarpLanes];
  };
  struct BarrierState {
    struct Arrival {
      Clocks::Snapshot snapshot;
      bool is_arrive_only = false;
    };
    std::vector<Arrival> arrivals;
    // One thread of each warp that learned of the last completion, with its first epoch after it.
    struct Witness {
      std::uint32_t warp = 0, lane = 0, epoch = 0;
    };
    std::vector<Witness> witnesses;
  };

  Shadow& shadow(machine::MemorySpace space) { return space == machine::MemorySpace::Shared ? shared_ : global_; }
  void touch_range(const machine::Access& access, unsigned lane, std::uint64_t address, std::uint32_t size,
                   Touch& open);
  void flush(Touch& open);
  void touch(const Touch& touch);
  bool is_conflict(const Touch& touch, const Record& record) const;
  // Bytes of both that some pair of lanes touches without order; the first such pair is reported.
  std::uint16_t unordered_bytes(const Touch& touch, const Record& record);
  const Code& code_of(const Touch& touch, const Record& record) const;
  void report(const Code& code, const Touch& touch, const Record& record, unsigned byte, unsigned lane,
              unsigned other_lane);
  void add_footprint(const machine::Access& access);
  void settle(machine::MemorySpace space, std::uint64_t address, std::uint64_t id, unsigned warp, unsigned lane);

  const std::vector<InstrFacts>& facts_;
  std::uint64_t cta_;
  Clocks clocks_;
  Shadow shared_, global_;
  std::unordered_map<std::uint64_t, Copy> copies_;
  std::map<std::uint32_t, BarrierState> barriers_;
  Footprint footprint_;
  CtaLog log_;
};

}  // namespace plumb::check
