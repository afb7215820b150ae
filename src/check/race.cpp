// SPDX-License-Identifier: Apache-2.0
#include "check/race.h"

#include <algorithm>
#include <bit>

#include "check/codes.h"

namespace plumb::check {

using machine::Access;
using machine::AccessKind;
using machine::MemorySpace;
using machine::WarpMask;

namespace {

constexpr std::uint16_t byte_mask(std::uint64_t address, std::uint32_t size) {
  return static_cast<std::uint16_t>(((1U << size) - 1) << (address % kGranuleBytes));
}

bool is_read(RecordKind kind) {
  return kind == RecordKind::Read || kind == RecordKind::CopyRead || kind == RecordKind::PhaseRead;
}
bool is_phase(RecordKind kind) { return kind == RecordKind::PhaseWrite || kind == RecordKind::PhaseRead; }
bool is_in_flight(RecordKind kind) { return kind == RecordKind::CopyWrite || kind == RecordKind::CopyRead; }

RecordKind record_kind(AccessKind kind) {
  switch (kind) {
    case AccessKind::Read:
      return RecordKind::Read;
    case AccessKind::Write:
      return RecordKind::Write;
    case AccessKind::Atomic:
      return RecordKind::Atomic;
  }
  return RecordKind::Write;
}

// Extends `pattern` by one more lane's bytes when the result is one pattern.
bool extend(Pattern& pattern, unsigned lane, std::uint16_t bytes) {
  const std::uint32_t bit = 1U << lane;
  const unsigned size = static_cast<unsigned>(std::popcount(bytes));
  const unsigned begin = static_cast<unsigned>(std::countr_zero(bytes));
  const bool is_single = std::has_single_bit(pattern.lanes);
  if (pattern.bytes == bytes && pattern.shift == Pattern::kAllLanes) {
    pattern.lanes |= bit;
    return true;
  }
  const unsigned last_lane = 31U - static_cast<unsigned>(std::countl_zero(pattern.lanes));
  const unsigned end = 16U - static_cast<unsigned>(std::countl_zero(pattern.bytes));
  const std::uint8_t shift = static_cast<std::uint8_t>(std::countr_zero(size));
  const bool has_same_size =
      is_single ? static_cast<unsigned>(std::popcount(pattern.bytes)) == size : pattern.shift == shift;
  if (!std::has_single_bit(size) || !has_same_size || lane != last_lane + 1 || begin != end || begin % size != 0) {
    return false;
  }
  pattern.shift = shift;
  pattern.first = static_cast<std::int8_t>(static_cast<int>(lane) - static_cast<int>(begin >> shift));
  pattern.lanes |= bit;
  pattern.bytes = static_cast<std::uint16_t>(pattern.bytes | bytes);
  return true;
}

bool uses_async_proxy(const std::vector<InstrFacts>& facts) {
  return std::any_of(facts.begin(), facts.end(), [](const InstrFacts& one) { return one.is_async_proxy; });
}

}  // namespace

RaceChecker::RaceChecker(const std::vector<InstrFacts>& facts, unsigned threads, std::vector<std::uint64_t> ctas)
    : facts_(facts),
      ctas_(std::move(ctas)),
      clocks_(threads, static_cast<unsigned>(ctas_.size())),
      shared_(uses_async_proxy(facts)),
      global_(uses_async_proxy(facts)),
      tensor_(ctas_.size()),
      cluster_arrivals_(std::size_t{clocks_.stride()} * ctas_.size() * kWarpLanes),
      footprints_(ctas_.size()) {}

void RaceChecker::access(const Access& access) {
  if (access.space != MemorySpace::Shared && access.space != MemorySpace::Global) return;
  if (waits_.who.mask != 0) flush_waits();
  if (facts_[access.instr].is_map_release && access.kind == AccessKind::Write) {
    ++map_state(access.address[std::countr_zero(access.mask)]).writes;
  }
  log_.has_strong |= access.scope != machine::Scope::None || access.kind == AccessKind::Atomic;
  log_.has_release |= access.is_acquire || access.is_release;
  Touch open;
  for (std::uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
    std::uint64_t address = access.address[lane];
    for (std::uint32_t left = access.size; left != 0;) {
      const std::uint32_t room = kGranuleBytes - static_cast<std::uint32_t>(address % kGranuleBytes);
      const std::uint32_t size = std::min(left, room);
      touch_range(access, lane, address, size, open);
      address += size;
      left -= size;
    }
  }
  flush(open);
  if (access.space == MemorySpace::Global) {
    add_footprint(access);
  } else if (ctas_.size() > 1) {
    use_window(access.instr, {access.warp, access.mask}, access.address[std::countr_zero(access.mask)]);
  }
}

// Reads of neighbouring lanes become one record; writes keep one record each, with the value's key.
void RaceChecker::touch_range(const Access& access, unsigned lane, std::uint64_t address, std::uint32_t size,
                              Touch& open) {
  const std::uint64_t granule = address / kGranuleBytes;
  const std::uint16_t bytes = byte_mask(address, size);
  if (open.pattern.lanes != 0 && access.kind != AccessKind::Write && open.granule == granule &&
      extend(open.pattern, lane, bytes)) {
    return;
  }
  flush(open);
  open.space = access.space;
  open.kind = record_kind(access.kind);
  open.instr = access.instr;
  open.warp = static_cast<std::uint16_t>(access.warp);
  open.granule = granule;
  open.pattern = {1U << lane, bytes, 0, Pattern::kAllLanes};
  open.key = access.kind == AccessKind::Write && access.value_key != nullptr && size == access.size
                 ? access.value_key[lane]
                 : 0;
}

void RaceChecker::flush(Touch& open) {
  if (open.pattern.lanes != 0) touch(open);
  open.pattern.lanes = 0;
}

bool RaceChecker::is_conflict(const Touch& touch, const Record& record) const {
  if ((touch.pattern.bytes & record.pattern.bytes) == 0) return false;
  if (is_read(touch.kind) && is_read(record.kind)) return false;
  return !commutes(touch, record);
}

// An atomic, or an asynchronous reduction.
bool RaceChecker::is_reduction(RecordKind kind, std::uint32_t instr) const {
  const bool is_async =
      kind == RecordKind::CopyWrite || kind == RecordKind::PhaseWrite || kind == RecordKind::WaitedWrite;
  return kind == RecordKind::Atomic || (is_async && facts_[instr].is_async_reduction);
}

bool RaceChecker::commutes(const Touch& touch, const Record& record) const {
  const std::uint64_t op = facts_[touch.instr].commuting_op;
  return op != 0 && op == facts_[record.instr].commuting_op && is_reduction(touch.kind, touch.instr) &&
         is_reduction(record.kind, record.instr);
}

void RaceChecker::report_unknown_end(const Touch& touch, const Record& record) {
  const unsigned byte =
      static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(touch.pattern.bytes & record.pattern.bytes)));
  const auto lane = static_cast<unsigned>(std::countr_zero(touch.pattern.lanes_of(byte)));
  const auto other = static_cast<unsigned>(std::countr_zero(record.pattern.lanes_of(byte)));
  const bool is_own_copy =
      facts_[record.instr].is_plain_copy && is_phase(record.kind) && touch.warp == record.warp && lane == other;
  if (is_own_copy) return unfollowed(record.instr, {record.warp, 1U << lane}, "an mbarrier and its thread's own waits");
  report(code_of(touch, record), touch, record, byte, lane, other);
}

