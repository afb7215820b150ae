// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/cluster.h"

#include "machine/exec/operands.h"

namespace plumb::machine {

namespace {

using ptx::Mod;
using ptx::Type;

constexpr std::uint64_t kOffsetMask = (1u << kRankShift) - 1;

// Op::aux of mapa and getctarank: the operand's width in bytes, and whether it is generic.
constexpr std::uint32_t kGeneric = 16;

// The shared::cluster address of a lane; empty after a finding.
template <class D>
std::optional<std::uint64_t> shared_address(WarpRun<D>& w, const Op<D>& op, unsigned lane) {
  const auto address = w.concrete(op.a, op.aux & 15, lane, "the address");
  if (!address) return std::nullopt;
  std::uint64_t at = *address;
  if ((op.aux & kGeneric) != 0 && space_of(at) != ptx::Space::shared) {
    w.fault(kBounds, w.thread_name(lane) + " maps an address that is not in shared memory");
    return std::nullopt;
  }
  if (!to_shared(w, at, lane)) return std::nullopt;
  return at;
}

template <class D>
void step_mapa(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  std::uint64_t out[kLanes] = {};
  for_lanes(w.mask(), [&](unsigned lane) {
    const auto rank = w.is_stopped() ? std::nullopt : w.concrete(op.b, 4, lane, "the rank");
    const auto address = rank ? shared_address(w, op, lane) : std::nullopt;
    if (!address) return;
    if (*rank >= w.cta().cluster().size()) {
      return w.fault(kCluster, w.thread_name(lane) + " maps an address to rank " + std::to_string(*rank) +
                                   " of a cluster of " + std::to_string(w.cta().cluster().size()));
    }
    out[lane] = (*address & kOffsetMask) | *rank << kRankShift;
    if ((op.aux & kGeneric) != 0) out[lane] += kSharedWindow;
  });
  if (w.is_stopped()) return;
  if ((op.aux & 15) == 8) {
    write_lanes<D, std::uint64_t>(w, op.d, [&](unsigned lane) { return out[lane]; });
  } else {
    write_lanes<D, std::uint32_t>(w, op.d, [&](unsigned lane) { return static_cast<std::uint32_t>(out[lane]); });
  }
}

template <class D>
void step_rank(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  std::uint32_t out[kLanes] = {};
  for_lanes(w.mask(), [&](unsigned lane) {
    const auto address = w.is_stopped() ? std::nullopt : shared_address(w, op, lane);
    if (address) out[lane] = static_cast<std::uint32_t>(*address >> kRankShift);
  });
  if (!w.is_stopped()) write_lanes<D, std::uint32_t>(w, op.d, [&](unsigned lane) { return out[lane]; });
}

// Op::aux: `.aligned`; Op::imm: whether the arrival releases.
template <class D>
void step_arrive(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (op.aux != 0 && !w.gather(op, w.live())) return;
  if (Observer* observer = w.cta().observer()) observer->cluster_arrived(w.pc(), {w.index(), w.mask()}, op.imm != 0);
  w.cta().cluster().arrive(w);
}

template <class D>
bool poll_wait(WarpRun<D>& w, const Op<D>&) {
  Cluster<D>& cluster = w.cta().cluster();
  if (!cluster.may_leave(w)) return false;
  cluster.leave(w);
  if (Observer* observer = w.cta().observer()) observer->cluster_waited(w.pc(), {w.index(), w.mask()});
  return true;
}

template <class D>
void explain_wait(WarpRun<D>& w, const Op<D>&, WaitPicture& picture) {
  if (!picture.wants_text) return;
  picture.text =
      "at the cluster's barrier: " + std::to_string(w.cta().cluster().missing()) + " threads have not arrived";
}

template <class D>
constexpr Wait<D> kClusterWait{&poll_wait<D>, nullptr, &explain_wait<D>};

template <class D>
void step_wait(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (op.aux != 0 && !w.gather(op, w.live())) return;
  if (!w.cta().cluster().owes_wait(w)) {
    return w.fault(kCluster, w.thread_name(static_cast<unsigned>(std::countr_zero(w.mask()))) +
                                 " or others of its warp wait at the cluster's barrier without having arrived");
  }
  if (!poll_wait(w, op)) w.wait_until(op, kClusterWait<D>);
}

template <class D>
void step_nothing(Warp<D>&, const Op<D>&) {}

// A warp takes what it asks for as soon as others have given up enough. Op::imm: registers a thread.
template <class D>
bool take_registers(WarpRun<D>& w, const Op<D>& op) {
  const auto more = static_cast<std::uint32_t>(op.imm) - w.registers();
  std::uint32_t& pool = w.cta().free_registers();
  if (more > pool) return false;
  pool -= more;
  w.set_registers(static_cast<std::uint32_t>(op.imm));
  return true;
}

template <class D>
void explain_registers(WarpRun<D>& w, const Op<D>& op, WaitPicture& picture) {
  if (!picture.wants_text) return;
  picture.text = "for " + std::to_string(op.imm - w.registers()) +
                 " more registers a thread; other warps have given up " + std::to_string(w.cta().free_registers());
}

template <class D>
constexpr Wait<D> kRegisterWait{&take_registers<D>, nullptr, &explain_registers<D>};

template <class D, bool IsIncrease>
void step_registers(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (!w.gather_warp(op) || w.registers() == 0) return;
  const auto count = static_cast<std::uint32_t>(op.imm);
  if (IsIncrease ? count < w.registers() : count > w.registers()) {
    return w.fault(kLaunch, std::string(IsIncrease ? "an increase" : "a decrease") + " to " + std::to_string(count) +
                                " registers a thread from " + std::to_string(w.registers()));
  }
  if constexpr (IsIncrease) {
    if (!take_registers(w, op)) w.wait_until(op, kRegisterWait<D>);
  } else {
    w.cta().free_registers() += w.registers() - count;
    w.set_registers(count);
    w.cta().cluster().progressed();
    w.cta().cluster().poll_waits(w.cta().rank());
  }
}

template <class D>
void take_address(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const bool is_named = instr.has(Mod::shared_cluster);
  op.a = ctx.source(instr.operands[1], instr.type());
  op.aux = (instr.type() == Type::u64 ? 8 : 4) | (is_named ? 0 : kGeneric);
  if (!is_named && instr.type() != Type::u64) ctx.unmodelled("32-bit generic addresses");
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Mapa>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  take_address(ctx, instr, op);
  op.b = ctx.source(instr.operands[2], Type::u32);
  return &step_mapa<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Getctarank>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  take_address(ctx, instr, op);
  return &step_rank<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::BarrierClusterArrive>::select(DecodeContext&, const ptx::Instr& instr, Op<D>& op) {
  op.aux = instr.has(Mod::aligned) ? 1 : 0;
  op.imm = instr.has(Mod::relaxed) ? 0 : 1;
  return &step_arrive<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::BarrierClusterWait>::select(DecodeContext&, const ptx::Instr& instr, Op<D>& op) {
  op.aux = instr.has(Mod::aligned) ? 1 : 0;
  return &step_wait<D>;
}

// A launch here never overlaps another: there is nothing to wait for and nobody to let go ahead.
template <class D>
StepFn<D> Meaning<ptx::Form::GriddepcontrolLaunch>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return &step_nothing<D>;
}
template <class D>
StepFn<D> Meaning<ptx::Form::GriddepcontrolWait>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return &step_nothing<D>;
}

// Values do not change. How many registers there are is known where `.maxnreg` says it; elsewhere the assembler
// decides.
template <class D>
StepFn<D> Meaning<ptx::Form::Setmaxnreg>::select(DecodeContext&, const ptx::Instr& instr, Op<D>& op) {
  op.imm = static_cast<std::uint64_t>(instr.operands[0].integer);
  return instr.has(Mod::inc) ? &step_registers<D, true> : &step_registers<D, false>;
}

PLUMB_INSTANTIATE_MEANING(Mapa)
PLUMB_INSTANTIATE_MEANING(Getctarank)
PLUMB_INSTANTIATE_MEANING(BarrierClusterArrive)
PLUMB_INSTANTIATE_MEANING(BarrierClusterWait)
PLUMB_INSTANTIATE_MEANING(GriddepcontrolLaunch)
PLUMB_INSTANTIATE_MEANING(GriddepcontrolWait)
PLUMB_INSTANTIATE_MEANING(Setmaxnreg)

}  // namespace plumb::machine
