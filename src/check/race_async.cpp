// SPDX-License-Identifier: Apache-2.0
// The checker's view of the async proxy and of mbarriers. Rules: async-proxy and mbarrier chapters of the PTX manual.
// A fence between proxies counts wherever it lies on the way from the write to the operation: at the writer, or at the
// thread that issues after it was told of the write.
#include <algorithm>
#include <bit>

#include "check/codes.h"
#include "check/race.h"

namespace plumb::check {

using machine::AccessKind;
using machine::AsyncIssue;
using machine::AsyncKind;
using machine::AsyncRange;
using machine::MbarrierEvent;
using machine::MemorySpace;
using machine::ProxyFence;
using machine::WarpMask;

namespace {

constexpr std::uint32_t kGroupWarps = 4;   // warps of a warpgroup
constexpr std::uint32_t kPieceBytes = 16;  // of a product's operands
constexpr std::uint32_t kMapBytes = 128;

// Numbers of records: cp.async copies have their own.
constexpr std::uint64_t operation_key(std::uint64_t id) { return id | std::uint64_t{1} << 63; }
constexpr std::uint64_t product_key(std::uint64_t id, std::uint32_t warp) {
  return std::uint64_t{1} << 62 | id << 6 | warp % 64;
}

// Calls f(granule, bytes of it) for each granule that the range touches.
template <class F>
void for_granules(const AsyncRange& range, F&& f) {
  std::uint64_t address = range.address;
  for (std::uint32_t left = range.size; left != 0;) {
    const std::uint32_t room = kGranuleBytes - static_cast<std::uint32_t>(address % kGranuleBytes);
    const std::uint32_t size = std::min(left, room);
    f(address / kGranuleBytes, static_cast<std::uint16_t>(((1U << size) - 1) << (address % kGranuleBytes)));
    address += size;
    left -= size;
  }
}

std::vector<AsyncRange> ranges_of(std::span<const std::uint32_t> pieces) {
  std::vector<AsyncRange> ranges;
  for (const std::uint32_t piece : pieces) {
    if (!ranges.empty() && ranges.back().address + ranges.back().size == piece) {
      ranges.back().size += kPieceBytes;
    } else {
      ranges.push_back({MemorySpace::Shared, 0, piece, kPieceBytes});
    }
  }
  return ranges;
}

}  // namespace

// -- Operations. ------------------------------------------------------------------------------------------------------

void RaceChecker::touch_async(const Operation& operation, std::span<const AsyncRange> ranges, RecordKind kind,
                              std::uint64_t key) {
  for (const AsyncRange& range : ranges) {
    Touch one;
    one.space = range.space, one.kind = kind, one.instr = operation.instr, one.key = key;
    one.warp = static_cast<std::uint16_t>(operation.warp);
    one.is_async_proxy = facts_[operation.instr].is_async_proxy;
    for_granules(range, [&](std::uint64_t granule, std::uint16_t bytes) {
      one.granule = granule;
      one.pattern = {operation.lanes, bytes, 0, Pattern::kAllLanes};
      touch(one);
    });
    if (range.space != MemorySpace::Global) continue;
    const AccessKind as = kind == RecordKind::CopyRead                 ? AccessKind::Read
                          : facts_[operation.instr].is_async_reduction ? AccessKind::Atomic
                                                                       : AccessKind::Write;
    footprints_[rank_of(operation.warp)].add(range.address, range.address + range.size, operation.instr, as);
  }
}

void RaceChecker::turn(const Operation& operation, std::span<const AsyncRange> ranges, std::uint64_t key,
                       RecordKind kind, std::uint32_t epoch, std::uint64_t new_key) {
  for (const AsyncRange& range : ranges) {
    Shadow& memory = shadow(range.space);
    for_granules(range, [&](std::uint64_t granule, std::uint16_t) {
      const std::uint32_t head = memory.granule(granule, clocks_.generation());
      for (std::uint32_t at = head; at != Shadow::kEnd; at = memory.record(at).next) {
        Record& record = memory.record(at);
        const bool is_in_flight = record.kind == RecordKind::CopyWrite || record.kind == RecordKind::CopyRead;
        if (!is_in_flight || record.key != key || record.warp != operation.warp) continue;
        if ((record.pattern.lanes & operation.lanes) == 0) continue;
        record.kind = kind, record.epoch = epoch, record.key = new_key;
      }
    });
  }
}

void RaceChecker::async_issued(const AsyncIssue& issue) {
  flush_waits();
  Operation& operation = operations_[operation_key(issue.id)];
  operation = {issue.instr, issue.warp, 1U << issue.lane, {}, {}, 0, {}, {}};
  operation.reads.assign(issue.reads.begin(), issue.reads.end());
  operation.writes.assign(issue.writes.begin(), issue.writes.end());
  if (ctas_.size() > 1) {
    const WarpMask who{issue.warp, 1U << issue.lane};
    for (const AsyncRange& range : operation.writes) {
      if (range.space == MemorySpace::Shared) use_window(issue.instr, who, range.address, true);
    }
    if (issue.has_mbarrier) use_window(issue.instr, who, issue.barrier_offset, true);
  }
  if (issue.kind == AsyncKind::CopyArrive) {
    for (auto& [id, copy] : copies_) {
      if (copy.warp != issue.warp || (copy.lanes & ~copy.arriving & operation.lanes) == 0) continue;
      copy.arriving |= operation.lanes;
      operation.copies.push_back(id);
    }
  }
  if (issue.has_mbarrier) {
    operation.start = std::make_shared<Clocks::Snapshot>(clocks_.publish({issue.warp, operation.lanes}));
  }
  if (issue.has_mbarrier) {
    const auto found = mbarriers_.find(issue.barrier_offset);
    if (found != mbarriers_.end()) {
      MbarrierWatch& watch = found->second;
      operation.phases_known = clocks_.phases_over(issue.warp, issue.lane, watch.number());
      check_init(watch, issue.instr, issue.warp, issue.lane, issue.barrier_offset);
      watch.used({issue.instr, issue.warp, issue.lane, clocks_.epoch(issue.warp)});
    }
  }
  touch_async(operation, operation.reads, RecordKind::CopyRead, operation_key(issue.id));
  touch_async(operation, operation.writes, RecordKind::CopyWrite, operation_key(issue.id));
  if (issue.map != 0) use_map(issue);
}

void RaceChecker::async_waited(std::uint64_t id, std::uint32_t, WarpMask who, bool reads_only) {
  flush_waits();
  const std::uint64_t key = operation_key(id);
  const auto found = operations_.find(key);
  if (found == operations_.end()) return;
  Operation& operation = found->second;
  const std::uint32_t epoch = clocks_.epoch(who.warp);
  turn(operation, operation.reads, key, RecordKind::Read, epoch, 0);
  operation.reads.clear();
  if (reads_only) return;
  turn(operation, operation.writes, key, RecordKind::WaitedWrite, epoch, 0);
  operations_.erase(found);
}

void RaceChecker::product_issued(std::uint64_t id, std::uint32_t instr, WarpMask who, std::span<const std::uint32_t> a,
                                 std::span<const std::uint32_t> b) {
  flush_waits();
  const std::uint64_t key = product_key(id, who.warp);
  Operation& operation = operations_[key];
  operation = {instr, who.warp, who.mask, ranges_of(a), {}, 0, {}, {}};
  const std::vector<AsyncRange> other = ranges_of(b);
  operation.reads.insert(operation.reads.end(), other.begin(), other.end());
  touch_async(operation, operation.reads, RecordKind::CopyRead, key);
  const auto [group, is_first_group] = groups_.try_emplace(who.warp / kGroupWarps);
  if (is_first_group) group->second.number = next_number_++;
  if (const auto [product, is_new] = products_.try_emplace(id); is_new) {
    product->second.sequence = ++group->second.issued;
  }
}

void RaceChecker::product_waited(std::uint64_t id, WarpMask who) {
  flush_waits();
  const auto product = products_.find(id);
  if (product == products_.end()) return;
  const std::uint32_t sequence = product->second.sequence;
  const Group& group = groups_.at(who.warp / kGroupWarps);
  const std::uint32_t first_warp = who.warp / kGroupWarps * kGroupWarps;
  for (std::uint32_t warp = first_warp; warp < first_warp + kGroupWarps; ++warp) {
    const std::uint64_t key = product_key(id, warp);
    const auto found = operations_.find(key);
    if (found == operations_.end()) continue;
    turn(found->second, found->second.reads, key, RecordKind::PhaseRead, sequence, group.number);
    operations_.erase(found);
  }
  if (++product->second.waits == kGroupWarps) products_.erase(product);
  clocks_.learn(clocks_.merge({}, group.number, sequence), who);
}

bool RaceChecker::is_unknown_phase(const Touch& touch, const Record& record) const {
  const auto number = static_cast<std::uint32_t>(record.key);
  for (std::uint32_t lanes = touch.pattern.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
    if (clocks_.phases_known(touch.warp, lane, number) < record.epoch) return true;
    if (clocks_.warp_clock(touch.warp) != nullptr) break;  // the lanes know the same
  }
  return false;
}

bool RaceChecker::is_unfenced(const Touch& touch, const Record& record, unsigned byte) const {
  const Fenced kind = touch.space == MemorySpace::Shared ? Fenced::Shared : Fenced::Global;
  const std::uint32_t lanes = touch.pattern.lanes_of(byte);
  for (std::uint32_t others = record.pattern.lanes_of(byte); others != 0; others &= others - 1) {
    const auto other = static_cast<unsigned>(std::countr_zero(others));
    for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      if (!clocks_.is_fenced(kind, touch.warp, lane, record.warp, other, record.epoch)) return true;
      const bool is_own = touch.warp == record.warp && lane == other;
      if (!is_own && clocks_.warp_clock(touch.warp) != nullptr) break;  // the lanes know the same
    }
  }
  return false;
}

