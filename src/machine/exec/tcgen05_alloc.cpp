// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_alloc.h"

#include <algorithm>
#include <bit>

#include "machine/exec/tensor_operands.h"

namespace plumb::machine {

namespace {

using ptx::Type;

// Op::aux of all: the address's width, and from bit 8 the group. alloc: Op::a, imm: where the address goes; Op::b: the
// columns. dealloc: Op::a: the address; Op::b: the columns.
template <class D>
std::uint32_t group_of(const Op<D>& op) {
  return op.aux >> 8;
}

// A number that all threads of the warp must give; empty after a finding.
template <class D>
std::optional<std::uint32_t> uniform(WarpRun<D>& w, Slot slot, const char* name) {
  std::optional<std::uint64_t> value;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::optional<std::uint64_t> mine = w.concrete(slot, 4, lane, name);
    if (!mine) return std::nullopt;
    if (value && *value != *mine) {
      w.fault(kTensorAlloc, std::string(name) + " differs between lanes 0 and " + std::to_string(lane) + " of warp " +
                                std::to_string(w.index()));
      return std::nullopt;
    }
    value = mine;
  }
  return static_cast<std::uint32_t>(*value);
}

// Meets the same call of the other block of the pair; false when it has not come yet, or after a finding. Who comes
// second does for both what `on_meeting` says (false: not now), and lets the first go on.
template <class D, class Fn>
bool meet(WarpRun<D>& w, std::uint32_t peer_rank, Fn&& on_meeting) {
  PairCall& mine = w.cta().tensor_memory().call;
  if (std::exchange(mine.is_met, false)) {
    mine.kind = PairCall::Kind::None;
    return true;
  }
  Cta<D>& peer = w.cta().cluster().cta(peer_rank);
  PairCall& other = peer.tensor_memory().call;
  if (other.kind == PairCall::Kind::None || other.is_met) return false;
  if (other.kind != mine.kind || other.columns != mine.columns) {
    const auto name = [](const PairCall& call) {
      return std::string(call.kind == PairCall::Kind::Allocate ? "`tcgen05.alloc`" : "`tcgen05.dealloc`") + " of " +
             std::to_string(call.columns) + " columns";
    };
    w.fault(kTensorAlloc, "this " + name(mine) + " meets a " + name(other) + " of " + peer.name() +
                              "; both blocks of the pair must ask for the same");
    w.note("the other block's", other.pc);
    return false;
  }
  if (!on_meeting(peer.tensor_memory(), other)) return false;
  mine.kind = PairCall::Kind::None;
  other.is_met = true;
  w.cta().cluster().poll_waits(peer_rank);
  return true;
}

// Begins a call that the other block must join; false when another warp of this block is at one.
template <class D>
bool begin_call(WarpRun<D>& w, const PairCall& call) {
  PairCall& mine = w.cta().tensor_memory().call;
  if (mine.kind != PairCall::Kind::None) {
    w.fault(kTensorAlloc, "warp " + std::to_string(mine.warp) +
                              " of this block still waits in a `tcgen05.alloc` or "
                              "`tcgen05.dealloc` for the other block of the pair");
    w.note("where it waits", mine.pc);
    return false;
  }
  mine = call;
  return true;
}

template <class D>
void explain_pair(WarpRun<D>& w, WaitPicture& picture) {
  picture.text = "for the other block of the pair, " + w.cta().cluster().cta(w.cta().rank() ^ 1).name() +
                 ", to execute the same instruction";
}

// -- alloc
// -------------------------------------------------------------------------------------------------------------- Where
// the address goes; empty after a finding. All threads of the warp name one place.
template <class D>
std::optional<SharedPlace> destination(WarpRun<D>& w, const Op<D>& op) {
  std::uint64_t address[kLanes];
  if (!w.addresses(op, op.aux & 255, address)) return std::nullopt;
  for (unsigned lane = 1; lane < kLanes; ++lane) {
    if (address[lane] == address[0]) continue;
    w.fault(kTensorAlloc, "the place for the address differs between lanes 0 and " + std::to_string(lane) +
                              " of warp " + std::to_string(w.index()));
    return std::nullopt;
  }
  const std::optional<SharedPlace> place =
      shared_bytes(w, address[0], kCellBytes, kCellBytes, 0, "writes an address of tensor memory to");
  if (place && place->rank != w.cta().rank()) {
    w.fault(kTensorAlloc, "the address of an allocation goes to the shared memory of another block");
    return std::nullopt;
  }
  return place;
}

// Writes the address as a plain store of one thread would.
template <class D>
void hand_out(WarpRun<D>& w, const Op<D>& op, std::uint32_t column, std::uint32_t columns) {
  const std::optional<SharedPlace> place = destination(w, op);
  if (!place) return;
  Store<D>& shared = w.cta().shared();
  const std::uint32_t address = TensorAddress{0, column}.bits();
  std::memcpy(shared.bytes() + place->offset, &address, kCellBytes);
  if constexpr (D::kHasTags) std::fill_n(shared.tags() + place->offset, kCellBytes, domain::Tag{0});
  Observer* const observer = w.cta().observer();
  if (observer == nullptr) return;
  observer->tensor_allocated(w.pc(), {w.index(), w.mask()}, column, columns);
  std::uint64_t addresses[kLanes];
  std::fill_n(addresses, kLanes, place->offset);
  Access access;
  access.space = MemorySpace::Shared, access.kind = AccessKind::Write;
  access.instr = w.pc(), access.warp = w.index(), access.mask = w.mask() & -w.mask(), access.size = kCellBytes;
  access.address = addresses;
  observer->access(access);
}

template <class D>
bool finish_alloc(WarpRun<D>& w, const Op<D>& op) {
  const std::optional<std::uint32_t> columns = uniform(w, op.b, "the number of columns");
  if (!columns) return true;
  TensorMemory<D>& memory = w.cta().tensor_memory();
  std::optional<std::uint32_t> column = memory.room(*columns);
  if (!column && memory.free_columns() >= *columns) {
    w.unmodelled("an allocation of " + std::to_string(*columns) + " columns of tensor memory, of which " +
                 std::to_string(memory.free_columns()) +
                 " are free in pieces: where the hardware has room is not known");
    return true;
  }
  if (group_of(op) == 2) {
    const std::uint32_t peer = w.cta().rank() ^ 1;
    const std::optional<std::uint32_t> had = memory.call.column;
    const bool has_met = meet(w, peer, [&](TensorMemory<D>& other, PairCall& call) {
      // Both have the same columns, because all that they ever had was asked for together.
      if (!column) return false;
      memory.allocate({*column, *columns, w.pc()});
      other.allocate({*column, *columns, call.pc});
      call.column = column;
      return true;
    });
    if (!has_met) return w.is_stopped();
    if (had) column = had;
  } else {
    if (!column) return false;
    memory.allocate({*column, *columns, w.pc()});
  }
  memory.call.column.reset();
  w.cta().cluster().progressed();
  hand_out(w, op, *column, *columns);
  return true;
}

template <class D>
void explain_alloc(WarpRun<D>& w, const Op<D>& op, WaitPicture& picture) {
  if (!picture.wants_text) return;
  const std::uint32_t columns = w.template lanes<std::uint32_t>(op.b)[0];
  if (group_of(op) == 2 && w.cta().tensor_memory().room(columns)) return explain_pair(w, picture);
  picture.text = "for " + std::to_string(columns) + " columns of tensor memory side by side; " +
                 std::to_string(w.cta().tensor_memory().free_columns()) + " of 512 are free";
}

template <class D>
constexpr Wait<D> kAllocWait{&finish_alloc<D>, nullptr, &explain_alloc<D>};

// Whether the block may ask for as many columns; false after a finding.
template <class D>
bool may_allocate(WarpRun<D>& w, std::uint32_t columns) {
  TensorMemory<D>& memory = w.cta().tensor_memory();
  if (columns < kTensorUnit || columns > kTensorColumns || !std::has_single_bit(columns)) {
    w.fault(kTensorAlloc,
            "an allocation of " + std::to_string(columns) + " columns; it takes a power of two of 32 to 512");
    return false;
  }
  if (memory.relinquished_at) {
    w.fault(kTensorAlloc, "the block has given up its right to allocate tensor memory");
    w.note("where it did", *memory.relinquished_at);
    return false;
  }
  if (memory.last_request != 0 && columns > memory.last_request) {
    w.fault(kTensorAlloc, "an allocation of " + std::to_string(columns) + " columns after one of " +
                              std::to_string(memory.last_request) + "; later ones must not be larger");
    return false;
  }
  memory.last_request = columns;
  return true;
}

template <class D>
void step_alloc(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (!w.gather_warp(op)) return;
  const std::optional<std::uint32_t> columns = uniform(w, op.b, "the number of columns");
  if (!columns || !may_allocate(w, *columns) || !destination(w, op)) return;
  if (group_of(op) == 2) {
    if (!peer_rank(w)) return;
    if (!begin_call(w, {PairCall::Kind::Allocate, *columns, w.index(), w.pc(), {}, false})) return;
  }
  if (!finish_alloc(w, op)) w.wait_until(op, kAllocWait<D>);
}

// -- dealloc
// ------------------------------------------------------------------------------------------------------------ Whether
// anything still uses the columns; false after a finding.
template <class D>
bool is_idle(WarpRun<D>& w, std::uint32_t column, std::uint32_t columns) {
  const std::string what = "columns " + std::to_string(column) + " to " + std::to_string(column + columns - 1) +
                           " of tensor memory are given back while ";
  const TensorOp<D>* const user = w.cta().cluster().tensor_pipe().user_of(w.cta().rank(), column, columns);
  if (user != nullptr) {
    w.fault(kTensorInFlight, what + "an operation that uses them is in flight: nobody has waited for a commit of it");
    w.note("the operation", user->pc);
    return false;
  }
  for (const auto& other : w.cta().warps()) {
    for (const auto* moves : {&other->transfers.loads, &other->transfers.stores}) {
      for (const TensorTransfer<D>& move : *moves) {
        const TransferSpec spec = TransferSpec::of(move.op->imm);
        const std::vector<TensorUse> uses = transfer_uses(w.cta().rank(), spec, move.address, false);
        if (std::none_of(uses.begin(), uses.end(), [&](const TensorUse& use) {
              return use.column < column + columns && column < use.column + use.columns;
            })) {
          continue;
        }
        w.fault(kTensorInFlight, what + "warp " + std::to_string(other->index()) + " has not waited for its " +
                                     (moves == &other->transfers.loads ? "`tcgen05.ld`" : "`tcgen05.st`"));
        w.note("the move", move.pc);
        return false;
      }
    }
  }
  return true;
}

template <class D>
bool finish_dealloc(WarpRun<D>& w, const Op<D>& op) {
  const std::optional<std::uint32_t> columns = uniform(w, op.b, "the number of columns");
  const std::optional<std::uint32_t> address = uniform(w, op.a, "the address of an allocation");
  if (!columns || !address) return true;
  const std::uint32_t column = TensorAddress::of(*address).column;
  if (group_of(op) == 2) {
    const bool has_met = meet(w, w.cta().rank() ^ 1, [&](TensorMemory<D>&, PairCall& call) {
      if (call.column == column) return true;
      w.fault(kTensorAlloc, "the blocks of the pair give back different allocations, from columns " +
                                std::to_string(column) + " and " + std::to_string(*call.column));
      w.note("the other block's", call.pc);
      return false;
    });
    if (!has_met) return w.is_stopped();
    w.cta().tensor_memory().call.column.reset();
  }
  if (!is_idle(w, column, *columns)) return true;
  w.cta().tensor_memory().release(column, *columns);
  if (Observer* const observer = w.cta().observer()) {
    observer->tensor_released(w.pc(), {w.index(), w.mask()}, column, *columns);
  }
  w.cta().cluster().progressed();
  w.cta().cluster().poll_waits(w.cta().rank());
  return true;
}

template <class D>
void explain_dealloc(WarpRun<D>& w, const Op<D>&, WaitPicture& picture) {
  if (picture.wants_text) explain_pair(w, picture);
}

template <class D>
constexpr Wait<D> kDeallocWait{&finish_dealloc<D>, nullptr, &explain_dealloc<D>};

template <class D>
void step_dealloc(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (!w.gather_warp(op)) return;
  const std::optional<std::uint32_t> columns = uniform(w, op.b, "the number of columns");
  const std::optional<std::uint32_t> bits = uniform(w, op.a, "the address of an allocation");
  if (!columns || !bits) return;
  const TensorAddress address = TensorAddress::of(*bits);
  const auto& live = w.cta().tensor_memory().allocations();
  if (address.lane != 0 || std::none_of(live.begin(), live.end(), [&](const TensorAllocation& each) {
        return each.column == address.column && each.columns == *columns;
      })) {
    std::string text = std::to_string(*columns) + " columns at " + describe(address) +
                       " are given back, which no `tcgen05.alloc` of the block returned";
    for (const TensorAllocation& each : live) {
      text += "; it has " + std::to_string(each.columns) + " from column " + std::to_string(each.column);
    }
    return w.fault(kTensorAlloc, text);
  }
  if (group_of(op) == 2) {
    if (!peer_rank(w)) return;
    if (!begin_call(w, {PairCall::Kind::Release, *columns, w.index(), w.pc(), address.column, false})) return;
  }
  if (!finish_dealloc(w, op)) w.wait_until(op, kDeallocWait<D>);
}

template <class D>
void step_relinquish(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (!w.gather_warp(op)) return;
  if (group_of(op) == 2 && !peer_rank(w)) return;
  std::optional<std::uint32_t>& before = w.cta().tensor_memory().relinquished_at;
  if (before) {
    w.fault(kTensorAlloc, "the block has given up its right to allocate tensor memory before");
    return w.note("where it did", *before);
  }
  before = w.pc();
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Tcgen05Alloc>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const DecodeContext::Address at = ctx.address(instr.operands[0]);
  op.a = at.base, op.imm = at.offset;
  op.aux = at.width | cta_group(instr) << 8;
  op.b = ctx.source(instr.operands[1], Type::u32);
  return &step_alloc<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Tcgen05Dealloc>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  op.a = ctx.source(instr.operands[0], Type::u32);
  op.b = ctx.source(instr.operands[1], Type::u32);
  op.aux = cta_group(instr) << 8;
  return &step_dealloc<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Tcgen05RelinquishAllocPermit>::select(DecodeContext&, const ptx::Instr& instr, Op<D>& op) {
  op.aux = cta_group(instr) << 8;
  return &step_relinquish<D>;
}

PLUMB_INSTANTIATE_MEANING(Tcgen05Alloc)
PLUMB_INSTANTIATE_MEANING(Tcgen05Dealloc)
PLUMB_INSTANTIATE_MEANING(Tcgen05RelinquishAllocPermit)

}  // namespace plumb::machine
