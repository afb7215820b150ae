// SPDX-License-Identifier: Apache-2.0
// Single instructions of real files, damaged: by characters, by words, by operands.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace plumb::agreement {

struct File {
  std::string path;
  std::string arch;                 // "sm_90a"
  std::vector<std::string> lines;   // of the whole text
  std::vector<std::size_t> instrs;  // the lines that hold one instruction of a body and nothing else
};

// Null text where the file has no target.
File split(const std::string& path, const std::string& text);

class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}
  std::string mutate(const File& file, std::size_t line);

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }
  std::mt19937 random_;
};

}  // namespace plumb::agreement
