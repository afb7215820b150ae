// SPDX-License-Identifier: Apache-2.0
// One block: its start and end, and its barriers.
#include <algorithm>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/cluster.h"
#include "machine/lanes.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

// Of all allocations of tensor memory in the text.
std::uint32_t tensor_columns(const ptx::Module& module) {
  std::uint64_t columns = 0;
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Instr& instr : function.instrs) {
      if (instr.form != ptx::Form::Tcgen05Alloc) continue;
      const ptx::Operand& count = instr.operands[1];
      columns += count.kind == ptx::Operand::Kind::Int ? static_cast<std::uint64_t>(count.integer) : kTensorColumns;
    }
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(columns, kTensorColumns));
}

}  // namespace

template <class D>
Cta<D>::Cta(Cluster<D>& cluster, const Decoded<D>& program, D& dom, RunShared& shared, std::uint32_t rank)
    : cluster_(cluster),
      program_(program),
      dom_(dom),
      run_(shared),
      rank_(rank),
      tensor_memory_(tensor_columns(*program.module)) {
  const std::uint64_t threads = shared.launch->block.count();
  const auto warps = static_cast<std::uint32_t>((threads + kLanes - 1) / kLanes);
  for (std::uint32_t i = 0; i < warps; ++i) warps_.push_back(std::make_unique<WarpRun<D>>(*this, program, dom, i));
  warpgroups_.resize(warps / kGroupWarps);
}

template <class D>
std::uint8_t* Cta<D>::executed() {
  return cluster_.executed();
}

template <class D>
std::string Cta<D>::name() const {
  return "block (" + std::to_string(block_index_.x) + "," + std::to_string(block_index_.y) + "," +
         std::to_string(block_index_.z) + ")";
}

template <class D>
void Cta<D>::start(const Dim3& block_index) {
  const Launch& the_launch = launch();
  block_index_ = block_index;
  const std::uint64_t linear = block_index.x + std::uint64_t{the_launch.grid.x} *
                                                   (block_index.y + std::uint64_t{the_launch.grid.y} * block_index.z);
  observer_ = run_.options->observe ? run_.options->observe(linear) : nullptr;
  copy_id_ = 0;
  free_registers_ = 0;
  mbarriers_.clear();
  tensor_memory_.reset();
  shared_.reset(program_.layout.static_shared + the_launch.dynamic_shared);
  for (Barrier& barrier : barriers_) barrier = {.arrived = std::vector<std::uint32_t>(warps_.size())};
  const std::uint64_t threads = the_launch.block.count();
  for (Warpgroup<D>& group : warpgroups_) group.reset();
  live_warps_ = static_cast<std::uint32_t>(warps_.size());
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    const std::uint64_t left = threads - i * kLanes;
    warps_[i]->start(left >= kLanes ? kFullMask : (1u << left) - 1);
  }
}

template <class D>
void Cta<D>::finish(Counts& counts) {
  observer_.reset();
  ++counts.ctas;
  for (auto& warp : warps_) {
    counts.warp_instrs += std::exchange(warp->steps_, 0);
    counts.lane_instrs += std::exchange(warp->lane_steps_, 0);
    counts.mma_macs += std::exchange(warp->macs_, 0);
  }
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
  cluster_.progressed();
}

template <class D>
void Cta<D>::lanes_exited(WarpRun<D>& warp, std::uint32_t lanes) {
  if (observer_) observer_->exited({warp.index(), lanes});
  if (warp.live() == 0) --live_warps_;
  for (unsigned id = 0; id < kBarriers; ++id) {
    if (barriers_[id].is_active && barriers_[id].expected == 0) complete_if_full(id);
  }
  cluster_.lanes_exited(warp);
}

template class Cta<domain::Ieee>;
template class Cta<domain::Field>;

}  // namespace plumb::machine
