// SPDX-License-Identifier: Apache-2.0
#include "domain/field/product.h"

// The AVX-512 intrinsics of g++ 12 start from a register that they leave unset on purpose, and the compiler says so
// here.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <immintrin.h>

#include <algorithm>
#include <vector>

namespace plumb::domain::field {
namespace {

// Products of residues below 2^29 that a 64-bit sum holds.
constexpr std::uint32_t kLazyProducts = 64;
// Columns that are multiplied with all rows before the next: with one group's products of them, 128 KiB.
constexpr std::uint32_t kColumns = 64;

// Part of a segment.
struct Run {
  const Residues* a = nullptr;
  const Residues* b = nullptr;
  std::uint32_t k = 0, first = 0, last = 0;
};

// Runs whose products fit in one sum. Blocks are multiplied group by group, so that what a group reads stays in the
// cache; every tile adds its part to the result.
using Group = std::vector<Run>;

std::vector<Group> split(std::span<const Segment> segments) {
  std::vector<Group> groups;
  std::uint32_t pending = kLazyProducts;
  for (const Segment& segment : segments) {
    for (std::uint32_t first = 0; first < segment.k; first += kLazyProducts) {
      const std::uint32_t count = std::min(kLazyProducts, segment.k - first);
      if (pending + count > kLazyProducts) {
        groups.emplace_back();
        pending = 0;
      }
      groups.back().push_back({segment.a, segment.b, segment.k, first, first + count});
      pending += count;
    }
  }
  return groups;
}

// A sum of at most 64 products, as a Montgomery residue: high half minus the multiple of p that clears the low half.
std::uint32_t reduce(std::uint64_t sum, std::uint32_t p, std::uint32_t inverse) {
  const std::uint32_t quotient = static_cast<std::uint32_t>(sum) * inverse;
  const std::int64_t high =
      static_cast<std::int64_t>(sum >> 32) - static_cast<std::int64_t>(std::uint64_t{quotient} * p >> 32);
  return static_cast<std::uint32_t>(high < 0 ? high + p : high % p);
}

void entry_plain(const Modulus& modulus, const Group& group, std::uint32_t i, std::uint32_t j, Residues& out) {
  std::uint64_t sums[kLaneCount] = {};
  for (const Run& run : group) {
    for (std::uint32_t l = run.first; l < run.last; ++l) {
      const Residues &x = run.a[i * run.k + l], &y = run.b[j * run.k + l];
      for (unsigned r = 0; r < kLaneCount; ++r) sums[r] += std::uint64_t{x.lane[r]} * y.lane[r];
    }
  }
  Residues part;
  for (unsigned r = 0; r < kLaneCount; ++r) {
    part.lane[r] = reduce(sums[r], modulus.prime.lane[r], modulus.inverse.lane[r]);
  }
  out = add(modulus, out, part);
}

// --- AVX2: even and odd lanes apart, a tile of two by two

#define PLUMB_AVX2 __attribute__((target("avx2"), always_inline))

PLUMB_AVX2 inline __m256i load(const Residues& a) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a.lane));
}
PLUMB_AVX2 inline void store(Residues& a, __m256i v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(a.lane), v); }

PLUMB_AVX2 inline __m256i below(__m256i x, __m256i multiple) {
  return _mm256_min_epu32(x, _mm256_sub_epi32(x, multiple));  // wraps to a large number where x < multiple
}

// High halves of sums, brought below p, minus high halves of products.
PLUMB_AVX2 inline __m256i finish(__m256i high, __m256i high_q, __m256i p) {
  for (int shift = 3; shift >= 0; --shift) high = below(high, _mm256_slli_epi32(p, shift));
  const __m256i difference = _mm256_sub_epi32(high, high_q);
  return _mm256_min_epu32(difference, _mm256_add_epi32(difference, p));
}

PLUMB_AVX2 inline __m256i reduce_avx2(__m256i even, __m256i odd, __m256i p, __m256i inverse) {
  const __m256i p_odd = _mm256_srli_epi64(p, 32), inverse_odd = _mm256_srli_epi64(inverse, 32);
  const __m256i even_q = _mm256_mul_epu32(_mm256_mul_epu32(even, inverse), p);
  const __m256i odd_q = _mm256_mul_epu32(_mm256_mul_epu32(odd, inverse_odd), p_odd);
  return finish(_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa),
                _mm256_blend_epi32(_mm256_srli_epi64(even_q, 32), odd_q, 0xaa), p);
}