void RaceChecker::check_fences(const Touch& touch, const Record& record, std::uint16_t ordered) {
  const bool is_landed = record.kind == RecordKind::PhaseWrite && facts_[record.instr].is_plain_copy;
  if (is_landed && !facts_[touch.instr].is_product && ordered != 0) {
    return unfollowed(record.instr, {record.warp, record.pattern.lanes},
                      "an mbarrier, an async proxy after it, and no fence");
  }
  const bool is_generic_write =
      record.kind == RecordKind::Write || record.kind == RecordKind::Atomic || record.kind == RecordKind::PastWrite;
  if (!is_generic_write) return;
  // What cp.async brought, and its thread waited for, compilers hand to wgmma by a barrier alone; cards bear them out.
  if (facts_[record.instr].is_plain_copy && facts_[touch.instr].is_product) return;
  // Likewise copies over mbarriers that are used no more.
  if (facts_[record.instr].is_mbarrier_word && touch.kind == RecordKind::CopyWrite) return;
  for (unsigned byte = 0; byte < kGranuleBytes; ++byte) {
    if ((ordered >> byte & 1) == 0) continue;
    if (is_unfenced(touch, record, byte)) {
      return report(kProxyFence, touch, record, byte,
                    static_cast<unsigned>(std::countr_zero(touch.pattern.lanes_of(byte))),
                    static_cast<unsigned>(std::countr_zero(record.pattern.lanes_of(byte))));
    }
    if (record.pattern.shift == Pattern::kAllLanes && touch.pattern.shift == Pattern::kAllLanes) return;
  }
}

