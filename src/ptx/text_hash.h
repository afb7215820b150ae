// SPDX-License-Identifier: Apache-2.0
// A hash for the short names and words of PTX, read eight bytes at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace plumb::ptx {

struct TextHash {
  std::size_t operator()(std::string_view text) const noexcept {
    std::uint64_t hash = text.size();
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; left -= 8, at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      hash = mix(hash ^ word);
    }
    return static_cast<std::size_t>(mix(hash ^ rest(at, left)));
  }

 private:
  // Up to seven bytes; the two halves may overlap.
  static std::uint64_t rest(const char* at, std::size_t left) {
    if (left >= 4) {
      std::uint32_t first = 0, last = 0;
      std::memcpy(&first, at, 4);
      std::memcpy(&last, at + left - 4, 4);
      return static_cast<std::uint64_t>(first) << 32 | last;
    }
    if (left == 0) return 0;
    const auto byte = [&](std::size_t i) { return static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])); };
    return byte(0) << 16 | byte(left / 2) << 8 | byte(left - 1);
  }
  static std::uint64_t mix(std::uint64_t value) {
    value *= 0x9e3779b97f4a7c15u;
    return value ^ value >> 29;
  }
};

}  // namespace plumb::ptx
