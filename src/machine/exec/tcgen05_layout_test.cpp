// SPDX-License-Identifier: Apache-2.0
// Where operands lie, derived a second time. In shared memory: from the memory's side, going through its 16-byte units
// in order and asking which part of the operand each holds, where the meaning goes from elements to addresses. In
// tensor memory: from the cells' side, likewise.
#include "machine/exec/tcgen05_layout.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace plumb::machine {
namespace {

using Kind = Tcgen05Kind;

// A way to swizzle: bytes in a row of an atom, rows in an atom, code, and what the position of a 16-byte unit in a row
// of 128 bytes is changed by, for each of the eight rows.
struct Mode {
  const char* name;
  unsigned width, rows;
  unsigned code;
  unsigned change[8];
};
constexpr Mode kModes[] = {
    {"none", 16, 8, 0, {0, 0, 0, 0, 0, 0, 0, 0}},  {"32", 32, 8, 6, {0, 1, 0, 1, 0, 1, 0, 1}},
    {"64", 64, 8, 4, {0, 1, 2, 3, 0, 1, 2, 3}},    {"128", 128, 8, 2, {0, 1, 2, 3, 4, 5, 6, 7}},
    {"wide", 128, 4, 1, {0, 2, 4, 6, 0, 2, 4, 6}},
};

std::uint64_t descriptor(unsigned start, unsigned leading, unsigned stride, unsigned code) {
  return std::uint64_t{start / 16} | std::uint64_t{leading / 16} << 16 | std::uint64_t{stride / 16} << 32 |
         std::uint64_t{1} << 46 | std::uint64_t{code} << 61;
}

// The unit at a place of the operand: of line `line` (rows of M or N when K-major, else of K), the `unit`th 16 bytes.
using Units = std::map<std::pair<unsigned, unsigned>, unsigned>;

// Goes through the units of the atoms, which lie `across` bytes apart along lines and `along` bytes apart along units.
Units units_in_memory(const Mode& mode, unsigned start, unsigned lines, unsigned units, unsigned across,
                      unsigned along) {
  Units out;
  const unsigned per_row = mode.width / 16;
  for (unsigned atom_line = 0; atom_line * mode.rows < lines; ++atom_line) {
    for (unsigned atom_unit = 0; atom_unit * per_row < units; ++atom_unit) {
      const unsigned atom = start + atom_line * across + atom_unit * along;
      for (unsigned at = atom; at < atom + mode.rows * mode.width; at += 16) {
        const unsigned row128 = at / 128, in_row = at / 16 % 8;
        const unsigned logical = (row128 * 8 + (in_row ^ mode.change[row128 % 8])) - atom / 16;
        out[{atom_line * mode.rows + logical / per_row, atom_unit * per_row + logical % per_row}] = at;
      }
    }
  }
  return out;
}

void compare(const Mode& mode, const OperandTile& tile, unsigned start, unsigned across, unsigned along) {
  const bool is_plain_mn = tile.is_transposed && mode.width == 16;
  // Across is along K for MN-major tiles: the stride, except where nothing is swizzled.
  const unsigned leading = is_plain_mn ? across : along, stride = is_plain_mn ? along : across;
  Refusal refusal;
  const auto decoded = decode_tcgen05_descriptor(descriptor(start, leading, stride, mode.code), refusal);
  ASSERT_TRUE(decoded) << refusal.text;
  ASSERT_TRUE(may_read_tile(*decoded, tile, refusal)) << mode.name << ": " << refusal.text;
  const std::vector<std::uint32_t> pieces = tile_pieces(*decoded, tile);
  const unsigned lines = tile.is_transposed ? tile.inner : tile.outer;
  const unsigned units = (tile.is_transposed ? tile.outer * tile.element_bytes : tile.inner) / 16;
  ASSERT_EQ(pieces.size(), std::size_t{lines} * units);
  const Units expected = units_in_memory(mode, start, lines, units, across, along);
  unsigned wrong = 0;
  for (unsigned line = 0; line < lines; ++line) {
    for (unsigned unit = 0; unit < units; ++unit) {
      wrong += pieces[line * units + unit] != expected.at({line, unit}) ? 1 : 0;
    }
  }
  EXPECT_EQ(wrong, 0U) << mode.name << (tile.is_transposed ? " MN-major " : " K-major ") << tile.outer << " x "
                       << tile.inner << " of " << tile.element_bytes;
}

TEST(Tcgen05Layout, SharedTilesAgreeWithMemoryOrder) {
  for (const Mode& mode : kModes) {
    const unsigned atom = mode.rows * mode.width;
    for (unsigned outer = 8; outer <= 256; outer += 8) {
      for (const unsigned bytes : {1U, 2U, 4U}) {
        if (mode.rows == 8) {  // K-major: 32 bytes of a row
          for (const unsigned inner : {32U, 64U}) {
            if (mode.width == 32 && inner == 64) continue;
            compare(mode, {outer, inner, false, bytes}, 4096, atom, mode.width == 16 ? atom * 32 : 16);
            if (mode.width != 16) continue;
            compare(mode, {outer, inner, false, bytes}, 4096 + 16, atom * (inner / 16), atom);
          }
        }
        if ((mode.rows == 4) != (bytes == 4) || outer * bytes % 16 != 0) continue;
        for (const unsigned inner : {32 / bytes, 64 / bytes}) {
          const unsigned groups = inner / mode.rows, columns = (outer * bytes + mode.width - 1) / mode.width;
          compare(mode, {outer, inner, true, bytes}, 8192, atom, atom * groups);   // K first
          compare(mode, {outer, inner, true, bytes}, 8192, atom * columns, atom);  // MN first
        }
      }
    }
  }
}

// A step along K inside of a swizzled row begins in the middle of the pattern.
TEST(Tcgen05Layout, StepsAlongKStayInTheirRows) {
  for (const Mode& mode : kModes) {
    if (mode.width < 64 || mode.rows != 8) continue;
    Refusal refusal;
    const auto whole = decode_tcgen05_descriptor(descriptor(1024, 16, 8 * mode.width, mode.code), refusal);
    const std::vector<std::uint32_t> all = tile_pieces(*whole, {128, mode.width, false, 2});
    for (unsigned step = 0; step < mode.width / 32; ++step) {
      const auto stepped =
          decode_tcgen05_descriptor(descriptor(1024 + 32 * step, 16, 8 * mode.width, mode.code), refusal);
      const OperandTile tile{128, 32, false, 2};
      ASSERT_TRUE(may_read_tile(*stepped, tile, refusal));
      const std::vector<std::uint32_t> part = tile_pieces(*stepped, tile);
      for (unsigned row = 0; row < 128; ++row) {
        for (unsigned unit = 0; unit < 2; ++unit) {
          ASSERT_EQ(part[2 * row + unit], all[row * (mode.width / 16) + 2 * step + unit]) << mode.name;
        }
      }
    }
  }
}

// Rows of 384 bytes in three tiles of 128 as eight steps of 48 bytes, each with the tile where its rows go on.
TEST(Tcgen05Layout, RowsOf48BytesGoOnInTheNextTile) {
  constexpr unsigned kTiles[] = {40960, 8192, 65536};  // in no order
  std::vector<Units> units;
  for (const unsigned start : kTiles) units.push_back(units_in_memory(kModes[3], start, 128, 8, 1024, 16));
  for (unsigned step = 0; step < 8; ++step) {
    const unsigned first = 3 * step, tile = first / 8;
    Refusal refusal;
    const std::uint64_t bits =
        descriptor(kTiles[tile] + 16 * (first % 8), kTiles[(tile + 1) % 3], 1024, 2) | std::uint64_t{1} << 52;
    const auto decoded = decode_tcgen05_descriptor(bits, refusal);
    ASSERT_TRUE(decoded) << refusal.text;
    const OperandTile rows{128, 48, false, 0};
    ASSERT_TRUE(may_read_tile(*decoded, rows, refusal)) << refusal.text;
    const std::vector<std::uint32_t> pieces = tile_pieces(*decoded, rows);
    for (unsigned row = 0; row < 128; ++row) {
      for (unsigned i = 0; i < 3; ++i) {
        const unsigned unit = first + i;
        ASSERT_EQ(pieces[3 * row + i], units[unit / 8].at({row, unit % 8})) << "step " << step << " row " << row;
      }
    }
  }
}

// -- Tensor memory ----------------------------------------------------------------------------------------------------

Tcgen05Spec spec(Kind kind, unsigned m, unsigned n, unsigned group = 1, bool is_stationary = false,
                 bool is_sparse = false, unsigned scales = 0) {
  Tcgen05Spec out;
  out.form = {
      kind, is_sparse, is_stationary, false, static_cast<std::uint8_t>(group), static_cast<std::uint8_t>(scales)};
  out.m = static_cast<std::uint16_t>(m), out.n = static_cast<std::uint16_t>(n);
  return out;
}

using Cell = std::tuple<unsigned, unsigned, unsigned>;  // CTA, lane, column

std::map<Cell, std::pair<unsigned, unsigned>> sums_of(const Tcgen05Spec& s, unsigned half) {
  std::map<Cell, std::pair<unsigned, unsigned>> out;
  for (unsigned m = 0; m < s.m; ++m) {
    for (unsigned n = 0; n < s.n; ++n) {
      const unsigned count = sum_columns(s);
      const TensorPlace place = sum_place(s, half, m, n / count);
      EXPECT_TRUE(out.emplace(Cell{place.cta, place.lane, place.column + n % count}, std::pair{m, n}).second);
    }
  }
  return out;
}

// What the text says of a cell: its element, or nothing.
template <class Element>
void expect_sums(const Tcgen05Spec& s, unsigned half, Element&& element) {
  const auto found = sums_of(s, half);
  std::size_t count = 0;
  for (unsigned cta = 0; cta < s.form.group; ++cta) {
    for (unsigned lane = 0; lane < 128; ++lane) {
      for (unsigned column = 0; column < s.n; ++column) {
        const std::optional<std::pair<unsigned, unsigned>> expected = element(cta, lane, column);
        const auto at = found.find({cta, lane, column});
        ASSERT_EQ(at != found.end(), expected.has_value()) << "lane " << lane << " column " << column;
        if (expected) {
          ASSERT_EQ(at->second, *expected) << "lane " << lane << " column " << column;
          ++count;
        }
      }
    }
  }
  EXPECT_EQ(count, std::size_t{s.m} * s.n);
}

using Element = std::optional<std::pair<unsigned, unsigned>>;

TEST(Tcgen05Layout, SumsFillTheirCells) {
  expect_sums(spec(Kind::F16, 128, 64), 0, [](unsigned, unsigned lane, unsigned column) {
    return Element{{lane, column}};
  });
  for (const unsigned half : {0U, 16U}) {
    expect_sums(spec(Kind::F16, 64, 24), half, [&](unsigned, unsigned lane, unsigned column) {
      if (lane % 32 / 16 != half / 16) return Element{};
      return Element{{lane / 32 * 16 + lane % 16, column}};
    });
  }
  expect_sums(spec(Kind::F16, 256, 32, 2), 0, [](unsigned cta, unsigned lane, unsigned column) {
    return Element{{128 * cta + lane, column}};
  });
  // Two CTAs of 64 rows: the lower lanes have the left half of the columns.
  expect_sums(spec(Kind::F16, 128, 64, 2), 0, [](unsigned cta, unsigned lane, unsigned column) {
    if (column >= 32) return Element{};
    return Element{{64 * cta + lane % 64, column + (lane < 64 ? 0 : 32)}};
  });
  expect_sums(spec(Kind::F16, 64, 128, 1, true), 0, [](unsigned, unsigned lane, unsigned column) {
    if (column >= 64) return Element{};
    return Element{{lane % 64, column + (lane < 64 ? 0 : 64)}};
  });
  expect_sums(spec(Kind::F16, 32, 64, 1, true), 0, [](unsigned, unsigned lane, unsigned column) {
    if (column >= 16) return Element{};
    return Element{{lane % 32, column + lane / 32 * 16}};
  });
}

// The image that cp.32x128b.warpx4 writes: 512 bytes for 128 lines of four scales.
TEST(Tcgen05Layout, ScalesLieAsTheirCopyLaysThemDown) {
  for (const bool is_a : {true, false}) {
    const Tcgen05Spec s = spec(Kind::Mxf4nvf4, 128, 256, 1, false, false, 4);
    const unsigned lines = is_a ? 128 : 256;
    for (unsigned byte = 0; byte < lines * 4; ++byte) {
      const unsigned image = byte / 512, row = byte % 512 / 16, in_row = byte % 16;
      const unsigned line = 128 * image + row + 32 * (in_row / 4);
      for (unsigned copy = 0; copy < scale_copies(s, is_a); ++copy) {
        const TensorPlace place = scale_place(s, is_a, 0, line, copy);
        EXPECT_EQ(place.lane, row + 32 * copy);
        EXPECT_EQ(place.column, 4 * image + in_row / 4);
      }
    }
    EXPECT_EQ(scale_copies(s, is_a), 4U);
    EXPECT_EQ(scale_columns(s, is_a), lines / 32);
  }
  // Two CTAs of 64 rows: each half of the lanes has the scales of its half of the columns, twice.
  const Tcgen05Spec s = spec(Kind::Mxf8f6f4, 128, 128, 2, false, false, 1);
  std::map<Cell, unsigned> cells;
  for (unsigned n = 0; n < 128; ++n) {
    for (unsigned copy = 0; copy < scale_copies(s, false); ++copy) {
      const TensorPlace place = scale_place(s, false, 1, n, copy);
      EXPECT_EQ(place.cta, 1U);
      EXPECT_TRUE(cells.emplace(Cell{place.cta, place.lane, place.column}, n).second);
    }
  }
  for (unsigned lane = 0; lane < 128; ++lane) {
    for (unsigned column = 0; column < 2; ++column) {
      EXPECT_EQ(cells.at({1, lane, column}), lane % 32 + 32 * column + 64 * (lane / 64));
    }
  }
}

// Steps of K = 96 take the scales of images that follow each other, 512 bytes for 128 lines of four, in turn: from the
// cell's side, column c of the images has the scales 4 (c / 4) to 4 (c / 4) + 3 of its line (of up to 256 lines: 8).
TEST(Tcgen05Layout, ScalesOf48ByteRowsFollowEachOther) {
  for (const unsigned scales : {2U, 4U}) {
    for (const unsigned n : {32U, 128U, 144U, 256U}) {
      for (const bool is_a : {true, false}) {
        Tcgen05Spec s = spec(Kind::Mxf4nvf4, 128, n, 1, false, false, scales);
        s.is_wide = true;
        const unsigned lines = is_a ? 128 : n, columns = lines > 128 ? 8 : 4;
        ASSERT_EQ(s.line_scales(), scales * 3 / 2);
        for (unsigned step = 0; step < 4; ++step) {
          const unsigned first = step * s.line_scales(), base = first / 4 * columns;
          (is_a ? s.scale_a_id : s.scale_b_id) = static_cast<std::uint8_t>(first % 4);
          std::map<std::pair<unsigned, unsigned>, unsigned> found;  // line, scale: how often
          const unsigned cells = scale_cells(s, is_a);
          for (unsigned column = 0; column < 6 * columns; ++column) {
            for (unsigned byte = 0; byte < 4; ++byte) {
              const unsigned scale = 4 * (column / columns) + byte;
              if (scale < first || scale >= first + s.line_scales()) continue;
              const unsigned cell = (column - base) / columns;
              EXPECT_LT(cell, cells);
              for (unsigned lane = 0; lane < 32 && column % columns * 32 + lane < lines; ++lane) {
                const unsigned line = column % columns * 32 + lane;
                const TensorPlace place = scale_place(s, is_a, 0, line, 0);
                EXPECT_EQ(place.lane, lane);
                EXPECT_EQ(base + place.column + cell * scale_stride(s, is_a), column) << n << " line " << line;
                EXPECT_EQ(first % 4 + (scale - first), 4 * cell + byte);
                ++found[{line, scale}];
              }
            }
          }
          EXPECT_EQ(found.size(), std::size_t{lines} * s.line_scales());
        }
      }
    }
  }
}

// From the cell's side: which row and chunk each nibble of a lane's cell belongs to.
TEST(Tcgen05Layout, MetadataFillsItsCells) {
  struct Found {
    unsigned row, chunk;
    bool operator==(const Found&) const = default;
  };
  const auto check = [](const Tcgen05Spec& s, auto&& expected) {
    std::map<std::tuple<unsigned, unsigned, unsigned>, Found> nibbles;  // lane, column, nibble
    for (unsigned m = 0; m < s.a_rows(); ++m) {
      for (unsigned chunk = 0; chunk < metadata_chunks(s); ++chunk) {
        for (unsigned copy = 0; copy < metadata_copies(s); ++copy) {
          const MetadataPlace place = metadata_place(s, m, chunk, copy);
          EXPECT_TRUE(
              nibbles.emplace(std::tuple{place.cell.lane, place.cell.column, place.bit / 4}, Found{m, chunk}).second);
        }
      }
    }
    EXPECT_EQ(nibbles.size(), 128U * metadata_columns(s) * 8);
    for (const auto& [at, found] : nibbles) {
      const auto& [lane, column, nibble] = at;
      EXPECT_EQ(found, expected(lane % s.a_rows(), column, nibble)) << lane << " " << column << " " << nibble;
    }
  };
  // 16-bit and tf32: lanes g and g + 8 of sixteen have the two halves of K of rows g (low half) and g + 8 (high half).
  const auto wide = [](unsigned lane, unsigned, unsigned nibble) {
    return Found{lane / 16 * 16 + lane % 8 + nibble / 4 * 8, lane % 16 / 8 * 4 + nibble % 4};
  };
  const auto narrow = [](unsigned lane, unsigned column, unsigned nibble) { return Found{lane, 8 * column + nibble}; };
  check(spec(Kind::F16, 128, 64, 1, false, true), wide);
  check(spec(Kind::Tf32, 128, 64, 1, false, true), wide);
  check(spec(Kind::F8f6f4, 128, 64, 1, false, true), narrow);
  check(spec(Kind::Mxf4, 128, 64, 1, false, true, 2), narrow);
  check(spec(Kind::F16, 64, 64, 1, true, true), wide);
  check(spec(Kind::I8, 32, 64, 1, true, true), narrow);
}

// Sparse rows that take half of the lanes: as the first 64 of 128 rows lie, and 16 rows to each quarter of the lanes.
TEST(Tcgen05Layout, MetadataOfHalfOfTheLanesLiesInTwoPlaces) {
  for (const Kind kind : {Kind::F16, Kind::Tf32, Kind::I8}) {
    const Tcgen05Spec half = spec(kind, 64, 64, 1, false, true), whole = spec(kind, 128, 64, 1, false, true);
    ASSERT_EQ(metadata_copies(half), 2U);
    for (unsigned m = 0; m < 64; ++m) {
      for (unsigned chunk = 0; chunk < metadata_chunks(half); ++chunk) {
        const MetadataPlace like_whole = metadata_place(whole, m, chunk, 0);
        const MetadataPlace near = metadata_place(half, m, chunk, 0), far = metadata_place(half, m, chunk, 1);
        EXPECT_EQ(near.cell, like_whole.cell);
        EXPECT_EQ(near.bit, like_whole.bit);
        EXPECT_EQ(far.bit, near.bit);
        EXPECT_EQ(far.cell.column, near.cell.column);
        EXPECT_EQ(far.cell.lane / 32, m / 16);
        EXPECT_EQ(far.cell.lane % 32, near.cell.lane % 16);
      }
    }
  }
}

// -- Descriptors ------------------------------------------------------------------------------------------------------

std::string refusal_of(std::uint32_t bits, Tcgen05Form form) {
  Refusal refusal;
  if (decode_instruction(bits, form, refusal)) return "";
  return (refusal.is_open ? "open: " : "") + refusal.text;
}

TEST(Tcgen05Descriptor, ReadsThePublishedInstructionDescriptors) {
  const auto read = [](std::uint32_t bits, Tcgen05Form form) {
    Refusal refusal;
    const auto decoded = decode_instruction(bits, form, refusal);
    EXPECT_TRUE(decoded) << refusal.text;
    return decoded.value_or(Tcgen05Spec{});
  };
  const Tcgen05Spec bf16 = read(0x08100490, {Kind::F16});
  EXPECT_EQ(bf16.m, 128);
  EXPECT_EQ(bf16.n, 64);
  EXPECT_EQ(bf16.a, Tcgen05Element::BF16);
  EXPECT_EQ(bf16.sum, Tcgen05Sum::F32);
  const Tcgen05Spec pair = read(0x10200490, {.kind = Kind::F16, .group = 2});
  EXPECT_EQ(pair.m, 256);
  EXPECT_EQ(pair.n, 128);
  EXPECT_EQ(read(0x08200910, {Kind::Tf32}).a, Tcgen05Element::Tf32);
  EXPECT_EQ(read(0x08200010, {Kind::F8f6f4}).b, Tcgen05Element::E4M3);
  EXPECT_EQ(read(0x082004A0, {Kind::I8}).b, Tcgen05Element::S8);
  EXPECT_EQ(read(0x08A00000, {.kind = Kind::Mxf8f6f4, .scales = 1}).n, 128);
  EXPECT_EQ(read(0x08A00480, {.kind = Kind::Mxf4, .scales = 2}).a, Tcgen05Element::E2M1);
  EXPECT_TRUE(read(0x08200480, {.kind = Kind::Mxf4nvf4, .scales = 4}).is_scale_ue4m3);
}

TEST(Tcgen05Descriptor, TakesTheShapesOfTheTableAndNoOthers) {
  for (const unsigned group : {1U, 2U}) {
    for (unsigned m = 0; m < 32; ++m) {
      for (unsigned n = 0; n < 64; ++n) {
        const std::uint32_t shape = m << 24 | n << 17;
        Tcgen05Form form{.kind = Kind::F16, .group = static_cast<std::uint8_t>(group)};
        const unsigned rows = 16 * m, columns = 8 * n;
        const bool is_good_m = group == 1 ? rows == 64 || rows == 128 : rows == 128 || rows == 256;
        const bool is_good_n = columns >= 8 && columns <= 256 && columns % (group == 1 ? 8 : 16) == 0;
        const bool is_doubtful = group == 1 && rows == 128 && columns % 16 != 0;
        const std::string refusal = refusal_of(0x490 | shape, form);
        EXPECT_EQ(refusal.empty(), is_good_m && is_good_n && !is_doubtful) << rows << " x " << columns;
        EXPECT_EQ(refusal.starts_with("open"), is_good_m && is_good_n && is_doubtful) << refusal;
        form.is_stationary = true;
        if (group == 2) continue;
        const bool is_good =
            (rows == 32 || rows == 64 || rows == 128) && (columns == 64 || columns == 128 || columns == 256);
        EXPECT_EQ(refusal_of(0x490 | shape, form).empty(), is_good);
        form.is_sparse = true;
        EXPECT_EQ(refusal_of(0x494 | shape, form).empty(), is_good && columns != 256);
      }
    }
  }
}

TEST(Tcgen05Descriptor, RefusesEachWrongFieldOfAnInstruction) {
  constexpr std::uint32_t kGood = 0x08100490;
  const Tcgen05Form f16{Kind::F16};
  EXPECT_EQ(refusal_of(kGood, f16), "");
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal_of(kGood | 1 << 6, f16), "reserved");
  has(refusal_of(kGood | 1 << 23, f16), "reserved");
  has(refusal_of(kGood | 1 << 29, f16), "reserved");
  has(refusal_of(kGood | 1U << 30, f16), "without `.ws`");
  has(refusal_of(kGood | 1, f16), "selector");
  has(refusal_of(kGood | 4, f16), "dense");
  has(refusal_of(kGood, {.kind = Kind::F16, .is_sparse = true}), "sparse");
  has(refusal_of(kGood | 4 | 2, {.kind = Kind::F16, .is_sparse = true}), "open: sparsity selector 2");
  has(refusal_of(kGood | 8, f16), "saturation");
  has(refusal_of(kGood & ~0x10U, f16), "type of D");  // f16 sums of bf16
  has(refusal_of(kGood | 0x20, f16), "type of D");
  has(refusal_of((kGood & ~0x380U) | 2 << 7, f16), "type of A");
  has(refusal_of(kGood & ~0x380U, f16), "open: a product of f16 with bf16");
  has(refusal_of(0x082004A0 | 1 << 13, {Kind::I8}), "negates");
  has(refusal_of(kGood | 1 << 15, {.kind = Kind::F16, .is_a_in_memory = true}), "tensor memory");
  has(refusal_of(0x08200010 | 5 << 7 | 1 << 15, {Kind::F8f6f4}), "open: an MN-major");
  has(refusal_of((0x08200010 & ~0x7e0000U) | 3 << 17 | 1 << 16, {Kind::F8f6f4}), "steps of 16");
  has(refusal_of(kGood | 4, {.kind = Kind::F16, .is_sparse = true, .group = 2}), "open: the metadata of sparse rows");
  const Tcgen05Form mx{.kind = Kind::Mxf8f6f4, .scales = 1};
  has(refusal_of(0x08A00000 | 8, mx), "reserved");
  has(refusal_of(0x08A00000 | 1U << 31, mx), "reserved");
  has(refusal_of(0x08200000, mx), "UE8M0");
  const Tcgen05Form four{.kind = Kind::Mxf4, .scales = 2};
  has(refusal_of(0x08A00480 | 1U << 31, four), "only sm_103a");
  Tcgen05Form wide = four;
  wide.wide = Tcgen05Wide::Unclear;
  has(refusal_of(0x08A00480 | 1U << 31, wide), "open: K = 96");
  wide.wide = Tcgen05Wide::Yes;
  for (std::uint32_t id = 0; id < 4; ++id) EXPECT_EQ(refusal_of(0x08A00480 | 1U << 31 | id << 29, wide), "");
  wide.is_a_in_memory = true;
  has(refusal_of(0x08A00480 | 1U << 31, wide), "open: K = 96 with A in tensor memory");
  wide.is_a_in_memory = false, wide.is_sparse = true;
  has(refusal_of(0x08A00484 | 1U << 31, wide), "reserved");
  wide.is_sparse = false, wide.group = 2;
  has(refusal_of(0x08A00480 | 1U << 31, wide), "open: K = 96 with M = 128");
  const Tcgen05Form six{.kind = Kind::Mxf4nvf4, .scales = 4, .wide = Tcgen05Wide::Yes};
  EXPECT_EQ(refusal_of(0x08200480 | 1U << 31 | 2U << 29, six), "");
  has(refusal_of(0x08200480 | 1U << 31 | 1U << 29, six), "byte 1");
  has(refusal_of(0x08A00480 | 1U << 4, four), "byte 1");
  has(refusal_of(0x08A00480 | 1U << 15, four), "K-major only");
  has(refusal_of(0x08200480 | 2U << 29, {.kind = Kind::Mxf4nvf4, .scales = 4}), "byte 2");
}

