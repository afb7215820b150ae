// SPDX-License-Identifier: Apache-2.0
#include "check/log.h"

#include <algorithm>

#include "check/codes.h"

namespace plumb::check {

using machine::AccessKind;

void Conflicts::add(const Conflict& conflict) {
  const auto [place, is_new] =
      all_.try_emplace({conflict.code, conflict.earlier.instr, conflict.later.instr}, conflict);
  if (!is_new) place->second.count += conflict.count;
}

void Conflicts::merge(const Conflicts& other) {
  for (const auto& [key, conflict] : other.all_) {
    const auto [place, is_new] = all_.try_emplace(key, conflict);
    if (is_new) continue;
    const std::uint64_t count = place->second.count + conflict.count;
    // The example is that of the lowest CTA, so that a report does not depend on how workers were scheduled.
    if (conflict.later.cta < place->second.later.cta) place->second = conflict;
    place->second.count = count;
  }
}

void Footprint::add(std::uint64_t begin, std::uint64_t end, std::uint32_t instr, AccessKind kind) {
  if (!intervals_.empty()) {
    Interval& last = intervals_.back();
    if (last.instr == instr && last.kind == kind && last.end == begin) {
      last.end = end;
      return;
    }
  }
  push({begin, end, instr, kind});
}

void Footprint::add(std::uint64_t begin, std::uint64_t end, std::uint32_t instr, AccessKind kind, std::uint32_t warp,
                    unsigned place) {
  std::uint32_t& open = open_interval(warp, instr, place);
  if (open != kNone && intervals_[open].kind == kind) {
    Interval& last = intervals_[open];
    const bool is_one = last.count == 1, has_same_size = last.end - last.begin == end - begin;
    if (is_one && begin >= last.begin && end <= last.end) return;
    if (is_one && begin == last.end) {
      last.end = end;
      return;
    }
    if (is_one && has_same_size && begin > last.end) last.stride = begin - last.begin;
    if (has_same_size && last.stride != 0 && begin == last.begin + last.count * last.stride && last.count != kNone) {
      ++last.count;
      return;
    }
  }
  open = static_cast<std::uint32_t>(intervals_.size());
  push({begin, end, instr, kind});
}

std::uint32_t& Footprint::open_interval(std::uint32_t warp, std::uint32_t instr, unsigned place) {
  if (groups_of_warps_.size() <= warp) groups_of_warps_.resize(warp + 1);
  std::vector<std::uint32_t>& groups = groups_of_warps_[warp];
  if (groups.size() <= instr) groups.resize(instr + 1, kNone);
  if (groups[instr] == kNone) {
    groups[instr] = static_cast<std::uint32_t>(groups_.size());
    groups_.emplace_back().fill(kNone);
  }
  return groups_[groups[instr]][place % kPlaces];
}

void Footprint::push(const Interval& interval) {
  intervals_.push_back(interval);
  if (intervals_.size() <= limit_) return;
  compact();
  limit_ = std::max<std::size_t>(limit_, 2 * intervals_.size());
}

void Footprint::compact() {
  std::sort(intervals_.begin(), intervals_.end(), [](const Interval& a, const Interval& b) {
    return std::tie(a.kind, a.instr, a.count, a.stride, a.begin, a.end) <
           std::tie(b.kind, b.instr, b.count, b.stride, b.begin, b.end);
  });
  std::size_t kept = 0;
  for (const Interval& interval : intervals_) {
    if (kept != 0) {
      Interval& last = intervals_[kept - 1];
      const std::uint64_t end = std::max(last.end, interval.end);
      if (last.kind == interval.kind && last.instr == interval.instr && last.count == interval.count &&
          last.stride == interval.stride && interval.begin <= last.end &&
          (last.count == 1 || end - last.begin <= last.stride)) {
        last.end = end;
        continue;
      }
    }
    intervals_[kept++] = interval;
  }
  intervals_.resize(kept);
  for (Interval& interval : intervals_) {
    if (interval.count == 1 || interval.end - interval.begin != interval.stride) continue;
    interval.end = interval.last_end();
    interval.count = 1;
    interval.stride = 0;
  }
  groups_of_warps_.clear();
  groups_.clear();
}

std::vector<Interval> Footprint::take() {
  compact();
  return std::move(intervals_);
}

namespace {

struct Owned {
  Interval interval;
  std::uint64_t cta = 0, group = 0;
};

template <class Visit>
void for_each_range(const Interval& interval, Visit&& visit) {
  Interval range = interval;
  range.count = 1;
  range.stride = 0;
  for (std::uint32_t i = 0; i < interval.count; ++i) {
    visit(range);
    range.begin += interval.stride;
    range.end += interval.stride;
  }
}

bool commutes(const Owned& a, const Owned& b, const std::vector<std::uint64_t>& op) {
  return a.interval.kind == AccessKind::Atomic && b.interval.kind == AccessKind::Atomic && op[a.interval.instr] != 0 &&
         op[a.interval.instr] == op[b.interval.instr];
}

void add_conflict(Conflicts& conflicts, const Owned& a, const Owned& b) {
  const Owned& earlier = a.cta < b.cta ? a : b;
  const Owned& later = a.cta < b.cta ? b : a;
  const bool is_mixed = a.interval.kind == AccessKind::Atomic || b.interval.kind == AccessKind::Atomic;
  Conflict conflict;
  conflict.code = is_mixed ? &kAtomicMix : &kRaceCrossCta;
  conflict.earlier = {earlier.interval.instr, 0, earlier.cta};
  conflict.later = {later.interval.instr, 0, later.cta};
  conflict.space = machine::MemorySpace::Global;
  conflict.address = std::max(a.interval.begin, b.interval.begin);
  conflict.bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::min(a.interval.end, b.interval.end) - conflict.address, ~std::uint32_t{0}));
  conflict.is_earlier_read = earlier.interval.kind == AccessKind::Read;
  conflict.is_later_read = later.interval.kind == AccessKind::Read;
  conflicts.add(conflict);
}

