// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/async_copy.h"

#include "machine/run.h"

namespace plumb::machine {

namespace {

using ptx::Mod;
using ptx::Operand;
using ptx::Space;

template <class D>
WarpRun<D>& run_of(Warp<D>& warp) {
  return static_cast<WarpRun<D>&>(warp);
}

// Op::aux says what follows the size, in the low byte, and holds both address widths above it.
constexpr std::uint32_t kSourceSize = 1, kIgnore = 2;

// Bytes that the lanes read from global memory; false after a finding.
template <class D>
bool source_sizes(WarpRun<D>& w, const Op<D>& op, std::uint32_t size, std::array<std::uint32_t, kLanes>& out) {
  out.fill(size);
  if ((op.aux & kIgnore) != 0) {
    const std::uint32_t ignored = w.decided(op.r, "`ignore-src`");
    for_lanes(w.mask(), [&](unsigned lane) { out[lane] = (ignored >> lane & 1) != 0 ? 0 : size; });
  } else if ((op.aux & kSourceSize) != 0) {
    for_lanes(w.mask(), [&](unsigned lane) {
      const auto bytes = w.concrete(op.c, 4, lane, "the source size");
      if (!bytes) return;
      if (*bytes > size) {
        w.fault(kAsyncCopy, w.thread_name(lane) + " copies " + std::to_string(*bytes) + " source bytes into " +
                                std::to_string(size));
      }
      out[lane] = static_cast<std::uint32_t>(*bytes);
    });
  }
  return !w.is_stopped();
}

// Op::a, imm: destination; Op::b, d (its offset's constant register): source; Op::q: the copy's bytes.
template <class D>
void step_copy(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  const std::uint32_t size = op.q;
  std::uint64_t to[kLanes], from[kLanes];
  if (!w.addresses(op, op.aux >> 8 & 15, to)) return;
  Op<D> source = op;
  source.a = op.b;
  source.imm = *w.template lanes<std::uint64_t>(op.d);
  if (!w.addresses(source, op.aux >> 12 & 15, from)) return;
  std::array<std::uint32_t, kLanes> read;
  if (!source_sizes(w, op, size, read)) return;
  AsyncCopy<D>& copy = w.issue_copy();
  copy.size = size;
  copy.source_size = read;
  const std::uint64_t base = w.cta().shared_base(), end = w.cta().shared().size();
  for_lanes(w.mask(), [&](unsigned lane) {
    if (w.is_stopped()) return;
    if (to[lane] % size != 0) return w.report_alignment(Space::shared, to[lane], size, lane, "writes");
    const std::uint64_t offset = to[lane] - base;
    if (offset > end || size > end - offset) return w.report_bounds(Space::shared, to[lane], size, lane, "writes");
    if (w.spoils_mbarrier(w.cta(), offset, size, lane, "writes")) return;
    to[lane] = offset;
    copy.shared[lane] = static_cast<std::uint32_t>(offset);
    if (read[lane] == 0) return;
    if (from[lane] % size != 0) return w.report_alignment(Space::global, from[lane], size, lane, "reads");
    domain::Buffer* buffer = w.global(from[lane], read[lane]);
    if (buffer == nullptr) return w.report_bounds(Space::global, from[lane], read[lane], lane, "reads");
    copy.buffer[lane] = buffer;
    copy.offset[lane] = from[lane] - buffer->address;
  });
  if (!w.is_stopped() && w.cta().observer() != nullptr) {
    w.cta().observer()->async_copy_issued(copy.id, w.pc(), {w.index(), w.mask()}, to, from, size, read.data());
  }
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::CpAsync>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const std::int64_t size = instr.operands[2].integer;
  const bool is_legal = size == 16 || (!instr.has(Mod::cg) && (size == 4 || size == 8));
  if (!is_legal) {
    ctx.unmodelled("a copy of " + std::to_string(size) + " bytes");
    return nullptr;
  }
  op.q = static_cast<std::uint32_t>(size);
  const DecodeContext::Address to = ctx.address(instr.operands[0]), from = ctx.address(instr.operands[1]);
  op.a = to.base, op.imm = to.offset, op.b = from.base;
  Operand offset;
  offset.kind = Operand::Kind::Int;
  offset.integer = static_cast<std::int64_t>(from.offset);
  op.d = ctx.source(offset, ptx::Type::b64);
  op.aux = to.width << 8 | from.width << 12;
  const std::size_t policy = instr.has(Mod::L2_cache_hint) ? 1 : 0;
  if (instr.operands.size() > 3 + policy) {
    const Operand& extra = instr.operands[3];
    const bool is_pred =
        extra.kind == Operand::Kind::Reg && ctx.function().registers[extra.reg].type == ptx::Type::pred;
    if (is_pred) {
      op.r = ctx.pred_source(extra);
      op.aux |= kIgnore;
    } else {
      op.c = ctx.source(extra, ptx::Type::u32);
      op.aux |= kSourceSize;
    }
  }
  return &step_copy<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::CpAsyncCommitGroup>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return [](Warp<D>& w, const Op<D>&) { run_of(w).commit_copies(); };
}

template <class D>
StepFn<D> Meaning<ptx::Form::CpAsyncWaitGroup>::select(DecodeContext&, const ptx::Instr& instr, Op<D>& op) {
  op.imm = static_cast<std::uint64_t>(instr.operands[0].integer);
  return [](Warp<D>& w, const Op<D>& o) {
    run_of(w).wait_copies(o.imm > 0xffffffff ? 0xffffffff : static_cast<std::uint32_t>(o.imm), false);
  };
}

template <class D>
StepFn<D> Meaning<ptx::Form::CpAsyncWaitAll>::select(DecodeContext&, const ptx::Instr&, Op<D>&) {
  return [](Warp<D>& w, const Op<D>&) { run_of(w).wait_copies(0, true); };
}

PLUMB_INSTANTIATE_MEANING(CpAsync)
PLUMB_INSTANTIATE_MEANING(CpAsyncCommitGroup)
PLUMB_INSTANTIATE_MEANING(CpAsyncWaitGroup)
PLUMB_INSTANTIATE_MEANING(CpAsyncWaitAll)

}  // namespace plumb::machine