void RaceChecker::proxy_fence(std::uint32_t, WarpMask who, ProxyFence fence, const std::uint64_t* map) {
  flush_waits();
  switch (fence) {
    case ProxyFence::Async:
      clocks_.fence(Fenced::Shared, who);
      clocks_.fence(Fenced::Global, who);
      break;
    case ProxyFence::AsyncGlobal:
      clocks_.fence(Fenced::Global, who);
      break;
    case ProxyFence::AsyncSharedCta:
    case ProxyFence::AsyncSharedCluster:
      clocks_.fence(Fenced::Shared, who);
      break;
    case ProxyFence::TensormapAcquire:
      if (map != nullptr) acquire_maps(who, map);
      break;
    case ProxyFence::TensormapRelease:
    case ProxyFence::Alias:
      break;
  }
}

// -- Tensor maps in global memory. ------------------------------------------------------------------------------------

RaceChecker::MapState& RaceChecker::map_state(std::uint64_t address) {
  const auto [place, is_new] = maps_.try_emplace(address);
  if (is_new) place->second.number = next_number_++;
  return place->second;
}

// A lane that knows of all writes of the map so far has their state from now on.
void RaceChecker::acquire_maps(WarpMask who, const std::uint64_t* map) {
  for (std::uint32_t left = who.mask; left != 0;) {
    const auto first = static_cast<unsigned>(std::countr_zero(left));
    std::uint32_t alike = 0;
    for (std::uint32_t rest = left; rest != 0; rest &= rest - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(rest));
      if (map[lane] == map[first]) alike |= 1U << lane;
    }
    left &= ~alike;
    const MapState state = map_state(map[first]);
    std::uint32_t knowing = alike;
    for_granules({MemorySpace::Global, 0, map[first], kMapBytes}, [&](std::uint64_t granule, std::uint16_t) {
      const std::uint32_t head = global_.granule(granule, clocks_.generation());
      for (std::uint32_t at = head; at != Shadow::kEnd; at = global_.record(at).next) {
        const Record& record = global_.record(at);
        if (record.kind != RecordKind::Write) continue;
        const auto writer = static_cast<unsigned>(std::countr_zero(record.pattern.lanes));
        for (std::uint32_t rest = knowing; rest != 0; rest &= rest - 1) {
          const auto lane = static_cast<unsigned>(std::countr_zero(rest));
          const bool is_own = record.warp == who.warp && lane == writer;
          if (!is_own && !clocks_.knows(who.warp, lane, record.warp, writer, record.epoch)) knowing &= ~(1U << lane);
        }
      }
    });
    if (knowing == 0) continue;
    clocks_.learn(clocks_.merge({}, state.number, state.writes), {who.warp, knowing});
  }
}

