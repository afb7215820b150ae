// SPDX-License-Identifier: Apache-2.0
// Random valid PTX programs whose results PTX and the card fix to the bit: integer and float arithmetic with all
// roundings, conversions, packed forms, predicates, divergent branches and loops, calls, shuffles and votes, exchange
// through shared memory. One seed is one entry `k<seed>(.param .u64 in, .param .u64 out)`; the same seed gives the same
// text on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::random_program {

inline constexpr unsigned kInWords = 4096;  // a power of two
inline constexpr unsigned kBlocks = 2;
inline constexpr unsigned kWordsPerThread = 40;  // of `out`; it starts as zeros

struct Program {
  std::string entry;
  std::string text;      // the entry and the functions that it calls
  unsigned threads = 0;  // of a block
  unsigned out_words() const { return kBlocks * threads * kWordsPerThread; }
};

Program make(std::uint64_t seed);
// What stands before the programs of a module.
std::string header();
// The words of `in`: integers small and large, special floats of every width, moderate floats.
std::vector<std::uint32_t> inputs();
// CRC-32 as zlib has it.
std::uint32_t checksum(std::string_view bytes);
std::uint32_t checksum(const std::vector<std::uint32_t>& words);

}  // namespace plumb::random_program
