// SPDX-License-Identifier: Apache-2.0
#include "domain/field/residue.h"

#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "domain/field/logarithm.h"
#include "domain/field/prime.h"
#include "domain/field/product.h"

namespace plumb::domain::field {
namespace {

bool is_prime_by_division(std::uint32_t n) {
  for (std::uint32_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return n >= 2;
}

Modulus drawn_modulus(std::uint64_t seed) {
  std::uint32_t lanes[kLaneCount];
  for (unsigned r = 0; r < 4; ++r) {
    const PrimePair pair = draw_primes(seed + 1000 * r);
    lanes[r] = pair.p;
    lanes[r + 4] = pair.q;
  }
  return make_modulus(lanes);
}

Residues random_residues(const Modulus& m, std::uint64_t seed) {
  Residues r;
  for (unsigned i = 0; i < kLaneCount; ++i) {
    r.lane[i] = static_cast<std::uint32_t>(mix64(seed * kLaneCount + i) % m.prime.lane[i]);
  }
  return r;
}

TEST(Prime, AgreesWithTrialDivision) {
  for (std::uint32_t n = 0; n < 5000; ++n) EXPECT_EQ(is_prime(n), is_prime_by_division(n)) << n;
  for (std::uint32_t n = (1U << 28) - 50; n < (1U << 28) + 50; ++n)
    EXPECT_EQ(is_prime(n), is_prime_by_division(n)) << n;
}

TEST(Prime, DrawsPairsOfTheFormQAndTwoQPlusOneBelowTheLazyLimit) {
  std::set<std::uint32_t> seen;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const PrimePair pair = draw_primes(mix64(seed));
    EXPECT_TRUE(is_prime_by_division(pair.q));
    EXPECT_TRUE(is_prime_by_division(pair.p));
    EXPECT_EQ(pair.p, 2 * pair.q + 1);
    EXPECT_GT(pair.p, 1U << 28);
    EXPECT_LT(pair.p, 1U << 29);
    seen.insert(pair.p);
  }
  EXPECT_GT(seen.size(), 90u);
  EXPECT_EQ(draw_primes(5).p, draw_primes(5).p);
}

TEST(Residues, AgreeWithWideIntegerArithmetic) {
  const Modulus m = drawn_modulus(3);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Residues a = random_residues(m, 2 * seed), b = random_residues(m, 2 * seed + 1);
    const Residues plain_a = from_form(m, a), plain_b = from_form(m, b);
    const Residues product = from_form(m, mul(m, a, b)), sum = from_form(m, add(m, a, b)),
                   difference = from_form(m, sub(m, a, b)), quotient = from_form(m, mul(m, a, inverse(m, b)));
    for (unsigned i = 0; i < kLaneCount; ++i) {
      const std::uint64_t p = m.prime.lane[i], x = plain_a.lane[i], y = plain_b.lane[i];
      EXPECT_EQ(product.lane[i], x * y % p);
      EXPECT_EQ(sum.lane[i], (x + y) % p);
      EXPECT_EQ(difference.lane[i], (x + p - y) % p);
      EXPECT_EQ(quotient.lane[i] * y % p, x);
    }
  }
}

TEST(Residues, HoldDyadicNumbersExactly) {
  const Modulus m = drawn_modulus(4);
  const Residues eighth = from_dyadic(m, -1, -3);
  const Residues back = from_form(m, mul(m, eighth, from_integer(m, 8)));
  for (unsigned i = 0; i < kLaneCount; ++i) EXPECT_EQ(back.lane[i], m.prime.lane[i] - 1);
  const Residues large = from_form(m, from_dyadic(m, 3, 100));
  for (unsigned i = 0; i < kLaneCount; ++i) {
    std::uint64_t expected = 3;
    for (int bit = 0; bit < 100; ++bit) expected = expected * 2 % m.prime.lane[i];
    EXPECT_EQ(large.lane[i], expected);
  }
}

TEST(BlockProduct, AgreesWithOneProductAtATimeForEveryTileShape) {
  const Modulus m = drawn_modulus(5);
  const struct {
    std::uint32_t m, n, k;
  } shapes[] = {{16, 8, 16}, {4, 4, 200}, {2, 6, 64}, {3, 5, 65}, {1, 1, 1}, {8, 8, 63}, {6, 2, 129}};
  for (const auto& s : shapes) {
    std::vector<Residues> a(s.m * s.k), b(s.n * s.k), out(s.m * s.n);
    // The largest residues as well: the sums must not wrap.
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = i % 3 == 0 ? sub(m, {}, m.one) : random_residues(m, i);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = random_residues(m, 77777 + i);
    for (unsigned i = 0; i < kLaneCount; ++i) a[0].lane[i] = b[0].lane[i] = m.prime.lane[i] - 1;
    const Segment whole{a.data(), b.data(), s.k};
    block_product(m, {&whole, 1}, s.m, s.n, out.data());
    for (std::uint32_t i = 0; i < s.m; ++i) {
      for (std::uint32_t j = 0; j < s.n; ++j) {
        Residues expected;
        for (std::uint32_t l = 0; l < s.k; ++l) expected = add(m, expected, mul(m, a[i * s.k + l], b[j * s.k + l]));
        for (unsigned lane = 0; lane < kLaneCount; ++lane) {
          ASSERT_EQ(out[i * s.n + j].lane[lane], expected.lane[lane]) << s.m << ' ' << s.n << ' ' << s.k;
        }
      }
    }
  }
}

TEST(BlockProduct, HoldsSixtyFourLargestProducts) {
  const Modulus m = drawn_modulus(6);
  for (const std::uint32_t rows : {1U, 2U, 4U}) {
    constexpr std::uint32_t k = 64;
    Residues largest;
    for (unsigned i = 0; i < kLaneCount; ++i) largest.lane[i] = m.prime.lane[i] - 1;
    const std::vector<Residues> a(rows * k, largest);
    std::vector<Residues> out(rows * rows);
    const Segment whole{a.data(), a.data(), k};
    block_product(m, {&whole, 1}, rows, rows, out.data());
    Residues expected;
    for (std::uint32_t l = 0; l < k; ++l) expected = add(m, expected, mul(m, largest, largest));
    for (const Residues& r : out) EXPECT_EQ(key(r), key(expected));
  }
}

TEST(Logarithms, InvertPowersUpToSign) {
  const PrimePair pair = draw_primes(11);
  const std::uint32_t w = power(1234567, 2, pair.p);
  Logarithms logarithms;
  logarithms.set(0, pair.p, w);
  for (const std::uint32_t exponent : {0U, 1U, 5U, 1U << 20, pair.q - 1, 123456789U % pair.q}) {
    const std::uint32_t a = power(w, exponent, pair.p);
    EXPECT_EQ(logarithms(0, a), exponent);
    EXPECT_EQ(logarithms(0, pair.p - a), exponent);
  }
}

}  // namespace
}  // namespace plumb::domain::field