void RaceChecker::use_map(const AsyncIssue& issue) {
  const auto found = maps_.find(issue.map);
  const MapState state = found == maps_.end() ? MapState{} : found->second;
  const bool is_acquired =
      state.writes == 0 || clocks_.phases_known(issue.warp, issue.lane, state.number) >= state.writes;
  Touch read;
  read.space = MemorySpace::Global, read.kind = RecordKind::CopyRead, read.instr = issue.instr;
  read.key = operation_key(issue.id);
  read.warp = static_cast<std::uint16_t>(issue.warp);
  bool is_reported = false;
  for_granules({MemorySpace::Global, 0, issue.map, kMapBytes}, [&](std::uint64_t granule, std::uint16_t bytes) {
    const std::uint32_t head = global_.granule(granule, clocks_.generation());
    for (std::uint32_t at = head; at != Shadow::kEnd; at = global_.record(at).next) {
      const Record& record = global_.record(at);
      if (record.kind != RecordKind::Write && record.kind != RecordKind::PastWrite) continue;
      const auto writer = static_cast<unsigned>(std::countr_zero(record.pattern.lanes));
      const bool is_released = facts_[record.instr].is_map_release;
      if ((is_acquired && is_released) || is_reported) continue;
      is_reported = true;
      add_conflict(kMapFence, site(record.instr, record.warp, writer), site(issue.instr, issue.warp, issue.lane),
                   issue.map, kMapBytes);
    }
    read.granule = granule;
    read.pattern = {1U << issue.lane, bytes, 0, Pattern::kAllLanes};
    touch(read);
  });
  // The map is read at any time until the operation ends.
  operations_[operation_key(issue.id)].reads.push_back({MemorySpace::Global, 0, issue.map, kMapBytes});
}

