// SPDX-License-Identifier: Apache-2.0
// One block from start to end: its warps in turn, its barriers, and what is said when nobody can go on.
#include <algorithm>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/lanes.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

// Steps that one warp may run before the next has its turn.
constexpr std::uint64_t kSlice = 1 << 14;

// "lanes 0-3, 7"
std::string lane_list(std::uint32_t mask) {
  if (mask == kFullMask) return "all lanes";
  std::string out = std::popcount(mask) == 1 ? "lane " : "lanes ";
  bool is_first = true;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    unsigned last = lane;
    while (last + 1 < kLanes && (mask >> (last + 1) & 1) != 0) ++last;
    if (!is_first) out += ", ";
    is_first = false;
    out += std::to_string(lane);
    if (last != lane) out += "-" + std::to_string(last);
    lane = last;
  }
  return out;
}

}  // namespace

template <class D>
Cta<D>::Cta(const Decoded<D>& program, D& dom, RunShared& shared) : program_(program), dom_(dom), run_(shared) {
  const std::uint64_t threads = shared.launch->block.count();
  const auto warps = static_cast<std::uint32_t>((threads + kLanes - 1) / kLanes);
  for (std::uint32_t i = 0; i < warps; ++i) warps_.push_back(std::make_unique<WarpRun<D>>(*this, program, dom, i));
  executed_.resize(program.ops.size());
}

template <class D>
std::optional<Stop> Cta<D>::run(std::uint64_t cta, Counts& counts) {
  const Launch& the_launch = launch();
  block_index_ = {static_cast<std::uint32_t>(cta % the_launch.grid.x),
                  static_cast<std::uint32_t>(cta / the_launch.grid.x % the_launch.grid.y),
                  static_cast<std::uint32_t>(cta / the_launch.grid.x / the_launch.grid.y)};
  observer_ = run_.options->observe ? run_.options->observe(cta) : nullptr;
  copy_id_ = 0;
  shared_.reset(program_.layout.static_shared + the_launch.dynamic_shared);
  for (Barrier& barrier : barriers_) barrier = {.arrived = std::vector<std::uint32_t>(warps_.size())};
  dom_.begin_unit();
  const std::uint64_t threads = the_launch.block.count();
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    const std::uint64_t left = threads - i * kLanes;
    warps_[i]->start(left >= kLanes ? kFullMask : (1u << left) - 1);
  }
  std::optional<Stop> stop;
  bool is_alive = true;
  while (is_alive && !stop) {
    is_alive = false;
    bool has_run = false;
    for (auto& warp : warps_) {
      if (warp->is_done()) continue;
      is_alive = true;
      if (!warp->is_ready()) continue;
      has_run = true;
      const std::uint64_t before = warp->steps();
      warp->run(kSlice);
      if ((stop = warp->take_stop())) break;
      const std::uint64_t ran = warp->steps() - before;
      if (run_.steps.fetch_add(ran, std::memory_order_relaxed) + ran > run_.options->step_budget) {
        stop = Stop{Stop::Kind::Budget, Finding{&kBudget,
                                                Severity::Error,
                                                "the launch executed its budget of " +
                                                    std::to_string(run_.options->step_budget) + " warp instructions",
                                                program_.place(warp->pc()),
                                                {},
                                                {}}};
        break;
      }
      if (run_.is_cancelled.load(std::memory_order_relaxed)) {
        stop = Stop{Stop::Kind::Cancelled, Finding{&kCancelled, Severity::Error, "the run was cancelled", {}, {}, {}}};
        break;
      }
    }
    if (is_alive && !has_run) stop = deadlock();
  }
  dom_.end_unit();
  observer_.reset();
  ++counts.ctas;
  for (auto& warp : warps_) {
    counts.warp_instrs += std::exchange(warp->steps_, 0);
    counts.lane_instrs += std::exchange(warp->lane_steps_, 0);
    counts.mma_macs += std::exchange(warp->macs_, 0);
  }
  return stop;
}

