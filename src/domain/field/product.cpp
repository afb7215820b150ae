// SPDX-License-Identifier: Apache-2.0
#include "domain/field/product.h"

#include <immintrin.h>

#include <algorithm>

namespace plumb::domain::field {
namespace {

// Products of residues below 2^29 that a 64-bit sum holds.
constexpr std::uint32_t kLazy64 = 64;

// A sum of at most 64 products, as a Montgomery residue: high half minus the multiple of p that clears the low half,
// then brought from (-2^29, 2^32) into [0, p).
std::uint32_t reduce(std::uint64_t sum, std::uint32_t p, std::uint32_t inverse) {
  const std::uint32_t quotient = static_cast<std::uint32_t>(sum) * inverse;
  const std::int64_t high =
      static_cast<std::int64_t>(sum >> 32) - static_cast<std::int64_t>(std::uint64_t{quotient} * p >> 32);
  return static_cast<std::uint32_t>(high < 0 ? high + p : high % p);
}

void product_plain(const Modulus& modulus, const Residues* a, const Residues* b, std::uint32_t m, std::uint32_t n,
                   std::uint32_t k, Residues* out) {
  for (std::uint32_t i = 0; i < m; ++i) {
    for (std::uint32_t j = 0; j < n; ++j) {
      Residues total;
      for (std::uint32_t first = 0; first < k; first += kLazy64) {
        std::uint64_t sums[kLaneCount] = {};
        const std::uint32_t last = std::min(k, first + kLazy64);
        for (std::uint32_t l = first; l < last; ++l) {
          const Residues &x = a[i * k + l], &y = b[j * k + l];
          for (unsigned r = 0; r < kLaneCount; ++r) sums[r] += std::uint64_t{x.lane[r]} * y.lane[r];
        }
        Residues part;
        for (unsigned r = 0; r < kLaneCount; ++r) {
          part.lane[r] = reduce(sums[r], modulus.prime.lane[r], modulus.inverse.lane[r]);
        }
        total = add(modulus, total, part);
      }
      out[i * n + j] = total;
    }
  }
}

// --- AVX2: even and odd lanes apart, a tile of two by two

#define PLUMB_AVX2 __attribute__((target("avx2"), always_inline)) inline

PLUMB_AVX2 __m256i below(__m256i x, __m256i multiple) {
  return _mm256_min_epu32(x, _mm256_sub_epi32(x, multiple));  // wraps to a large number where x < multiple
}

PLUMB_AVX2 __m256i reduce_avx2(__m256i even, __m256i odd, __m256i p, __m256i inverse) {
  const __m256i p_odd = _mm256_srli_epi64(p, 32), inverse_odd = _mm256_srli_epi64(inverse, 32);
  const __m256i even_q = _mm256_mul_epu32(_mm256_mul_epu32(even, inverse), p);
  const __m256i odd_q = _mm256_mul_epu32(_mm256_mul_epu32(odd, inverse_odd), p_odd);
  // High halves, the sums' brought below p first so that the difference fits.
  __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
  for (int shift = 3; shift >= 0; --shift) high = below(high, _mm256_slli_epi32(p, shift));
  const __m256i high_q = _mm256_blend_epi32(_mm256_srli_epi64(even_q, 32), odd_q, 0xaa);
  const __m256i difference = _mm256_sub_epi32(high, high_q);
  return _mm256_min_epu32(difference, _mm256_add_epi32(difference, p));
}

PLUMB_AVX2 __m256i add_avx2(__m256i a, __m256i b, __m256i p) { return below(_mm256_add_epi32(a, b), p); }

template <unsigned Rows, unsigned Columns>
PLUMB_AVX2 void tile_avx2(const Modulus& modulus, const Residues* a, const Residues* b, std::uint32_t n,
                          std::uint32_t k, Residues* out) {
  const __m256i p = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(modulus.prime.lane));
  const __m256i inverse = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(modulus.inverse.lane));
  __m256i totals[Rows][Columns];
  for (auto& row : totals) {
    for (__m256i& total : row) total = _mm256_setzero_si256();
  }
  for (std::uint32_t first = 0; first < k; first += kLazy64) {
    __m256i even[Rows][Columns], odd[Rows][Columns];
    for (unsigned i = 0; i < Rows; ++i) {
      for (unsigned j = 0; j < Columns; ++j) even[i][j] = odd[i][j] = _mm256_setzero_si256();
    }
    const std::uint32_t last = std::min(k, first + kLazy64);
    for (std::uint32_t l = first; l < last; ++l) {
      __m256i y[Columns];
      for (unsigned j = 0; j < Columns; ++j) {
        y[j] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b[j * k + l].lane));
      }
      for (unsigned i = 0; i < Rows; ++i) {
        const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a[i * k + l].lane));
        const __m256i x_odd = _mm256_srli_epi64(x, 32);
        for (unsigned j = 0; j < Columns; ++j) {
          even[i][j] = _mm256_add_epi64(even[i][j], _mm256_mul_epu32(x, y[j]));
          odd[i][j] = _mm256_add_epi64(odd[i][j], _mm256_mul_epu32(x_odd, _mm256_srli_epi64(y[j], 32)));
        }
      }
    }
    for (unsigned i = 0; i < Rows; ++i) {
      for (unsigned j = 0; j < Columns; ++j) {
        totals[i][j] = add_avx2(totals[i][j], reduce_avx2(even[i][j], odd[i][j], p, inverse), p);
      }
    }
  }
  for (unsigned i = 0; i < Rows; ++i) {
    for (unsigned j = 0; j < Columns; ++j) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out[i * n + j].lane), totals[i][j]);
    }
  }
}