// What cp.async of the arrival's thread brought is known with the phase.
void RaceChecker::land(const Operation& arrival, std::uint32_t epoch, std::uint32_t number) {
  for (const std::uint64_t id : arrival.copies) {
    const auto found = copies_.find(id);
    if (found == copies_.end()) continue;
    Copy& copy = found->second;
    const auto lane = static_cast<unsigned>(std::countr_zero(arrival.lanes));
    const Operation part{copy.instr, copy.warp, arrival.lanes, {}, {}, 0, {}, {}};
    const AsyncRange to{MemorySpace::Shared, 0, copy.shared[lane], copy.size};
    const AsyncRange from{MemorySpace::Global, 0, copy.global[lane], copy.source_size[lane]};
    turn(part, {&to, 1}, id, RecordKind::PhaseWrite, epoch, number);
    turn(part, {&from, 1}, id, RecordKind::PhaseRead, epoch, number);
    copy.lanes &= ~arrival.lanes;
    if (copy.lanes == 0) copies_.erase(found);
  }
}

// -- mbarriers. -------------------------------------------------------------------------------------------------------

void RaceChecker::add_conflict(const Code& code, const Site& earlier, const Site& later, std::uint64_t address,
                               std::uint32_t bytes) {
  Conflict conflict;
  conflict.code = &code;
  conflict.earlier = earlier, conflict.later = later;
  conflict.address = address, conflict.bytes = bytes;
  log_.conflicts.add(conflict);
}

void RaceChecker::check_init(const MbarrierWatch& watch, std::uint32_t instr, std::uint32_t warp, std::uint32_t lane,
                             std::uint32_t offset) {
  const MbarrierWatch::Event& init = watch.init();
  const bool is_own = init.warp == warp && init.lane == lane;
  if (is_own || clocks_.knows_init(warp, lane, init.warp, init.lane, init.epoch)) return;
  add_conflict(kMbarrierInit, site(init.instr, init.warp, init.lane), site(instr, warp, lane), offset, 8);
}

void RaceChecker::begin_mbarrier(const MbarrierEvent& event) {
  const MbarrierWatch::Event init{event.instr, event.warp, event.lane, clocks_.epoch(event.warp)};
  mbarriers_[event.offset] = MbarrierWatch(next_number_++, init);
}

// The bytes become memory again: nobody may be at the barrier any more.
void RaceChecker::end_mbarrier(MbarrierWatch& watch, const MbarrierEvent& event) {
  if (const auto use = watch.unknown_use(clocks_, event.warp, event.lane)) {
    add_conflict(kMbarrierInit, site(use->instr, use->warp, use->lane), site(event.instr, event.warp, event.lane),
                 event.offset, 8);
  }
  mbarriers_.erase(event.offset);
}

void RaceChecker::mbarrier(const MbarrierEvent& event) {
  using Kind = MbarrierEvent::Kind;
  const bool is_same_wait = event.kind == Kind::WaitTrue && waits_.who.mask != 0 && waits_.instr == event.instr &&
                            waits_.offset == event.offset && waits_.phase == event.phase &&
                            waits_.who.warp == event.warp && (waits_.who.mask >> event.lane & 1) == 0;
  if (!is_same_wait) flush_waits();
  if (event.kind == Kind::WaitFalse) return;
  if (event.kind == Kind::Init || event.kind == Kind::Inval) {
    // For the shadow, words of barriers are written here; races with plain accesses show as such.
    Touch word;
    word.kind = RecordKind::Write, word.instr = event.instr, word.warp = static_cast<std::uint16_t>(event.warp);
    word.granule = event.offset / kGranuleBytes;
    word.pattern = {1U << event.lane, static_cast<std::uint16_t>(0xffU << event.offset % kGranuleBytes), 0,
                    Pattern::kAllLanes};
    touch(word);
  }
  const auto found = mbarriers_.find(event.offset);
  if (event.kind == Kind::Init) {
    if (found != mbarriers_.end()) end_mbarrier(found->second, event);
    return begin_mbarrier(event);
  }
  if (found == mbarriers_.end()) return;  // the machine has said so
  if (event.kind == Kind::Overwritten) return end_mbarrier(found->second, event);
  MbarrierWatch& watch = found->second;
  if (event.is_async) return signal(watch, event);
  const MbarrierWatch::Event use{event.instr, event.warp, event.lane, clocks_.epoch(event.warp)};
  if (ctas_.size() > 1) use_window(event.instr, {event.warp, 1U << event.lane}, event.offset);
  check_init(watch, event.instr, event.warp, event.lane, event.offset);
  if (event.kind == Kind::Inval) return end_mbarrier(watch, event);
  watch.used(use);
  if (event.kind == Kind::WaitTrue) {
    if (!is_same_wait) {
      waits_ = {event.instr, event.offset, event.phase, event.is_ordered, {event.warp, 0}};
    }
    waits_.who.mask |= 1U << event.lane;
    return;
  }
  if (clocks_.phases_over(event.warp, event.lane, watch.number()) < event.phase) {
    const Site here = site(event.instr, event.warp, event.lane);
    add_conflict(kMbarrierPhase, here, here, event.offset, 8);
  }
  if (event.kind == Kind::ExpectTx) watch.expects(use);
  if (event.kind == Kind::Arrive && event.is_ordered) {
    watch.arrives(clocks_.publish({event.warp, 1U << event.lane}));
  }
  if (event.completes) signal(watch, event);
}

