// SPDX-License-Identifier: Apache-2.0
// Which global bytes each CTA touches, as intervals, and the conflicts between CTAs that follow from them.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/observer.h"

namespace plumb::check {

struct Interval {
  std::uint64_t begin = 0, end = 0;  // bytes
  std::uint64_t commuting_op = 0;    // of an atomic; 0: a plain access or an atomic that commutes with nothing
  std::uint32_t instr = 0;
  std::uint32_t cta = 0;
};

// Grows one CTA's list; neighbouring accesses of one instruction are merged.
class Footprint {
 public:
  void add(const machine::Access& access, std::uint64_t commuting_op);
  std::vector<Interval> take_reads(std::uint32_t cta) { return take(reads_, cta); }
  std::vector<Interval> take_writes(std::uint32_t cta) { return take(writes_, cta); }

 private:
  static void grow(std::vector<Interval>& list, Interval interval);
  static std::vector<Interval> take(std::vector<Interval>& list, std::uint32_t cta);
  std::vector<Interval> reads_, writes_;
};

struct CrossConflict {
  Interval first, second;  // `first` writes
};
// Pairs of instructions whose accesses from different CTAs overlap, each pair once; `has_commuting`: some overlap was
// between atomics that commute.
std::vector<CrossConflict> cross_conflicts(std::vector<Interval> writes, const std::vector<Interval>& reads,
                                           bool& has_commuting);

}  // namespace plumb::check
