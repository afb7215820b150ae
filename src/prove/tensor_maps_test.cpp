// SPDX-License-Identifier: Apache-2.0
#include "prove/tensor_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/codes.h"

namespace plumb::prove {
namespace {

task::BoundTensorMap usual() {
  task::BoundTensorMap map;
  map.name = "a_map", map.tensor = "a_ptr", map.type = "bf16";
  map.dims = {208, 1000}, map.strides = {416}, map.element_strides = {1, 1}, map.box = {64, 128};
  map.swizzle = "128B", map.interleave = "none", map.promotion = "256B", map.fill = "nan";
  map.offset = 832;
  return map;
}

Place no_place(const std::string&) { return {}; }

TEST(TensorMaps, AHeadersMapIsTheDriversMap) {
  Findings findings;
  const auto image = make_tensor_map(usual(), 0x10000, no_place, findings);
  ASSERT_TRUE(image) << render(findings, false);
  std::string why;
  const auto map = machine::decode(*image, why);
  ASSERT_TRUE(map) << why;
  machine::TensorMap expected;
  expected.type = machine::TensorType::Bf16, expected.rank = 2, expected.address = 0x10340;
  expected.dims = {208, 1000, 1, 1, 1}, expected.strides = {416, 0, 0, 0}, expected.box = {64, 128, 1, 1, 1};
  expected.swizzle = machine::Swizzle::Bytes128, expected.promotion = 3, expected.fills_nan = true;
  EXPECT_EQ(*map, expected);
}

TEST(TensorMaps, PixelsAndCornersAreTaken) {
  task::BoundTensorMap bound = usual();
  bound.is_im2col = true, bound.box.clear(), bound.dims = {64, 20, 12, 8}, bound.strides = {128, 2560, 30720};
  bound.element_strides = {1, 2, 1, 1}, bound.lower = {-1, -2}, bound.upper = {0, -1};
  bound.channels = 16, bound.pixels = 100, bound.swizzle = "32B";
  Findings findings;
  const auto image = make_tensor_map(bound, 0x10000, no_place, findings);
  ASSERT_TRUE(image) << render(findings, false);
  std::string why;
  const auto map = machine::decode(*image, why);
  ASSERT_TRUE(map) << why;
  EXPECT_TRUE(map->is_im2col);
  EXPECT_EQ(map->lower[1], -2);
  EXPECT_EQ(map->upper[1], -1);
  EXPECT_EQ(map->pixels, 100u);
  EXPECT_EQ(map->element_strides[1], 2u);
}

TEST(TensorMaps, EachRuleThatTheDriverHasIsFoundAtItsKey) {
  std::vector<std::string> keys;
  const auto place_of = [&](const std::string& key) {
    keys.push_back(key);
    return Place{};
  };
  const auto keys_of = [&](auto change) {
    task::BoundTensorMap map = usual();
    change(map);
    Findings findings;
    keys.clear();
    EXPECT_FALSE(make_tensor_map(map, 0x10000, place_of, findings));
    EXPECT_TRUE(findings.has_error());
    for (const Finding& finding : findings.list()) EXPECT_EQ(finding.code, &machine::kTensorMap);
    return keys.empty() ? std::string() : keys[0];
  };
  EXPECT_EQ(keys_of([](auto& map) { map.offset = 2; }), "/tensor_maps/a_map/address");
  EXPECT_EQ(keys_of([](auto& map) { map.strides = {200}; }), "/tensor_maps/a_map/strides");
  EXPECT_EQ(keys_of([](auto& map) { map.box = {-64, 128}; }), "/tensor_maps/a_map/box");
  EXPECT_EQ(keys_of([](auto& map) { map.box = {64, 1LL << 40}; }), "/tensor_maps/a_map/box");
  EXPECT_EQ(keys_of([](auto& map) { map.dims = {0, 1}; }), "/tensor_maps/a_map/dims");
  EXPECT_EQ(keys_of([](auto& map) { map.element_strides = {1, 9}; }), "/tensor_maps/a_map/element_strides");
  EXPECT_EQ(keys_of([](auto& map) { map.type = "u16"; }), "/tensor_maps/a_map/fill");
}

}  // namespace
}  // namespace plumb::prove
