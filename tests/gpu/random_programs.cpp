// SPDX-License-Identifier: Apache-2.0
// Writes random programs and what they read to stdout, for the card (tools/refresh_random_vectors.py), or what they
// leave here: rows as in tests/vectors/random.vec, with the checksum of each word of the threads' results.
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "random_program.h"
#include "random_run.h"

int main(int argc, char** argv) {
  using namespace plumb::random_program;
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "inputs" && argc == 2) {
    const std::vector<std::uint32_t> words = inputs();
    std::cout.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(4 * words.size()));
    return 0;
  }
  if (what == "emit" && argc == 4) {
    const std::uint64_t first = std::strtoull(argv[2], nullptr, 10), count = std::strtoull(argv[3], nullptr, 10);
    std::cout << header();
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      const std::string text = make(seed).text;
      std::cout << "// program " << seed << " " << std::hex << std::setfill('0') << std::setw(8) << checksum(text)
                << std::dec << "\n"
                << text;
    }
    return 0;
  }
  if (what == "run" && argc == 4) {
    const std::uint64_t first = std::strtoull(argv[2], nullptr, 10), count = std::strtoull(argv[3], nullptr, 10);
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
      const Program program = make(seed);
      const Left left = run(program);
      std::cout << seed << std::hex << std::setfill('0') << " " << std::setw(8) << checksum(program.text) << " "
                << std::setw(8) << checksum(left.words);
      for (unsigned word = 0; word < kWordsPerThread; ++word) {
        std::vector<std::uint32_t> column;
        for (std::size_t i = word; i < left.words.size(); i += kWordsPerThread) column.push_back(left.words[i]);
        std::cout << " " << checksum(column);
      }
      std::cout << std::dec << "\n";
      if (!left.stop.empty()) std::cout << left.stop << "\n";
    }
    return 0;
  }
  std::cerr << "random_programs inputs | emit FIRST COUNT | run FIRST COUNT\n";
  return 2;
}
