// SPDX-License-Identifier: Apache-2.0
// Watches one CTA, or the CTAs of one cluster: every access is compared with what the shadow memory holds, under the
// happens-before of barriers, mbarriers, and waits for copies and products. `finish` hands over what was seen.
//
// In a cluster, warps are numbered through it, those of each CTA from a multiple of warp_stride(), and the shared
// memory of each CTA begins at its rank << kWindowBits (cluster_member.h makes these numbers).
//
// An operation of the async proxy (bulk and tensor copies, wgmma operands) comes after what its thread knew when it
// issued it; what threads wrote before must moreover be covered by a proxy fence. Until somebody can know of its end,
// it owns its bytes. Bytes counted at an mbarrier become known with the phase; a bulk group to the
// thread that waits; a product to each warp that waits.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "check/clock.h"
#include "check/facts.h"
#include "check/log.h"
#include "check/mbarrier_watch.h"
#include "check/shadow.h"
#include "check/tensor_shadow.h"
#include "machine/observer.h"

namespace plumb::check {

inline constexpr unsigned kWindowBits = 24, kCtaBarriers = 16;

class RaceChecker : public machine::Observer {
 public:
  // `threads` of each of `ctas`, which are given in the order of their ranks.
  RaceChecker(const std::vector<InstrFacts>& facts, unsigned threads, std::vector<std::uint64_t> ctas);
  RaceChecker(const std::vector<InstrFacts>& facts, unsigned threads, std::uint64_t cta)
      : RaceChecker(facts, threads, std::vector<std::uint64_t>{cta}) {}

  unsigned warp_stride() const { return clocks_.stride(); }

  void access(const machine::Access& access) override;
  void async_copy_issued(std::uint64_t id, std::uint32_t instr, machine::WarpMask who, const std::uint64_t* shared,
                         const std::uint64_t* global, std::uint32_t size, const std::uint32_t* source_size) override;
  void async_copy_waited(std::uint64_t id, machine::WarpMask who) override;
  void barrier_arrived(std::uint32_t instr, std::uint32_t barrier, machine::WarpMask who) override;
  void barrier_completed(std::uint32_t barrier, std::span<const machine::WarpMask> participants) override;
  void warp_synchronized(std::uint32_t instr, machine::WarpMask who) override;
  void fence(std::uint32_t instr, machine::WarpMask who, machine::Scope scope) override;
  void exited(machine::WarpMask who) override;

  void product_issued(std::uint64_t id, std::uint32_t instr, machine::WarpMask who, std::span<const std::uint32_t> a,
                      std::span<const std::uint32_t> b) override;
  void product_waited(std::uint64_t id, machine::WarpMask who) override;
  void async_issued(const machine::AsyncIssue& issue) override;
  void async_read(std::uint64_t) override {}
  void async_completed(std::uint64_t) override {}
  void async_waited(std::uint64_t id, std::uint32_t instr, machine::WarpMask who, bool reads_only) override;
  void mbarrier(const machine::MbarrierEvent& event) override;
  void proxy_fence(std::uint32_t instr, machine::WarpMask who, machine::ProxyFence fence,
                   const std::uint64_t* map) override;
  void cluster_fence(std::uint32_t instr, machine::WarpMask who) override;
  void cluster_arrived(std::uint32_t instr, machine::WarpMask who, bool releases) override;
  void cluster_waited(std::uint32_t instr, machine::WarpMask who) override;
  void tensor_allocated(std::uint32_t instr, machine::WarpMask who, std::uint32_t column,
                        std::uint32_t columns) override;
  void tensor_released(std::uint32_t instr, machine::WarpMask who, std::uint32_t column,
                       std::uint32_t columns) override;
  void tensor_issued(const machine::TensorIssue& issue) override;
  void tensor_waited(std::uint32_t instr, machine::WarpMask who, machine::TensorKind kind) override;
  void tensor_result_used(std::uint64_t, std::uint32_t, machine::WarpMask) override {}
  void tensor_committed(std::uint64_t id, std::uint32_t instr, machine::WarpMask who, std::uint32_t group,
                        std::span<const machine::TensorBarrier> barriers) override;
  void tensor_fence(std::uint32_t instr, machine::WarpMask who, bool is_after) override;
  void unfollowed(std::uint32_t instr, machine::WarpMask who, const char* what) override;

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
    bool is_async_proxy = false;
    std::uint32_t phase = 0;  // Phase*: as the record's epoch
  };
  struct Copy {
    std::uint32_t instr = 0, warp = 0, lanes = 0, size = 0;
    std::uint64_t shared[kWarpLanes], global[kWarpLanes];
    std::uint32_t source_size[kWarpLanes];
    std::uint32_t arriving = 0;  // lanes that left it to an mbarrier to say that it is done
  };
  struct BarrierState {
    struct Arrival {
      Clocks::Snapshot snapshot;
      bool is_arrive_only = false;
    };
    std::vector<Arrival> arrivals;
    // One thread of each warp that learned of the last completion, with its first epoch after it: to know of one is to
    // know that the round is over. Where all only arrived nobody did, and it is known to who knows of every arrival.
    struct Witness {
      std::uint32_t warp = 0, lane = 0, epoch = 0;
    };
    std::vector<Witness> witnesses;
    bool has_only_arrivals = false;
  };

