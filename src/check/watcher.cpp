// SPDX-License-Identifier: Apache-2.0
#include "check/watcher.h"

#include <algorithm>
#include <bit>

#include "check/codes.h"

namespace plumb::check {

using machine::Access;
using machine::AccessKind;
using machine::MemorySpace;
using machine::WarpMask;

namespace {

bool is_write(RecordKind kind) {
  return kind == RecordKind::Write || kind == RecordKind::Atomic || kind == RecordKind::CopyWrite;
}

}  // namespace

// Splits an access into granules. Lanes side by side in one granule share a group when each has the same power of two
// of bytes; lanes that touch the same bytes share one, too.
void Watcher::group(std::uint32_t mask, std::uint32_t size, const std::uint64_t* address) {
  groups_.clear();
  for (; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    std::uint64_t at = address[lane];
    for (std::uint64_t left = size; left != 0;) {
      const std::uint64_t granule = at / kGranuleBytes;
      const auto offset = static_cast<unsigned>(at % kGranuleBytes);
      const auto count = static_cast<unsigned>(std::min<std::uint64_t>(left, kGranuleBytes - offset));
      const auto bytes = static_cast<std::uint16_t>(((1u << count) - 1) << offset);
      at += count;
      left -= count;
      if (!groups_.empty() && groups_.back().granule == granule) {
        Group& last = groups_.back();
        if (last.pattern.shift == Pattern::kAllLanes && last.pattern.bytes == bytes) {
          last.pattern.lanes |= 1u << lane;
          continue;
        }
        // One lane after the other, `count` bytes each.
        const auto shift = static_cast<std::uint8_t>(std::countr_zero(count));
        const int first = static_cast<int>(lane) - static_cast<int>(offset >> shift);
        const bool is_even = std::has_single_bit(count) && offset % count == 0;
        const bool starts_run = last.pattern.shift == Pattern::kAllLanes && std::has_single_bit(last.pattern.lanes) &&
                                std::popcount(last.pattern.bytes) == static_cast<int>(count) &&
                                static_cast<int>(std::countr_zero(last.pattern.lanes)) ==
                                    first + static_cast<int>(std::countr_zero(last.pattern.bytes) >> shift);
        const bool goes_on = last.pattern.shift == shift && last.pattern.first == first;
        if (is_even && (last.pattern.bytes & bytes) == 0 && (starts_run || goes_on)) {
          last.pattern.shift = shift;
          last.pattern.first = static_cast<std::int8_t>(first);
          last.pattern.lanes |= 1u << lane;
          last.pattern.bytes |= bytes;
          continue;
        }
      }
      groups_.push_back({granule, {1u << lane, bytes, 0, Pattern::kAllLanes}});
    }
  }
}

bool Watcher::conflicts(const Record& old, const Group& group, const Record& now, unsigned& byte, unsigned& old_lane,
                        unsigned& lane) const {
  const auto common = static_cast<std::uint16_t>(old.pattern.bytes & group.pattern.bytes);
  if (common == 0 || (!is_write(old.kind) && !is_write(now.kind))) return false;
  const bool is_in_flight = old.kind == RecordKind::CopyWrite || old.kind == RecordKind::CopyRead;
  if (!is_in_flight) {
    if (old.kind == RecordKind::Atomic && now.kind == RecordKind::Atomic) {
      const std::uint64_t op = facts_[old.instr].commuting_op;
      if (op != 0 && op == facts_[now.instr].commuting_op) return false;
    }
    const Clock* clock = clocks_.warp_clock(now.warp);
    if (clock != nullptr && clock->warp_least[old.warp] >= old.epoch) return false;
  }
  for (unsigned at = 0; at < kGranuleBytes; ++at) {
    if ((common >> at & 1) == 0) continue;
    for (std::uint32_t mine = group.pattern.lanes_of(at); mine != 0; mine &= mine - 1) {
      lane = static_cast<unsigned>(std::countr_zero(mine));
      for (std::uint32_t theirs = old.pattern.lanes_of(at); theirs != 0; theirs &= theirs - 1) {
        old_lane = static_cast<unsigned>(std::countr_zero(theirs));
        byte = at;
        if (is_in_flight) return true;
        if (old.warp == now.warp && old_lane == lane) continue;
        if (!clocks_.knows(now.warp, lane, old.warp, old_lane, old.epoch)) return true;
      }
    }
  }
  return false;
}

const Code* Watcher::code_for(MemorySpace space, const Record& old, const Record& now) const {
  if (now.kind == RecordKind::CopyWrite) {
    return old.kind == RecordKind::CopyWrite ? &kOverlappingCopies : &kCopyOverwrites;
  }
  if (old.kind == RecordKind::CopyWrite) return is_write(now.kind) ? &kUnwaitedWrite : &kUnwaitedRead;
  if (old.kind == RecordKind::CopyRead || now.kind == RecordKind::CopyRead) return &kCopySource;
  if (old.kind == RecordKind::Atomic || now.kind == RecordKind::Atomic) return &kAtomicMix;
  return space == MemorySpace::Shared ? &kRaceShared : &kRaceGlobal;
}

void Watcher::settle(MemorySpace space, const Group& group, const Record& record) {
  Shadow& own = shadow(space);
  std::uint32_t* link = &own.granule(group.granule, clocks_.generation());
  std::uint32_t* head = link;
  bool is_known = false;
  while (*link != Shadow::kEnd) {
    Record& old = own.record(*link);
    unsigned byte = 0, old_lane = 0, lane = 0;
    if (conflicts(old, group, record, byte, old_lane, lane)) {
      Incident incident;
      incident.code = code_for(space, old, record);
      incident.is_unknown = has_fence_ && old.warp != record.warp && old.kind != RecordKind::CopyWrite &&
                            record.kind != RecordKind::CopyWrite;
      incident.instr = record.instr;
      incident.other = old.instr;
      incident.thread = record.warp * kWarpLanes + lane;
      incident.other_thread = old.warp * kWarpLanes + old_lane;
      incident.address = group.granule * kGranuleBytes + byte;
      incident.space = space;
      report_(incident);
    }
    const bool is_old_copy = old.kind == RecordKind::CopyWrite || old.kind == RecordKind::CopyRead;
    if (is_write(record.kind) && record.kind != RecordKind::Atomic && !is_old_copy) {
      // Whoever conflicts with the covered access later conflicts with this write, too.
      old.pattern.bytes &= static_cast<std::uint16_t>(~group.pattern.bytes);
      if (old.pattern.bytes == 0) {
        own.remove(*link);
        continue;
      }
    } else if (old.kind == record.kind && old.warp == record.warp && old.epoch == record.epoch &&
               old.instr == record.instr && old.pattern.bytes == group.pattern.bytes &&
               old.pattern.lanes == group.pattern.lanes && old.pattern.shift == group.pattern.shift &&
               old.pattern.first == group.pattern.first && !is_old_copy) {
      is_known = true;
    }
    link = &old.next;
  }
  if (is_known) return;
  Record added = record;
  added.pattern = group.pattern;
  own.push(*head, added);
}

// Lanes of one store that write the same bytes: any of them may win.
void Watcher::overlaps_itself(const Access& access) {
  if (access.kind != AccessKind::Write) return;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Group& one = groups_[i];
    bool is_shared = one.pattern.shift == Pattern::kAllLanes && !std::has_single_bit(one.pattern.lanes);
    for (std::size_t j = i + 1; j < groups_.size() && !is_shared; ++j) {
      is_shared = groups_[j].granule == one.granule && (groups_[j].pattern.bytes & one.pattern.bytes) != 0;
    }
    if (!is_shared) continue;
    Incident incident;
    incident.code = &kRaceSameInstr;
    incident.instr = incident.other = access.instr;
    incident.thread = access.warp * kWarpLanes + static_cast<unsigned>(std::countr_zero(one.pattern.lanes));
    incident.other_thread = access.warp * kWarpLanes + 31 - static_cast<unsigned>(std::countl_zero(one.pattern.lanes));
    incident.address = one.granule * kGranuleBytes + static_cast<unsigned>(std::countr_zero(one.pattern.bytes));
    incident.space = access.space;
    report_(incident);
    return;
  }
}

