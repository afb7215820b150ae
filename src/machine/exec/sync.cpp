// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/sync.h"

#include "machine/exec/memory.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

using ptx::Mod;

template <class D>
WarpRun<D>& run_of(Warp<D>& warp) {
  return static_cast<WarpRun<D>&>(warp);
}

// What Op::aux says of a barrier instruction.
constexpr std::uint32_t kAligned = 1, kArrive = 2, kReduce = 4, kHasCount = 8;

// A value that must be the same in all executing lanes; empty after a fault.
template <class D>
std::optional<std::uint32_t> uniform(Warp<D>& w, Slot slot, const char* use) {
  const Lane<std::uint32_t>* values = w.concrete_lanes(slot, use);
  if (values == nullptr) return std::nullopt;
  const std::uint32_t value = values[std::countr_zero(w.mask())];
  for_lanes(w.mask(), [&](unsigned lane) {
    if (values[lane] == value) return;
    w.fault(kBarrier, std::string(use) + " differs between the lanes of a warp: " + std::to_string(value) + " and " +
                          std::to_string(values[lane]));
  });
  return w.is_stopped() ? std::nullopt : std::optional(value);
}

template <class D>
void step_barrier(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  const bool is_aligned = (op.aux & kAligned) != 0;
  if (is_aligned && !w.gather(op, w.live())) return;
  const auto id = uniform(w, op.a, "the barrier's number");
  if (!id) return;
  if (*id >= kBarriers) {
    return w.fault(kBarrier, "barrier " + std::to_string(*id) + " does not exist; a CTA has 0 to 15");
  }
  std::uint32_t expected = 0;
  if ((op.aux & kHasCount) != 0) {
    const auto count = uniform(w, op.b, "the barrier's thread count");
    if (!count) return;
    if (*count == 0 || *count % kLanes != 0) {
      return w.fault(kBarrier,
                     "a barrier's thread count of " + std::to_string(*count) + " is not a positive multiple of 32");
    }
    expected = *count;
  }
  const bool is_reduction = (op.aux & kReduce) != 0;
  std::uint32_t voters = 0;
  if (is_reduction) voters = w.decided(op.r, "the barrier's predicate");
  if (w.is_stopped()) return;
  if (!w.cta().arrive(w, *id, expected, is_aligned, is_reduction, voters)) return;
  if ((op.aux & kArrive) == 0) w.wait_at_barrier(op, *id);
  w.cta().complete_if_full(*id);
}

template <class D>
void step_warp_barrier(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  std::uint32_t member = 0;
  if (w.select_members(op.a, member)) w.sync_warp(op, member);
}

template <class D>
void step_fence(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (w.cta().observer() != nullptr) {
    w.cta().observer()->fence(w.pc(), {w.index(), w.mask()}, static_cast<Scope>(op.order.scope));
  }
}

// All proxies see one memory here: these order nothing but what a checker looks at.
template <class D>
void step_cluster_fence(Warp<D>& warp, const Op<D>&) {
  auto& w = run_of(warp);
  if (w.cta().observer() != nullptr) w.cta().observer()->cluster_fence(w.pc(), {w.index(), w.mask()});
}

template <class D>
void step_proxy_fence(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (w.cta().observer() == nullptr) return;
  w.cta().observer()->proxy_fence(w.pc(), {w.index(), w.mask()}, static_cast<ProxyFence>(op.aux), nullptr);
}

// Op::aux: the width of the map's address.
template <class D>
void step_map_acquire(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  std::uint64_t map[kLanes];
  if (!w.addresses(op, op.aux, map) || w.cta().observer() == nullptr) return;
  w.cta().observer()->proxy_fence(w.pc(), {w.index(), w.mask()}, ProxyFence::TensormapAcquire, map);
}

ProxyFence proxy_fence_of(const ptx::Instr& instr) {
  if (instr.has(Mod::tensormap_generic)) {
    return instr.has(Mod::acquire) ? ProxyFence::TensormapAcquire : ProxyFence::TensormapRelease;
  }
  if (instr.has(Mod::global)) return ProxyFence::AsyncGlobal;
  if (instr.has(Mod::shared_cta)) return ProxyFence::AsyncSharedCta;
  if (instr.has(Mod::shared_cluster)) return ProxyFence::AsyncSharedCluster;
  return ProxyFence::Async;
}