  // An operation of the async proxy in flight.
  struct Operation {
    std::uint32_t instr = 0, warp = 0, lanes = 0;
    std::vector<machine::AsyncRange> reads, writes;
    std::uint32_t phases_known = 0;  // of its mbarrier, by its thread at the issue
    // An arrival of cp.async copies: which, and what its thread knew.
    std::vector<std::uint64_t> copies;
    std::shared_ptr<const Clocks::Snapshot> start;
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
  bool is_reduction(RecordKind kind, std::uint32_t instr) const;
  bool commutes(const Touch& touch, const Record& record) const;
  // A conflict with what an asynchronous operation does whose end is not known.
  void report_unknown_end(const Touch& touch, const Record& record);
  void settle(machine::MemorySpace space, std::uint64_t address, std::uint64_t id, unsigned warp, unsigned lane);

  std::uint32_t rank_of(std::uint32_t warp) const { return warp / clocks_.stride(); }
  // A use of shared memory, or of an mbarrier there, by a thread that may be in another CTA of the cluster.
  void use_window(std::uint32_t instr, machine::WarpMask who, std::uint64_t address, bool is_async = false);
  void check_ends();
  void keep_fence(Clocks::Snapshot snapshot);
  void land(const Operation& arrival, std::uint32_t epoch, std::uint32_t number);
  // -- Tensor memory. --------------------------------------------------------------------------------------------
  // Who of a thread's, or a warp's, tcgen05 operations has ended is known in the order of issue (TensorOp).
  struct Lineage {
    std::uint32_t number = 0, fenced = 0;
    std::uint32_t issued = 0, waited = 0;
  };
  struct Allocation {
    std::uint32_t rank = 0, column = 0, columns = 0;
    std::uint32_t instr = 0, warp = 0, lanes = 0, epoch = 0;
  };
  struct Commit {
    Clocks::Count ended;
    std::size_t arrivals = 0;  // to come
    Clocks::Snapshot start;
    std::map<std::uint32_t, std::uint32_t> phases_known;  // by mbarrier, by its thread at the commit
  };
  Lineage& lineage(machine::TensorKind kind, std::uint32_t group, std::uint32_t warp, std::uint32_t mask);
  void touch_tensor(std::uint32_t index, std::span<const machine::TensorUse> uses);
  void check_own_uses(const TensorOp& op, std::span<const machine::TensorUse> uses);
  bool judge_tensor(const TensorOp& x, const TensorTouch& touch, const TensorOp& op, const machine::TensorUse& use);
  void read_operands(const TensorOp& op, const machine::TensorShared& shared);
  bool has_ended(const TensorOp& x, machine::WarpMask who) const;
  bool is_fenced(const TensorOp& x, machine::WarpMask who) const;
  void check_allocation(const TensorOp& op, const machine::TensorUse& use);
  bool is_arrival_of_commit(MbarrierWatch& watch, const machine::MbarrierEvent& event);

