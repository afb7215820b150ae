// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_copy.h"

#include <algorithm>
#include <bit>

#include "machine/exec/tcgen05_descriptor.h"
#include "machine/exec/tensor_operands.h"

namespace plumb::machine {

namespace {

using ptx::Instr;
using ptx::Mod;

constexpr std::uint32_t kPieceBytes = 16;
constexpr std::uint32_t kPieceColumns = kPieceBytes / kCellBytes;

// Lanes of one copy of the source's rows: row r goes to lane `first` + r, for the rows [row, row + rows).
struct LaneRun {
  std::uint32_t row = 0, rows = 0, first = 0;
};

// What an instruction says: a source of so many rows of 16 or 32 bytes, and where its rows go.
struct CopySpec {
  std::uint32_t rows = 0, bytes = 0;
  unsigned unpacked_bits = 0;  // of elements that become bytes; 0: they stay as they are
  TensorKind kind = TensorKind::Copy;
  std::vector<LaneRun> runs;
};

enum class CopyShape : std::uint8_t { S128x256b, S4x256b, S128x128b, S64x128b02, S64x128b01, S32x128b };

CopySpec spec_of(CopyShape shape, unsigned unpacked_bits) {
  CopySpec spec;
  spec.unpacked_bits = unpacked_bits;
  switch (shape) {
    case CopyShape::S128x256b:
      spec.rows = 128, spec.bytes = 32, spec.runs = {{0, 128, 0}};
      break;
    case CopyShape::S4x256b:
      spec.rows = 4, spec.bytes = 32, spec.kind = TensorKind::CopyRow;
      spec.runs = {{0, 1, 0}, {1, 1, 32}, {2, 1, 64}, {3, 1, 96}};
      break;
    case CopyShape::S128x128b:
      spec.rows = 128, spec.bytes = 16, spec.runs = {{0, 128, 0}};
      break;
    case CopyShape::S64x128b02:
      spec.rows = 64, spec.bytes = 16, spec.runs = {{0, 64, 0}, {0, 64, 64}};
      break;
    case CopyShape::S64x128b01:
      spec.rows = 64, spec.bytes = 16, spec.runs = {{0, 32, 0}, {0, 32, 32}, {32, 32, 64}, {32, 32, 96}};
      break;
    case CopyShape::S32x128b:
      spec.rows = 32, spec.bytes = 16, spec.runs = {{0, 32, 0}, {0, 32, 32}, {0, 32, 64}, {0, 32, 96}};
      break;
  }
  return spec;
}

// A 16-byte piece on its way.
struct Piece {
  std::byte bytes[kPieceBytes] = {};
  domain::Tag tags[kPieceBytes] = {};
};

template <class D>
class CopyOp final : public TensorOp<D> {
 public:
  void run(Cluster<D>& cluster) override {
    for (const SharedPieces& source : this->shared) {
      for (const LaneRun& run : spec.runs) {
        for (std::uint32_t i = 0; i < run.rows; ++i) {
          if (!copy_row(cluster, source, run.row + i, address.lane + run.first + i)) return;
        }
      }
    }
  }

  CopySpec spec;
  TensorAddress address;

 private:
  // False after a finding.
  bool copy_row(Cluster<D>& cluster, const SharedPieces& source, std::uint32_t row, std::uint32_t to) {
    Cta<D>& cta = cluster.cta(source.rank);
    const std::uint32_t per_row = spec.bytes / kPieceBytes;
    for (std::uint32_t i = 0; i < per_row; ++i) {
      const std::uint32_t from = source.offsets[row * per_row + i];
      Piece piece;
      std::copy_n(cta.shared().bytes() + from, kPieceBytes, piece.bytes);
      if constexpr (D::kHasTags) std::copy_n(cta.shared().tags() + from, kPieceBytes, piece.tags);
      if (spec.unpacked_bits != 0 && !unpack(cluster, piece)) return false;
      const std::uint32_t column = address.column + i * kPieceColumns;
      std::copy_n(piece.bytes, kPieceBytes, cta.tensor_memory().bytes(to, column));
      if constexpr (D::kHasTags) std::copy_n(piece.tags, kPieceBytes, cta.tensor_memory().tags(to, column));
      for (std::uint32_t cell = 0; cell < kPieceColumns; ++cell) {
        cta.tensor_memory().mark_six(to, column + cell, spec.unpacked_bits == 6);
      }
    }
    return true;
  }

