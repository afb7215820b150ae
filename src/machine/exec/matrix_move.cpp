// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/matrix_move.h"

#include "machine/exec/memory.h"
#include "machine/exec/value_key.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

using ptx::Mod;
using ptx::Space;

constexpr unsigned kRows = 8, kRowBytes = 16;

// One 8x8 tile of 16-bit elements.
struct Tile {
  std::byte bytes[kRows][kRowBytes];
  domain::Tag tags[kRows][kRowBytes];
};

// Op::aux: number of tiles, above it whether transposed, whether the address is generic, and its width.
struct Shape {
  unsigned tiles = 1;
  bool is_transposed = false, is_generic = false;
  unsigned address_width = 8;
  std::uint32_t pack() const { return tiles | (is_transposed ? 8u : 0) | (is_generic ? 16u : 0) | address_width << 8; }
  static Shape unpack(std::uint32_t aux) { return {aux & 7, (aux & 8) != 0, (aux & 16) != 0, aux >> 8}; }
};

// Where the two elements of a lane's register lie: row and column of the first, and of the second.
struct Cells {
  unsigned row[2], column[2];
};
Cells cells(unsigned lane, bool is_transposed) {
  const unsigned group = lane / 4, pair = lane % 4 * 2;
  if (is_transposed) return {{pair, pair + 1}, {group, group}};
  return {{group, group}, {pair, pair + 1}};
}

template <class D>
void to_registers(Warp<D>& w, const Tile& tile, bool is_transposed, Slot slot) {
  domain::Word words[kLanes];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const Cells at = cells(lane, is_transposed);
    for (unsigned half = 0; half < 2; ++half) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, tile.bytes[at.row[half]] + 2 * at.column[half], 2);
      words[lane].bits |= std::uint64_t{bits} << (16 * half);
      if constexpr (D::kHasTags) {
        std::memcpy(words[lane].tags + 2 * half, tile.tags[at.row[half]] + 2 * at.column[half],
                    2 * sizeof(domain::Tag));
      }
    }
  }
  w.write_words(slot, 4, words);
}

template <class D>
void from_registers(Warp<D>& w, Tile& tile, bool is_transposed, Slot slot) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const Cells at = cells(lane, is_transposed);
    const domain::Word word = w.word(slot, 4, lane);
    for (unsigned half = 0; half < 2; ++half) {
      const auto bits = static_cast<std::uint16_t>(word.bits >> (16 * half));
      std::memcpy(tile.bytes[at.row[half]] + 2 * at.column[half], &bits, 2);
      std::memcpy(tile.tags[at.row[half]] + 2 * at.column[half], word.tags + 2 * half, 2 * sizeof(domain::Tag));
    }
  }
}

// The addresses of the rows, from the first lanes; false when the step is not to go on.
template <class D>
bool row_addresses(WarpRun<D>& w, const Op<D>& op, const Shape& shape, std::uint64_t (&address)[kLanes]) {
  if (!w.gather_warp(op)) return false;
  const std::uint32_t rows = shape.tiles == 4 ? kFullMask : (1u << (kRows * shape.tiles)) - 1;
  if (!w.addresses(op, shape.address_width, address, rows)) return false;
  if (!shape.is_generic) return true;
  for_lanes(rows, [&](unsigned lane) {
    if (space_of(address[lane]) != Space::shared) {
      w.fault(kBounds, w.thread_name(lane) + " names a matrix row that is not in shared memory");
    }
    address[lane] -= kSharedWindow;
  });
  return !w.is_stopped();
}

template <class D>
void step_load(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  const Shape shape = Shape::unpack(op.aux);
  std::uint64_t address[kLanes];
  if (!row_addresses(w, op, shape, address)) return;
  Tile tiles[4];
  for (unsigned row = 0; row < kRows * shape.tiles; ++row) {
    TaggedBytes loaded = {};
    if (!w.load(Space::shared, address[row], kRowBytes, row, loaded)) return;
    std::memcpy(tiles[row / kRows].bytes[row % kRows], loaded.bytes, kRowBytes);
    if constexpr (D::kHasTags) std::memcpy(tiles[row / kRows].tags[row % kRows], loaded.tags, sizeof(Tile::tags[0]));
  }
  const std::uint32_t rows = shape.tiles == 4 ? kFullMask : (1u << (kRows * shape.tiles)) - 1;
  w.observe(AccessKind::Read, Space::shared, op, rows, kRowBytes, address);
  for (unsigned i = 0; i < shape.tiles; ++i) to_registers(w, tiles[i], shape.is_transposed, w.listed(op, i));
}

