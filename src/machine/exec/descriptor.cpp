// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/descriptor.h"

namespace plumb::machine {

namespace {

constexpr std::uint32_t kPiece = 16;  // bytes
constexpr std::uint64_t kReserved = 0x3ffull << 52 | 0x7ull << 46 | 0x3ull << 30 | 0x3ull << 14;

std::uint32_t field(std::uint64_t bits, unsigned first) {
  return static_cast<std::uint32_t>(bits >> first & 0x3fff) << 4;
}

}  // namespace

std::optional<MatrixDescriptor> decode_descriptor(std::uint64_t bits, std::string& error) {
  if ((bits & kReserved) != 0) {
    error = (bits >> 46 & 1) != 0 ? "bit 46 is set, as in descriptors of tcgen05; those of wgmma have their swizzle in "
                                    "bits 63:62 and no version"
                                  : "a reserved bit (15:14, 31:30, 48:46 or 61:52) is set";
    return std::nullopt;
  }
  constexpr std::array<std::uint32_t, 4> kUnits{1, 8, 4, 2};
  MatrixDescriptor out;
  out.start = field(bits, 0), out.leading = field(bits, 16), out.stride = field(bits, 32);
  out.base_offset = static_cast<std::uint32_t>(bits >> 49 & 7);
  out.swizzle_units = kUnits[bits >> 62];
  return out;
}

std::vector<std::uint32_t> tile_pieces(const MatrixDescriptor& d, const OperandTile& tile) {
  const std::uint32_t units = d.swizzle_units, rows = d.has_wide_units ? 4 : 8;
  const std::uint32_t mask = d.has_wide_units ? 3 : units - 1, shift = d.has_wide_units ? 5 : 4;
  const std::uint32_t lines = tile.is_transposed ? tile.inner : tile.outer;
  const std::uint32_t per_line = tile.is_transposed ? tile.outer * tile.element_bytes / kPiece : tile.inner / kPiece;
  std::vector<std::uint32_t> out;
  out.reserve(std::size_t{lines} * per_line);
  for (std::uint32_t line = 0; line < lines; ++line) {
    for (std::uint32_t piece = 0; piece < per_line; ++piece) {
      std::uint32_t at = d.start + line % rows * kPiece * units;
      const std::uint32_t unit = d.start / kPiece % units + piece;  // in a swizzled row
      if (d.has_second_chunk && unit >= units) {
        at += line / rows * d.stride + d.leading - d.start + (unit - units) * kPiece;
      } else if (tile.is_transposed && units == 1) {
        at += line / 8 * d.leading + piece * d.stride;
      } else {
        // K-major rows are longer than the swizzle's only in sparse products with 32-byte rows.
        at += line / rows * d.stride + piece / units * d.leading + piece % units * kPiece;
      }
      out.push_back(at ^ ((((at >> 7) - d.base_offset) & mask) << shift));
    }
  }
  return out;
}

}  // namespace plumb::machine
