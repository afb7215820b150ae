// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_sync.h"

#include "machine/exec/tensor_operands.h"

namespace plumb::machine {

namespace {

using ptx::Mod;

// Op::a, imm: the address of the mbarrier, Op::aux: its width, and from bit 8 the group; Op::b: the mask of a
// multicast.
template <class D, bool IsMulticast>
void step_commit(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  Cluster<D>& cluster = w.cta().cluster();
  const std::uint32_t group = op.aux >> 8;
  std::uint64_t address[kLanes];
  if ((group == 2 && !peer_rank(w)) || !w.addresses(op, op.aux & 255, address)) return;
  for_lanes(w.mask(), [&](unsigned lane) {
    if (w.is_stopped()) return;
    std::vector<TensorBarrier> barriers;
    SharedPlace place;
    if constexpr (!IsMulticast) {
      if (mbarrier_at(w, address[lane], false, lane, place) == nullptr) return;
      barriers.push_back({place.rank, place.offset});
    } else {
      const std::optional<std::uint64_t> mask = w.concrete(op.b, 2, lane, "the mask of blocks");
      if (!mask || !to_shared(w, address[lane], lane)) return;
      const std::uint64_t offset = address[lane] & ((std::uint64_t{1} << kRankShift) - 1);
      for (std::uint32_t rank = 0; rank < kMaxClusterSize; ++rank) {
        if ((*mask >> rank & 1) == 0) continue;
        if (rank >= cluster.size()) {
          return w.fault(kCluster, w.thread_name(lane) + " names block " + std::to_string(rank) + " of a cluster of " +
                                       std::to_string(cluster.size()));
        }
        const std::uint64_t there = std::uint64_t{rank} << kRankShift | offset;
        if (mbarrier_at(w, there, false, lane, place) == nullptr) return;
        barriers.push_back({place.rank, place.offset});
      }
    }
    cluster.tensor_pipe().commit(w, lane, group, barriers);
  });
}

// Op::aux: after_thread_sync.
template <class D>
void step_fence(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (Observer* const observer = w.cta().observer()) {
    observer->tensor_fence(w.pc(), {w.index(), w.mask()}, op.aux != 0);
  }
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Tcgen05Commit>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const DecodeContext::Address at = ctx.address(instr.operands[0]);
  op.a = at.base, op.imm = at.offset;
  op.aux = at.width | cta_group(instr) << 8;
  if (!instr.has(Mod::multicast_cluster)) return &step_commit<D, false>;
  op.b = ctx.source(instr.operands[1], ptx::Type::u16);
  return &step_commit<D, true>;
}

// Orders what the race checker follows; here every operation takes effect where its wait says so.
template <class D>
StepFn<D> Meaning<ptx::Form::Tcgen05Fence>::select(DecodeContext&, const ptx::Instr& instr, Op<D>& op) {
  op.aux = instr.has(Mod::fence_after_thread_sync) ? 1 : 0;
  return &step_fence<D>;
}

PLUMB_INSTANTIATE_MEANING(Tcgen05Commit)
PLUMB_INSTANTIATE_MEANING(Tcgen05Fence)

}  // namespace plumb::machine