void Watcher::access(const Access& access) {
  if (access.space != MemorySpace::Shared && access.space != MemorySpace::Global) return;
  const std::uint64_t op = access.kind == AccessKind::Atomic ? facts_[access.instr].commuting_op : 0;
  if (access.space == MemorySpace::Global) footprint_.add(access, op);
  if (access.is_acquire || access.is_release) has_fence_ = true;
  Record record;
  record.epoch = clocks_.epoch(access.warp);
  record.instr = access.instr;
  record.warp = static_cast<std::uint16_t>(access.warp);
  record.kind = access.kind == AccessKind::Read    ? RecordKind::Read
                : access.kind == AccessKind::Write ? RecordKind::Write
                                                   : RecordKind::Atomic;
  group(access.mask, access.size, access.address);
  overlaps_itself(access);
  for (const Group& one : groups_) settle(access.space, one, record);
}

void Watcher::async_copy_issued(std::uint64_t id, std::uint32_t instr, WarpMask who, const std::uint64_t* shared,
                                const std::uint64_t* global, std::uint32_t size, const std::uint32_t* source_size) {
  Copy copy;
  copy.instr = instr;
  copy.who = who;
  copy.waiting = who.mask;
  Record record;
  record.key = id;
  record.epoch = clocks_.epoch(who.warp);
  record.instr = instr;
  record.warp = static_cast<std::uint16_t>(who.warp);

  record.kind = RecordKind::CopyRead;
  std::uint32_t reading = 0;
  std::uint32_t most = 0;
  for (std::uint32_t mask = who.mask; mask != 0; mask &= mask - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    if (source_size[lane] != 0) reading |= 1u << lane;
    most = std::max(most, source_size[lane]);
  }
  if (reading != 0) {
    Access source;
    source.space = MemorySpace::Global;
    source.instr = instr;
    source.warp = who.warp;
    source.mask = reading;
    source.size = most;
    source.address = global;
    footprint_.add(source, 0);
    group(reading, most, global);
    for (const Group& one : groups_) {
      settle(MemorySpace::Global, one, record);
      copy.pieces.push_back({MemorySpace::Global, one.granule});
    }
  }

  record.kind = RecordKind::CopyWrite;
  group(who.mask, size, shared);
  for (const Group& one : groups_) {
    settle(MemorySpace::Shared, one, record);
    copy.pieces.push_back({MemorySpace::Shared, one.granule});
  }
  copies_.emplace(id, std::move(copy));
}

