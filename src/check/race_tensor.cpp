// SPDX-License-Identifier: Apache-2.0
// Tensor memory. Rules: tcgen05 memory consistency model of the PTX manual. An operation may be followed by another on
// the same cells when the thread that issues the other knows of its end, or when both are of a kind that one warp's
// pipe keeps in order. Its operands in shared memory are read by the async proxy until its end is known.
#include <algorithm>
#include <bit>

#include "check/codes.h"
#include "check/race.h"

namespace plumb::check {

using machine::AsyncRange;
using machine::MbarrierEvent;
using machine::MemorySpace;
using machine::TensorIssue;
using machine::TensorKind;
using machine::TensorRole;
using machine::TensorUse;
using machine::WarpMask;

namespace {

constexpr std::uint32_t kPieceBytes = 16;

bool is_of_warp(TensorKind kind) { return kind == TensorKind::Load || kind == TensorKind::Store; }

std::uint32_t phases_of(const Clock& clock, std::uint32_t number) {
  return number < clock.phases.size() ? clock.phases[number] : 0;
}

}  // namespace

// Loads and stores of a warp; or mma, cp and shift of one thread and cta_group.
RaceChecker::Lineage& RaceChecker::lineage(TensorKind kind, std::uint32_t group, std::uint32_t warp,
                                           std::uint32_t mask) {
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(mask));
  const std::uint32_t row = kind == TensorKind::Load ? 0 : kind == TensorKind::Store ? 1 : 1 + group;
  const std::uint64_t key =
      std::uint64_t{row} << 32 | (is_of_warp(kind) ? warp * kWarpLanes : warp * kWarpLanes + lane);
  const auto [place, is_new] = lineages_.try_emplace(key);
  if (is_new) place->second.number = next_number_++, place->second.fenced = next_number_++;
  return place->second;
}

bool RaceChecker::has_ended(const TensorOp& x, WarpMask who) const {
  for (std::uint32_t left = who.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    if (clocks_.phases_known(who.warp, lane, x.number) < x.sequence) return false;
    if (clocks_.warp_clock(who.warp) != nullptr) break;  // the lanes know the same
  }
  return true;
}

// A load or store of the same warp needs no fences. Otherwise its thread had one before it told, unless a commit did,
// and these lanes one after they were told.
bool RaceChecker::is_fenced(const TensorOp& x, WarpMask who) const {
  if (is_of_warp(x.kind) && x.warp == who.warp) return true;
  for (std::uint32_t left = who.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    const auto after = fenced_after_.find(who.warp * kWarpLanes + lane);
    if (after == fenced_after_.end()) return false;
    if (phases_of(*after->second, is_of_warp(x.kind) ? x.fenced : x.number) < x.sequence) return false;
  }
  return true;
}

void RaceChecker::check_allocation(const TensorOp& op, const TensorUse& use) {
  const auto lane = static_cast<unsigned>(std::countr_zero(op.lanes));
  for (const Allocation& from : allocations_) {
    if (from.rank != use.rank || use.column >= from.column + from.columns || from.column >= use.column + use.columns) {
      continue;
    }
    if (from.warp == op.warp || rank_of(op.warp) != from.rank) return;  // a pair allocates together
    const auto other = static_cast<unsigned>(std::countr_zero(from.lanes));
    if (clocks_.knows(op.warp, lane, from.warp, other, from.epoch)) return;
    return add_conflict(kTensorLifetime, site(from.instr, from.warp, other), site(op.instr, op.warp, lane),
                        std::uint64_t{use.rank} << kWindowBits | use.column, use.columns);
  }
}

// What an operation reads in its own accumulator's place may be written before it is read.
void RaceChecker::check_own_uses(const TensorOp& op, std::span<const TensorUse> uses) {
  for (const TensorUse& from : uses) {
    for (const TensorUse& to : uses) {
      const bool is_own = from.role == to.role || !from.reads || !to.writes || from.rank != to.rank;
      const bool is_apart = from.lane >= to.lane + to.lanes || to.lane >= from.lane + from.lanes ||
                            from.column >= to.column + to.columns || to.column >= from.column + from.columns;
      if (is_own || is_apart) continue;
      const Site here = site(op.instr, op.warp, static_cast<std::uint32_t>(std::countr_zero(op.lanes)));
      add_conflict(kTensorOverwrite, here, here, std::uint64_t{to.rank} << kWindowBits | from.column, from.columns);
    }
  }
}

