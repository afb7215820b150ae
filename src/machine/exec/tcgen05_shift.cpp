// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_shift.h"

#include <algorithm>
#include <bit>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/exec/tcgen05_descriptor.h"
#include "machine/exec/tensor_operands.h"

namespace plumb::machine {

namespace {

template <class D>
class ShiftOp final : public TensorOp<D> {
 public:
  void run(Cluster<D>& cluster) override {
    for (std::uint32_t cta = first; cta < first + this->group; ++cta) {
      shift_rows(cluster.cta(cta).tensor_memory(), address.lane, address.column);
    }
  }
  std::uint32_t first = 0;  // rank of the CTA, or of the pair's first
  TensorAddress address;
};

// Op::a, aux: the address, and what is added to it; Op::imm: the group.
template <class D>
void step_shift(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (std::popcount(w.mask()) > 1) {
    return w.fault(kTensorIssue, std::to_string(std::popcount(w.mask())) + " threads of warp " +
                                     std::to_string(w.index()) + " execute this, and each issues a shift of its own");
  }
  const auto lane = static_cast<unsigned>(std::countr_zero(w.mask()));
  const auto group = static_cast<std::uint32_t>(op.imm);
  if (group == 2 && !peer_rank(w)) return;
  const std::optional<std::uint32_t> bits = tensor_address(w, op.a, op.aux, lane);
  if (!bits) return;
  auto shift = std::make_unique<ShiftOp<D>>();
  shift->group = group, shift->first = group == 2 ? w.cta().rank() & ~1U : w.cta().rank();
  shift->address = TensorAddress::of(*bits);
  shift->kind = TensorKind::Shift;
  if (shift->address.lane % kShiftLanes != 0) {
    return w.fault(kTensorOperand, "rows are shifted in groups of 32 lanes, and this one starts at lane " +
                                       std::to_string(shift->address.lane));
  }
  // All but the first are read, all but the last written.
  for (std::uint32_t cta = shift->first; cta < shift->first + group; ++cta) {
    for (const bool is_write : {false, true}) {
      TensorUse use;
      use.reads = !is_write, use.writes = is_write, use.rank = cta;
      use.lane = shift->address.lane + (is_write ? 0 : 1), use.lanes = kShiftLanes - 1;
      use.column = shift->address.column, use.columns = kShiftColumns;
      if (!check_cells(w, lane, use, "shifts")) return;
      shift->uses.push_back(use);
    }
  }
  w.cta().cluster().tensor_pipe().issue(w, lane, std::move(shift));
}

}  // namespace

template <class D>
void shift_rows(TensorMemory<D>& memory, std::uint32_t lane, std::uint32_t column) {
  for (std::uint32_t row = lane; row + 1 < lane + kShiftLanes; ++row) {
    std::copy_n(memory.bytes(row + 1, column), kShiftColumns * kCellBytes, memory.bytes(row, column));
    for (std::uint32_t i = 0; i < kShiftColumns; ++i) {
      memory.mark_six(row, column + i, memory.is_six(row + 1, column + i));
    }
    if constexpr (D::kHasTags) {
      std::copy_n(memory.tags(row + 1, column), kShiftColumns * kCellBytes, memory.tags(row, column));
    }
  }
}

template <class D>
StepFn<D> Meaning<ptx::Form::Tcgen05Shift>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  const DecodeContext::Address at = ctx.address(instr.operands[0]);
  op.a = at.base, op.aux = static_cast<std::uint32_t>(at.offset), op.imm = cta_group(instr);
  return &step_shift<D>;
}

template void shift_rows(TensorMemory<domain::Ieee>&, std::uint32_t, std::uint32_t);
template void shift_rows(TensorMemory<domain::Field>&, std::uint32_t, std::uint32_t);
PLUMB_INSTANTIATE_MEANING(Tcgen05Shift)

}  // namespace plumb::machine
