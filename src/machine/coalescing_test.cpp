// SPDX-License-Identifier: Apache-2.0
// Sectors and wavefronts of patterns whose counts are plain: they are worked out by hand here.
#include "machine/coalescing.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "machine/lanes.h"

namespace plumb::machine {
namespace {

using Offset = std::function<std::uint64_t(std::uint64_t lane)>;

SectorCount sectors(std::uint32_t mask, std::uint64_t size, const Offset& offset) {
  std::vector<ByteRange> ranges;
  for_lanes(mask, [&](unsigned lane) { ranges.push_back({0x1000 + offset(lane), size}); });
  return count_sectors(ranges);
}

WavefrontCount wavefronts(std::uint32_t mask, std::uint32_t size, const Offset& offset, bool is_load = false) {
  std::array<std::uint64_t, kLanes> address{};
  for (unsigned lane = 0; lane < kLanes; ++lane) address[lane] = offset(lane);
  return count_wavefronts(address.data(), mask, size, is_load);
}

struct Pattern {
  const char* name;
  std::uint32_t mask, size;
  Offset offset;
  std::uint64_t count, least;
};

TEST(Sectors, OfOneWarp) {
  const Pattern patterns[] = {
      {"32 words side by side fill four sectors", kFullMask, 4, [](auto lane) { return 4 * lane; }, 4, 4},
      {"every other word touches twice as many", kFullMask, 4, [](auto lane) { return 8 * lane; }, 8, 4},
      {"words 128 bytes apart, one sector each", kFullMask, 4, [](auto lane) { return 128 * lane; }, 32, 4},
      {"all lanes at one word", kFullMask, 4, [](auto) { return 12; }, 1, 1},
      {"a start 4 bytes into a sector", kFullMask, 4, [](auto lane) { return 4 + 4 * lane; }, 5, 4},
      {"halves", kFullMask, 2, [](auto lane) { return 2 * lane; }, 2, 2},
      {"16 bytes each", kFullMask, 16, [](auto lane) { return 16 * lane; }, 16, 16},
      {"from the last lane to the first", kFullMask, 8, [](auto lane) { return 8 * (31 - lane); }, 8, 8},
      {"a ragged end of nine lanes", 0x1ff, 4, [](auto lane) { return 4 * lane; }, 2, 2},
      {"no lane", 0, 4, [](auto lane) { return lane; }, 0, 0},
      {"16 bytes of which 12 are the next lane's, too", kFullMask, 16, [](auto lane) { return 4 * lane; }, 5, 5},
  };
  for (const Pattern& pattern : patterns) {
    const SectorCount count = sectors(pattern.mask, pattern.size, pattern.offset);
    EXPECT_EQ(count.touched, pattern.count) << pattern.name;
    EXPECT_EQ(count.least, pattern.least) << pattern.name;
  }
}

TEST(Sectors, OfARangeWithinOneSectorAndAcrossTwo) {
  EXPECT_EQ(count_sectors(std::vector<ByteRange>{{30, 2}}).touched, 1u);
  EXPECT_EQ(count_sectors(std::vector<ByteRange>{{30, 3}}).touched, 2u);
  EXPECT_EQ(count_sectors(std::vector<ByteRange>{{30, 3}}).least, 1u);
  EXPECT_EQ(count_sectors(std::vector<ByteRange>{{96, 0}}).touched, 0u);
}

TEST(Wavefronts, OfOneWarp) {
  const Pattern patterns[] = {
      {"32 words side by side", kFullMask, 4, [](auto lane) { return 4 * lane; }, 1, 1},
      {"every other word: two lanes a bank", kFullMask, 4, [](auto lane) { return 8 * lane; }, 2, 1},
      {"every third word: 3 and 32 share no divisor", kFullMask, 4, [](auto lane) { return 12 * lane; }, 1, 1},
      {"a column of a tile of 32 words a row: all in one bank", kFullMask, 4, [](auto lane) { return 128 * lane; }, 32,
       1},
      {"the same with a word of padding", kFullMask, 4, [](auto lane) { return 132 * lane; }, 1, 1},
      {"all lanes at one word", kFullMask, 4, [](auto) { return 256; }, 1, 1},
      {"two words of one bank, half of the lanes each", kFullMask, 4, [](auto lane) { return lane / 16 * 128; }, 2, 1},
      {"bytes side by side lie in eight words", kFullMask, 1, [](auto lane) { return lane; }, 1, 1},
      {"halves 128 bytes apart", kFullMask, 2, [](auto lane) { return 128 * lane; }, 32, 1},
      {"8 bytes side by side: half of the lanes fill the banks", kFullMask, 8, [](auto lane) { return 8 * lane; }, 2,
       2},
      {"8 bytes at every other place", kFullMask, 8, [](auto lane) { return 16 * lane; }, 4, 2},
      {"16 bytes side by side: eight lanes fill the banks", kFullMask, 16, [](auto lane) { return 16 * lane; }, 4, 4},
      {"rows of 128 bytes, as ldmatrix meets them without a swizzle", kFullMask, 16,
       [](auto lane) { return 128 * lane; }, 32, 4},
      {"rows of 128 bytes, swizzled", kFullMask, 16, [](auto lane) { return 128 * lane + 16 * (lane % 8); }, 4, 4},
      {"rows of 144 bytes", kFullMask, 16, [](auto lane) { return 144 * lane; }, 4, 4},
      {"eight rows", 0xff, 16, [](auto lane) { return 144 * lane; }, 1, 1},
      {"the odd lanes of a column", 0xaaaaaaaa, 4, [](auto lane) { return 128 * lane; }, 16, 1},
      {"no lane", 0, 4, [](auto lane) { return lane; }, 0, 0},
  };
  for (const Pattern& pattern : patterns) {
    const WavefrontCount count = wavefronts(pattern.mask, pattern.size, pattern.offset);
    EXPECT_EQ(count.needed, pattern.count) << pattern.name;
    EXPECT_EQ(count.least, pattern.least) << pattern.name;
  }
}

TEST(Wavefronts, OfLoadsWhoseNeighboursShare) {
  const Pattern patterns[] = {
      {"8 bytes of one address", kFullMask, 8, [](auto) { return 8; }, 1, 1},
      {"16 bytes of one address", kFullMask, 16, [](auto) { return 16; }, 2, 2},
      {"pairs of lanes: 16 places of 8 bytes fill the banks", kFullMask, 8, [](auto lane) { return lane / 2 * 8; }, 1,
       1},
      {"lanes two apart", kFullMask, 8, [](auto lane) { return lane % 2 * 8 + lane / 4 * 16; }, 1, 1},
      {"lanes four apart do not count", kFullMask, 8, [](auto lane) { return lane % 4 * 8 + lane / 8 * 32; }, 2, 2},
      {"half of the pairs only", kFullMask, 8, [](auto lane) { return lane < 16 ? lane / 2 * 8 : lane * 8; }, 2, 2},
      {"words go together as they are", kFullMask, 4, [](auto lane) { return lane / 2 * 4; }, 1, 1},
      {"pairs with a conflict", kFullMask, 8, [](auto lane) { return lane / 2 * 16; }, 2, 1},
      {"pairs of which one lane takes part", 0x55555555, 8, [](auto lane) { return lane * 4; }, 1, 1},
  };
  for (const Pattern& pattern : patterns) {
    const WavefrontCount count = wavefronts(pattern.mask, pattern.size, pattern.offset, true);
    EXPECT_EQ(count.needed, pattern.count) << pattern.name;
    EXPECT_EQ(count.least, pattern.least) << pattern.name;
  }
}

// A card's cycles an access are its wavefronts (tools/refresh_bank_vectors.py). Loads of 8 and 16 bytes with lanes that
// take no part are slower than their wavefronts, which a counter of the card confirms (results/profile.json).
TEST(Wavefronts, TakeTheCyclesThatACardTakes) {
  std::ifstream file(PLUMB_SOURCE_DIR "/tests/vectors/banks.vec");
  std::string line;
  std::size_t compared = 0, skipped = 0;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string kind, word;
    std::uint32_t n = 0, hundredths = 0, mask = 0;
    if (!(words >> kind >> n >> hundredths)) continue;  // a remark or the stamp
    const bool is_matrix = kind.ends_with("matrix");
    const std::uint32_t size = is_matrix ? 16 : n, all = is_matrix && n < 4 ? (1u << 8 * n) - 1 : kFullMask;
    std::array<std::uint64_t, kLanes> address{};
    for (unsigned lane = 0; lane < kLanes && words >> word; ++lane) {
      if (word == "-") continue;
      mask |= 1u << lane;
      address[lane] = size * std::stoull(word);
    }
    if (kind == "ld" && size > 4 && mask != all) {
      ++skipped;
      continue;
    }
    const auto needed = static_cast<double>(count_wavefronts(address.data(), mask, size, kind == "ld").needed);
    EXPECT_NEAR(hundredths / 100.0, needed, 0.12 + 0.03 * needed) << line;
    ++compared;
  }
  EXPECT_EQ(compared, 1312u);
  EXPECT_EQ(skipped, 28u);
}

}  // namespace
}  // namespace plumb::machine