void RaceChecker::touch(const Touch& touch) {
  Shadow& memory = shadow(touch.space);
  std::uint32_t& head = memory.granule(touch.granule, clocks_.generation());
  const std::uint32_t epoch = clocks_.epoch(touch.warp);
  const Clock* clock = clocks_.warp_clock(touch.warp);
  // A reduction stands for no write before it: others that commute with it need not come after.
  const bool covers = (touch.kind == RecordKind::Write || touch.kind == RecordKind::CopyWrite) &&
                      !is_reduction(touch.kind, touch.instr);
  bool is_merged = false;
  for (std::uint32_t* link = &head; *link != Shadow::kEnd;) {
    Record& record = memory.record(*link);
    if (is_conflict(touch, record)) {
      const std::uint16_t both = touch.pattern.bytes & record.pattern.bytes;
      std::uint16_t unordered = 0;
      if (is_in_flight(record.kind) || (is_phase(record.kind) && is_unknown_phase(touch, record))) {
        report_unknown_end(touch, record);
        unordered = both;
      } else if (is_phase(record.kind)) {
        // Its end is known.
      } else if (record.kind == RecordKind::PastWrite) {
        // Ordered by a barrier of the whole CTA.
      } else if (clock == nullptr || clock->warp_least[record.warp] < record.epoch) {
        unordered = unordered_bytes(touch, record);
      }
      if (touch.is_async_proxy) check_fences(touch, record, static_cast<std::uint16_t>(both & ~unordered));
      // What comes before this write comes before everything that this write comes before.
      if (covers) record.pattern.bytes = static_cast<std::uint16_t>(record.pattern.bytes & ~(both & ~unordered));
      if (record.pattern.bytes == 0) {
        memory.remove(*link);
        continue;
      }
    } else if (!covers && record.kind == touch.kind && !is_in_flight(touch.kind) && record.warp == touch.warp &&
               record.pattern.lanes == touch.pattern.lanes && record.pattern.shift == touch.pattern.shift &&
               record.pattern.first == touch.pattern.first && record.pattern.bytes == touch.pattern.bytes &&
               (is_phase(touch.kind) ? record.key == touch.key
                                     : touch.kind == RecordKind::Read || record.instr == touch.instr)) {
      // The same lanes' later access stands for the earlier one: what follows the one follows the other.
      record.epoch = is_phase(touch.kind) ? touch.phase : epoch;
      record.instr = touch.instr;
      is_merged = true;
    }
    link = &record.next;
  }
  if (is_merged) return;
  Record record;
  record.key = touch.key;
  record.epoch = is_phase(touch.kind) ? touch.phase : epoch;
  record.instr = touch.instr;
  record.pattern = touch.pattern;
  record.warp = touch.warp;
  record.kind = touch.kind;
  memory.push(head, record);
}