// `bar` means `barrier.aligned`; the table has both under one form.
bool is_aligned(DecodeContext& ctx, const ptx::Instr& instr) {
  const std::string_view opcode = ctx.module().source->slice(instr.opcode_span);
  return instr.has(Mod::aligned) || !opcode.starts_with("barrier");
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::BarSync>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.a = ctx.source(instr.operands[0], ptx::Type::u32);
  op.aux = is_aligned(ctx, instr) ? kAligned : 0;
  if (instr.operands.size() > 1) {
    op.b = ctx.source(instr.operands[1], ptx::Type::u32);
    op.aux |= kHasCount;
  }
  return &step_barrier<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::BarArrive>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.a = ctx.source(instr.operands[0], ptx::Type::u32);
  op.b = ctx.source(instr.operands[1], ptx::Type::u32);
  op.aux = kArrive | kHasCount | (is_aligned(ctx, instr) ? kAligned : 0);
  return &step_barrier<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::BarRed>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.aux = kReduce | (is_aligned(ctx, instr) ? kAligned : 0);
  if (instr.has(Mod::popc)) {
    op.d = ctx.dest(instr.operands[0]);
  } else {
    op.p = ctx.pred_dest(instr.operands[0]);
    op.imm = instr.has(Mod::or_) ? 1 : 0;  // what `release_barrier` makes of the votes
  }
  op.a = ctx.source(instr.operands[1], ptx::Type::u32);
  if (instr.operands.size() > 3) {
    op.b = ctx.source(instr.operands[2], ptx::Type::u32);
    op.aux |= kHasCount;
  }
  op.r = ctx.pred_source(instr.operands.back());
  return &step_barrier<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::BarWarpSync>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.a = ctx.source(instr.operands[0], ptx::Type::u32);
  return &step_warp_barrier<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Membar>::select(DecodeContext&, const ptx::Instr& instr, Op<D>& op) {
  const Scope scope = instr.has(Mod::cta) ? Scope::Cta : instr.has(Mod::gl) ? Scope::Gpu : Scope::Sys;
  op.order.scope = static_cast<std::uint8_t>(scope);
  if (instr.has(Mod::proxy)) return [](Warp<D>&, const Op<D>&) {};  // no two virtual addresses name one byte here
  return &step_fence<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Fence>::select(DecodeContext&, const ptx::Instr& instr, Op<D>& op) {
  if (instr.has(Mod::sync_restrict_shared_cluster) || instr.has(Mod::sync_restrict_shared_cta) ||
      instr.has(Mod::mbarrier_init)) {
    return &step_cluster_fence<D>;
  }
  op.order = order_of(instr);
  return &step_fence<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::FenceProxy>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  if (instr.has(Mod::alias)) return [](Warp<D>&, const Op<D>&) {};
  if (instr.has(Mod::async_generic)) return &step_cluster_fence<D>;
  const ProxyFence fence = proxy_fence_of(instr);
  if (fence == ProxyFence::TensormapAcquire) {
    const DecodeContext::Address map = ctx.address(instr.operands[0]);
    op.a = map.base, op.imm = map.offset, op.aux = map.width;
    return &step_map_acquire<D>;
  }
  op.aux = static_cast<std::uint32_t>(fence);
  return &step_proxy_fence<D>;
}

PLUMB_INSTANTIATE_MEANING(BarSync)
PLUMB_INSTANTIATE_MEANING(BarArrive)
PLUMB_INSTANTIATE_MEANING(BarRed)
PLUMB_INSTANTIATE_MEANING(BarWarpSync)
PLUMB_INSTANTIATE_MEANING(Membar)
PLUMB_INSTANTIATE_MEANING(Fence)
PLUMB_INSTANTIATE_MEANING(FenceProxy)

}  // namespace plumb::machine