TEST(Tcgen05Descriptor, RefusesEachWrongFieldOfAMatrix) {
  const auto refusal = [](std::uint64_t bits, OperandTile tile = {128, 32, false, 2}) -> std::string {
    Refusal out;
    const auto decoded = decode_tcgen05_descriptor(bits, out);
    if (decoded && may_read_tile(*decoded, tile, out)) return "";
    return (out.is_open ? "open: " : "") + out.text;
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  constexpr std::uint64_t kGood = 0x4000404000010000;
  EXPECT_EQ(refusal(kGood), "");
  has(refusal(0x4000004000010000), "wgmma");
  has(refusal(kGood | 1ULL << 47), "bits 48:46");
  has(refusal(kGood | 1ULL << 14), "carried");
  has(refusal(kGood | 1ULL << 30), "carried");
  has(refusal(kGood | 1ULL << 55), "reserved");
  has(refusal(kGood | 1ULL << 52), "rows of 48 bytes");
  constexpr std::uint64_t kChunk = 0x4010404000000000;  // a second chunk at address 0
  EXPECT_EQ(refusal(kChunk | 6, {128, 48, false, 0}), "");
  has(refusal((kChunk | 6) & ~(1ULL << 52), {128, 48, false, 0}), "leaves it");
  has(refusal(kChunk | 1ULL << 16, {128, 48, false, 0}), "open: a second chunk");
  has(refusal(kChunk ^ 6ULL << 61, {128, 48, false, 0}), "rows of 48 bytes");  // the 64-byte swizzle
  has(refusal(kChunk | 8, {128, 48, false, 0}), "first row");
  has(refusal(kGood | 1ULL << 49), "open: a base offset");
  has(refusal(kGood | 1ULL << 61), "no swizzle");  // 3
  has(refusal(kGood + 7), "leaves it");            // 112 of 128 bytes
  has(refusal(kGood + 8), "first row");            // the second row of the pattern
  has(refusal(0x2000404000010000), "open: a K-major");
  has(refusal(0x2000404000010000, {128, 16, true, 2}), "for MN-major tf32");
  has(refusal(kGood, {128, 8, true, 4}), "32-byte atoms only");
  has(refusal(0xC000401000010000, {128, 64, false, 2}), "open: rows of 64 bytes");
}

// The published examples: runs of three zeroed and four used columns.
TEST(Tcgen05Descriptor, ColumnMasksFollowThePublishedExamples) {
  const auto mask = [](unsigned dropped, unsigned begins_zeroed) {
    Refusal refusal;
    const auto out = decode_column_mask(
        std::uint64_t{dropped} | std::uint64_t{begins_zeroed} << 32 | 1ULL << 39 | 2ULL << 40 | 3ULL << 48 | 5ULL << 56,
        128, 64, refusal);
    EXPECT_TRUE(out) << refusal.text;
    EXPECT_EQ(out->shift, 5U);
    std::string text;
    for (unsigned i = 0; i < 9; ++i) text += out->zeroed[i] ? '1' : '0';
    return text;
  };
  EXPECT_EQ(mask(0, 0), "000011100");
  EXPECT_EQ(mask(0, 1), "111000011");
  EXPECT_EQ(mask(1, 1), "110000111");
  EXPECT_EQ(mask(2, 0), "001110000");
  EXPECT_EQ(mask(1, 0), "000111000");
  Refusal refusal;
  EXPECT_FALSE(decode_column_mask(1ULL << 36, 128, 64, refusal));
  EXPECT_FALSE(decode_column_mask(17ULL << 56, 32, 64, refusal));
  EXPECT_FALSE(decode_column_mask(1ULL << 39 | 4 | 3ULL << 48, 128, 64, refusal));
  EXPECT_TRUE(refusal.is_open);
  EXPECT_TRUE(decode_column_mask(0, 128, 64, refusal)->zeroed.none());
  // Each half of the columns has a run of its own with M = 64.
  const auto halves = decode_column_mask(1ULL << 33 | 1ULL << 39 | 31ULL << 40 | 31ULL << 48, 64, 128, refusal);
  ASSERT_TRUE(halves);
  for (unsigned i = 0; i < 128; ++i) EXPECT_EQ(halves->zeroed[i], i / 32 == 1 || i / 32 == 2) << i;
}

}  // namespace
}  // namespace plumb::machine
