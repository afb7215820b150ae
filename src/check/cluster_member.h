// SPDX-License-Identifier: Apache-2.0
// The observer of one CTA of a cluster: hands its events to the cluster's checker, in the checker's numbers of warps,
// barriers, copies and shared addresses.
#pragma once

#include <memory>

#include "check/race.h"

namespace plumb::check {

class ClusterMember final : public machine::Observer {
 public:
  ClusterMember(std::shared_ptr<RaceChecker> cluster, std::uint32_t rank)
      : cluster_(std::move(cluster)), rank_(rank), first_warp_(rank * cluster_->warp_stride()) {}

  void access(const machine::Access& access) override { remote_access(access, rank_); }
  void async_copy_issued(std::uint64_t id, std::uint32_t instr, machine::WarpMask who, const std::uint64_t* shared,
                         const std::uint64_t* global, std::uint32_t size, const std::uint32_t* source_size) override;
  void async_copy_waited(std::uint64_t id, machine::WarpMask who) override {
    cluster_->async_copy_waited(copy(id), warp(who));
  }
  void barrier_arrived(std::uint32_t instr, std::uint32_t barrier, machine::WarpMask who) override {
    cluster_->barrier_arrived(instr, barrier_number(barrier), warp(who));
  }
  void barrier_completed(std::uint32_t barrier, std::span<const machine::WarpMask> participants) override;
  void warp_synchronized(std::uint32_t instr, machine::WarpMask who) override {
    cluster_->warp_synchronized(instr, warp(who));
  }
  void fence(std::uint32_t instr, machine::WarpMask who, machine::Scope scope) override {
    cluster_->fence(instr, warp(who), scope);
  }
  void exited(machine::WarpMask who) override { cluster_->exited(warp(who)); }
  void unfollowed(std::uint32_t instr, machine::WarpMask who, const char* what) override {
    cluster_->unfollowed(instr, warp(who), what);
  }
  void remote_access(const machine::Access& access, std::uint32_t rank) override;
  void async_issued(const machine::AsyncIssue& issue) override;
  void async_read(std::uint64_t) override {}
  void async_completed(std::uint64_t) override {}
  void async_waited(std::uint64_t id, std::uint32_t instr, machine::WarpMask who, bool reads_only) override {
    cluster_->async_waited(id, instr, warp(who), reads_only);
  }
  void mbarrier(const machine::MbarrierEvent& event) override;
  void product_issued(std::uint64_t id, std::uint32_t instr, machine::WarpMask who, std::span<const std::uint32_t> a,
                      std::span<const std::uint32_t> b) override;
  void product_waited(std::uint64_t id, machine::WarpMask who) override {
    cluster_->product_waited(product(id), warp(who));
  }
  void proxy_fence(std::uint32_t instr, machine::WarpMask who, machine::ProxyFence fence,
                   const std::uint64_t* map) override {
    cluster_->proxy_fence(instr, warp(who), fence, map);
  }
  void cluster_fence(std::uint32_t instr, machine::WarpMask who) override { cluster_->cluster_fence(instr, warp(who)); }
  void cluster_arrived(std::uint32_t instr, machine::WarpMask who, bool releases) override {
    cluster_->cluster_arrived(instr, warp(who), releases);
  }
  void cluster_waited(std::uint32_t instr, machine::WarpMask who) override {
    cluster_->cluster_waited(instr, warp(who));
  }
  void tensor_allocated(std::uint32_t instr, machine::WarpMask who, std::uint32_t column,
                        std::uint32_t columns) override {
    cluster_->tensor_allocated(instr, warp(who), column, columns);
  }
  void tensor_released(std::uint32_t instr, machine::WarpMask who, std::uint32_t column,
                       std::uint32_t columns) override {
    cluster_->tensor_released(instr, warp(who), column, columns);
  }
  void tensor_issued(const machine::TensorIssue& issue) override {
    machine::TensorIssue in_cluster = issue;
    in_cluster.warp += first_warp_;
    cluster_->tensor_issued(in_cluster);
  }
  void tensor_waited(std::uint32_t instr, machine::WarpMask who, machine::TensorKind kind) override {
    cluster_->tensor_waited(instr, warp(who), kind);
  }
  void tensor_result_used(std::uint64_t, std::uint32_t, machine::WarpMask) override {}
  void tensor_committed(std::uint64_t id, std::uint32_t instr, machine::WarpMask who, std::uint32_t group,
                        std::span<const machine::TensorBarrier> barriers) override {
    cluster_->tensor_committed(id, instr, warp(who), group, barriers);
  }
  void tensor_fence(std::uint32_t instr, machine::WarpMask who, bool is_after) override {
    cluster_->tensor_fence(instr, warp(who), is_after);
  }

 private:
  machine::WarpMask warp(machine::WarpMask who) const { return {first_warp_ + who.warp, who.mask}; }
  std::uint32_t barrier_number(std::uint32_t barrier) const { return rank_ * kCtaBarriers + barrier; }
  std::uint64_t copy(std::uint64_t id) const { return id | std::uint64_t{rank_} << 48; }
  std::uint64_t product(std::uint64_t id) const { return id | std::uint64_t{rank_} << 52; }

  std::shared_ptr<RaceChecker> cluster_;
  std::uint32_t rank_, first_warp_;
};

}  // namespace plumb::check
