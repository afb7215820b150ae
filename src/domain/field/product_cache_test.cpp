// SPDX-License-Identifier: Apache-2.0
#include "domain/field/product_cache.h"

#include <gtest/gtest.h>

#include <array>

#include "domain/field/lab_test.h"

namespace plumb::domain {
namespace {

using field::Fingerprint;
using field::ProductCache;
using field::Residues;
using Real = Field::Real;

TEST(ProductCache, FingerprintsOfPartsAddUpToThatOfTheLine) {
  ProductCache cache;
  cache.seed(17);
  const std::vector<ValueId> line = {9, 100, 12, 8, 77, 5000000};
  for (std::size_t cut = 0; cut <= line.size(); ++cut) {
    Fingerprint sum;
    ProductCache::add(sum, cache.fingerprint(std::span(line).first(cut)), cache.power(0));
    ProductCache::add(sum, cache.fingerprint(std::span(line).subspan(cut)), cache.power(cut));
    EXPECT_EQ(sum, cache.fingerprint(line)) << cut;
  }
  std::vector<ValueId> padded = line, swapped = line;
  padded.push_back(0);
  std::swap(swapped[1], swapped[2]);
  EXPECT_EQ(cache.fingerprint(padded), cache.fingerprint(line));
  EXPECT_NE(cache.fingerprint(swapped), cache.fingerprint(line));
}

TEST(ProductCache, FindsPartsOfABlockAndNothingElse) {
  ProductCache cache;
  cache.seed(17);
  std::vector<Fingerprint> rows, columns;
  for (ValueId i = 0; i < 4; ++i) rows.push_back(cache.fingerprint(std::array{100 + i, 200 + i}));
  for (ValueId j = 0; j < 3; ++j) columns.push_back(cache.fingerprint(std::array{300 + j, 400 + j}));
  std::vector<Residues> products(12);
  for (std::uint32_t i = 0; i < 12; ++i) products[i].lane[0] = i;
  cache.keep(rows, columns, products);
  Residues found[2];
  ASSERT_TRUE(cache.find(std::array{rows[2], rows[1]}, std::array{columns[1]}, found));
  EXPECT_EQ(found[0].lane[0], 7u);
  EXPECT_EQ(found[1].lane[0], 4u);
  EXPECT_FALSE(cache.find(std::array{columns[0]}, std::array{rows[0]}, found));
  EXPECT_FALSE(cache.find(std::array{rows[0]}, std::array{cache.fingerprint(std::array<ValueId, 1>{300})}, found));
  // A second block of other columns: rows of the one do not stand for rows of both.
  cache.keep(std::array{rows[0]}, std::array{cache.fingerprint(std::array<ValueId, 1>{9})}, std::array{products[5]});
  EXPECT_FALSE(cache.find(std::array{rows[1]}, std::array{cache.fingerprint(std::array<ValueId, 1>{9})}, found));
}

// A matrix product in steps, with the left operand's rows at `x` and the right one's columns at `y`.
struct Tile {
  static constexpr std::uint32_t kM = 32, kN = 16, kK = 64;
  Lab lab{{.seed = 11}, Format::BF16};
  std::vector<Real> a, b;