void RaceChecker::touch_tensor(std::uint32_t index, std::span<const TensorUse> uses) {
  const TensorOp op = tensor_.op(index);
  struct Seen {
    const TensorOp* x = nullptr;
    TensorTouch touch;
    bool is_ordered = false;
  };
  std::vector<std::vector<Seen>> seen(uses.size());  // many columns, few operations
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const TensorUse& use = uses[i];
    const auto judge = [&](const TensorOp& x, const TensorTouch& touch) {
      for (const Seen& one : seen[i]) {
        if (one.x == &x && one.touch.role == touch.role && one.touch.writes == touch.writes) return;
      }
      const bool is_ordered = judge_tensor(x, touch, op, use);
      seen[i].push_back({&x, touch, is_ordered});
    };
    check_allocation(op, use);
    tensor_.compare(use, judge);
  }
  check_own_uses(op, uses);
  for (std::size_t i = 0; i < uses.size(); ++i) {
    tensor_.remember(index, uses[i], [&](const TensorOp& x, const TensorTouch& touch) {
      return std::any_of(seen[i].begin(), seen[i].end(), [&](const Seen& one) {
        return one.x == &x && one.touch.role == touch.role && one.touch.writes == touch.writes && one.is_ordered;
      });
    });
  }
}

// Whether what `op` does at `use` comes after what x does there.
bool RaceChecker::judge_tensor(const TensorOp& x, const TensorTouch& touch, const TensorOp& op, const TensorUse& use) {
  const WarpMask who{op.warp, op.lanes};
  // Threads of a warp that nothing synchronises issue in any order.
  const auto lane = static_cast<unsigned>(std::countr_zero(op.lanes));
  const auto other = static_cast<unsigned>(std::countr_zero(x.lanes));
  const bool is_in_pipe = is_pipelined(x, touch, op, {use.role, use.reads, use.writes}) &&
                          (lane == other || clocks_.knows(op.warp, lane, x.warp, other, x.epoch));
  const bool is_ordered = is_in_pipe || has_ended(x, who);
  const std::uint64_t place = std::uint64_t{use.rank} << kWindowBits | use.column;
  const auto at = [&](const TensorOp& one) {
    return site(one.instr, one.warp, static_cast<std::uint32_t>(std::countr_zero(one.lanes)));
  };
  if (!is_ordered) {
    const Code& code = !touch.writes ? kTensorOverwrite : use.writes && !use.reads ? kTensorWrite : kTensorRead;
    add_conflict(code, at(x), at(op), place, use.columns);
  } else if (!is_in_pipe && !is_fenced(x, who)) {
    add_conflict(kTensorFence, at(op), at(op), place, use.columns);
  }
  return is_ordered;
}

void RaceChecker::read_operands(const TensorOp& op, const machine::TensorShared& shared) {
  Touch one;
  one.kind = RecordKind::PhaseRead, one.instr = op.instr, one.warp = static_cast<std::uint16_t>(op.warp);
  one.key = op.number, one.phase = op.sequence, one.is_async_proxy = true;
  const std::uint64_t window = std::uint64_t{shared.rank} << kWindowBits;
  one.pattern = {op.lanes, 0xffff, 0, Pattern::kAllLanes};
  for (const std::uint32_t piece : shared.pieces) {
    one.granule = (window | piece) / kGranuleBytes;
    touch(one);
  }
  if (ctas_.size() > 1) use_window(op.instr, {op.warp, op.lanes}, window, true);
}

void RaceChecker::tensor_issued(const TensorIssue& issue) {
  flush_waits();
  Lineage& row = lineage(issue.kind, issue.group, issue.warp, issue.mask);
  TensorOp op;
  op.number = row.number, op.fenced = row.fenced, op.sequence = ++row.issued;
  op.instr = issue.instr, op.warp = issue.warp, op.lanes = issue.mask;
  op.epoch = clocks_.epoch(issue.warp);
  op.kind = issue.kind, op.group = issue.group, op.shape = issue.shape;
  for (const TensorUse& use : issue.uses) {
    if (use.role != TensorRole::Accumulator) continue;
    op.accumulator = std::uint64_t{use.rank} << 32 | use.lane << 16 | use.column;
    break;
  }
  const std::uint32_t index = tensor_.add(op);
  touch_tensor(index, issue.uses);
  const bool shifts = std::any_of(issue.uses.begin(), issue.uses.end(), [&](const TensorUse& use) {
    return use.writes && (issue.kind == TensorKind::Shift || use.role == TensorRole::A);
  });
  if (shifts) {
    const Site here = site(op.instr, op.warp, static_cast<std::uint32_t>(std::countr_zero(op.lanes)));
    add_conflict(kTensorShift, here, here, std::uint64_t{issue.uses.front().rank} << kWindowBits, 1);
  }
  for (const machine::TensorShared& shared : issue.shared) read_operands(op, shared);
}

void RaceChecker::tensor_waited(std::uint32_t, WarpMask who, TensorKind kind) {
  flush_waits();
  Lineage& row = lineage(kind, 1, who.warp, who.mask);
  row.waited = row.issued;
  clocks_.learn(clocks_.merge({}, row.number, row.waited), who);
}

