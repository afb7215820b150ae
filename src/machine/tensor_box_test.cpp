// SPDX-License-Identifier: Apache-2.0
#include "machine/tensor_box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

namespace plumb::machine {
namespace {

TensorMap matrix(TensorType type, std::uint64_t columns, std::uint64_t rows, std::uint32_t box_columns,
                 std::uint32_t box_rows, Swizzle swizzle = Swizzle::None) {
  TensorMap map;
  map.type = type, map.rank = 2, map.address = 0x10000;
  map.dims = {columns, rows, 1, 1, 1};
  map.strides[0] = (columns * byte_size(type) + 15) / 16 * 16;
  map.box = {box_columns, box_rows, 1, 1, 1};
  map.swizzle = swizzle;
  return map;
}

TensorPlan plan(const TensorMap& map, std::array<std::int32_t, 5> coordinates, bool is_store = false,
                std::uint32_t shared = 0) {
  TensorAccess access;
  access.dims = map.rank, access.coordinates = coordinates, access.is_store = is_store, access.shared = shared;
  TensorError error;
  TensorPlan out = plan_tensor_copy(map, access, error);
  EXPECT_EQ(error.kind, TensorError::Kind::None) << error.text;
  return out;
}

TensorError error_of(const TensorMap& map, const TensorAccess& access) {
  TensorError error;
  EXPECT_TRUE(plan_tensor_copy(map, access, error).pieces.empty());
  return error;
}

// Shared byte -> global address, or 0 for a fill.
std::map<std::uint32_t, std::uint64_t> bytes_of(const TensorPlan& plan) {
  std::map<std::uint32_t, std::uint64_t> out;
  for (const TensorPiece& piece : plan.pieces) {
    for (std::uint32_t i = 0; i < piece.size; ++i) {
      EXPECT_TRUE(out.emplace(piece.shared + i, piece.is_fill ? 0 : piece.global + i).second) << "a byte twice";
    }
  }
  return out;
}

TEST(TensorBox, ADenseTileIsOnePieceARow) {
  const TensorPlan tile = plan(matrix(TensorType::F16, 100, 10, 32, 4), {8, 3});
  ASSERT_EQ(tile.pieces.size(), 4u);
  EXPECT_EQ(tile.bytes, 256u);
  EXPECT_EQ(tile.pieces[0].global, 0x10000u + 3 * 208 + 16);
  EXPECT_EQ(tile.pieces[3].global, 0x10000u + 6 * 208 + 16);
  EXPECT_EQ(tile.pieces[3].shared, 192u);
  EXPECT_EQ(tile.pieces[3].size, 64u);
}

TEST(TensorBox, ElementsOutsideAreFilledAndCounted) {
  // Columns 96..127 of 100, rows -1..2 of 2.
  const TensorPlan tile = plan(matrix(TensorType::F16, 100, 2, 32, 4), {96, -1});
  EXPECT_EQ(tile.bytes, 256u);
  const auto bytes = bytes_of(tile);
  ASSERT_EQ(bytes.size(), 256u);
  EXPECT_EQ(bytes.at(0), 0u);                      // row -1
  EXPECT_EQ(bytes.at(64), 0x10000u + 192);         // row 0, column 96
  EXPECT_EQ(bytes.at(71), 0x10000u + 192 + 7);     // the last byte of column 99
  EXPECT_EQ(bytes.at(72), 0u);                     // column 100
  EXPECT_EQ(bytes.at(128), 0x10000u + 208 + 192);  // row 1
  EXPECT_EQ(bytes.at(192), 0u);                    // row 2
}

TEST(TensorBox, AStoreWritesWholeUnitsThatBeginInside) {
  const TensorPlan tile = plan(matrix(TensorType::F16, 100, 2, 32, 4), {96, 0}, true);
  const auto bytes = bytes_of(tile);
  EXPECT_EQ(bytes.size(), 32u);  // a unit in each of two rows, though only four of its eight elements are inside
  EXPECT_EQ(bytes.at(15), 0x10000u + 192 + 15);
  EXPECT_EQ(bytes.count(16), 0u);
}

// The 128-byte pattern by hand: row r of 128 bytes has its unit u at place u xor (r mod 8).
TEST(TensorBox, TheWidestSwizzleTurnsUnitsByTheirRow) {
  const auto bytes = bytes_of(plan(matrix(TensorType::Bf16, 64, 16, 64, 16, Swizzle::Bytes128), {0, 0}));
  for (std::uint32_t row = 0; row < 16; ++row) {
    for (std::uint32_t unit = 0; unit < 8; ++unit) {
      EXPECT_EQ(bytes.at(row * 128 + (unit ^ row % 8) * 16), 0x10000u + row * 128 + unit * 16);
    }
  }
}

// 64 and 32 bytes: two and four rows share a line of 128 bytes, and turn together.
TEST(TensorBox, NarrowerSwizzlesTurnPairsAndQuadsOfRows) {
  const auto pairs = bytes_of(plan(matrix(TensorType::U8, 64, 16, 64, 16, Swizzle::Bytes64), {0, 0}));
  for (std::uint32_t row = 0; row < 16; ++row) {
    for (std::uint32_t unit = 0; unit < 4; ++unit) {
      EXPECT_EQ(pairs.at(row * 64 + (unit ^ row / 2 % 4) * 16), 0x10000u + row * 64 + unit * 16);
    }
  }
  const auto quads = bytes_of(plan(matrix(TensorType::U8, 32, 16, 32, 16, Swizzle::Bytes32), {0, 0}));
  for (std::uint32_t row = 0; row < 16; ++row) {
    for (std::uint32_t unit = 0; unit < 2; ++unit) {
      EXPECT_EQ(quads.at(row * 32 + (unit ^ row / 4 % 2) * 16), 0x10000u + row * 32 + unit * 16);
    }
  }
}

TEST(TensorBox, TheSwizzleIsOneOfAddressesNotOfTiles) {
  const auto bytes = bytes_of(plan(matrix(TensorType::U8, 128, 2, 128, 2, Swizzle::Bytes128), {0, 0}, false, 384));
  EXPECT_EQ(bytes.at(384 + 3 * 16), 0x10000u);        // line 3 of its 1024 bytes
  EXPECT_EQ(bytes.at(512 + 4 * 16), 0x10000u + 128);  // line 4
}

TEST(TensorBox, NarrowRowsKeepTheSpansPitch) {
  const TensorPlan tile = plan(matrix(TensorType::U8, 16, 4, 16, 4, Swizzle::Bytes128), {0, 0});
  EXPECT_EQ(tile.bytes, 64u);
  const auto bytes = bytes_of(tile);
  EXPECT_EQ(bytes.size(), 64u);
  EXPECT_EQ(bytes.at(2 * 128 + 2 * 16), 0x10000u + 32);
}

// A second derivation: every element of the box by itself, from the last dimension inwards, with bounds and places
// computed apart from rows and units.
std::map<std::uint32_t, std::uint64_t> by_elements(const TensorMap& map, const std::array<std::int32_t, 5>& c,
                                                   std::uint32_t shared, std::uint32_t& total) {
  const unsigned size = byte_size(map.type);
  std::array<std::uint32_t, 5> counts{1, 1, 1, 1, 1};
  for (unsigned d = 0; d < map.rank; ++d) {
    counts[d] = d == 0 ? map.box[0] : 1 + (map.box[d] - 1) / map.element_strides[d];
  }
  const std::uint32_t row_bytes = map.swizzle == Swizzle::None ? counts[0] * size : span_of(map.swizzle);
  std::map<std::uint32_t, std::uint64_t> out;
  total = counts[0] * counts[1] * counts[2] * counts[3] * counts[4] * size;
  std::array<std::uint32_t, 5> b{};
  for (b[4] = 0; b[4] < counts[4]; ++b[4]) {
    for (b[3] = 0; b[3] < counts[3]; ++b[3]) {
      for (b[2] = 0; b[2] < counts[2]; ++b[2]) {
        for (b[1] = 0; b[1] < counts[1]; ++b[1]) {
          for (b[0] = 0; b[0] < counts[0]; ++b[0]) {
            const std::uint32_t row = b[1] + counts[1] * (b[2] + counts[2] * (b[3] + counts[3] * b[4]));
            bool is_inside = true;
            std::int64_t offset = 0;
            for (unsigned d = 0; d < map.rank; ++d) {
              const std::int64_t x = c[d] + std::int64_t{b[d]} * (d == 0 ? 1 : map.element_strides[d]);
              is_inside = is_inside && 0 <= x && x < static_cast<std::int64_t>(map.dims[d]);
              offset += x * (d == 0 ? size : static_cast<std::int64_t>(map.strides[d - 1]));
            }
            for (unsigned byte = 0; byte < size; ++byte) {
              const std::uint32_t at = shared + row * row_bytes + b[0] * size + byte;
              std::uint32_t turned = 0;  // bit by bit: bits 4 and up are crossed with bits 7 and up
              for (unsigned bit = 0; bit < 32; ++bit) {
                std::uint32_t value = at >> bit & 1;
                if (bit >= 4 && bit < 4 + static_cast<unsigned>(map.swizzle)) value ^= at >> (bit + 3) & 1;
                turned |= value << bit;
              }
              out[turned] = is_inside ? map.address + static_cast<std::uint64_t>(offset) + byte : 0;
            }
          }
        }
      }
    }
  }
  return out;
}

TEST(TensorBox, AgreesWithElementsTakenOneByOne) {
  std::mt19937 random(7);
  const auto draw = [&](std::uint32_t low, std::uint32_t high) { return low + random() % (high - low + 1); };
  for (int round = 0; round < 400; ++round) {
    TensorMap map;
    map.type = static_cast<TensorType>(draw(0, kTensorTypes - 1));
    const unsigned size = byte_size(map.type);
    map.rank = draw(1, 5);
    map.swizzle = static_cast<Swizzle>(draw(0, 3));
    map.address = 0x40000000;
    const std::uint32_t inner = 16 * draw(1, map.swizzle == Swizzle::None ? 8 : span_of(map.swizzle) / 16);
    for (unsigned d = 0; d < map.rank; ++d) {
      map.dims[d] = draw(1, d == 0 ? 200 : 9);
      map.box[d] = d == 0 ? inner / size : draw(1, 5);
      map.element_strides[d] = draw(1, 3);
      if (d > 0) map.strides[d - 1] = 16 * draw(0, 200);
    }
    ASSERT_TRUE(problems_of(map).empty());
    std::array<std::int32_t, 5> c{};
    c[0] = (static_cast<std::int32_t>(draw(0, 24)) - 8) * static_cast<std::int32_t>(16 / size);
    for (unsigned d = 1; d < map.rank; ++d) c[d] = static_cast<std::int32_t>(draw(0, 14)) - 4;
    const std::uint32_t shared = 128 * draw(0, 20);
    std::uint32_t total = 0;
    const auto expected = by_elements(map, c, shared, total);
    const TensorPlan tile = plan(map, c, false, shared);
    EXPECT_EQ(tile.bytes, total);
    ASSERT_EQ(bytes_of(tile), expected) << "round " << round;
  }
}

// 3x3 filters over a padded 4x4 image, by hand: pixels walk W first inside [-1, 3), carry to H, then to the next image.
TEST(TensorBox, PixelsWalkInsideTheirBox) {
  TensorMap map;
  map.is_im2col = true, map.type = TensorType::U8, map.rank = 4, map.address = 0x10000;
  map.dims = {16, 4, 4, 2, 1}, map.strides = {16, 64, 256, 0};
  map.lower = {-1, -1, 0}, map.upper = {-1, -1, 0};
  map.channels = 16, map.pixels = 20;
  TensorAccess access;
  access.mode = TensorMode::Im2col, access.dims = 4, access.coordinates = {0, 1, 2, 0}, access.offsets = {2, 0, 0};
  TensorError error;
  const TensorPlan column = plan_tensor_copy(map, access, error);
  ASSERT_EQ(error.kind, TensorError::Kind::None) << error.text;
  EXPECT_EQ(column.bytes, 320u);
  const auto bytes = bytes_of(column);
  std::vector<std::uint64_t> pixels;
  for (std::uint32_t i = 0; i < 20; ++i) pixels.push_back(bytes.at(16 * i));
  const auto at = [](std::uint64_t n, std::uint64_t h, std::uint64_t w) { return 0x10000 + 256 * n + 64 * h + 16 * w; };
  EXPECT_EQ(pixels[0], at(0, 2, 3));  // W 1 + 2
  EXPECT_EQ(pixels[1], 0u);           // W 2 + 2 is outside
  EXPECT_EQ(pixels[2], 0u);           // image 1, H -1
  EXPECT_EQ(pixels[6], at(1, 0, 1));  // H 0, W -1 + 2
  EXPECT_EQ(pixels[8], at(1, 0, 3));
  EXPECT_EQ(pixels[9], 0u);
  EXPECT_EQ(pixels[10], at(1, 1, 1));
  EXPECT_EQ(pixels[18], 0u);  // image 2 is outside
}

TEST(TensorBox, FourRowsAreGatheredOneAfterTheOther) {
  const TensorMap map = matrix(TensorType::F32, 32, 100, 8, 1);
  TensorAccess access;
  access.mode = TensorMode::Gather4, access.dims = 2, access.coordinates = {4, 7, 99, 100, 7};
  TensorError error;
  const TensorPlan rows = plan_tensor_copy(map, access, error);
  ASSERT_EQ(error.kind, TensorError::Kind::None) << error.text;
  EXPECT_EQ(rows.bytes, 128u);
  const auto bytes = bytes_of(rows);
  EXPECT_EQ(bytes.at(0), 0x10000u + 7 * 128 + 16);
  EXPECT_EQ(bytes.at(32), 0x10000u + 99 * 128 + 16);
  EXPECT_EQ(bytes.at(64), 0u);
  EXPECT_EQ(bytes.at(96), 0x10000u + 7 * 128 + 16);
}

TEST(TensorBox, WhatDoesNotGoTogetherIsSaid) {
  const TensorMap map = matrix(TensorType::F16, 100, 10, 32, 4);
  TensorAccess access;
  access.dims = 3;
  EXPECT_THAT(error_of(map, access).text, testing::HasSubstr("rank 2"));
  access.dims = 2, access.coordinates = {4, 0};
  EXPECT_EQ(error_of(map, access).kind, TensorError::Kind::Coordinate);
  access.coordinates = {0, -1}, access.is_store = true;
  EXPECT_THAT(error_of(map, access).text, testing::HasSubstr("must not start before"));
  access.coordinates = {}, access.mode = TensorMode::Im2col;
  EXPECT_EQ(error_of(map, access).kind, TensorError::Kind::Map);
  TensorMap broken = map;
  broken.strides[0] = 8;
  EXPECT_EQ(error_of(broken, access).kind, TensorError::Kind::Map);
}

}  // namespace
}  // namespace plumb::machine
