// SPDX-License-Identifier: Apache-2.0
#include "machine/tensor_transfer.h"

#include <algorithm>
#include <cstring>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/cluster.h"
#include "machine/run.h"

namespace plumb::machine {

std::uint64_t TransferSpec::bits() const {
  return static_cast<std::uint64_t>(shape) | std::uint64_t{is_packed} << 8 | std::uint64_t{registers} << 16 |
         std::uint64_t{split} << 32;
}

TransferSpec TransferSpec::of(std::uint64_t bits) {
  TransferSpec spec;
  spec.shape = static_cast<TransferShape>(bits & 0xff);
  spec.is_packed = (bits >> 8 & 1) != 0;
  spec.registers = static_cast<std::uint16_t>(bits >> 16);
  spec.split = static_cast<std::uint32_t>(bits >> 32);
  return spec;
}

std::uint32_t TransferSpec::columns() const {
  const std::uint32_t width = is_packed ? 2 : 1;
  // A row of 16 lanes by 64, 128 or 256 bits: 2, 4 or 8 columns, moved by 1, 2 or 4 registers of a thread.
  const bool has_one_lane = shape == TransferShape::L32x32b || shape == TransferShape::L16x32bx2;
  return (has_one_lane ? registers : 2u * registers) * width;
}

TensorAddress TransferSpec::cell(unsigned thread, unsigned reg) const {
  TensorAddress at;
  switch (shape) {
    case TransferShape::L32x32b:
      at = {thread, reg};
      break;
    case TransferShape::L16x32bx2:
      at = {thread & 15, reg};
      break;
    case TransferShape::L16x64b:
      at = {8 * (thread & 1) + (thread >> 2), (thread >> 1 & 1) + 2 * reg};
      break;
    case TransferShape::L16x128b:
      at = {(thread >> 2) + 8 * (reg & 1), (thread & 3) + 4 * (reg >> 1)};
      break;
    case TransferShape::L16x256b:
      at = {(thread >> 2) + 8 * (reg >> 1 & 1), 2 * (thread & 3) + (reg & 1) + 8 * (reg >> 2)};
      break;
  }
  if (is_packed) at.column *= 2;
  return at;
}

std::vector<TensorUse> transfer_uses(std::uint32_t rank, const TransferSpec& spec, std::uint32_t address,
                                     bool is_store) {
  std::vector<TensorUse> uses;
  for (unsigned i = 0; i < spec.parts(); ++i) {
    const TensorAddress at = spec.part(address, i);
    TensorUse use;
    use.reads = !is_store, use.writes = is_store;
    use.rank = rank;
    use.lane = at.lane, use.lanes = spec.lanes(), use.column = at.column, use.columns = spec.columns();
    uses.push_back(use);
  }
  return uses;
}

namespace {

// The smaller or larger of two words; empty: they are abstract, and compared as integers.
template <class D>
std::optional<domain::Word> reduced(D& dom, TransferReduction reduction, const domain::Word& x, const domain::Word& y) {
  if (reduction.kind == TransferReduction::Kind::Float) {
    domain::FloatMode mode;
    mode.nan = reduction.propagates_nan;
    const auto a = dom.from_word(domain::Format::F32, x), b = dom.from_word(domain::Format::F32, y);
    return dom.to_word(domain::Format::F32, reduction.is_max ? dom.max(domain::Format::F32, a, b, mode)
                                                             : dom.min(domain::Format::F32, a, b, mode));
  }
  if (Warp<D>::has_tag(x, kCellBytes) || Warp<D>::has_tag(y, kCellBytes)) return std::nullopt;
  const auto a = static_cast<std::uint32_t>(x.bits), b = static_cast<std::uint32_t>(y.bits);
  const bool is_less = reduction.kind == TransferReduction::Kind::Signed
                           ? static_cast<std::int32_t>(b) < static_cast<std::int32_t>(a)
                           : b < a;
  return is_less != reduction.is_max ? y : x;
}

// The smallest or largest of the registers that a thread has loaded, as a chain of `min` or `max`. Of 16x32bx2 nobody
// says whether the halves of a lane are reduced together: there is a result where that makes no difference.
template <class D>
void reduce(WarpRun<D>& warp, const Op<D>& op, const TransferSpec& spec) {
  const TransferReduction reduction = TransferReduction::of(op.b);
  D& dom = warp.dom();
  domain::Word results[kLanes];
  for (unsigned thread = 0; thread < kLanes; ++thread) {
    for (unsigned reg = 0; reg < spec.registers; ++reg) {
      domain::Word next = warp.word(warp.listed(op, reg), kCellBytes, thread);
      if (reduction.of_magnitudes) {
        next = dom.to_word(domain::Format::F32,
                           dom.abs(domain::Format::F32, dom.from_word(domain::Format::F32, next), {}));
      }
      const std::optional<domain::Word> result = reg == 0 ? next : reduced(dom, reduction, results[thread], next);
      if (!result) return warp.unmodelled("a reduction of abstract data as integers");
      results[thread] = *result;
    }
  }
  for (unsigned thread = 0; spec.parts() == 2 && thread < kLanes; ++thread) {
    const domain::Word& mine = results[thread];
    const std::optional<domain::Word> both = reduced(dom, reduction, mine, results[thread ^ 16]);
    if (both && both->bits == mine.bits && std::equal(both->tags, both->tags + kCellBytes, mine.tags)) continue;
    return warp.unmodelled("the halves of lane " + std::to_string(thread & 15) +
                           " reduce to different numbers, and nothing says whether `tcgen05.ld.red.16x32bx2` reduces "
                           "them together");
  }
  warp.write_words(warp.listed(op, spec.registers), kCellBytes, results);
}

template <class D>
void load(WarpRun<D>& warp, const TensorTransfer<D>& move) {
  const TransferSpec spec = TransferSpec::of(move.op->imm);
  TensorMemory<D>& memory = warp.cta().tensor_memory();
  for (const TensorUse& use : transfer_uses(warp.cta().rank(), spec, move.address, false)) {
    if (memory.count_six(use.lane, use.lanes, use.column, use.columns) == 0) continue;
    return warp.unmodelled("at which bits of its byte an element of 6 bits lies that a copy has taken apart");
  }
  const std::uint32_t before = warp.exchange_mask(kFullMask);
  for (unsigned reg = 0; reg < spec.registers; ++reg) {
    const Slot slot = warp.listed(*move.op, reg);
    domain::Tag tags[kLanes * kCellBytes] = {};
    domain::Tag any = 0;
    std::uint32_t values[kLanes];
    for (unsigned thread = 0; thread < kLanes; ++thread) {
      const TensorAddress base = spec.part(move.address, spec.parts() == 2 ? thread / 16 : 0);
      const TensorAddress cell = spec.cell(thread, reg);
      const std::uint32_t lane = base.lane + cell.lane, column = base.column + cell.column;
      std::byte* const bytes = reinterpret_cast<std::byte*>(&values[thread]);
      const unsigned half = spec.is_packed ? kCellBytes / 2 : kCellBytes;
      std::memcpy(bytes, memory.bytes(lane, column), half);
      if (spec.is_packed) std::memcpy(bytes + half, memory.bytes(lane, column + 1), half);
      if constexpr (D::kHasTags) {
        domain::Tag* const to = tags + thread * kCellBytes;
        std::copy_n(memory.tags(lane, column), half, to);
        if (spec.is_packed) std::copy_n(memory.tags(lane, column + 1), half, to + half);
        for (unsigned i = 0; i < kCellBytes; ++i) any |= to[i];
      }
    }
    // The tags first: making them may clear the bits.
    if constexpr (D::kHasTags) {
      if (any != 0) std::copy_n(tags, kLanes * kCellBytes, warp.writable_tags(slot, kCellBytes));
    }
    std::copy_n(values, kLanes, warp.template lanes<std::uint32_t>(slot));
    if (any == 0) warp.wrote_plain(slot, kCellBytes);
  }
  if (move.op->b != 0) reduce(warp, *move.op, spec);
  warp.exchange_mask(before);
}

template <class D>
void store(WarpRun<D>& warp, const TensorTransfer<D>& move) {
  const TransferSpec spec = TransferSpec::of(move.op->imm);
  TensorMemory<D>& memory = warp.cta().tensor_memory();
  for (unsigned reg = 0; reg < spec.registers; ++reg) {
    for (unsigned thread = 0; thread < kLanes; ++thread) {
      const TensorAddress base = spec.part(move.address, spec.parts() == 2 ? thread / 16 : 0);
      const TensorAddress cell = spec.cell(thread, reg);
      const std::uint32_t lane = base.lane + cell.lane, column = base.column + cell.column;
      const std::size_t from = std::size_t{reg} * kLanes + thread;
      domain::Word word;
      word.bits = move.values[from];
      if constexpr (D::kHasTags) std::copy_n(move.tags[from].begin(), kCellBytes, word.tags);
      if (!spec.is_packed) {
        memory.write(lane, column, word);
        continue;
      }
      // Nobody says what becomes of the upper half of a cell.
      domain::Word high;
      high.bits = word.bits >> 16;
      std::copy_n(word.tags + 2, 2, high.tags);
      memory.write(lane, column, word), memory.forget(lane, column, 2);
      memory.write(lane, column + 1, high), memory.forget(lane, column + 1, 2);
    }
  }
}

}  // namespace

template <class D>
void complete_transfers(WarpRun<D>& warp, TensorKind kind) {
  TensorTransfers<D>& transfers = warp.transfers;
  if (kind == TensorKind::Load) {
    complete_loads(warp, transfers.loads_issued);
    transfers.loads.clear();
    return;
  }
  for (const TensorTransfer<D>& move : transfers.stores) {
    if (!move.is_done) store(warp, move);
  }
  transfers.stores.clear();
}

template <class D>
void complete_loads(WarpRun<D>& warp, std::uint64_t last) {
  std::uint64_t number = warp.transfers.loads_waited();
  for (TensorTransfer<D>& move : warp.transfers.loads) {
    if (++number > last) return;
    if (!move.is_done) load(warp, move);
    move.is_done = true;
  }
}

template <class D>
void touch_loads(WarpRun<D>& warp, const Op<D>& op) {
  const std::uint64_t waited = warp.transfers.loads_waited();
  const Slot* list = warp.layout().lists.data() + op.watch - 1;
  for (Slot i = 1; i <= list[0]; ++i) {
    const std::uint64_t number = warp.held.at(list[i]).result_of;
    if (number <= waited) continue;
    complete_loads(warp, number);
    if (Observer* const observer = warp.cta().observer()) {
      observer->tensor_result_used(warp.transfers.loads[number - waited - 1].id, warp.pc(),
                                   {warp.index(), warp.mask()});
    }
  }
}

template <class D>
void complete_some_transfers(WarpRun<D>& warp, std::mt19937_64& random) {
  TensorTransfers<D>& transfers = warp.transfers;
  if (!transfers.loads.empty() && random() % 4 == 0) {
    complete_loads(warp, transfers.loads_waited() + 1 + random() % transfers.loads.size());
  }
  for (TensorTransfer<D>& move : transfers.stores) {
    if (move.is_done || random() % 4 != 0) continue;
    store(warp, move);
    move.is_done = true;
  }
}

#define PLUMB_INSTANTIATE_TRANSFER(D)                        \
  template void complete_transfers(WarpRun<D>&, TensorKind); \
  template void complete_loads(WarpRun<D>&, std::uint64_t);  \
  template void touch_loads(WarpRun<D>&, const Op<D>&);      \
  template void complete_some_transfers(WarpRun<D>&, std::mt19937_64&);

PLUMB_INSTANTIATE_TRANSFER(domain::Ieee)
PLUMB_INSTANTIATE_TRANSFER(domain::Field)

}  // namespace plumb::machine
