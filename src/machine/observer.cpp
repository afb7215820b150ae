// SPDX-License-Identifier: Apache-2.0
#include "machine/observer.h"

namespace plumb::machine {

void Observer::unfollowed(std::uint32_t, WarpMask, const char*) {}

void Observer::remote_access(const Access& access, std::uint32_t) {
  unfollowed(access.instr, {access.warp, access.mask}, "shared memory of another block of the cluster");
}
void Observer::async_issued(const AsyncIssue& issue) {
  unfollowed(issue.instr, {issue.warp, 1u << issue.lane}, "bulk and remote asynchronous operations");
}
void Observer::async_read(std::uint64_t) {}
void Observer::async_completed(std::uint64_t) {}
void Observer::async_waited(std::uint64_t, std::uint32_t, WarpMask, bool) {}
void Observer::mbarrier(const MbarrierEvent& event) {
  unfollowed(event.instr, {event.warp, 1u << event.lane}, "mbarriers");
}
void Observer::product_issued(std::uint64_t, std::uint32_t instr, WarpMask who, std::span<const std::uint32_t>,
                              std::span<const std::uint32_t>) {
  unfollowed(instr, who, "products of a warpgroup");
}
void Observer::product_waited(std::uint64_t, WarpMask) {}
void Observer::proxy_fence(std::uint32_t instr, WarpMask who, ProxyFence fence, const std::uint64_t*) {
  if (fence != ProxyFence::Alias) unfollowed(instr, who, "fences between proxies");
}
void Observer::cluster_fence(std::uint32_t instr, WarpMask who) {
  unfollowed(instr, who, "fences between the blocks of a cluster");
}
void Observer::cluster_arrived(std::uint32_t instr, WarpMask who, bool) {
  unfollowed(instr, who, "barriers of a cluster");
}
void Observer::cluster_waited(std::uint32_t, WarpMask) {}
void Observer::tensor_allocated(std::uint32_t instr, WarpMask who, std::uint32_t, std::uint32_t) {
  unfollowed(instr, who, "tensor memory");
}
void Observer::tensor_released(std::uint32_t, WarpMask, std::uint32_t, std::uint32_t) {}
void Observer::tensor_issued(const TensorIssue& issue) {
  unfollowed(issue.instr, {issue.warp, issue.mask}, "operations on tensor memory");
}
void Observer::tensor_waited(std::uint32_t, WarpMask, TensorKind) {}
void Observer::tensor_result_used(std::uint64_t, std::uint32_t, WarpMask) {}
void Observer::tensor_committed(std::uint64_t, std::uint32_t instr, WarpMask who, std::uint32_t,
                                std::span<const TensorBarrier>) {
  unfollowed(instr, who, "commits of operations on tensor memory");
}
void Observer::tensor_fence(std::uint32_t, WarpMask, bool) {}

}  // namespace plumb::machine
