// SPDX-License-Identifier: Apache-2.0
// The shared-memory matrix descriptor of wgmma: where the 16-byte pieces of an operand tile lie. The formulas are those
// that the hardware was seen to use (docs/numbers.md); the swizzle works on the absolute address. Tiles of tcgen05 lie
// by the same formulas (exec/tcgen05_descriptor.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plumb::machine {

struct MatrixDescriptor {
  std::uint32_t start = 0, leading = 0, stride = 0;  // bytes
  std::uint32_t base_offset = 0;
  std::uint32_t swizzle_units = 1;  // of 16 bytes in a swizzled row: 1 (none), 2, 4, 8
  // tcgen05 only: rows of 128 bytes, four to an atom, exchanged in units of 32 bytes.
  bool has_wide_units = false;
  // tcgen05 only: `leading` is where rows that leave their 128 bytes go on.
  bool has_second_chunk = false;
};

// Empty when a reserved field is set; `error` then says which.
std::optional<MatrixDescriptor> decode_descriptor(std::uint64_t bits, std::string& error);

// The tile that an instruction reads: `outer` lines of the operand's M or N, `inner` bytes of K in each when it is
// K-major; transposed, `inner` lines of K with `outer` elements each.
struct OperandTile {
  std::uint32_t outer = 0;          // M or N
  std::uint32_t inner = 0;          // K-major: bytes of K; otherwise elements of K
  bool is_transposed = false;       // MN-major
  std::uint32_t element_bytes = 2;  // asked for when MN-major
};

// Addresses of the pieces, line by line: K-major, for each of M or N its pieces along K; MN-major, for each k its
// pieces along M or N.
std::vector<std::uint32_t> tile_pieces(const MatrixDescriptor& descriptor, const OperandTile& tile);

}  // namespace plumb::machine
