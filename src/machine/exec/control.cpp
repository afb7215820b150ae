// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/control.h"

#include <algorithm>

#include "machine/run.h"

namespace plumb::machine {

namespace {

template <class D>
WarpRun<D>& run_of(Warp<D>& warp) {
  return static_cast<WarpRun<D>&>(warp);
}

template <class D>
void step_branch_table(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  const std::vector<std::uint32_t>& table = w.layout().branch_tables[op.aux];
  std::uint32_t left = w.mask();
  const bool is_plain = w.is_plain(op.a);
  while (left != 0) {
    const auto first = static_cast<unsigned>(std::countr_zero(left));
    std::uint64_t index = 0;
    std::uint32_t same = 0;
    for_lanes(left, [&](unsigned lane) {
      std::uint64_t value = w.template lanes<std::uint32_t>(op.a)[lane];
      if (!is_plain) value = w.concrete(op.a, 4, lane, "the branch index").value_or(0);
      if (lane == first) index = value;
      if (value == index) same |= 1u << lane;
    });
    if (w.is_stopped()) return;
    if (index >= table.size()) {
      return w.fault(kBounds, w.thread_name(first) + " branches to target " + std::to_string(index) + " of a list of " +
                                  std::to_string(table.size()));
    }
    left &= ~same;
    if (same == w.mask() && same == w.active()) return w.jump(table[index]);
    w.jump(same, table[index]);
  }
}

// Each lane calls the function whose address it holds.
template <class D>
void step_call_indirect(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  const IndirectCall& call = w.layout().indirect_calls[op.aux];
  for (std::uint32_t left = w.mask(); left != 0;) {
    const auto first = static_cast<unsigned>(std::countr_zero(left));
    std::uint64_t target = 0;
    std::uint32_t same = 0;
    for_lanes(left, [&](unsigned lane) {
      const std::uint64_t address =
          w.concrete(op.a, static_cast<unsigned>(op.imm), lane, "the called address").value_or(0);
      if (lane == first) target = address;
      if (address == target) same |= 1u << lane;
    });
    if (w.is_stopped()) return;
    const auto site =
        std::find_if(call.sites.begin(), call.sites.end(), [&](const auto& one) { return one.first == target; });
    if (site == call.sites.end()) {
      return w.fault(kCall, w.thread_name(first) + " calls what is no function with these parameters");
    }
    w.call(site->second, same);
    if (w.is_stopped()) return;
    left &= ~same;
  }
}

}  // namespace

template <class D>
void step_return(Warp<D>& warp, const Op<D>& op) {
  run_of(warp).ret(op.function);
}
template void step_return(Warp<domain::Ieee>&, const Op<domain::Ieee>&);
template void step_return(Warp<domain::Field>&, const Op<domain::Field>&);

template <class D>
StepFn<D> Meaning<ptx::Form::Bra>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.imm = ctx.target(instr.operands[0].label);
  return [](Warp<D>& w, const Op<D>& o) { run_of(w).jump(static_cast<std::uint32_t>(o.imm)); };
}

template <class D>
StepFn<D> Meaning<ptx::Form::BrxIdx>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.a = ctx.source(instr.operands[0], ptx::Type::u32);
  op.aux = ctx.branch_table(instr.operands[1].label);
  return &step_branch_table<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Call>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const bool is_direct = std::any_of(instr.operands.begin(), instr.operands.end(), [](const ptx::Operand& operand) {
    return operand.kind == ptx::Operand::Kind::Function;
  });
  if (!is_direct) {
    unsigned bytes = 0;
    op.aux = ctx.indirect_call(instr, op.a, bytes);
    op.imm = bytes;
    return &step_call_indirect<D>;
  }
  const std::optional<std::uint32_t> site = ctx.call_site(instr);
  if (!site) return nullptr;
  op.aux = *site;
  return [](Warp<D>& w, const Op<D>& o) { run_of(w).call(o.aux); };
}

template <class D>
StepFn<D> Meaning<ptx::Form::Ret>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return &step_return<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Exit>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return [](Warp<D>& w, const Op<D>&) { run_of(w).exit_lanes(); };
}

template <class D>
StepFn<D> Meaning<ptx::Form::Trap>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return [](Warp<D>& w, const Op<D>&) {
    const auto lane = static_cast<unsigned>(std::countr_zero(w.mask()));
    w.fault(kTrap, run_of(w).thread_name(lane) + " executes `trap`");
  };
}

// Without a debugger it ends the launch, as on the card.
template <class D>
StepFn<D> Meaning<ptx::Form::Brkpt>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return [](Warp<D>& w, const Op<D>&) {
    const auto lane = static_cast<unsigned>(std::countr_zero(w.mask()));
    w.fault(kTrap, run_of(w).thread_name(lane) + " executes `brkpt`, and there is no debugger");
  };
}

// Time is not modelled; others have their turn.
template <class D>
StepFn<D> Meaning<ptx::Form::Nanosleep>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return [](Warp<D>& w, const Op<D>&) { run_of(w).yield(); };
}

template <class D>
StepFn<D> Meaning<ptx::Form::Pmevent>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return [](Warp<D>&, const Op<D>&) {};
}

PLUMB_INSTANTIATE_MEANING(Bra)
PLUMB_INSTANTIATE_MEANING(BrxIdx)
PLUMB_INSTANTIATE_MEANING(Call)
PLUMB_INSTANTIATE_MEANING(Ret)
PLUMB_INSTANTIATE_MEANING(Exit)
PLUMB_INSTANTIATE_MEANING(Trap)
PLUMB_INSTANTIATE_MEANING(Brkpt)
PLUMB_INSTANTIATE_MEANING(Nanosleep)
PLUMB_INSTANTIATE_MEANING(Pmevent)

}  // namespace plumb::machine
