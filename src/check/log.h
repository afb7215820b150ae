// SPDX-License-Identifier: Apache-2.0
// What the observer of one CTA or cluster leaves behind: conflicts, one per cause, and footprints in global memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "base/finding.h"
#include "machine/observer.h"

namespace plumb::check {

inline constexpr std::uint32_t kNoInstr = ~0U;

// One side of a conflict.
struct Site {
  std::uint32_t instr = kNoInstr;
  std::uint32_t thread = 0;  // linear in its CTA
  std::uint64_t cta = 0;
};

struct Conflict {
  const Code* code = nullptr;
  Site earlier, later;
  machine::MemorySpace space = machine::MemorySpace::Shared;
  std::uint64_t address = 0;  // first byte that both touch
  std::uint32_t bytes = 0;
  bool is_earlier_read = false, is_later_read = false;
  std::uint64_t count = 1;
};

// Keeps the first conflict of each (code, earlier instruction, later instruction) and counts the others.
class Conflicts {
 public:
  void add(const Conflict& conflict);
  void merge(const Conflicts& other);
  const auto& all() const { return all_; }

 private:
  std::map<std::tuple<const Code*, std::uint32_t, std::uint32_t>, Conflict> all_;
};

// `count` ranges of end - begin bytes, each `stride` bytes after the one before.
struct Interval {
  std::uint64_t begin = 0, end = 0;
  std::uint32_t instr = 0;
  machine::AccessKind kind = machine::AccessKind::Read;
  std::uint32_t count = 1;
  std::uint64_t stride = 0;

  std::uint64_t last_end() const { return end + (count - 1) * stride; }
};

// Byte ranges of global memory that one CTA touched, merged where one instruction's ranges meet, or follow each other
// in equal steps.
class Footprint {
 public:
  void add(std::uint64_t begin, std::uint64_t end, std::uint32_t instr, machine::AccessKind kind);
  // The range is number `place` of those that the warp's instruction touches: what a loop moves by equal steps becomes
  // one interval at once.
  void add(std::uint64_t begin, std::uint64_t end, std::uint32_t instr, machine::AccessKind kind, std::uint32_t warp,
           unsigned place);
  std::vector<Interval> take();

 private:
  static constexpr unsigned kPlaces = 32;
  static constexpr std::uint32_t kNone = ~0U;

  std::uint32_t& open_interval(std::uint32_t warp, std::uint32_t instr, unsigned place);
  void push(const Interval& interval);
  void compact();
  std::vector<Interval> intervals_;
  std::size_t limit_ = 1 << 14;
  // The interval that grew last, by warp, instruction and place.
  std::vector<std::vector<std::uint32_t>> groups_of_warps_;
  std::vector<std::array<std::uint32_t, kPlaces>> groups_;
};

// Global bytes that one CTA touched. CTAs of one group (a cluster) are compared elsewhere.
struct CtaFootprint {
  std::uint64_t cta = 0, group = 0;
  std::vector<Interval> intervals;
};

struct CtaLog {
  Conflicts conflicts;
  std::vector<CtaFootprint> footprints;
  std::map<std::uint32_t, const char*> unfollowed;  // by instruction: what it does that is not followed
  // Seen in this CTA: what could order accesses in ways that are not followed.
  bool has_fence = false, has_strong = false, has_release = false;
};

// Conflicts between CTAs of different groups.
Conflicts cross_cta_conflicts(const std::vector<CtaFootprint>& footprints,
                              const std::vector<std::uint64_t>& commuting_op_of_instr);

}  // namespace plumb::check