std::uint16_t RaceChecker::unordered_bytes(const Touch& touch, const Record& record) {
  // A lane of a collective instruction reads for its whole warp: its own program order does not cover the others.
  const bool is_collective = facts_[touch.instr].is_collective;
  const std::uint16_t both = touch.pattern.bytes & record.pattern.bytes;
  std::uint16_t unordered = 0;
  bool is_reported = false;
  for (unsigned byte = 0; byte < kGranuleBytes; ++byte) {
    if ((both >> byte & 1) == 0) continue;
    for (std::uint32_t lanes = touch.pattern.lanes_of(byte); lanes != 0; lanes &= lanes - 1) {
      const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
      for (std::uint32_t others = record.pattern.lanes_of(byte); others != 0; others &= others - 1) {
        const unsigned other = static_cast<unsigned>(std::countr_zero(others));
        if (touch.warp == record.warp && lane == other && !is_collective) continue;
        if (clocks_.knows(touch.warp, lane, record.warp, other, record.epoch)) continue;
        unordered = static_cast<std::uint16_t>(unordered | 1U << byte);
        if (!is_reported) report(code_of(touch, record), touch, record, byte, lane, other);
        is_reported = true;
      }
    }
  }
  return unordered;
}

const Code& RaceChecker::code_of(const Touch& touch, const Record& record) const {
  if (record.kind == RecordKind::CopyWrite || record.kind == RecordKind::PhaseWrite) {
    if (touch.kind == RecordKind::CopyWrite) return kOverlappingCopies;
    return is_read(touch.kind) ? kUnwaitedRead : kUnwaitedWrite;
  }
  const bool is_source = record.kind == RecordKind::CopyRead || record.kind == RecordKind::PhaseRead;
  if (is_source || touch.kind == RecordKind::CopyRead || touch.kind == RecordKind::PhaseRead) return kCopySource;
  if (touch.kind == RecordKind::CopyWrite) return kCopyOverwrites;
  if (touch.kind == RecordKind::Atomic || record.kind == RecordKind::Atomic) return kAtomicMix;
  if (touch.kind == RecordKind::Write && record.kind == RecordKind::Write) {
    if (touch.key != 0 && touch.key == record.key && touch.pattern.bytes == record.pattern.bytes) {
      return kDuplicateWrite;
    }
    if (touch.instr == record.instr && touch.warp == record.warp) return kRaceSameInstr;
  }
  const bool is_one_cta = rank_of(touch.warp) == rank_of(record.warp);
  if (touch.space == MemorySpace::Shared) return is_one_cta ? kRaceShared : kRaceCluster;
  return is_one_cta ? kRaceGlobal : kRaceCrossCta;
}