template <class D>
void step_store(Warp<D>& warp, const Op<D>& op) {
  auto& w = static_cast<WarpRun<D>&>(warp);
  const Shape shape = Shape::unpack(op.aux);
  std::uint64_t address[kLanes];
  if (!row_addresses(w, op, shape, address)) return;
  const std::uint32_t rows = shape.tiles == 4 ? kFullMask : (1u << (kRows * shape.tiles)) - 1;
  const bool is_observed = w.cta().observer() != nullptr;
  std::uint64_t keys[kLanes] = {};
  for (unsigned i = 0; i < shape.tiles; ++i) {
    Tile tile;
    from_registers(w, tile, shape.is_transposed, w.listed(op, i));
    for (unsigned row = 0; row < kRows; ++row) {
      TaggedBytes stored = {};
      std::memcpy(stored.bytes, tile.bytes[row], kRowBytes);
      std::memcpy(stored.tags, tile.tags[row], sizeof tile.tags[row]);
      if (!w.store(Space::shared, address[i * kRows + row], kRowBytes, i * kRows + row, stored)) return;
      if (is_observed) keys[i * kRows + row] = value_key(w.dom(), stored, kRowBytes, true);
    }
  }
  w.observe(AccessKind::Write, Space::shared, op, rows, kRowBytes, address, keys);
}

template <class D>
void step_transpose(Warp<D>& w, const Op<D>& op) {
  if (!w.gather_warp(op)) return;
  Tile tile;
  from_registers(w, tile, false, op.a);
  to_registers(w, tile, true, op.d);
}

template <class D>
StepFn<D> select_matrix(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op, bool is_store) {
  if (!instr.has(Mod::m8n8)) {
    ctx.unmodelled("matrices of 8-bit and narrower elements");
    return nullptr;
  }
  Shape shape;
  shape.tiles = instr.has(Mod::x4) ? 4 : instr.has(Mod::x2) ? 2 : 1;
  shape.is_transposed = instr.has(Mod::trans);
  shape.is_generic = space_of(instr) == Space::none;
  const ptx::Operand& registers = instr.operands[is_store ? 1 : 0];
  std::vector<Slot> slots;
  const auto add = [&](const ptx::Operand& element) {
    slots.push_back(is_store ? ctx.source(element, ptx::Type::b32) : ctx.dest(element));
  };
  if (registers.kind == ptx::Operand::Kind::Vector) {
    for (const ptx::Operand& element : registers.elements) add(element);
  } else {
    add(registers);
  }
  if (slots.size() != shape.tiles) {
    ctx.unmodelled("a fragment of " + std::to_string(slots.size()) + " registers");
    return nullptr;
  }
  const DecodeContext::Address at = ctx.address(instr.operands[is_store ? 0 : 1], shape.is_generic);
  op.a = at.base, op.imm = at.offset, shape.address_width = at.width;
  op.list = ctx.list(slots);
  op.aux = shape.pack();
  return is_store ? &step_store<D> : &step_load<D>;
}

}  // namespace

template <class D>
StepFn<D> Meaning<ptx::Form::Ldmatrix>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_matrix(ctx, instr, op, false);
}
template <class D>
StepFn<D> Meaning<ptx::Form::Stmatrix>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  return select_matrix(ctx, instr, op, true);
}
template <class D>
StepFn<D> Meaning<ptx::Form::Movmatrix>::select(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op) {
  ctx.two(instr, op, ptx::Type::b32);
  return &step_transpose<D>;
}

PLUMB_INSTANTIATE_MEANING(Ldmatrix)
PLUMB_INSTANTIATE_MEANING(Stmatrix)
PLUMB_INSTANTIATE_MEANING(Movmatrix)

}  // namespace plumb::machine