  // Sixteen elements of 4 or 6 bits in the first bytes become a byte each: 4 bits in bits 5:2; 6 bits where
  // TensorMemory::mark_six says. Undefined bytes stay so.
  bool unpack(Cluster<D>& cluster, Piece& piece) {
    const Piece packed = piece;
    const unsigned width = spec.unpacked_bits;
    for (std::uint32_t i = 0; i < kPieceBytes; ++i) {
      const unsigned first = i * width / 8, last = (i * width + width - 1) / 8;
      const auto whole = static_cast<unsigned>(packed.bytes[first]) | static_cast<unsigned>(packed.bytes[last])
                                                                          << 8 * (last - first);
      const unsigned element = whole >> i * width % 8 & ((1U << width) - 1);
      piece.bytes[i] = static_cast<std::byte>(width == 4 ? element << 2 : element);
      if constexpr (D::kHasTags) {
        const domain::Tag tag = packed.tags[first] != 0 ? packed.tags[first] : packed.tags[last];
        piece.tags[i] = tag;
        if (tag == 0) continue;
        piece.bytes[i] = std::byte{0};
        if (domain::tag_value(packed.tags[first]) == domain::kUndefined ||
            domain::tag_value(packed.tags[last]) == domain::kUndefined) {
          piece.tags[i] = domain::kUndefinedTag;
          continue;
        }
        cluster.fault(Stop::Kind::Unmodelled, kUnmodelled,
                      "abstract data that a copy takes apart into elements of " + std::to_string(width) + " bits",
                      this->pc);
        return false;
      }
    }
    return true;
  }
};

// Op::a, aux: the address in tensor memory, and what is added to it; Op::b: the descriptor; Op::imm: the shape, the
// group from bit 8, and from bit 16 the bits of elements that are unpacked.
template <class D>
bool issue_copy(WarpRun<D>& w, const Op<D>& op, unsigned lane) {
  const auto group = static_cast<std::uint32_t>(op.imm >> 8 & 255);
  std::uint32_t rank = w.cta().rank();
  if (group == 2) {
    if (!peer_rank(w)) return false;
    rank &= ~1u;
  }
  const std::optional<std::uint32_t> bits = tensor_address(w, op.a, op.aux, lane);
  const std::optional<std::uint64_t> descriptor_bits =
      bits ? w.concrete(op.b, 8, lane, "the descriptor of the source") : std::nullopt;
  if (!descriptor_bits) return false;
  auto copy = std::make_unique<CopyOp<D>>();
  copy->spec = spec_of(static_cast<CopyShape>(op.imm & 255), static_cast<unsigned>(op.imm >> 16 & 255));
  copy->address = TensorAddress::of(*bits);
  copy->kind = copy->spec.kind, copy->group = group;

  OperandTile tile;
  tile.outer = copy->spec.rows, tile.inner = copy->spec.bytes;
  Refusal refusal;
  const std::optional<MatrixDescriptor> descriptor = decode_tcgen05_descriptor(*descriptor_bits, refusal);
  if (!descriptor || !may_read_tile(*descriptor, tile, refusal)) {
    const std::string text = "the descriptor of the source: " + refusal.text;
    if (refusal.is_open) {
      w.unmodelled(text + ", on which what is published is silent or disagrees");
    } else {
      w.fault(kDescriptor, text);
    }
    return false;
  }
  const std::vector<std::uint32_t> pieces = tile_pieces(*descriptor, tile);
  const std::uint32_t last = *std::max_element(pieces.begin(), pieces.end());
  if (last + std::uint64_t{kPieceBytes} > w.cta().shared().size()) {
    w.fault(kDescriptor, "the source leads to 16 bytes at shared address " + std::to_string(last) + ", past the " +
                             std::to_string(w.cta().shared().size()) + " bytes of shared memory");
    return false;
  }
  for (std::uint32_t cta = rank; cta < rank + group; ++cta) {
    copy->shared.push_back({cta, pieces});
    for (const LaneRun& run : copy->spec.runs) {
      TensorUse use;
      use.writes = true, use.rank = cta;
      use.lane = copy->address.lane + run.first, use.lanes = run.rows;
      use.column = copy->address.column, use.columns = copy->spec.bytes / kCellBytes;
      if (!check_cells(w, lane, use, "copies to")) return false;
      copy->uses.push_back(use);
    }
  }
  return w.cta().cluster().tensor_pipe().issue(w, lane, std::move(copy));
}

template <class D>
void step_copy(Warp<D>& warp, const Op<D>& op) {
  auto& w = run_of(warp);
  if (std::popcount(w.mask()) > 1) {
    return w.fault(kTensorIssue, std::to_string(std::popcount(w.mask())) + " threads of warp " +
                                     std::to_string(w.index()) + " execute this, and each issues a copy of its own");
  }
  issue_copy(w, op, static_cast<unsigned>(std::countr_zero(w.mask())));
}

CopyShape shape_of(const Instr& instr) {
  if (instr.has(Mod::_128x256b)) return CopyShape::S128x256b;
  if (instr.has(Mod::_4x256b)) return CopyShape::S4x256b;
  if (instr.has(Mod::_128x128b)) return CopyShape::S128x128b;
  if (instr.has(Mod::_32x128b)) return CopyShape::S32x128b;
  return instr.has(Mod::warpx2_02_13) ? CopyShape::S64x128b02 : CopyShape::S64x128b01;
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Tcgen05Cp>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  const DecodeContext::Address at = ctx.address(instr.operands[0]);
  op.a = at.base, op.aux = static_cast<std::uint32_t>(at.offset);
  op.b = ctx.source(instr.operands[1], ptx::Type::b64);
  op.imm = static_cast<std::uint64_t>(shape_of(instr)) | std::uint64_t{cta_group(instr)} << 8 |
           (instr.has(Mod::b4x16_p64)   ? 4ULL
            : instr.has(Mod::b6x16_p32) ? 6ULL
                                        : 0ULL)
               << 16;
  return &step_copy<D>;
}

PLUMB_INSTANTIATE_MEANING(Tcgen05Cp)

}  // namespace plumb::machine