__attribute__((target("avx2"))) void tile_avx2(const Modulus& modulus, const Group& group, std::uint32_t row,
                                               std::uint32_t column, std::uint32_t n, Residues* out) {
  constexpr unsigned kSide = 2;
  const __m256i p = load(modulus.prime), inverse = load(modulus.inverse), zero = _mm256_setzero_si256();
  __m256i even[kSide][kSide], odd[kSide][kSide];
  for (unsigned i = 0; i < kSide; ++i) {
    for (unsigned j = 0; j < kSide; ++j) even[i][j] = odd[i][j] = zero;
  }
  for (const Run& run : group) {
    const Residues *a = run.a + row * run.k, *b = run.b + column * run.k;
    for (std::uint32_t l = run.first; l < run.last; ++l) {
      for (unsigned i = 0; i < kSide; ++i) {
        const __m256i x = load(a[i * run.k + l]), x_odd = _mm256_srli_epi64(x, 32);
        for (unsigned j = 0; j < kSide; ++j) {
          const __m256i y = load(b[j * run.k + l]);
          even[i][j] = _mm256_add_epi64(even[i][j], _mm256_mul_epu32(x, y));
          odd[i][j] = _mm256_add_epi64(odd[i][j], _mm256_mul_epu32(x_odd, _mm256_srli_epi64(y, 32)));
        }
      }
    }
  }
  for (unsigned i = 0; i < kSide; ++i) {
    for (unsigned j = 0; j < kSide; ++j) {
      Residues& total = out[(row + i) * n + column + j];
      store(total, below(_mm256_add_epi32(load(total), reduce_avx2(even[i][j], odd[i][j], p, inverse)), p));
    }
  }
}

// --- AVX-512: all eight lanes in one register, a tile of four by four

#define PLUMB_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq"), always_inline))

PLUMB_AVX512 inline __m512i widen(const Residues& a) {
  return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a.lane)));
}

PLUMB_AVX512 inline __m256i reduce_avx512(__m512i sum, __m256i p, __m256i inverse) {
  const __m512i quotient = _mm512_mul_epu32(sum, _mm512_cvtepu32_epi64(inverse));
  const __m512i product = _mm512_mul_epu32(quotient, _mm512_cvtepu32_epi64(p));
  __m256i high = _mm512_cvtepi64_epi32(_mm512_srli_epi64(sum, 32));
  for (int shift = 3; shift >= 0; --shift) {
    high = _mm256_min_epu32(high, _mm256_sub_epi32(high, _mm256_slli_epi32(p, shift)));
  }
  const __m256i difference = _mm256_sub_epi32(high, _mm512_cvtepi64_epi32(_mm512_srli_epi64(product, 32)));
  return _mm256_min_epu32(difference, _mm256_add_epi32(difference, p));
}

__attribute__((target("avx512f,avx512vl,avx512dq"))) void tile_avx512(const Modulus& modulus, const Group& group,
                                                                      std::uint32_t row, std::uint32_t column,
                                                                      std::uint32_t n, Residues* out) {
  constexpr unsigned kSide = 4;
  const __m256i p = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(modulus.prime.lane));
  const __m256i inverse = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(modulus.inverse.lane));
  __m512i sums[kSide][kSide];
  for (unsigned i = 0; i < kSide; ++i) {
    for (unsigned j = 0; j < kSide; ++j) sums[i][j] = _mm512_setzero_si512();
  }
  for (const Run& run : group) {
    const Residues *a = run.a + row * run.k, *b = run.b + column * run.k;
    for (std::uint32_t l = run.first; l < run.last; ++l) {
      __m512i y[kSide];
      for (unsigned j = 0; j < kSide; ++j) y[j] = widen(b[j * run.k + l]);
      for (unsigned i = 0; i < kSide; ++i) {
        const __m512i x = widen(a[i * run.k + l]);
        for (unsigned j = 0; j < kSide; ++j) {
          sums[i][j] = _mm512_add_epi64(sums[i][j], _mm512_mul_epu32(x, y[j]));
        }
      }
    }
  }
  for (unsigned i = 0; i < kSide; ++i) {
    for (unsigned j = 0; j < kSide; ++j) {
      auto* const total = reinterpret_cast<__m256i*>(out[(row + i) * n + column + j].lane);
      const __m256i grown = _mm256_add_epi32(_mm256_loadu_si256(total), reduce_avx512(sums[i][j], p, inverse));
      _mm256_storeu_si256(total, _mm256_min_epu32(grown, _mm256_sub_epi32(grown, p)));
    }
  }
}

}  // namespace

void block_product(const Modulus& modulus, std::span<const Segment> segments, std::uint32_t m, std::uint32_t n,
                   Residues* out) {
  unsigned side = 1;
  if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && m % 4 == 0 && n % 4 == 0) {
    side = 4;
  } else if (__builtin_cpu_supports("avx2") && m % 2 == 0 && n % 2 == 0) {
    side = 2;
  }
  std::fill_n(out, std::size_t{m} * n, Residues{});
  for (const Group& group : split(segments)) {
    for (std::uint32_t first = 0; first < n; first += kColumns) {
      const std::uint32_t last = std::min(n, first + kColumns);
      for (std::uint32_t i = 0; i < m; i += side) {
        for (std::uint32_t j = first; j < last; j += side) {
          if (side == 4) {
            tile_avx512(modulus, group, i, j, n, out);
          } else if (side == 2) {
            tile_avx2(modulus, group, i, j, n, out);
          } else {
            entry_plain(modulus, group, i, j, out[i * n + j]);
          }
        }
      }
    }
  }
}

}  // namespace plumb::domain::field
