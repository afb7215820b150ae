// SPDX-License-Identifier: Apache-2.0
#include "session/npy.h"

#include <gtest/gtest.h>

namespace plumb::session {
namespace {

// What numpy.save writes for numpy.array([[1, -2, 3]], dtype="<i2"), byte for byte.
std::string numpy_file() {
  std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 3), }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string("\x01\x00\xfe\xff\x03\x00", 6);
}

std::string with_header(const std::string& header, const std::string& data, char major = 1) {
  std::string out("\x93NUMPY", 6);
  out += major;
  out += '\0';
  out += static_cast<char>(header.size());
  out += '\0';
  if (major == 2) out += std::string(2, '\0');
  return out + header + data;
}

TEST(Npy, WritesWhatNumPyWrites) {
  Array array{'i', 2, {1, 3}, std::string("\x01\x00\xfe\xff\x03\x00", 6)};
  EXPECT_EQ(format_npy(array), numpy_file());
}

TEST(Npy, ReadsVersionsOneAndTwoAndEveryRank) {
  Findings findings;
  const auto array = parse_npy(numpy_file(), "a", findings);
  ASSERT_TRUE(array) << render(findings, false);
  EXPECT_EQ(array->kind, 'i');
  EXPECT_EQ(array->item_bytes, 2u);
  EXPECT_EQ(array->shape, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(array->bytes.size(), 6u);
  const auto scalar =
      parse_npy(with_header("{'shape': (), 'descr': '|u1', 'fortran_order': False}", "x", 2), "a", findings);
  ASSERT_TRUE(scalar) << render(findings, false);
  EXPECT_TRUE(scalar->shape.empty());
  const auto vector = parse_npy(
      with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}", std::string(16, 'x')), "a", findings);
  ASSERT_TRUE(vector) << render(findings, false);
  for (const Array& each : {*array, *scalar, *vector}) {
    const auto again = parse_npy(format_npy(each), "a", findings);
    ASSERT_TRUE(again) << render(findings, false);
    EXPECT_EQ(again->shape, each.shape);
    EXPECT_EQ(again->bytes, each.bytes);
  }
}

TEST(Npy, RefusesEverythingElseWithOneFinding) {
  const std::string four(4, 'x');
  const std::string cases[] = {
      "",
      "hello, world",
      numpy_file().substr(0, 9),
      numpy_file().substr(0, 60),
      numpy_file() + "x",
      numpy_file().substr(0, numpy_file().size() - 1),
      with_header("{'descr': '<f4', 'fortran_order': True, 'shape': (1,)}", four),
      with_header("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", four),
      with_header("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", four),
      with_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", four),
      with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", four),
      with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}", four),
      with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999)}", four),
      with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", four),
      with_header("{'descr': '<f4', 'shape': (1,), 'more': 3}", four),
      with_header("{'descr': '<f4', 'fortran_order': False}", four),
      with_header("{'descr': '<f4", four),
      with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", four, 3)};
  for (const std::string& file : cases) {
    Findings findings;
    EXPECT_FALSE(parse_npy(file, "a", findings)) << file;
    EXPECT_EQ(findings.list().size(), 1u) << file;
  }
}

TEST(Npy, HoldsTypesWithoutANumPyNameAsBits) {
  EXPECT_EQ(held_as("*bf16").kind, 'u');
  EXPECT_EQ(held_as("*bf16").bytes, 2u);
  EXPECT_EQ(held_as("*fp8e4nv").bytes, 1u);
  EXPECT_EQ(held_as("*fp16").kind, 'f');
  EXPECT_EQ(held_as("*i64").kind, 'i');
  EXPECT_EQ(held_as("*u32").kind, 'u');
}

}  // namespace
}  // namespace plumb::session