// --- AVX-512: all eight lanes in one register, a tile of four by four

#define PLUMB_AVX512 __attribute__((target("avx512f,avx512vl,avx512dq"), always_inline)) inline

PLUMB_AVX512 __m256i reduce_avx512(__m512i sum, __m256i p, __m256i inverse) {
  const __m512i quotient = _mm512_mul_epu32(sum, _mm512_cvtepu32_epi64(inverse));
  const __m512i product = _mm512_mul_epu32(quotient, _mm512_cvtepu32_epi64(p));
  __m256i high = _mm512_cvtepi64_epi32(_mm512_srli_epi64(sum, 32));
  for (int shift = 3; shift >= 0; --shift) {
    high = _mm256_min_epu32(high, _mm256_sub_epi32(high, _mm256_slli_epi32(p, shift)));
  }
  const __m256i difference = _mm256_sub_epi32(high, _mm512_cvtepi64_epi32(_mm512_srli_epi64(product, 32)));
  return _mm256_min_epu32(difference, _mm256_add_epi32(difference, p));
}

template <unsigned Rows, unsigned Columns>
PLUMB_AVX512 void tile_avx512(const Modulus& modulus, const Residues* a, const Residues* b, std::uint32_t n,
                              std::uint32_t k, Residues* out) {
  const __m256i p = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(modulus.prime.lane));
  const __m256i inverse = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(modulus.inverse.lane));
  __m256i totals[Rows][Columns];
  for (auto& row : totals) {
    for (__m256i& total : row) total = _mm256_setzero_si256();
  }
  for (std::uint32_t first = 0; first < k; first += kLazy64) {
    __m512i sums[Rows][Columns];
    for (auto& row : sums) {
      for (__m512i& sum : row) sum = _mm512_setzero_si512();
    }
    const std::uint32_t last = std::min(k, first + kLazy64);
    for (std::uint32_t l = first; l < last; ++l) {
      __m512i y[Columns];
      for (unsigned j = 0; j < Columns; ++j) {
        y[j] = _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(b[j * k + l].lane)));
      }
      for (unsigned i = 0; i < Rows; ++i) {
        const __m512i x =
            _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a[i * k + l].lane)));
        for (unsigned j = 0; j < Columns; ++j) sums[i][j] = _mm512_add_epi64(sums[i][j], _mm512_mul_epu32(x, y[j]));
      }
    }
    for (unsigned i = 0; i < Rows; ++i) {
      for (unsigned j = 0; j < Columns; ++j) {
        const __m256i grown = _mm256_add_epi32(totals[i][j], reduce_avx512(sums[i][j], p, inverse));
        totals[i][j] = _mm256_min_epu32(grown, _mm256_sub_epi32(grown, p));
      }
    }
  }
  for (unsigned i = 0; i < Rows; ++i) {
    for (unsigned j = 0; j < Columns; ++j) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out[i * n + j].lane), totals[i][j]);
    }
  }
}

__attribute__((target("avx2"))) void product_avx2(const Modulus& modulus, const Residues* a, const Residues* b,
                                                  std::uint32_t m, std::uint32_t n, std::uint32_t k, Residues* out) {
  for (std::uint32_t i = 0; i < m; i += 2) {
    for (std::uint32_t j = 0; j < n; j += 2) tile_avx2<2, 2>(modulus, a + i * k, b + j * k, n, k, out + i * n + j);
  }
}

__attribute__((target("avx512f,avx512vl,avx512dq"))) void product_avx512(const Modulus& modulus, const Residues* a,
                                                                         const Residues* b, std::uint32_t m,
                                                                         std::uint32_t n, std::uint32_t k,
                                                                         Residues* out) {
  for (std::uint32_t i = 0; i < m; i += 4) {
    for (std::uint32_t j = 0; j < n; j += 4) tile_avx512<4, 4>(modulus, a + i * k, b + j * k, n, k, out + i * n + j);
  }
}

using Product = void (*)(const Modulus&, const Residues*, const Residues*, std::uint32_t, std::uint32_t, std::uint32_t,
                         Residues*);

}  // namespace

void block_product(const Modulus& modulus, const Residues* a, const Residues* b, std::uint32_t m, std::uint32_t n,
                   std::uint32_t k, Residues* out) {
  const bool has_avx512 = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  Product product = product_plain;
  if (has_avx512 && m % 4 == 0 && n % 4 == 0) {
    product = product_avx512;
  } else if (__builtin_cpu_supports("avx2") && m % 2 == 0 && n % 2 == 0) {
    product = product_avx2;
  }
  product(modulus, a, b, m, n, k, out);
}

}  // namespace plumb::domain::field