template <class D>
bool Cta<D>::arrive(WarpRun<D>& warp, unsigned id, std::uint32_t expected, bool is_aligned, bool is_reduction,
                    std::uint32_t voters) {
  Barrier& barrier = barriers_[id];
  const std::uint32_t mask = warp.mask();
  const std::string name = "barrier " + std::to_string(id);
  if (!barrier.is_active) {
    barrier.is_active = true;
    barrier.expected = expected;
    barrier.is_reduction = is_reduction;
  } else if (barrier.expected != expected) {
    const auto count = [](std::uint32_t n) { return n == 0 ? std::string("all threads") : std::to_string(n); };
    warp.fault(kBarrier, "this arrival at " + name + " names " + count(expected) +
                             ", an earlier one of the same phase " + count(barrier.expected));
    return false;
  } else if (barrier.is_reduction != is_reduction) {
    warp.fault(kBarrier, "`.red` and other arrivals meet in one phase of " + name);
    return false;
  }
  if ((barrier.arrived[warp.index()] & mask) != 0) {
    const std::uint32_t again = barrier.arrived[warp.index()] & mask;
    warp.fault(kBarrier, warp.thread_name(static_cast<unsigned>(std::countr_zero(again))) + " arrives at " + name +
                             " again before the phase is complete");
    return false;
  }
  barrier.arrived[warp.index()] |= mask;
  barrier.threads += is_aligned ? kLanes : static_cast<std::uint32_t>(std::popcount(mask));
  barrier.popcount += static_cast<std::uint32_t>(std::popcount(voters & mask));
  barrier.voters += static_cast<std::uint32_t>(std::popcount(mask));
  if (expected != 0 && barrier.threads > expected) {
    warp.fault(kBarrier, std::to_string(barrier.threads) + " threads arrived at " + name + ", which counts to " +
                             std::to_string(expected));
    return false;
  }
  if (observer_) observer_->barrier_arrived(warp.pc(), id, {warp.index(), mask});
  return true;
}

template <class D>
void Cta<D>::complete_if_full(unsigned id) {
  Barrier& barrier = barriers_[id];
  if (!barrier.is_active) return;
  if (barrier.expected != 0) {
    if (barrier.threads != barrier.expected) return;
  } else {
    for (auto& warp : warps_) {
      if ((warp->live() & ~barrier.arrived[warp->index()]) != 0) return;
    }
  }
  if (observer_) {
    std::vector<WarpMask> who;
    for (auto& warp : warps_) {
      if (barrier.arrived[warp->index()] != 0) who.push_back({warp->index(), barrier.arrived[warp->index()]});
    }
    observer_->barrier_completed(id, who);
  }
  const std::uint32_t popcount = barrier.popcount, voters = barrier.voters;
  std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0);
  barrier.is_active = false;
  barrier.threads = barrier.popcount = barrier.voters = 0;
  for (auto& warp : warps_) warp->release_barrier(id, popcount, voters);
}

template <class D>
void Cta<D>::lanes_exited(WarpRun<D>& warp, std::uint32_t lanes) {
  if (observer_) observer_->exited({warp.index(), lanes});
  for (unsigned id = 0; id < kBarriers; ++id) {
    if (barriers_[id].is_active && barriers_[id].expected == 0) complete_if_full(id);
  }
}

template <class D>
Stop Cta<D>::deadlock() const {
  constexpr std::size_t kNotes = 8;
  Finding finding{&kDeadlock, Severity::Error, {}, {}, {}, {}};
  const Code* code = &kDeadlock;
  for (const auto& warp : warps_) {
    for (const Split<D>& split : warp->splits()) {
      const auto pc = static_cast<std::uint32_t>(split.op - program_.ops.data());
      std::string text = lane_list(split.mask) + " of warp " + std::to_string(warp->index());
      if (split.state == Split<D>::State::Barrier) {
        const Barrier& barrier = barriers_[split.barrier];
        text += " wait at barrier " + std::to_string(split.barrier) + ": ";
        if (barrier.expected != 0) {
          text += std::to_string(barrier.threads) + " of " + std::to_string(barrier.expected) + " threads arrived";
        } else {
          std::uint32_t missing = 0;
          for (const auto& other : warps_) {
            missing += static_cast<std::uint32_t>(std::popcount(other->live() & ~barrier.arrived[other->index()]));
          }
          text += std::to_string(missing) + " threads have not arrived";
        }
      } else {
        code = &kCollective;
        text += " wait here for " + lane_list(split.member & warp->live() & ~split.mask) + " of the same warp";
      }
      if (finding.message.empty()) {
        finding.message = "no thread of block (" + std::to_string(block_index_.x) + "," +
                          std::to_string(block_index_.y) + "," + std::to_string(block_index_.z) +
                          ") can go on: " + text;
        finding.place = program_.place(pc);
      } else if (finding.notes.size() < kNotes) {
        finding.notes.push_back({text, program_.place(pc)});
      }
    }
  }
  finding.code = code;
  return Stop{Stop::Kind::Defect, std::move(finding)};
}

template class Cta<domain::Ieee>;
template class Cta<domain::Field>;

}  // namespace plumb::machine
