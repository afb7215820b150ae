// SPDX-License-Identifier: Apache-2.0
#include "domain/field/residue.h"

#include <immintrin.h>

#include "domain/field/prime.h"

namespace plumb::domain::field {
namespace {

constexpr int kExponentBits = 29;
constexpr int kWindow = 4;
constexpr unsigned kPowers = 1U << kWindow;

// The factor that each lane's window of its exponent p - 2 calls for.
Residues pick(const Modulus& m, const Residues (&powers)[kPowers], int shift) {
  Residues factor;
  for (unsigned i = 0; i < kLaneCount; ++i) {
    factor.lane[i] = powers[(m.prime.lane[i] - 2) >> shift & (kPowers - 1)].lane[i];
  }
  return factor;
}

// a^(p - 2), the exponents of all lanes four bits at a time.
Residues inverse_sse2(const Modulus& m, const Residues& a) {
  Residues powers[kPowers];
  powers[0] = m.one;
  for (unsigned i = 1; i < kPowers; ++i) powers[i] = mul(m, powers[i - 1], a);
  Residues result = m.one;
  for (int shift = (kExponentBits - 1) / kWindow * kWindow; shift >= 0; shift -= kWindow) {
    for (int i = 0; i < kWindow; ++i) result = mul(m, result, result);
    result = mul(m, result, pick(m, powers, shift));
  }
  return result;
}

#define PLUMB_AVX2 __attribute__((target("avx2"))) inline

PLUMB_AVX2 __m256i load(const Residues& a) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a.lane)); }

PLUMB_AVX2 __m256i mul_avx2(__m256i a, __m256i b, __m256i p, __m256i inverse, __m256i p_odd, __m256i inverse_odd) {
  const __m256i even = _mm256_mul_epu32(a, b);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));
  const __m256i even_q = _mm256_mul_epu32(_mm256_mul_epu32(even, inverse), p);
  const __m256i odd_q = _mm256_mul_epu32(_mm256_mul_epu32(odd, inverse_odd), p_odd);
  const __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
  const __m256i high_q = _mm256_blend_epi32(_mm256_srli_epi64(even_q, 32), odd_q, 0xaa);
  const __m256i difference = _mm256_sub_epi32(high, high_q);
  return _mm256_min_epu32(difference, _mm256_add_epi32(difference, p));
}

__attribute__((target("avx2"))) Residues inverse_avx2(const Modulus& m, const Residues& a) {
  const __m256i p = load(m.prime), inverse = load(m.inverse);
  const __m256i p_odd = _mm256_srli_epi64(p, 32), inverse_odd = _mm256_srli_epi64(inverse, 32);
  const auto times = [&](__m256i x, __m256i y) __attribute__((target("avx2"))) {
    return mul_avx2(x, y, p, inverse, p_odd, inverse_odd);
  };
  Residues powers[kPowers];
  powers[0] = m.one;
  powers[1] = a;
  for (unsigned i = 2; i < kPowers; ++i) {
    const __m256i next = times(load(powers[i / 2]), load(powers[i - i / 2]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(powers[i].lane), next);
  }
  __m256i result = load(m.one);
  for (int shift = (kExponentBits - 1) / kWindow * kWindow; shift >= 0; shift -= kWindow) {
    for (int i = 0; i < kWindow; ++i) result = times(result, result);
    result = times(result, load(pick(m, powers, shift)));
  }
  Residues out;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.lane), result);
  return out;
}

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

Residues inverse(const Modulus& m, const Residues& a) {
  return __builtin_cpu_supports("avx2") ? inverse_avx2(m, a) : inverse_sse2(m, a);
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