void RaceChecker::report(const Code& code, const Touch& touch, const Record& record, unsigned byte, unsigned lane,
                         unsigned other_lane) {
  Conflict conflict;
  conflict.code = &code;
  conflict.earlier = site(record.instr, record.warp, other_lane);
  conflict.later = site(touch.instr, touch.warp, lane);
  conflict.space = touch.space;
  conflict.address = touch.granule * kGranuleBytes + byte;
  const unsigned both = (touch.pattern.bytes & record.pattern.bytes) >> byte;
  conflict.bytes = static_cast<std::uint32_t>(std::countr_one(both));
  conflict.is_earlier_read = is_read(record.kind);
  conflict.is_later_read = is_read(touch.kind);
  log_.conflicts.add(conflict);
}

void RaceChecker::add_footprint(const Access& access) {
  Footprint& footprint = footprints_[rank_of(access.warp)];
  std::uint64_t begin = 0, end = 0;
  unsigned place = 0;
  for (std::uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
    const std::uint64_t address = access.address[std::countr_zero(rest)];
    if (address == end && end != 0) {
      end += access.size;
      continue;
    }
    if (end != 0) footprint.add(begin, end, access.instr, access.kind, access.warp, place++);
    begin = address;
    end = address + access.size;
  }
  if (end != 0) footprint.add(begin, end, access.instr, access.kind, access.warp, place);
}

void RaceChecker::async_copy_issued(std::uint64_t id, std::uint32_t instr, WarpMask who, const std::uint64_t* shared,
                                    const std::uint64_t* global, std::uint32_t size, const std::uint32_t* source_size) {
  Copy& copy = copies_[id];
  copy.instr = instr;
  copy.warp = who.warp;
  copy.lanes = who.mask;
  copy.size = size;
  for (std::uint32_t rest = who.mask; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
    copy.shared[lane] = shared[lane];
    copy.global[lane] = global[lane];
    copy.source_size[lane] = source_size == nullptr ? size : source_size[lane];
    Touch one;
    one.instr = instr;
    one.warp = static_cast<std::uint16_t>(who.warp);
    one.key = id;
    one.kind = RecordKind::CopyWrite;
    one.space = MemorySpace::Shared;
    one.granule = shared[lane] / kGranuleBytes;
    one.pattern = {1U << lane, byte_mask(shared[lane], size), 0, Pattern::kAllLanes};
    touch(one);
    if (copy.source_size[lane] == 0) continue;
    one.kind = RecordKind::CopyRead;
    one.space = MemorySpace::Global;
    one.granule = global[lane] / kGranuleBytes;
    one.pattern.bytes = byte_mask(global[lane], copy.source_size[lane]);
    touch(one);
    footprints_[rank_of(who.warp)].add(global[lane], global[lane] + copy.source_size[lane], instr, AccessKind::Read,
                                       who.warp, lane);
  }
}

void RaceChecker::async_copy_waited(std::uint64_t id, WarpMask who) {
  const auto found = copies_.find(id);
  if (found == copies_.end()) return;
  Copy& copy = found->second;
  for (std::uint32_t rest = who.mask & copy.lanes; rest != 0; rest &= rest - 1) {
    const unsigned lane = static_cast<unsigned>(std::countr_zero(rest));
    if ((copy.arriving >> lane & 1) != 0) {
      unfollowed(copy.instr, {copy.warp, 1U << lane}, "an mbarrier and its thread's own waits");
    }
    settle(MemorySpace::Shared, copy.shared[lane], id, copy.warp, lane);
    if (copy.source_size[lane] != 0) {
      settle(MemorySpace::Global, copy.global[lane], id, copy.warp, lane);
    }
  }
  copy.lanes &= ~who.mask;
  if (copy.lanes == 0) copies_.erase(found);
}

// A waited copy is from now on a plain access of the thread that waited.
void RaceChecker::settle(MemorySpace space, std::uint64_t address, std::uint64_t id, unsigned warp, unsigned lane) {
  Shadow& memory = shadow(space);
  const std::uint32_t head = memory.granule(address / kGranuleBytes, clocks_.generation());
  for (std::uint32_t at = head; at != Shadow::kEnd; at = memory.record(at).next) {
    Record& record = memory.record(at);
    if (!is_in_flight(record.kind) || record.key != id || record.pattern.lanes != 1U << lane) continue;
    record.kind = record.kind == RecordKind::CopyWrite ? RecordKind::Write : RecordKind::Read;
    record.key = 0;
    record.epoch = clocks_.epoch(warp);
  }
}

