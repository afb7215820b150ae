// SPDX-License-Identifier: Apache-2.0
#include "check/cluster_member.h"

#include <bit>

namespace plumb::check {

using machine::AsyncRange;
using machine::MemorySpace;
using machine::WarpMask;

namespace {

std::uint64_t windowed(std::uint32_t rank, std::uint64_t offset) { return offset | std::uint64_t{rank} << kWindowBits; }

std::vector<AsyncRange> windowed(std::span<const AsyncRange> ranges) {
  std::vector<AsyncRange> out(ranges.begin(), ranges.end());
  for (AsyncRange& range : out) {
    if (range.space == MemorySpace::Shared) range.address = windowed(range.rank, range.address);
  }
  return out;
}

std::vector<std::uint32_t> windowed(std::uint32_t rank, std::span<const std::uint32_t> offsets) {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t offset : offsets) out.push_back(static_cast<std::uint32_t>(windowed(rank, offset)));
  return out;
}

// The addresses that the lanes of a mask have.
struct Windowed {
  std::uint64_t address[kWarpLanes] = {};
  Windowed(std::uint32_t rank, const std::uint64_t* offsets, std::uint32_t mask) {
    for (; mask != 0; mask &= mask - 1) {
      const int lane = std::countr_zero(mask);
      address[lane] = windowed(rank, offsets[lane]);
    }
  }
};

}  // namespace

void ClusterMember::remote_access(const machine::Access& access, std::uint32_t rank) {
  machine::Access in_cluster = access;
  in_cluster.warp += first_warp_;
  if (access.space != MemorySpace::Shared) return cluster_->access(in_cluster);
  const Windowed at(rank, access.address, access.mask);
  in_cluster.address = at.address;
  cluster_->access(in_cluster);
}

void ClusterMember::async_copy_issued(std::uint64_t id, std::uint32_t instr, WarpMask who, const std::uint64_t* shared,
                                      const std::uint64_t* global, std::uint32_t size,
                                      const std::uint32_t* source_size) {
  const Windowed at(rank_, shared, who.mask);
  cluster_->async_copy_issued(copy(id), instr, warp(who), at.address, global, size, source_size);
}

void ClusterMember::barrier_completed(std::uint32_t barrier, std::span<const WarpMask> participants) {
  std::vector<WarpMask> warps;
  for (const WarpMask& who : participants) warps.push_back(warp(who));
  cluster_->barrier_completed(barrier_number(barrier), warps);
}

void ClusterMember::async_issued(const machine::AsyncIssue& issue) {
  machine::AsyncIssue in_cluster = issue;
  const std::vector<AsyncRange> reads = windowed(issue.reads), writes = windowed(issue.writes);
  in_cluster.warp += first_warp_;
  in_cluster.reads = reads, in_cluster.writes = writes;
  in_cluster.barrier_offset = static_cast<std::uint32_t>(windowed(issue.barrier_rank, issue.barrier_offset));
  cluster_->async_issued(in_cluster);
}

void ClusterMember::mbarrier(const machine::MbarrierEvent& event) {
  machine::MbarrierEvent in_cluster = event;
  in_cluster.warp += first_warp_;
  in_cluster.offset = static_cast<std::uint32_t>(windowed(event.rank, event.offset));
  cluster_->mbarrier(in_cluster);
}

void ClusterMember::product_issued(std::uint64_t id, std::uint32_t instr, WarpMask who,
                                   std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  cluster_->product_issued(product(id), instr, warp(who), windowed(rank_, a), windowed(rank_, b));
}

}  // namespace plumb::check
