// SPDX-License-Identifier: Apache-2.0
// Random programs are such that any order of warps leaves the same; gpu.run_random compares them with the card.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "random_run.h"

namespace plumb::random_program {
namespace {

TEST(RandomPrograms, EndWellAndLeaveTheSameInEveryOrder) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Program program = make(seed);
    const Left left = run(program);
    ASSERT_EQ(left.stop, "") << "seed " << seed;
    ASSERT_EQ(run(program, seed).words, left.words)
        << "seed " << seed << ": `random_programs emit " << seed << " 1` writes it";
  }
}

// The checksums tell programs apart, and see one wrong bit.
TEST(RandomPrograms, ChecksumsSeeEveryBit) {
  EXPECT_EQ(checksum("123456789"), 0xcbf43926u);  // the check value of CRC-32
  std::vector<std::uint32_t> words = run(make(1)).words;
  const std::uint32_t before = checksum(words);
  words[words.size() / 2] ^= 0x10000;
  EXPECT_NE(checksum(words), before);
  EXPECT_NE(checksum(run(make(2)).words), before);
}

}  // namespace
}  // namespace plumb::random_program