void RaceChecker::barrier_arrived(std::uint32_t instr, std::uint32_t barrier, WarpMask who) {
  flush_waits();
  BarrierState& state = barriers_[barrier];
  const unsigned lane = static_cast<unsigned>(std::countr_zero(who.mask | 1U << 31));
  const auto is_known = [&](const BarrierState::Witness& witness) {
    return witness.warp == who.warp || clocks_.knows(who.warp, lane, witness.warp, witness.lane, witness.epoch);
  };
  const auto& witnesses = state.witnesses;
  const bool has_seen_last =
      witnesses.empty() || (state.has_only_arrivals ? std::all_of(witnesses.begin(), witnesses.end(), is_known)
                                                    : std::any_of(witnesses.begin(), witnesses.end(), is_known));
  if (!has_seen_last) {
    Conflict conflict;
    conflict.code = &kBarrierReentry;
    conflict.earlier = site(instr, state.witnesses.front().warp, 0);
    conflict.later = site(instr, who.warp, lane);
    conflict.address = barrier;
    log_.conflicts.add(conflict);
  }
  state.arrivals.push_back({clocks_.publish(who), facts_[instr].is_arrive_only});
}

void RaceChecker::barrier_completed(std::uint32_t barrier, std::span<const WarpMask> participants) {
  BarrierState& state = barriers_[barrier];
  flush_waits();
  std::vector<Clocks::Snapshot> snapshots;
  std::vector<WarpMask> learners;
  for (BarrierState::Arrival& arrival : state.arrivals) {
    if (!arrival.is_arrive_only) learners.push_back(arrival.snapshot.who);
    snapshots.push_back(std::move(arrival.snapshot));
  }
  // A participant whose arrival was not announced waits here now.
  for (const WarpMask& who : participants) {
    std::uint32_t known = 0;
    for (const Clocks::Snapshot& snapshot : snapshots) {
      if (snapshot.who.warp == who.warp) known |= snapshot.who.mask;
    }
    const WarpMask rest{who.warp, who.mask & ~known};
    if (rest.mask == 0) continue;
    snapshots.push_back(clocks_.publish(rest));
    learners.push_back(rest);
  }
  clocks_.join(snapshots, learners);
  const auto first_lane = [](const WarpMask& who) { return static_cast<std::uint32_t>(std::countr_zero(who.mask)); };
  state.arrivals.clear();
  state.witnesses.clear();
  for (const WarpMask& who : learners) {
    state.witnesses.push_back({who.warp, first_lane(who), clocks_.epoch(who.warp)});
  }
  state.has_only_arrivals = learners.empty();
  if (!state.has_only_arrivals) return;
  for (const Clocks::Snapshot& snapshot : snapshots) {
    state.witnesses.push_back({snapshot.who.warp, first_lane(snapshot.who), snapshot.epoch});
  }
}

void RaceChecker::warp_synchronized(std::uint32_t, WarpMask who) {
  flush_waits();
  const Clocks::Snapshot snapshot = clocks_.publish(who);
  clocks_.join({&snapshot, 1}, {&who, 1});
}

void RaceChecker::exited(WarpMask who) {
  flush_waits();
  if (ctas_.size() > 1) exits_[rank_of(who.warp)].push_back(clocks_.publish(who));
  for (const auto& [id, copy] : copies_) {
    const std::uint32_t lanes = copy.warp == who.warp ? copy.lanes & who.mask : 0;
    if (lanes == 0) continue;
    const unsigned lane = static_cast<unsigned>(std::countr_zero(lanes));
    Conflict conflict;
    conflict.code = &kUnwaitedExit;
    conflict.earlier = conflict.later = site(copy.instr, copy.warp, lane);
    conflict.address = copy.shared[lane];
    conflict.bytes = copy.size;
    log_.conflicts.add(conflict);
  }
}

CtaLog RaceChecker::finish() {
  check_ends();
  for (std::size_t rank = 0; rank < ctas_.size(); ++rank) {
    log_.footprints.push_back({ctas_[rank], ctas_.front(), footprints_[rank].take()});
  }
  return std::move(log_);
}

}  // namespace plumb::check
