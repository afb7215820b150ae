// SPDX-License-Identifier: Apache-2.0
// Eight residues side by side, one per prime, in Montgomery form (x * 2^32 mod p, fully reduced), and their arithmetic
// with the vector instructions that every x86-64 has.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>

#include "base/hash.h"

namespace plumb::domain::field {

inline constexpr unsigned kLaneCount = 8;

struct alignas(16) Residues {
  std::uint32_t lane[kLaneCount] = {};
};

// The residues modulo the primes p: equal for equal functions, and so the identity of a value wherever one is needed.
struct Key {
  std::uint64_t low = 0, high = 0;
  friend bool operator==(const Key&, const Key&) = default;
  friend auto operator<=>(const Key&, const Key&) = default;
};

struct KeyHash {
  std::size_t operator()(const Key& k) const { return mix64(k.low ^ k.high * 0x9e3779b97f4a7c15ULL); }
};

// Primes and what Montgomery's reduction needs of them.
struct Modulus {
  Residues prime;
  Residues inverse;  // of the prime, modulo 2^32
  Residues one;      // 2^32 mod p: the number one
  Residues square;   // 2^64 mod p: brings a number into the form
};

namespace detail {

inline __m128i load(const Residues& a, unsigned half) {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(a.lane) + half);
}
inline void store(Residues& a, unsigned half, __m128i v) {
  _mm_store_si128(reinterpret_cast<__m128i*>(a.lane) + half, v);
}
// Adds the prime to lanes below zero.
inline __m128i lift(__m128i v, __m128i prime) { return _mm_add_epi32(v, _mm_and_si128(_mm_srai_epi32(v, 31), prime)); }
inline __m128i add(__m128i a, __m128i b, __m128i prime) {
  return lift(_mm_sub_epi32(_mm_add_epi32(a, b), prime), prime);
}
inline __m128i sub(__m128i a, __m128i b, __m128i prime) { return lift(_mm_sub_epi32(a, b), prime); }
inline __m128i high_halves(__m128i even, __m128i odd) {
  const __m128i mask = _mm_set_epi32(-1, 0, -1, 0);
  return _mm_or_si128(_mm_srli_epi64(even, 32), _mm_and_si128(odd, mask));
}
inline __m128i mul(__m128i a, __m128i b, __m128i prime, __m128i inverse) {
  const __m128i even = _mm_mul_epu32(a, b);
  const __m128i odd = _mm_mul_epu32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32));
  const __m128i even_q = _mm_mul_epu32(_mm_mul_epu32(even, inverse), prime);
  const __m128i odd_q = _mm_mul_epu32(_mm_mul_epu32(odd, _mm_srli_epi64(inverse, 32)), _mm_srli_epi64(prime, 32));
  return lift(_mm_sub_epi32(high_halves(even, odd), high_halves(even_q, odd_q)), prime);
}

}  // namespace detail

inline Residues add(const Modulus& m, const Residues& a, const Residues& b) {
  Residues r;
  for (unsigned h = 0; h < 2; ++h) {
    detail::store(r, h, detail::add(detail::load(a, h), detail::load(b, h), detail::load(m.prime, h)));
  }
  return r;
}

inline Residues sub(const Modulus& m, const Residues& a, const Residues& b) {
  Residues r;
  for (unsigned h = 0; h < 2; ++h) {
    detail::store(r, h, detail::sub(detail::load(a, h), detail::load(b, h), detail::load(m.prime, h)));
  }
  return r;
}

inline Residues neg(const Modulus& m, const Residues& a) { return sub(m, Residues{}, a); }

inline Residues mul(const Modulus& m, const Residues& a, const Residues& b) {
  Residues r;
  for (unsigned h = 0; h < 2; ++h) {
    detail::store(
        r, h,
        detail::mul(detail::load(a, h), detail::load(b, h), detail::load(m.prime, h), detail::load(m.inverse, h)));
  }
  return r;
}

// One bit per lane that is zero.
inline unsigned zero_lanes(const Residues& a) {
  const __m128i zero = _mm_setzero_si128();
  const __m128i low = _mm_cmpeq_epi32(detail::load(a, 0), zero);
  const __m128i high = _mm_cmpeq_epi32(detail::load(a, 1), zero);
  return static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(low))) |
         static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(high))) << 4;
}

namespace detail {

inline Key key(const Residues& a, unsigned half) {
  const __m128i v = load(a, half);
  return {static_cast<std::uint64_t>(_mm_cvtsi128_si64(v)),
          static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(v, v)))};
}

}  // namespace detail

inline Key key(const Residues& a) { return detail::key(a, 0); }
// Of the residues modulo the primes q.
inline Key lower_key(const Residues& a) { return detail::key(a, 1); }

// Lane by lane; zero lanes stay zero.
Residues inverse(const Modulus& m, const Residues& a);
// From and to plain integers below the primes.
inline Residues to_form(const Modulus& m, const Residues& plain) { return mul(m, plain, m.square); }
inline Residues from_form(const Modulus& m, const Residues& a) {
  Residues unit;
  for (std::uint32_t& lane : unit.lane) lane = 1;
  return mul(m, a, unit);
}
Residues from_integer(const Modulus& m, std::uint64_t integer);
// mantissa * 2^exponent
Residues from_dyadic(const Modulus& m, std::int64_t mantissa, int exponent);
// The primes in the order of the lanes.
Modulus make_modulus(const std::uint32_t (&primes)[kLaneCount]);

}  // namespace plumb::domain::field