void RaceChecker::tensor_committed(std::uint64_t id, std::uint32_t instr, WarpMask who, std::uint32_t group,
                                   std::span<const machine::TensorBarrier> barriers) {
  flush_waits();
  const Lineage& row = lineage(TensorKind::Mma, group, who.warp, who.mask);
  commits_[id] = {{row.number, row.issued}, barriers.size(), clocks_.publish(who), {}};
  const auto lane = static_cast<std::uint32_t>(std::countr_zero(who.mask));
  for (const machine::TensorBarrier& barrier : barriers) {
    const auto offset = static_cast<std::uint32_t>(barrier.rank << kWindowBits | barrier.offset);
    if (ctas_.size() > 1) use_window(instr, who, offset, true);
    const auto found = mbarriers_.find(offset);
    if (found == mbarriers_.end()) continue;
    check_init(found->second, instr, who.warp, lane, offset);
    commits_[id].phases_known[offset] = clocks_.phases_over(who.warp, lane, found->second.number());
    found->second.used({instr, who.warp, lane, commits_[id].start.epoch});
  }
}

// The commit's arrival says that what it tracks has ended, and what its thread knew to have ended before.
bool RaceChecker::is_arrival_of_commit(MbarrierWatch& watch, const MbarrierEvent& event) {
  if (!event.is_commit) return false;
  const auto found = commits_.find(event.operation);
  if (found == commits_.end()) return true;
  Commit& commit = found->second;
  const WarpMask& who = commit.start.who;
  watch.tells(commit.ended);
  Clocks::Snapshot ended = commit.start;
  ended.covers = Clocks::Covers::Phases;
  watch.arrives(std::move(ended));
  if (commit.phases_known.at(event.offset) < event.phase) {
    const Site here = site(event.instr, who.warp, event.lane);
    add_conflict(kMbarrierPhase, here, here, event.offset, 8);
  }
  if (--commit.arrivals == 0) commits_.erase(found);
  return true;
}

void RaceChecker::tensor_fence(std::uint32_t, WarpMask who, bool is_after) {
  flush_waits();
  if (is_after) {
    for (std::uint32_t left = who.mask; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      fenced_after_[who.warp * kWarpLanes + lane] = clocks_.shared_clock(who.warp, lane);
    }
    return;
  }
  std::vector<Clocks::Count> counts;
  for (const TensorKind kind : {TensorKind::Load, TensorKind::Store}) {
    const Lineage& row = lineage(kind, 1, who.warp, who.mask);
    counts.push_back({row.fenced, row.waited});
  }
  clocks_.learn(clocks_.merge({}, counts), who);
}

// -- Allocation. ------------------------------------------------------------------------------------------------------

void RaceChecker::tensor_allocated(std::uint32_t instr, WarpMask who, std::uint32_t column, std::uint32_t columns) {
  flush_waits();
  allocations_.push_back({rank_of(who.warp), column, columns, instr, who.warp, who.mask, clocks_.epoch(who.warp)});
}

// Every operation on the columns has ended for those who give them back; with cta_group::2, on those of both CTAs.
void RaceChecker::tensor_released(std::uint32_t instr, WarpMask who, std::uint32_t column, std::uint32_t columns) {
  flush_waits();
  const std::uint32_t rank = rank_of(who.warp), peer = rank ^ 1U;
  const bool is_pair = facts_[instr].is_pair && peer < ctas_.size();
  const Site here = site(instr, who.warp, static_cast<std::uint32_t>(std::countr_zero(who.mask)));
  const auto check = [&](std::uint32_t owner) {
    const std::uint64_t place = std::uint64_t{owner} << kWindowBits | column;
    tensor_.for_each(owner, column, columns, [&](const TensorOp& x) {
      if (!has_ended(x, who)) {
        const auto other = static_cast<std::uint32_t>(std::countr_zero(x.lanes));
        add_conflict(kTensorLifetime, site(x.instr, x.warp, other), here, place, columns);
      } else if (!is_fenced(x, who)) {
        add_conflict(kTensorFence, here, here, place, columns);
      }
    });
  };
  check(rank);
  if (is_pair) check(peer);
  std::erase_if(allocations_, [&](const Allocation& one) { return one.rank == rank && one.column == column; });
  // What the first of a pair gives back, the second is still compared with.
  const bool is_peer_holding = is_pair && std::any_of(allocations_.begin(), allocations_.end(), [&](const auto& one) {
                                 return one.rank == peer && one.column == column;
                               });
  if (is_peer_holding) return;
  tensor_.clear(rank, column, columns);
  if (is_pair) tensor_.clear(peer, column, columns);
}

}  // namespace plumb::check
