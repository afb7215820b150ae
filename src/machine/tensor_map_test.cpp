// SPDX-License-Identifier: Apache-2.0
#include "machine/tensor_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "machine/tensor_vectors.h"

namespace plumb::machine {
namespace {

using namespace test;  // NOLINT: a test file

TEST(TensorMapVectors, TheDriverEncodesAndRefusesTheSameMaps) {
  std::size_t encoded = 0, refused = 0, wrong = 0;
  for (const VectorLine& line : vector_lines("tensor_map.vec")) {
    const auto [map, is_known] = driver_map(line.fields, 0);
    const bool is_refused = line.answer.starts_with("refused");
    const bool agrees = is_known ? problems_of(map).empty() != is_refused : is_refused;
    if (!agrees && ++wrong < 10) ADD_FAILURE() << line.text << " = " << line.answer;
    (is_refused ? refused : encoded) += 1;
    if (is_refused || !agrees) continue;
    if (encode(map) != image_of(line.answer) && ++wrong < 10) ADD_FAILURE() << line.text << " = " << line.answer;
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(encoded, 500U);
  EXPECT_GT(refused, 500U);
}

TEST(TensorMapVectors, MapsComeBackFromTheirBytes) {
  std::size_t count = 0;
  for (const VectorLine& line : vector_lines("tensor_map.vec")) {
    if (line.answer.starts_with("refused")) continue;
    TensorMap map = driver_map(line.fields, 0).map;
    for (unsigned i = map.rank; i < kMaxTensorRank; ++i) {  // the line holds more axes than the map
      map.dims[i] = map.box[i] = map.element_strides[i] = 1;
      map.strides[i - 1] = 0;
    }
    std::string why;
    const auto back = decode(image_of(line.answer), why);
    ASSERT_TRUE(back) << line.text << ": " << why;
    EXPECT_EQ(*back, map) << line.text;
    ++count;
  }
  EXPECT_GT(count, 500U);
}

TEST(TensorMapVectors, ReplacingAFieldLeavesTheCardsBytes) {
  const std::map<std::string, TensorMapField> fields{{"global_address", TensorMapField::GlobalAddress},
                                                     {"rank", TensorMapField::Rank},
                                                     {"box_dim", TensorMapField::BoxDim},
                                                     {"global_dim", TensorMapField::GlobalDim},
                                                     {"global_stride", TensorMapField::GlobalStride},
                                                     {"element_stride", TensorMapField::ElementStride},
                                                     {"elemtype", TensorMapField::ElemType},
                                                     {"interleave_layout", TensorMapField::InterleaveLayout},
                                                     {"swizzle_mode", TensorMapField::SwizzleMode},
                                                     {"fill_mode", TensorMapField::FillMode}};
  TensorMapImage starts[3]{};
  starts[1].fill(std::byte{0xff});
  TensorMap real;  // the third map that the script starts from
  real.type = TensorType::Bf16, real.rank = 5, real.address = 0x7F0000000000;
  real.dims = {64, 32, 16, 8, 4}, real.strides = {128, 4096, 65536, 524288};
  real.box = {16, 4, 2, 2, 2}, real.element_strides = {1, 2, 3, 4, 5};
  real.swizzle = Swizzle::Bytes32, real.promotion = 2;
  starts[2] = encode(real);
  std::size_t count = 0;
  for (const VectorLine& line : vector_lines("tensor_replace.vec")) {
    const auto field = fields.at(line.fields[0]);
    const std::uint64_t value = number(line.fields[2], 16);
    const std::vector<std::string> answers = fields_of(line.answer, ' ');
    for (unsigned i = 0; i < 3; ++i) {
      TensorMapImage image = starts[i];
      replace(image, field, number<unsigned>(line.fields[1]), value);
      EXPECT_EQ(image, image_of(answers[i])) << line.text << ", start " << i;
    }
    ++count;
  }
  EXPECT_GT(count, 150U);
}

// What a kernel of Triton's makes field by field, beginning with zeros, is the map that the driver would make.
TEST(TensorMap, FieldsPutIntoZerosMakeTheDriversMap) {
  TensorMapImage image{};
  replace(image, TensorMapField::GlobalAddress, 0, 0x7F0000001000);
  replace(image, TensorMapField::Rank, 0, 1);
  replace(image, TensorMapField::BoxDim, 0, 64);
  replace(image, TensorMapField::BoxDim, 1, 128);
  replace(image, TensorMapField::GlobalDim, 0, 208);
  replace(image, TensorMapField::GlobalDim, 1, 1000);
  replace(image, TensorMapField::GlobalStride, 0, 416);
  replace(image, TensorMapField::ElementStride, 0, 1);
  replace(image, TensorMapField::ElementStride, 1, 1);
  replace(image, TensorMapField::ElemType, 0, 10);
  replace(image, TensorMapField::SwizzleMode, 0, 3);
  TensorMap map;
  map.type = TensorType::Bf16, map.rank = 2, map.address = 0x7F0000001000;
  map.dims = {208, 1000, 1, 1, 1}, map.strides = {416, 0, 0, 0};
  map.box = {64, 128, 1, 1, 1}, map.swizzle = Swizzle::Bytes128;
  std::string why;
  EXPECT_EQ(decode(image, why), map) << why;
  TensorMapImage whole = encode(map);
  std::memset(whole.data() + 64, 0, 16);  // what the driver notes for itself
  EXPECT_EQ(image, whole);
}

TEST(TensorMap, EachBrokenRuleNamesItsField) {
  TensorMap good;
  good.type = TensorType::F16, good.rank = 3, good.address = 0x1000;
  good.dims = {64, 32, 16, 1, 1}, good.strides = {128, 4096, 0, 0}, good.box = {16, 4, 2, 1, 1};
  EXPECT_TRUE(problems_of(good).empty());
  const auto field = [&](auto change) {
    TensorMap map = good;
    change(map);
    const auto problems = problems_of(map);
    return problems.empty() ? std::string("none") : std::string(problems[0].field);
  };
  EXPECT_EQ(field([](TensorMap& m) { m.rank = 6; }), "rank");
  EXPECT_EQ(field([](TensorMap& m) { m.address = 8; }), "address");
  EXPECT_EQ(field([](TensorMap& m) { m.dims[1] = 0; }), "dims");
  EXPECT_EQ(field([](TensorMap& m) { m.strides[1] = 24; }), "strides");
  EXPECT_EQ(field([](TensorMap& m) { m.strides[0] = std::uint64_t{1} << 40; }), "strides");
  EXPECT_EQ(field([](TensorMap& m) { m.box[0] = 4; }), "box");
  EXPECT_EQ(field([](TensorMap& m) { m.box[1] = 257; }), "box");
  EXPECT_EQ(field([](TensorMap& m) { m.box = {256, 256, 2, 1, 1}; }), "box");
  EXPECT_EQ(field([](TensorMap& m) { m.box[0] = 32, m.swizzle = Swizzle::Bytes32; }), "box");
  EXPECT_EQ(field([](TensorMap& m) { m.element_strides[2] = 9; }), "element_strides");
  EXPECT_EQ(field([](TensorMap& m) { m.promotion = 4; }), "promotion");
  EXPECT_EQ(field([](TensorMap& m) { m.type = TensorType::U16, m.fills_nan = true; }), "fill");
  EXPECT_EQ(field([](TensorMap& m) { m.rank = 2, m.interleave = Interleave::Bytes16; }), "rank");
  EXPECT_EQ(field([](TensorMap& m) { m.address = 16, m.interleave = Interleave::Bytes32; }), "address");
  const auto column = [&](auto change) {
    return field([&](TensorMap& m) {
      m.is_im2col = true, m.channels = 16, m.pixels = 8;
      change(m);
    });
  };
  EXPECT_EQ(column([](TensorMap&) {}), "none");
  EXPECT_EQ(column([](TensorMap& m) { m.channels = 257; }), "channels");
  EXPECT_EQ(column([](TensorMap& m) { m.channels = 4; }), "channels");
  EXPECT_EQ(column([](TensorMap& m) { m.pixels = 1025; }), "pixels");
  EXPECT_EQ(column([](TensorMap& m) { m.lower[0] = 40000; }), "lower");
  EXPECT_EQ(column([](TensorMap& m) { m.upper[0] = -32; }), "upper");
}

TEST(TensorMap, BytesThatAreNoMapAreSaidToBe) {
  TensorMapImage image{};
  std::string why;
  image.fill(std::byte{0xff});
  EXPECT_FALSE(decode(image, why));
  EXPECT_FALSE(why.empty());
  image.fill(std::byte{0});
  image[8] = std::byte{0x70};  // rank 8
  EXPECT_FALSE(decode(image, why));
  EXPECT_THAT(why, testing::HasSubstr("rank is 8"));
  image[8] = std::byte{0x80}, image[9] = std::byte{0x05};  // element type 11
  EXPECT_FALSE(decode(image, why));
  EXPECT_THAT(why, testing::HasSubstr("element type"));
}

TEST(TensorMap, ValuesThatAFieldCannotHoldAreNamed) {
  EXPECT_TRUE(loss_of(TensorMapField::GlobalStride, 0, 416).empty());
  EXPECT_THAT(loss_of(TensorMapField::GlobalStride, 0, 200), testing::HasSubstr("multiple of 16"));
  EXPECT_FALSE(loss_of(TensorMapField::GlobalStride, 0, std::uint64_t{1} << 40).empty());
  EXPECT_TRUE(loss_of(TensorMapField::BoxDim, 1, 256).empty());
  EXPECT_FALSE(loss_of(TensorMapField::BoxDim, 1, 0).empty());
  EXPECT_FALSE(loss_of(TensorMapField::Rank, 0, 5).empty());
}

}  // namespace
}  // namespace plumb::machine
