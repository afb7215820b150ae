// SPDX-License-Identifier: Apache-2.0
// Random prime pairs (q, p = 2q + 1) with 2^28 < p < 2^29. A fixed prime could be built against; these are drawn anew
// for each run. Sixty-four products of residues below 2^29 fit in 64 bits, which is what the matrix product leans on.
#pragma once

#include <cstdint>

namespace plumb::domain::field {

struct PrimePair {
  std::uint32_t q = 0, p = 0;
};

bool is_prime(std::uint32_t n);             // deterministic
PrimePair draw_primes(std::uint64_t seed);  // the same seed gives the same pair

std::uint32_t power(std::uint32_t base, std::uint32_t exponent, std::uint32_t modulus);

}  // namespace plumb::domain::field
