// SPDX-License-Identifier: Apache-2.0
// Which bytes a tensor copy moves: from a tensor map, coordinates and a mode to pieces of global memory and the places
// in shared memory that they belong to, after swizzle and interleave. The rules are those that an H200 shows
// (tests/vectors/tensor_copy.vec); what was not seen there is said to be not modelled.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "machine/tensor_map.h"

namespace plumb::machine {

inline constexpr unsigned kTensorTileAlignment = 128;  // of the tile in shared memory

enum class TensorMode : std::uint8_t {
  Tile,
  Im2col,
  Gather4,  // tile::gather4 and tile::scatter4: four rows of a matrix
};

struct TensorAccess {
  TensorMode mode = TensorMode::Tile;
  bool is_store = false;                      // from shared to global memory; a reduction, too
  unsigned dims = 1;                          // that the instruction names
  std::array<std::int32_t, 5> coordinates{};  // innermost first; Gather4: the column, then four rows
  std::array<std::uint16_t, 3> offsets{};     // of im2col loads
  std::uint32_t shared = 0;                   // where the tile begins in the CTA's shared memory
};

// Consecutive bytes. A fill has no global address: those bytes lie outside of the tensor.
struct TensorPiece {
  std::uint64_t global = 0;
  std::uint32_t shared = 0;
  std::uint32_t size = 0;
  bool is_fill = false;
};

struct TensorPlan {
  std::vector<TensorPiece> pieces;
  std::uint32_t bytes = 0;  // of the whole tile, in bounds or not: what an mbarrier counts
};

// Why there is no plan.
struct TensorError {
  enum class Kind : std::uint8_t { None, Map, Coordinate, Unmodelled } kind = Kind::None;
  std::string text;
};

// The plan of a copy. Pieces come in the order of the tile and do not overlap in shared memory. An error leaves the
// plan empty.
TensorPlan plan_tensor_copy(const TensorMap& map, const TensorAccess& access, TensorError& error);

// The fill of bytes outside of the tensor, as a pattern of four bytes.
std::uint32_t fill_pattern(const TensorMap& map);

// Where a byte of a tile really lies: the swizzle of an offset in shared memory.
constexpr std::uint32_t swizzled(Swizzle swizzle, std::uint32_t offset) {
  const std::uint32_t mask = (1u << static_cast<unsigned>(swizzle)) - 1;
  return offset ^ (offset >> 7 & mask) << 4;
}

}  // namespace plumb::machine
