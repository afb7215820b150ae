// SPDX-License-Identifier: Apache-2.0
#include "domain/field/prime.h"

#include "base/hash.h"

namespace plumb::domain::field {

std::uint32_t power(std::uint32_t base, std::uint32_t exponent, std::uint32_t modulus) {
  std::uint64_t result = 1 % modulus;
  for (std::uint64_t square = base % modulus; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * square % modulus;
    square = square * square % modulus;
  }
  return static_cast<std::uint32_t>(result);
}

// Miller-Rabin; the bases 2, 3, 5 and 7 decide every n below 3,215,031,751.
bool is_prime(std::uint32_t n) {
  constexpr std::uint32_t kBases[] = {2, 3, 5, 7};
  if (n < 2) return false;
  for (const std::uint32_t base : kBases) {
    if (n % base == 0) return n == base;
  }
  std::uint32_t odd = n - 1;
  unsigned twos = 0;
  for (; odd % 2 == 0; odd /= 2) ++twos;
  for (const std::uint32_t base : kBases) {
    std::uint64_t x = power(base, odd, n);
    if (x == 1 || x == n - 1) continue;
    unsigned i = 1;
    for (; i < twos && x != n - 1; ++i) x = x * x % n;
    if (x != n - 1) return false;
  }
  return true;
}

PrimePair draw_primes(std::uint64_t seed) {
  constexpr std::uint32_t kLow = 1U << 27;
  for (std::uint64_t i = 0;; ++i) {
    // p and q are both prime only for q = 5 mod 6.
    const auto draw = static_cast<std::uint32_t>(mix64(seed + i) % (kLow / 6));
    const std::uint32_t q = kLow + 3 + 6 * draw;  // 2^27 = 2 mod 6
    if (2 * q + 1 < 1U << 29 && is_prime(q) && is_prime(2 * q + 1)) return {q, 2 * q + 1};
  }
}

}  // namespace plumb::domain::field
