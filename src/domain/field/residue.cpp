// SPDX-License-Identifier: Apache-2.0
#include "domain/field/residue.h"

#include "domain/field/prime.h"

namespace plumb::domain::field {
namespace {

constexpr unsigned kExponentBits = 29;

}  // namespace

Modulus make_modulus(const std::uint32_t (&primes)[kLaneCount]) {
  Modulus m;
  for (unsigned i = 0; i < kLaneCount; ++i) {
    const std::uint32_t p = primes[i];
    m.prime.lane[i] = p;
    std::uint32_t inverse = p;  // Newton's iteration: three right bits at first, then 6, 12, 24, 48
    for (int step = 0; step < 4; ++step) inverse *= 2 - p * inverse;
    m.inverse.lane[i] = inverse;
    m.one.lane[i] = static_cast<std::uint32_t>((std::uint64_t{1} << 32) % p);
    m.square.lane[i] = static_cast<std::uint32_t>(std::uint64_t{m.one.lane[i]} * m.one.lane[i] % p);
  }
  return m;
}

// a^(p - 2), the exponents of all lanes four bits at a time.
Residues inverse(const Modulus& m, const Residues& a) {
  constexpr unsigned kWindow = 4;
  Residues powers[1U << kWindow];
  powers[0] = m.one;
  for (unsigned i = 1; i < 1U << kWindow; ++i) powers[i] = mul(m, powers[i - 1], a);
  Residues result = m.one;
  for (int shift = (kExponentBits - 1) / kWindow * kWindow; shift >= 0; shift -= kWindow) {
    for (unsigned i = 0; i < kWindow; ++i) result = mul(m, result, result);
    Residues factor;
    for (unsigned i = 0; i < kLaneCount; ++i) {
      factor.lane[i] = powers[(m.prime.lane[i] - 2) >> shift & ((1U << kWindow) - 1)].lane[i];
    }
    result = mul(m, result, factor);
  }
  return result;
}

Residues from_integer(const Modulus& m, std::uint64_t integer) {
  Residues plain;
  for (unsigned i = 0; i < kLaneCount; ++i) plain.lane[i] = static_cast<std::uint32_t>(integer % m.prime.lane[i]);
  return to_form(m, plain);
}

Residues from_dyadic(const Modulus& m, std::int64_t mantissa, int exponent) {
  const std::uint64_t magnitude = mantissa < 0 ? 0 - static_cast<std::uint64_t>(mantissa) : mantissa;
  Residues result = from_integer(m, magnitude);
  if (exponent != 0) {
    Residues factor;
    for (unsigned i = 0; i < kLaneCount; ++i) {
      const std::uint32_t p = m.prime.lane[i];
      const std::uint32_t base = exponent > 0 ? 2 : (p + 1) / 2;
      factor.lane[i] = power(base, static_cast<std::uint32_t>(exponent > 0 ? exponent : -exponent), p);
    }
    result = mul(m, result, to_form(m, factor));
  }
  return mantissa < 0 ? neg(m, result) : result;
}

}  // namespace plumb::domain::field