// From the wait on, the copy's accesses are the issuing lanes' own.
void Watcher::async_copy_waited(std::uint64_t id, WarpMask who) {
  const auto found = copies_.find(id);
  if (found == copies_.end()) return;
  Copy& copy = found->second;
  copy.waiting &= ~who.mask;
  if (copy.waiting != 0) return;
  for (const Piece& piece : copy.pieces) {
    Shadow& own = shadow(piece.space);
    for (std::uint32_t at = own.granule(piece.granule, clocks_.generation()); at != Shadow::kEnd;
         at = own.record(at).next) {
      Record& record = own.record(at);
      if (record.key != id || (record.kind != RecordKind::CopyWrite && record.kind != RecordKind::CopyRead)) continue;
      record.kind = record.kind == RecordKind::CopyWrite ? RecordKind::Write : RecordKind::Read;
      record.key = 0;
      record.epoch = clocks_.epoch(who.warp);
    }
  }
  copies_.erase(found);
}

void Watcher::barrier_arrived(std::uint32_t instr, std::uint32_t barrier, WarpMask who) {
  Arrival arrival{instr, clocks_.publish(who)};
  if (facts_[instr].is_arrive_only) {
    // Whoever only arrives must have been told that the last round is over.
    for (const Clocks::Snapshot& last : last_round_[barrier]) {
      const auto lane = static_cast<unsigned>(std::countr_zero(who.mask));
      const auto other = static_cast<unsigned>(std::countr_zero(last.who.mask));
      if (last.who.warp == who.warp || clocks_.knows(who.warp, lane, last.who.warp, other, last.epoch)) continue;
      Incident incident;
      incident.code = &kBarrierReentry;
      incident.instr = incident.other = instr;
      incident.thread = who.warp * kWarpLanes + lane;
      incident.other_thread = last.who.warp * kWarpLanes + other;
      report_(incident);
      break;
    }
  }
  arrivals_[barrier].push_back(std::move(arrival));
}

void Watcher::barrier_completed(std::uint32_t barrier, std::span<const WarpMask> participants) {
  std::vector<Arrival> arrived = std::move(arrivals_[barrier]);
  arrivals_[barrier].clear();
  std::vector<Clocks::Snapshot> snapshots;
  std::vector<WarpMask> learners;
  for (Arrival& arrival : arrived) {
    const bool takes_part = std::any_of(participants.begin(), participants.end(), [&](const WarpMask& one) {
      return one.warp == arrival.snapshot.who.warp && (one.mask & arrival.snapshot.who.mask) != 0;
    });
    if (!takes_part) {
      arrivals_[barrier].push_back(std::move(arrival));
      continue;
    }
    if (!facts_[arrival.instr].is_arrive_only) learners.push_back(arrival.snapshot.who);
    snapshots.push_back(std::move(arrival.snapshot));
  }
  clocks_.join(snapshots, learners);
  last_round_[barrier] = std::move(snapshots);
}

void Watcher::warp_synchronized(std::uint32_t, WarpMask who) {
  const Clocks::Snapshot snapshot = clocks_.publish(who);
  clocks_.join(std::span(&snapshot, 1), std::span(&who, 1));
}

void Watcher::fence(std::uint32_t, WarpMask, machine::Scope) { has_fence_ = true; }

void Watcher::exited(WarpMask who) {
  for (const auto& [id, copy] : copies_) {
    if (copy.who.warp != who.warp || (copy.waiting & who.mask) == 0) continue;
    Incident incident;
    incident.code = &kUnwaitedExit;
    incident.instr = incident.other = copy.instr;
    incident.thread = who.warp * kWarpLanes + static_cast<unsigned>(std::countr_zero(copy.waiting & who.mask));
    incident.other_thread = incident.thread;
    report_(incident);
    return;
  }
}

}  // namespace plumb::check
