// SPDX-License-Identifier: Apache-2.0
#include "check/footprint.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace plumb::check {

void Footprint::grow(std::vector<Interval>& list, Interval interval) {
  if (!list.empty()) {
    Interval& last = list.back();
    const bool is_same = last.instr == interval.instr && last.commuting_op == interval.commuting_op;
    if (is_same && interval.begin <= last.end && interval.end >= last.begin) {
      last.begin = std::min(last.begin, interval.begin);
      last.end = std::max(last.end, interval.end);
      return;
    }
  }
  list.push_back(interval);
}

void Footprint::add(const machine::Access& access, std::uint64_t commuting_op) {
  std::vector<Interval>& list = access.kind == machine::AccessKind::Read ? reads_ : writes_;
  for (std::uint32_t mask = access.mask; mask != 0; mask &= mask - 1) {
    const std::uint64_t begin = access.address[__builtin_ctz(mask)];
    grow(list, {begin, begin + access.size, commuting_op, access.instr, 0});
  }
}

std::vector<Interval> Footprint::take(std::vector<Interval>& list, std::uint32_t cta) {
  std::sort(list.begin(), list.end(), [](const Interval& a, const Interval& b) {
    return std::tie(a.instr, a.commuting_op, a.begin) < std::tie(b.instr, b.commuting_op, b.begin);
  });
  std::vector<Interval> out;
  for (Interval interval : list) {
    interval.cta = cta;
    grow(out, interval);
  }
  list.clear();
  return out;
}

std::vector<CrossConflict> cross_conflicts(std::vector<Interval> writes, const std::vector<Interval>& reads,
                                           bool& has_commuting) {
  const auto by_begin = [](const Interval& a, const Interval& b) { return a.begin < b.begin; };
  std::sort(writes.begin(), writes.end(), by_begin);
  // The furthest end among the writes up to each one bounds how far back an overlap can start.
  std::vector<std::uint64_t> furthest(writes.size());
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < writes.size(); ++i) furthest[i] = end = std::max(end, writes[i].end);
  std::vector<CrossConflict> out;
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  const auto look = [&](const Interval& interval, std::size_t before) {
    for (std::size_t i = before; i-- > 0 && furthest[i] > interval.begin;) {
      const Interval& write = writes[i];
      if (write.end <= interval.begin || write.begin >= interval.end || write.cta == interval.cta) continue;
      if (write.commuting_op != 0 && write.commuting_op == interval.commuting_op) {
        has_commuting = true;
        continue;
      }
      if (seen.emplace(write.instr, interval.instr).second) out.push_back({write, interval});
      if (out.size() > 16) return;
    }
  };
  for (std::size_t i = 0; i < writes.size(); ++i) look(writes[i], i);
  for (const Interval& read : reads) {
    const auto after = std::lower_bound(writes.begin(), writes.end(), Interval{read.end, 0, 0, 0, 0}, by_begin);
    look(read, static_cast<std::size_t>(after - writes.begin()));
  }
  return out;
}

}  // namespace plumb::check
