// SPDX-License-Identifier: Apache-2.0
#include "machine/coalescing.h"

#include <algorithm>
#include <array>
#include <vector>

#include "machine/lanes.h"

namespace plumb::machine {

namespace {

constexpr std::uint64_t kBanks = 32, kBankBytes = 4;

// Whether every two lanes that are `distance` apart read at one address, as far as both take part.
bool has_equal_neighbours(const std::uint64_t* address, std::uint32_t mask, unsigned distance) {
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const unsigned other = lane ^ distance;
    if ((mask >> lane & mask >> other & 1) != 0 && address[lane] != address[other]) return false;
  }
  return true;
}

}  // namespace

SectorCount count_sectors(std::span<const ByteRange> ranges) {
  std::vector<ByteRange> sorted;
  for (const ByteRange& range : ranges) {
    if (range.size != 0) sorted.push_back(range);
  }
  std::sort(sorted.begin(), sorted.end(), [](const ByteRange& a, const ByteRange& b) { return a.address < b.address; });
  SectorCount out;
  std::uint64_t bytes = 0, end = 0, next_sector = 0;
  for (const ByteRange& range : sorted) {
    const std::uint64_t range_end = range.address + range.size;
    if (range_end > end) bytes += range_end - std::max(end, range.address);
    end = std::max(end, range_end);
    const std::uint64_t first = std::max(range.address / kSectorBytes, next_sector);
    const std::uint64_t last = (range_end - 1) / kSectorBytes + 1;
    if (last > first) out.touched += last - first;
    next_sector = std::max(next_sector, last);
  }
  out.least = (bytes + kSectorBytes - 1) / kSectorBytes;
  return out;
}

WavefrontCount count_wavefronts(const std::uint64_t* address, std::uint32_t mask, std::uint32_t size, bool is_load) {
  // Lanes whose words fill the banks once go together: all 32, 16 of 8 bytes, 8 of 16 bytes.
  auto group = static_cast<unsigned>(std::clamp<std::uint64_t>(kBanks * kBankBytes / std::max(size, 1u), 1, kLanes));
  // Loads of which neighbours share every address need half of the words, and twice as many lanes go together.
  const bool is_shared = has_equal_neighbours(address, mask, 1) || has_equal_neighbours(address, mask, 2);
  if (is_load && is_shared) group = std::min(2 * group, kLanes);
  WavefrontCount out;
  for (unsigned begin = 0; begin < kLanes; begin += group) {
    std::vector<std::uint64_t> words;
    for (unsigned lane = begin; lane < begin + group; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      for (std::uint64_t word = address[lane] / kBankBytes; word * kBankBytes < address[lane] + size; ++word) {
        words.push_back(word);
      }
    }
    if (words.empty()) continue;
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::array<std::uint64_t, kBanks> depth{};
    for (const std::uint64_t word : words) ++depth[word % kBanks];
    out.needed += *std::max_element(depth.begin(), depth.end());
    ++out.least;
  }
  return out;
}

}  // namespace plumb::machine