  void flush_waits();
  void touch_async(const Operation& operation, std::span<const machine::AsyncRange> ranges, RecordKind kind,
                   std::uint64_t key);
  // The operation's records in these ranges are from now on of the kind; `epoch` as the kind has it.
  void turn(const Operation& operation, std::span<const machine::AsyncRange> ranges, std::uint64_t key, RecordKind kind,
            std::uint32_t epoch, std::uint64_t new_key);
  bool is_unknown_phase(const Touch& touch, const Record& record) const;
  bool is_unfenced(const Touch& touch, const Record& record, unsigned byte) const;
  void check_fences(const Touch& touch, const Record& record, std::uint16_t ordered);
  // Tensor maps in global memory: how often each was rewritten, and who acquired which state.
  struct MapState {
    std::uint32_t number = 0;  // in clocks, like an mbarrier's
    std::uint32_t writes = 0;
  };
  MapState& map_state(std::uint64_t address);
  void acquire_maps(machine::WarpMask who, const std::uint64_t* map);
  void use_map(const machine::AsyncIssue& issue);
  // The thread's use of the barrier must come after its init.
  void check_init(const MbarrierWatch& watch, std::uint32_t instr, std::uint32_t warp, std::uint32_t lane,
                  std::uint32_t offset);
  void begin_mbarrier(const machine::MbarrierEvent& event);
  void end_mbarrier(MbarrierWatch& watch, const machine::MbarrierEvent& event);
  void signal(MbarrierWatch& watch, const machine::MbarrierEvent& event);
  void add_conflict(const Code& code, const Site& earlier, const Site& later, std::uint64_t address,
                    std::uint32_t bytes);
  Site site(std::uint32_t instr, std::uint32_t warp, std::uint32_t lane) const {
    return {instr, warp % clocks_.stride() * kWarpLanes + lane, ctas_[rank_of(warp)]};
  }

  const std::vector<InstrFacts>& facts_;
  std::vector<std::uint64_t> ctas_;
  Clocks clocks_;
  Shadow shared_, global_;
  std::unordered_map<std::uint64_t, Copy> copies_;
  std::map<std::uint32_t, BarrierState> barriers_;
  std::unordered_map<std::uint64_t, Operation> operations_;  // by key
  // A product is one operation of its warpgroup: the wait of one warp says that the operands of all four are read. A
  // clock holds how many products of each warpgroup its thread knows to be done.
  struct Product {
    std::uint32_t sequence = 0, waits = 0;
  };
  struct Group {
    std::uint32_t number = 0, issued = 0;
  };
  std::unordered_map<std::uint64_t, Product> products_;  // by id
  std::map<std::uint32_t, Group> groups_;                // by warpgroup
  std::map<std::uint32_t, MbarrierWatch> mbarriers_;     // live ones, by their offset
  std::unordered_map<std::uint64_t, MapState> maps_;
  std::uint32_t next_number_ = 0;  // of mbarriers, tensor maps and warpgroups in clocks
  // True waits of one instruction, lane after lane, not yet taken in.
  struct Waits {
    std::uint32_t instr = 0, offset = 0;
    std::uint64_t phase = 0;
    bool is_ordered = false;
    machine::WarpMask who;
  };
  Waits waits_;
  TensorShadow tensor_;
  std::map<std::uint64_t, Lineage> lineages_;
  std::vector<Allocation> allocations_;
  std::unordered_map<std::uint64_t, Commit> commits_;  // by id
  // What a lane knew at its last fence::after_thread_sync, by thread.
  std::unordered_map<std::uint32_t, std::shared_ptr<const Clock>> fenced_after_;
  // barrier.cluster: a thread's n-th arrival belongs to the n-th phase. What a relaxed arrival publishes is what fences
  // of its lanes covered.
  struct ClusterPhase {
    std::vector<Clocks::Snapshot> arrivals;
    std::shared_ptr<const Clock> known;  // once somebody has waited
  };
  std::vector<ClusterPhase> cluster_phases_;
  // Out of `who`, which is not empty: the lanes that have arrived as often as its first.
  machine::WarpMask take_alike(machine::WarpMask& who) const;
  std::vector<std::uint32_t> cluster_arrivals_;                       // by thread
  std::map<std::uint32_t, std::vector<Clocks::Snapshot>> fenced_by_;  // by warp, in clusters
  // Last uses of another CTA's shared memory, by (rank, warp), and what those knew who left a CTA.
  struct RemoteUse {
    std::uint32_t lanes = 0, knows_start = 0;
    std::uint32_t instr[kWarpLanes] = {}, epoch[kWarpLanes] = {};
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, RemoteUse> remote_uses_;
  std::map<std::uint32_t, std::vector<Clocks::Snapshot>> exits_;  // by rank
  std::vector<Footprint> footprints_;                             // by rank
  CtaLog log_;
};

}  // namespace plumb::check