// A broken kernel may have every CTA write the same bytes; this many pairs are enough to say so.
constexpr std::uint64_t kMaxPairs = 100000;

}  // namespace

Conflicts cross_cta_conflicts(const std::vector<CtaFootprint>& footprints,
                              const std::vector<std::uint64_t>& commuting_op_of_instr) {
  Conflicts conflicts;
  const bool has_others = std::any_of(footprints.begin(), footprints.end(), [&](const CtaFootprint& footprint) {
    return footprint.group != footprints.front().group;
  });
  if (!has_others) return conflicts;
  std::vector<Owned> writes;
  for (const CtaFootprint& footprint : footprints) {
    for (const Interval& interval : footprint.intervals) {
      if (interval.kind == AccessKind::Read) continue;
      for_each_range(interval, [&](const Interval& range) {
        writes.push_back({range, footprint.cta, footprint.group});
      });
    }
  }
  std::sort(writes.begin(), writes.end(), [](const Owned& a, const Owned& b) {
    return std::tie(a.interval.begin, a.interval.end, a.cta) < std::tie(b.interval.begin, b.interval.end, b.cta);
  });
  // furthest[i]: the largest end among writes[0..i]; nothing before an index whose value is <= x reaches past x.
  std::vector<std::uint64_t> furthest(writes.size());
  std::uint64_t pairs = 0;
  const auto against_earlier = [&](std::size_t count, const Owned& access) {
    for (std::size_t i = count; i-- > 0 && furthest[i] > access.interval.begin && pairs < kMaxPairs;) {
      const Owned& write = writes[i];
      if (write.interval.end <= access.interval.begin || write.interval.begin >= access.interval.end) continue;
      ++pairs;
      if (write.group != access.group && !commutes(write, access, commuting_op_of_instr)) {
        add_conflict(conflicts, write, access);
      }
    }
  };
  for (std::size_t i = 0; i < writes.size(); ++i) {
    against_earlier(i, writes[i]);
    furthest[i] = std::max(writes[i].interval.end, i == 0 ? 0 : furthest[i - 1]);
  }
  const auto writes_before = [&](std::uint64_t end) {
    const auto past = std::lower_bound(writes.begin(), writes.end(), end, [](const Owned& write, std::uint64_t place) {
      return write.interval.begin < place;
    });
    return static_cast<std::size_t>(past - writes.begin());
  };
  for (const CtaFootprint& footprint : footprints) {
    for (const Interval& interval : footprint.intervals) {
      if (interval.kind != AccessKind::Read) continue;
      const std::size_t before = writes_before(interval.last_end());
      if (before == 0 || furthest[before - 1] <= interval.begin) continue;
      for_each_range(interval, [&](const Interval& range) {
        against_earlier(writes_before(range.end), {range, footprint.cta, footprint.group});
      });
    }
  }
  return conflicts;
}

}  // namespace plumb::check