  Tile() {
    for (std::uint32_t i = 0; i < kM * kK; ++i) a.push_back(lab.x(i));
    for (std::uint32_t i = 0; i < kK * kN; ++i) b.push_back(lab.x(kM * kK + i));
  }
  std::vector<Real> run(std::uint32_t m, std::uint32_t n, std::uint32_t k, DotKind kind) {
    const DotShape shape{.m = m, .n = n, .k = k, .a = Format::BF16, .b = Format::BF16, .kind = kind};
    std::vector<Real> sums(kM * kN), left(m * k), right(k * n), part(m * n);
    for (std::uint32_t l = 0; l < kK; l += k) {
      for (std::uint32_t i = 0; i < kM; i += m) {
        for (std::uint32_t j = 0; j < kN; j += n) {
          for (std::uint32_t s = 0; s < m; ++s) std::copy_n(&a[(i + s) * kK + l], k, &left[s * k]);
          for (std::uint32_t s = 0; s < m; ++s) std::copy_n(&sums[(i + s) * kN + j], n, &part[s * n]);
          for (std::uint32_t s = 0; s < k; ++s) std::copy_n(&b[(l + s) * kN + j], n, &right[s * n]);
          lab.field.dot(shape, left.data(), right.data(), part.data(), part.data());
          for (std::uint32_t s = 0; s < m; ++s) std::copy_n(&part[s * n], n, &sums[(i + s) * kN + j]);
        }
      }
    }
    return sums;
  }
  std::vector<std::array<std::uint32_t, kLanes>> residues(const std::vector<Real>& values) {
    std::vector<std::array<std::uint32_t, kLanes>> out;
    for (const Real& v : values) out.push_back(lab.field.residues(Format::F32, v));
    return out;
  }
};

TEST(FieldDot, StepsOfOneSideAreTheBlockOfTheOther) {
  Tile alone, after_block;
  const auto expected = alone.residues(alone.run(16, 8, 16, DotKind::MmaSync));
  const auto block = after_block.residues(after_block.run(32, 16, 32, DotKind::TritonDot));
  EXPECT_EQ(block, expected);
  EXPECT_EQ(after_block.residues(after_block.run(16, 8, 16, DotKind::MmaSync)), expected);
  EXPECT_EQ(after_block.lab.field.degree(after_block.run(16, 8, 16, DotKind::MmaSync)[5]), 2);
}

TEST(FieldDot, ABlockOfOtherOperandsIsNotMistaken) {
  Tile tile;
  tile.residues(tile.run(32, 16, 32, DotKind::TritonDot));
  std::swap(tile.a[3 * Tile::kK + 5], tile.a[3 * Tile::kK + 6]);  // inside row 3
  const auto changed = tile.residues(tile.run(16, 8, 16, DotKind::MmaSync));
  Tile fresh;
  std::swap(fresh.a[3 * Tile::kK + 5], fresh.a[3 * Tile::kK + 6]);
  EXPECT_EQ(changed, fresh.residues(fresh.run(16, 8, 16, DotKind::MmaSync)));
  Tile original;
  EXPECT_NE(changed, original.residues(original.run(16, 8, 16, DotKind::MmaSync)));
}

// Registers of the 16 x 8 x 16 step, with elements in the order of places.
struct Registers {
  std::vector<std::uint16_t> places;
  std::vector<std::vector<Tag>> tags;
  std::vector<const Tag*> pointers;
  Registers(const std::vector<Real>& matrix, unsigned registers, unsigned size) {
    const std::size_t each = matrix.size() / registers;
    tags.assign(registers, std::vector<Tag>(each * size));
    for (std::size_t i = 0; i < matrix.size(); ++i) {
      // Any bijection will do: what a warp's is, the machine's tests say.
      places.push_back(static_cast<std::uint16_t>(i * 37 % matrix.size()));
      for (unsigned k = 0; k < size; ++k) tags[i / each][i % each * size + k] = make_tag(matrix[places[i]].id, k);
    }
    for (const auto& one : tags) pointers.push_back(one.data());
  }
};

TEST(FieldDot, RegistersAreMultipliedAsTheirElementsAre) {
  Tile tile;
  const DotShape shape{.m = 16, .n = 8, .k = 16, .a = Format::BF16, .b = Format::BF16};
  std::vector<Real> a(256), columns(128), b(128), c(128), expected(128);
  for (unsigned i = 0; i < 256; ++i) a[i] = tile.a[i];
  for (unsigned i = 0; i < 128; ++i) columns[i] = tile.b[i], b[i % 16 * 8 + i / 16] = tile.b[i];
  for (unsigned i = 0; i < 128; ++i)
    c[i] = tile.lab.add(tile.lab.field.convert(Format::F32, Format::BF16, a[i], {}), tile.lab.c(1));
  tile.lab.field.dot(shape, a.data(), b.data(), c.data(), expected.data());
  const Registers left(a, 4, 2), right(columns, 4, 2), sums(c, 4, 4);
  Registers out(c, 4, 4);
  std::vector<Tag*> d;
  for (auto& one : out.tags) d.push_back(one.data());
  const Field::Fragment x{left.pointers, left.places, Format::BF16, 16, 16},
      y{right.pointers, right.places, Format::BF16, 8, 16};
  for (unsigned round = 0; round < 2; ++round) {  // the second time the fragments are known
    ASSERT_TRUE(tile.lab.field.dot(shape, x, y, sums.pointers, sums.places, d));
    for (unsigned i = 0; i < 128; ++i) {
      const Tag* const tags = &out.tags[i / 32][i % 32 * 4];
      for (unsigned k = 0; k < 4; ++k) ASSERT_EQ(tag_byte(tags[k]), k);
      EXPECT_TRUE(tile.lab.same({tag_value(tags[0])}, expected[sums.places[i]])) << i;
    }
  }
  EXPECT_FALSE(tile.lab.field.dot(shape, x, {right.pointers, right.places, Format::F16, 8, 16}, {}, sums.places, d));
  Registers torn(a, 4, 2);
  std::swap(torn.tags[2][6], torn.tags[2][7]);
  EXPECT_FALSE(tile.lab.field.dot(shape, {torn.pointers, torn.places, Format::BF16, 16, 16}, y, {}, sums.places, d));
  Registers concrete(a, 4, 2);
  concrete.tags[0][0] = concrete.tags[0][1] = 0;
  EXPECT_FALSE(
      tile.lab.field.dot(shape, {concrete.pointers, concrete.places, Format::BF16, 16, 16}, y, {}, sums.places, d));
}

}  // namespace
}  // namespace plumb::domain
