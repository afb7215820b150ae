// SPDX-License-Identifier: Apache-2.0
#include "task/tensor_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "task/codes.h"
#include "task/launch.h"

namespace plumb::task {
namespace {

using testing::HasSubstr;

// A task with a tensor a[M][K] of bf16 and a scalar K.
Bound bound_of(std::int64_t m, std::int64_t k) {
  Bound bound;
  bound.label = "M=" + std::to_string(m) + ",K=" + std::to_string(k);
  bound.sizes = {{"M", m}, {"K", k}};
  BoundArg a;
  a.name = "a_ptr", a.type = "*bf16", a.is_tensor = true, a.shape = {m, k};
  a.elements = static_cast<std::uint64_t>(m * k);
  BoundArg scalar;
  scalar.name = "K", scalar.type = "i32", scalar.integer = k;
  bound.args = {a, scalar};
  return bound;
}

std::optional<LaunchHeader> header_of(const std::string& text, Findings& findings) {
  std::string lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines += "//! " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return load_launch(std::make_shared<Source>("a.ptx", lines + ".version 9.0\n"), "a.ptx", findings);
}

constexpr const char* kStart = "block = [128]\nparams = [\"a_map\", \"K\"]\n[tensor_maps.a_map]\n";

std::string message(const std::string& table) {
  Findings findings;
  const auto header = header_of(kStart + table, findings);
  if (header) bind_launch(*header, Task(), bound_of(32, 64), findings);
  if (findings.empty()) return "nothing";
  EXPECT_TRUE(findings.list()[0].place.source) << table;
  return findings.list()[0].message;
}

TEST(TensorMapHeader, NumbersComeFromTheTasksSizes) {
  Findings findings;
  const auto header = header_of(std::string(kStart) +
                                    "tensor = \"a_ptr\"\nbox = [\"min(K, 64)\", 128]\nswizzle = \"128B\"\n"
                                    "strides = [\"2 * K + 16\"]\noffset = \"32\"\nfill = \"nan\"\n",
                                findings);
  ASSERT_TRUE(header) << render(findings, false);
  const auto launch = bind_launch(*header, Task(), bound_of(32, 48), findings);
  ASSERT_TRUE(launch) << render(findings, false);
  ASSERT_EQ(launch->tensor_maps.size(), 1u);
  const BoundTensorMap& map = launch->tensor_maps[0];
  EXPECT_EQ(map.name, "a_map");
  EXPECT_EQ(map.tensor, "a_ptr");
  EXPECT_EQ(map.type, "bf16");
  EXPECT_EQ(map.dims, (std::vector<std::int64_t>{48, 32}));  // innermost first
  EXPECT_EQ(map.strides, (std::vector<std::int64_t>{112}));
  EXPECT_EQ(map.box, (std::vector<std::int64_t>{48, 128}));
  EXPECT_EQ(map.element_strides, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(map.offset, 32);
  EXPECT_EQ(map.swizzle, "128B");
  EXPECT_EQ(map.fill, "nan");
  EXPECT_FALSE(map.is_im2col);
  ASSERT_EQ(launch->params.size(), 2u);
  EXPECT_EQ(launch->params[0].kind, BoundLaunch::Param::Kind::TensorMap);
  EXPECT_EQ(launch->params[0].arg, "a_map");
}

TEST(TensorMapHeader, StridesAreDenseUnlessGiven) {
  Findings findings;
  const auto header = header_of(
      std::string(kStart) + "tensor = \"a_ptr\"\ndims = [16, \"K\", 3]\nbox = [16, 1, 1]\ntype = \"f32\"\n", findings);
  ASSERT_TRUE(header) << render(findings, false);
  const auto launch = bind_launch(*header, Task(), bound_of(32, 10), findings);
  ASSERT_TRUE(launch) << render(findings, false);
  EXPECT_EQ(launch->tensor_maps[0].strides, (std::vector<std::int64_t>{64, 640}));
}

TEST(TensorMapHeader, PixelsMakeAnIm2colMap) {
  Findings findings;
  const auto header = header_of(std::string(kStart) +
                                    "tensor = \"a_ptr\"\ndims = [16, 8, 8, 2]\nchannels = 16\npixels = \"K\"\n"
                                    "lower = [-1, -1]\nupper = [-1, \"0 - 1\"]\n",
                                findings);
  ASSERT_TRUE(header) << render(findings, false);
  const auto launch = bind_launch(*header, Task(), bound_of(32, 64), findings);
  ASSERT_TRUE(launch) << render(findings, false);
  EXPECT_TRUE(launch->tensor_maps[0].is_im2col);
  EXPECT_EQ(launch->tensor_maps[0].pixels, 64);
  EXPECT_EQ(launch->tensor_maps[0].upper, (std::vector<std::int64_t>{-1, -1}));
}

TEST(TensorMapHeader, WhatIsWrongIsFoundWhereItStands) {
  EXPECT_THAT(message("box = [64, 32]\n"), HasSubstr("names the argument `tensor`"));
  EXPECT_THAT(message("tensor = \"a_ptr\"\n"), HasSubstr("has a `box`"));
  EXPECT_THAT(message("tensor = \"a_ptr\"\nbox = [64, 32]\npixels = 4\n"), HasSubstr("has a `box`"));
  EXPECT_THAT(message("tensor = \"b_ptr\"\nbox = [64, 32]\n"), HasSubstr("has no tensor `b_ptr`"));
  EXPECT_THAT(message("tensor = \"K\"\nbox = [64, 32]\n"), HasSubstr("has no tensor `K`"));
  EXPECT_THAT(message("tensor = \"a_ptr\"\nbox = [64]\n"), HasSubstr("`box` has 1 entries, it must have 2"));
  EXPECT_THAT(message("tensor = \"a_ptr\"\nbox = [64, 32]\nstrides = [1, 2]\n"), HasSubstr("`strides` has 2"));
  EXPECT_THAT(message("tensor = \"a_ptr\"\nbox = [64, 32]\nswizzle = \"256B\"\n"), HasSubstr("`swizzle` is `256B`"));
  EXPECT_THAT(message("tensor = \"a_ptr\"\nbox = [64, 32]\ntype = \"bfloat\"\n"), HasSubstr("`type` is `bfloat`"));
  EXPECT_THAT(message("tensor = \"a_ptr\"\nbox = [64, 32]\nbogus = 1\n"), HasSubstr("unknown key `bogus`"));
  EXPECT_THAT(message("tensor = \"a_ptr\"\nbox = [\"Q\", 32]\n"), HasSubstr("`Q`"));
  EXPECT_THAT(message("tensor = \"a_ptr\"\ndims = [1, 2, 3, 4, 5, 6]\nbox = [64, 32]\n"), HasSubstr("6 dimensions"));
  EXPECT_EQ(message("tensor = \"a_ptr\"\nbox = [64, 32]\n"), "nothing");
}

TEST(TensorMapHeader, AMapThatIsNotPassedIsWrong) {
  Findings findings;
  EXPECT_FALSE(header_of("block = [128]\nparams = [\"K\"]\n[tensor_maps.a_map]\ntensor = \"a_ptr\"\nbox = [64, 32]\n",
                         findings));
  EXPECT_THAT(findings.list().at(0).message, HasSubstr("no entry of `params` is `a_map`"));
}

}  // namespace
}  // namespace plumb::task