// Bytes that an operation owed have arrived, or the phase is complete.
void RaceChecker::signal(MbarrierWatch& watch, const MbarrierEvent& event) {
  if (event.is_async && !is_arrival_of_commit(watch, event)) {
    const std::uint64_t key = operation_key(event.operation);
    const auto found = operations_.find(key);
    if (found != operations_.end()) {
      Operation& operation = found->second;
      const auto epoch = static_cast<std::uint32_t>(event.phase + 1);
      turn(operation, operation.reads, key, RecordKind::PhaseRead, epoch, watch.number());
      turn(operation, operation.writes, key, RecordKind::PhaseWrite, epoch, watch.number());
      land(operation, epoch, watch.number());
      Clocks::Snapshot before = *operation.start;
      before.covers = Clocks::Covers::Told;
      if (event.kind == MbarrierEvent::Kind::Arrive) {
        watch.arrives(std::move(before));
      } else {
        watch.lands(std::move(before));
      }
      if (operation.phases_known < event.phase) {
        const Site here = site(event.instr, event.warp, event.lane);
        add_conflict(kMbarrierPhase, here, here, event.offset, 8);
      }
      operations_.erase(found);
    }
  }
  if (!event.completes) return;
  const MbarrierWatch::Completion completion = watch.complete(clocks_);
  const auto tell = [&](const Code& code, const MbarrierWatch::Event& earlier) {
    add_conflict(code, site(earlier.instr, earlier.warp, earlier.lane), site(event.instr, event.warp, event.lane),
                 event.offset, 8);
  };
  if (completion.late_expect) tell(kMbarrierExpect, *completion.late_expect);
  if (completion.late_wait) tell(kMbarrierLag, *completion.late_wait);
}

void RaceChecker::flush_waits() {
  if (waits_.who.mask == 0) return;
  const Waits waits = std::exchange(waits_, Waits{});
  const auto found = mbarriers_.find(waits.offset);
  if (found == mbarriers_.end()) return;
  MbarrierWatch& watch = found->second;
  for (std::uint32_t left = waits.who.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const bool is_first = waits.phase == ~std::uint64_t{0} || waits.phase == 0;
    if (!is_first && clocks_.phases_over(waits.who.warp, lane, watch.number()) < waits.phase) {
      const Site here = site(waits.instr, waits.who.warp, lane);
      add_conflict(kMbarrierPhase, here, here, waits.offset, 8);
    }
    watch.waited({waits.instr, waits.who.warp, lane, clocks_.epoch(waits.who.warp)}, waits.phase);
  }
  if (!waits.is_ordered) return;
  if (const std::shared_ptr<const Clock> known = watch.known_after(waits.phase)) clocks_.learn(known, waits.who);
}

void RaceChecker::unfollowed(std::uint32_t instr, WarpMask, const char* what) {
  log_.unfollowed.try_emplace(instr, what);
}

}  // namespace plumb::check
