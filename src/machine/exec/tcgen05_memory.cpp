// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_memory.h"

#include <algorithm>

#include "machine/exec/tensor_operands.h"
#include "machine/tensor_transfer.h"

namespace plumb::machine {

namespace {

using ptx::Instr;
using ptx::Mod;
using ptx::Operand;
using ptx::Type;

constexpr std::size_t kMaxInFlight = 65536;

// The address that all threads of the warp give; empty after a finding. Op::a, aux: its register, and what is added.
template <class D>
std::optional<std::uint32_t> uniform_address(WarpRun<D>& w, const Op<D>& op) {
  std::optional<std::uint32_t> address;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::optional<std::uint32_t> mine = tensor_address(w, op.a, op.aux, lane);
    if (!mine) return std::nullopt;
    if (address && *address != *mine) {
      w.fault(kTensorMemory, "the address of tensor memory differs between lanes 0 and " + std::to_string(lane) +
                                 " of warp " + std::to_string(w.index()) + ": " +
                                 describe(TensorAddress::of(*address)) + " and " + describe(TensorAddress::of(*mine)));
      return std::nullopt;
    }
    address = mine;
  }
  return address;
}

// Whether the warp may touch these cells: those of its quarter of the lanes, from the start or, by 16 lanes, the
// middle.
template <class D>
bool check_quarter(WarpRun<D>& w, const TensorUse& use) {
  const std::uint32_t quarter = w.index() % 4;
  if (use.lane / 32 == quarter && (use.lane % 32 == 0 || (use.lanes == 16 && use.lane % 32 == 16))) return true;
  const std::string first = std::to_string(32 * quarter);
  w.fault(kTensorMemory, "warp " + std::to_string(w.index()) + " names lane " + std::to_string(use.lane) +
                             " of tensor memory; it " + "reaches lanes " + first + " to " +
                             std::to_string(32 * quarter + 31) + ", from lane " + first +
                             (use.lanes == 16 ? " or " + std::to_string(32 * quarter + 16) : std::string()));
  return false;
}

// Checks a move and tells the observer of it; null when it does nothing now, or after a finding.
template <class D, bool IsStore>
TensorTransfer<D>* issue(WarpRun<D>& w, const Op<D>& op) {
  if (!w.gather_warp(op)) return nullptr;
  const std::optional<std::uint32_t> address = uniform_address(w, op);
  if (!address) return nullptr;
  const TransferSpec spec = TransferSpec::of(op.imm);
  const std::vector<TensorUse> uses = transfer_uses(w.cta().rank(), spec, *address, IsStore);
  for (const TensorUse& use : uses) {
    if (!check_quarter(w, use) || !check_cells(w, 0, use, IsStore ? "writes" : "reads")) return nullptr;
  }
  auto& moves = IsStore ? w.transfers.stores : w.transfers.loads;
  if (moves.size() >= kMaxInFlight) {
    w.unmodelled("more than 65536 moves of tensor memory that the warp has not waited for");
    return nullptr;
  }
  TensorTransfer<D>& move = moves.emplace_back();
  move.op = &op, move.pc = w.pc(), move.address = *address;
  move.id = w.cta().cluster().tensor_pipe().next_id();
  if (Observer* const observer = w.cta().observer()) {
    TensorIssue event;
    event.id = move.id, event.kind = IsStore ? TensorKind::Store : TensorKind::Load;
    event.instr = w.pc(), event.warp = w.index(), event.mask = w.mask(), event.uses = uses;
    observer->tensor_issued(event);
  }
  return &move;
}

// Op::list: the registers, and the result of a reduction.
template <class D>
void step_load(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  const unsigned registers = TransferSpec::of(op.imm).registers + (op.b != 0 ? 1 : 0);
  // A register that an earlier load still writes: that one comes first.
  std::uint64_t earlier = 0;
  for (unsigned i = 0; i < registers; ++i) earlier = std::max(earlier, w.held.at(w.listed(op, i)).result_of);
  if (issue<D, false>(w, op) == nullptr) return;
  const std::uint64_t number = ++w.transfers.loads_issued;
  complete_loads(w, earlier);
  for (unsigned i = 0; i < registers; ++i) w.held.at(w.listed(op, i)).result_of = number;
}

template <class D>
void step_store(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  TensorTransfer<D>* const move = issue<D, true>(w, op);
  if (move == nullptr) return;
  const unsigned registers = TransferSpec::of(op.imm).registers;
  move->values.resize(std::size_t{registers} * kLanes);
  if constexpr (D::kHasTags) move->tags.resize(move->values.size());
  for (unsigned reg = 0; reg < registers; ++reg) {
    const Slot slot = w.listed(op, reg);
    const std::size_t first = std::size_t{reg} * kLanes;
    std::copy_n(w.template lanes<std::uint32_t>(slot), kLanes,
                move->values.begin() + static_cast<std::ptrdiff_t>(first));
    if constexpr (D::kHasTags) {
      if (w.is_plain(slot)) continue;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const domain::Word word = w.word(slot, kCellBytes, lane);
        move->values[first + lane] = static_cast<std::uint32_t>(word.bits);
        std::copy_n(word.tags, kCellBytes, move->tags[first + lane].begin());
      }
    }
  }
}

