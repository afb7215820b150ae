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
    std::uint64_t word = 0;
    for (; left > 0; --left, ++at) word = word << 8 | static_cast<unsigned char>(*at);
    return static_cast<std::size_t>(mix(hash ^ word));
  }

 private:
  static std::uint64_t mix(std::uint64_t value) {
    value *= 0x9e3779b97f4a7c15u;
    return value ^ value >> 29;
  }
};

}  // namespace plumb::ptx
