// SPDX-License-Identifier: Apache-2.0
// What one instruction of a warp asks of memory: the 32-byte sectors of global memory that its lanes touch, and the
// wavefronts, passes over the 32 banks of shared memory, that it takes.
#pragma once

#include <cstdint>
#include <span>

namespace plumb::machine {

inline constexpr std::uint64_t kSectorBytes = 32;

// Bytes [address, address + size).
struct ByteRange {
  std::uint64_t address = 0, size = 0;
};

struct SectorCount {
  std::uint64_t touched = 0;
  std::uint64_t least = 0;  // that could hold as many distinct bytes
};
SectorCount count_sectors(std::span<const ByteRange> ranges);

struct WavefrontCount {
  std::uint64_t needed = 0;
  std::uint64_t least = 0;  // without any conflict; what is beyond are bank conflicts
};
// `address`: [32], offsets in shared memory, of the lanes of `mask`; `size`: bytes of each lane. `is_load`: a plain
// load, of which neighbours may share what they read; no row of ldmatrix. tests/vectors/banks.vec has what a card
// needs.
WavefrontCount count_wavefronts(const std::uint64_t* address, std::uint32_t mask, std::uint32_t size, bool is_load);

}  // namespace plumb::machine
