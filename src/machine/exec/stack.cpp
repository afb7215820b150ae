// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/stack.h"

#include "machine/run.h"

namespace plumb::machine {

namespace {

constexpr std::uint64_t kDefaultAlignment = 8;

// The register's bytes a lane in Op::aux.
template <class D>
void write_addresses(WarpRun<D>& w, const Op<D>& op, const std::uint64_t (&addresses)[kLanes]) {
  domain::Word words[kLanes];
  for_lanes(w.mask(), [&](unsigned lane) { words[lane].bits = addresses[lane]; });
  w.write_words(op.d, op.aux, words);
}

template <class D>
void step_alloca(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  std::uint64_t begin[kLanes] = {};
  for_lanes(w.mask(), [&](unsigned lane) {
    const auto size = w.concrete(op.a, op.aux, lane, "the size of an allocation");
    if (size && !w.is_stopped()) w.push_stack(lane, *size, op.imm, begin[lane]);
  });
  if (!w.is_stopped()) write_addresses(w, op, begin);
}

template <class D>
void step_save(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  std::uint64_t ends[kLanes] = {};
  for_lanes(w.mask(), [&](unsigned lane) { ends[lane] = w.stack_end(lane); });
  write_addresses(w, op, ends);
}

template <class D>
void step_restore(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  for_lanes(w.mask(), [&](unsigned lane) {
    const auto end = w.concrete(op.a, op.aux, lane, "the stack to restore");
    if (!end || w.is_stopped()) return;
    if (*end > w.stack_end(lane) || *end < w.stack_start(lane)) {
      return w.fault(kBounds, w.thread_name(lane) + " restores a stack that ends at local address " +
                                  std::to_string(*end) + "; that of this function goes from " +
                                  std::to_string(w.stack_start(lane)) + " to " + std::to_string(w.stack_end(lane)));
    }
    w.pop_stack(lane, *end);
  });
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Alloca>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  op.a = ctx.source(instr.operands[1], instr.type());
  op.imm = instr.operands.size() > 2 ? static_cast<std::uint64_t>(instr.operands[2].integer) : kDefaultAlignment;
  op.aux = storage_width(instr.type());
  return &step_alloca<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Stacksave>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  op.aux = storage_width(instr.type());
  return &step_save<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Stackrestore>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.a = ctx.source(instr.operands[0], instr.type());
  op.aux = storage_width(instr.type());
  return &step_restore<D>;
}

PLUMB_INSTANTIATE_MEANING(Alloca)
PLUMB_INSTANTIATE_MEANING(Stacksave)
PLUMB_INSTANTIATE_MEANING(Stackrestore)

}  // namespace plumb::machine