template <class D>
void step_wait(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (!w.gather_warp(op)) return;
  const TensorKind kind = op.aux != 0 ? TensorKind::Store : TensorKind::Load;
  complete_transfers(w, kind);
  if (Observer* const observer = w.cta().observer()) observer->tensor_waited(w.pc(), {w.index(), w.mask()}, kind);
}

// -- Decoding ---------------------------------------------------------------------------------------------------------
TransferShape shape_of(const Instr& instr) {
  if (instr.has(Mod::_16x64b)) return TransferShape::L16x64b;
  if (instr.has(Mod::_16x128b)) return TransferShape::L16x128b;
  if (instr.has(Mod::_16x256b)) return TransferShape::L16x256b;
  if (instr.has(Mod::_16x32bx2)) return TransferShape::L16x32bx2;
  return TransferShape::L32x32b;
}

// The registers of a move, braces or not.
std::vector<Operand> registers_of(const Operand& operand) {
  return operand.kind == Operand::Kind::Vector ? operand.elements : std::vector<Operand>{operand};
}

template <class D>
void decode_move(DecodeContext& ctx, const Instr& instr, const Operand& address, std::size_t registers,
                 const Operand* split, Op<D>& op) {
  TransferSpec spec;
  spec.shape = shape_of(instr);
  spec.is_packed = instr.has(Mod::pack_16b) || instr.has(Mod::unpack_16b);
  spec.registers = static_cast<std::uint16_t>(registers);
  if (split != nullptr) spec.split = static_cast<std::uint32_t>(split->integer);
  op.imm = spec.bits();
  const DecodeContext::Address at = ctx.address(address);
  op.a = at.base, op.aux = static_cast<std::uint32_t>(at.offset);
  if (at.width != 4) ctx.unmodelled("an address of tensor memory of this width");
}

template <class D>
StepFn<D> decode_load(DecodeContext& ctx, const Instr& instr, bool is_reduction, Op<D>& op) {
  std::vector<Operand> registers = registers_of(instr.operands[0]);
  const std::size_t count = registers.size();
  if (is_reduction) registers.push_back(instr.operands[1]);
  std::vector<Slot> slots;
  for (const Operand& each : registers) {
    slots.push_back(ctx.dest(each));
    ctx.hold(each);
  }
  op.list = ctx.list(slots);
  const std::size_t next = is_reduction ? 2 : 1;
  const bool is_split = shape_of(instr) == TransferShape::L16x32bx2;
  decode_move(ctx, instr, instr.operands[next], count, is_split ? &instr.operands[next + 1] : nullptr, op);
  return &step_load<D>;
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Tcgen05Ld>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  return decode_load(ctx, instr, false, op);
}

template <class D>
StepFn<D> Meaning<ptx::Form::Tcgen05LdRed>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  TransferReduction reduction;
  reduction.kind = instr.type() == Type::f32   ? TransferReduction::Kind::Float
                   : instr.type() == Type::s32 ? TransferReduction::Kind::Signed
                                               : TransferReduction::Kind::Unsigned;
  reduction.is_max = instr.has(Mod::max), reduction.of_magnitudes = instr.has(Mod::abs);
  reduction.propagates_nan = instr.has(Mod::NaN);
  op.b = reduction.bits();
  return decode_load(ctx, instr, true, op);
}

template <class D>
StepFn<D> Meaning<ptx::Form::Tcgen05St>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  const bool is_split = shape_of(instr) == TransferShape::L16x32bx2;
  const std::vector<Operand> registers = registers_of(instr.operands[is_split ? 2 : 1]);
  std::vector<Slot> slots;
  for (const Operand& each : registers) slots.push_back(ctx.source(each, Type::b32));
  op.list = ctx.list(slots);
  decode_move(ctx, instr, instr.operands[0], registers.size(), is_split ? &instr.operands[1] : nullptr, op);
  return &step_store<D>;
}

template <class D>
StepFn<D> Meaning<ptx::Form::Tcgen05Wait>::select(DecodeContext&, const Instr& instr, Op<D>& op) {
  op.aux = instr.has(Mod::wait_st) ? 1 : 0;
  return &step_wait<D>;
}

PLUMB_INSTANTIATE_MEANING(Tcgen05Ld)
PLUMB_INSTANTIATE_MEANING(Tcgen05LdRed)
PLUMB_INSTANTIATE_MEANING(Tcgen05St)
PLUMB_INSTANTIATE_MEANING(Tcgen05Wait)

}  // namespace plumb::machine
