// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4) names contents in certificates and run logs; mix64 (the splitmix finaliser) is the cheap mixing
// function behind pseudo-random functions and seeds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plumb {

std::string sha256(std::string_view bytes);  // 64 lower-case hexadecimal digits

constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t random_seed();  // from the system's entropy

}  // namespace plumb
