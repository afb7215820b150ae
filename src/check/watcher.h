// SPDX-License-Identifier: Apache-2.0
// Watches one CTA: every access against the accesses before it that nothing orders.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "check/clock.h"
#include "check/facts.h"
#include "check/footprint.h"
#include "check/shadow.h"
#include "machine/observer.h"

namespace plumb::check {

// What a watcher reports: a code, the access that shows it and the one it conflicts with.
struct Incident {
  const Code* code = nullptr;
  bool is_unknown = false;  // may be ordered by something that is not modelled
  std::uint32_t instr = 0, other = 0;
  std::uint32_t thread = 0, other_thread = 0;  // linear in the CTA
  std::uint64_t address = 0;                   // of the first byte concerned
  machine::MemorySpace space = machine::MemorySpace::Shared;
};

class Watcher : public machine::Observer {
 public:
  using Report = std::function<void(const Incident&)>;
  using Done = std::function<void(Footprint&)>;

  Watcher(unsigned threads, const std::vector<InstrFacts>& facts, Report report, Done done)
      : facts_(facts), report_(std::move(report)), done_(std::move(done)), clocks_(threads) {}
  ~Watcher() override { done_(footprint_); }

  void access(const machine::Access& access) override;
  void async_copy_issued(std::uint64_t id, std::uint32_t instr, machine::WarpMask who, const std::uint64_t* shared,
                         const std::uint64_t* global, std::uint32_t size, const std::uint32_t* source_size) override;
  void async_copy_waited(std::uint64_t id, machine::WarpMask who) override;
  void barrier_arrived(std::uint32_t instr, std::uint32_t barrier, machine::WarpMask who) override;
  void barrier_completed(std::uint32_t barrier, std::span<const machine::WarpMask> participants) override;
  void warp_synchronized(std::uint32_t instr, machine::WarpMask who) override;
  void fence(std::uint32_t instr, machine::WarpMask who, machine::Scope scope) override;
  void exited(machine::WarpMask who) override;

 private:
  struct Group {
    std::uint64_t granule = 0;
    Pattern pattern;
  };
  struct Piece {
    machine::MemorySpace space = machine::MemorySpace::Shared;
    std::uint64_t granule = 0;
  };
  struct Copy {
    std::uint32_t instr = 0;
    machine::WarpMask who;
    std::uint32_t waiting = 0;  // lanes that have not waited
    std::vector<Piece> pieces;
  };
  struct Arrival {
    std::uint32_t instr = 0;
    Clocks::Snapshot snapshot;
  };

  Shadow& shadow(machine::MemorySpace space) { return space == machine::MemorySpace::Shared ? shared_ : global_; }
  void group(std::uint32_t mask, std::uint32_t size, const std::uint64_t* address);
  void overlaps_itself(const machine::Access& access);
  // Compares with the records of a granule, drops what a write covers, and adds the new record.
  void settle(machine::MemorySpace space, const Group& group, const Record& record);
  bool conflicts(const Record& old, const Group& group, const Record& now, unsigned& byte, unsigned& old_lane,
                 unsigned& lane) const;
  const Code* code_for(machine::MemorySpace space, const Record& old, const Record& now) const;

  const std::vector<InstrFacts>& facts_;
  Report report_;
  Done done_;
  Clocks clocks_;
  Shadow shared_, global_;
  Footprint footprint_;
  std::unordered_map<std::uint64_t, Copy> copies_;
  std::unordered_map<std::uint32_t, std::vector<Arrival>> arrivals_;  // by barrier
  std::unordered_map<std::uint32_t, std::vector<Clocks::Snapshot>> last_round_;
  std::vector<Group> groups_;  // of the access at hand
  bool has_fence_ = false;
};

}  // namespace plumb::check
