// SPDX-License-Identifier: Apache-2.0
// Products of narrow formats against plain loops over small numbers, in both domains: where elements and scales lie is
// written here apart from the meaning.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "machine/kernel_test.h"

namespace plumb::machine {
namespace {

constexpr std::array<float, 8> kE2M1{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
float e2m1(unsigned bits) { return (bits & 8) != 0 ? -kE2M1[bits & 7] : kE2M1[bits & 7]; }

std::uint32_t bits_of(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, 4);
  return bits;
}

// One warp: for each lane its registers of A, B, then the scales of A and B; the sums start at zero.
struct Problem {
  std::array<std::array<float, 64>, 16> a{};
  std::array<std::array<float, 64>, 8> b{};  // by column
  std::vector<std::uint32_t> words = std::vector<std::uint32_t>(32 * 8);
  std::uint32_t& word(unsigned lane, unsigned i) { return words[lane * 8 + i]; }
};

test::Ran run_warp(const Problem& problem, const std::string& form, const std::string& scales, bool is_field) {
  test::Kernel kernel;
  kernel.target = "sm_120a";
  kernel.in = problem.words;
  kernel.out_words = 128;
  kernel.body =
      "mad.wide.u32 %rd1, %t, 32, %in;\nld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd1];\n"
      "ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd1+16];\n"
      "mov.b32 %f0, 0;\nmov.b32 %f1, 0;\nmov.b32 %f2, 0;\nmov.b32 %f3, 0;\n"
      "mma.sync.aligned." +
      form +
      " {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, "
      "{%f0, %f1, %f2, %f3}" +
      scales +
      ";\nmad.wide.u32 %rd2, %t, 16, %out;\n"
      "st.global.v4.f32 [%rd2], {%f0, %f1, %f2, %f3};\n";
  return is_field ? test::run_field(kernel) : test::run(kernel);
}

void expect_products(const Problem& problem, const test::Ran& ran, unsigned k, bool is_field, const std::string& what) {
  ASSERT_FALSE(ran.result.stop) << what << ": " << ran.message();
  if (is_field) return;  // its results are abstract
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      float sum = 0;
      for (unsigned l = 0; l < k; ++l) sum += problem.a[row][l] * problem.b[column][l];
      EXPECT_EQ(ran.out[4 * lane + i], bits_of(sum)) << what << " row " << row << " column " << column;
    }
  }
}

// Four-bit elements, two a byte: register r of A holds eight of row g + 8 (r mod 2), from k = 8t + 32 (r / 2) on.
Problem four_bit_problem(unsigned seed, unsigned scales, unsigned per_scale) {
  std::mt19937 random(seed);
  Problem problem;
  std::array<std::array<float, 4>, 16> scale_a{};
  std::array<std::array<float, 4>, 8> scale_b{};
  for (unsigned lane = 0; lane < 32; ++lane) {
    problem.word(lane, 6) = problem.word(lane, 7) = 0x7f7f7f7f;
    for (unsigned i = 0; i < scales; ++i) {
      const unsigned x = random() % 4, y = random() % 4;
      // Lanes 4g and 4g + 1 hold the scales of rows g and g + 8, lane 4g those of column g.
      if (lane % 4 < 2) {
        problem.word(lane, 6) += x << (8 * i);
        scale_a[lane / 4 + 8 * (lane % 4)][i] = static_cast<float>(1 << x);
      }
      if (lane % 4 == 0) {
        problem.word(lane, 7) += y << (8 * i);
        scale_b[lane / 4][i] = static_cast<float>(1 << y);
      }
    }
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned r = 0; r < 6; ++r) {
      const bool is_a = r < 4;
      const unsigned block = is_a ? r / 2 : r - 4, line = lane / 4 + (is_a ? 8 * (r % 2) : 0);
      for (unsigned i = 0; i < 8; ++i) {
        const unsigned bits = random() % 16, k = 8 * (lane % 4) + i + 32 * block;
        problem.word(lane, r) |= bits << (4 * i);
        if (is_a) problem.a[line][k] = e2m1(bits) * scale_a[line][k / per_scale];
        else problem.b[line][k] = e2m1(bits) * scale_b[line][k / per_scale];
      }
    }
  }
  return problem;
}

TEST(ScaledProducts, OfFourBitElementsAreThoseOfPlainLoops) {
  for (const bool is_field : {false, true}) {
    const Problem two = four_bit_problem(1, 2, 32);
    expect_products(two,
                    run_warp(two, "m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
                             ", %r6, {0, 0}, %r7, {0, 0}", is_field),
                    64, is_field, "mxf4");
    const Problem four = four_bit_problem(2, 2, 32);
    expect_products(four,
                    run_warp(four, "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
                             ", %r6, {0, 0}, %r7, {0, 0}", is_field),
                    64, is_field, "mxf4nvf4");
  }
}

// Elements a byte each: four bits in its middle.
TEST(ScaledProducts, OfElementsInBytesAreThoseOfPlainLoops) {
  std::mt19937 random(3);
  Problem problem;
  for (unsigned lane = 0; lane < 32; ++lane) {
    problem.word(lane, 6) = lane % 4 >= 2 ? 0x7f7f807f : 0x01020304;  // thread 1, byte 1: a scale of two for each row
    problem.word(lane, 7) = lane % 4 == 3 ? 0x7e7f7f7f : 0x01020304;  // thread 3, byte 3: of a half for each column
    for (unsigned r = 0; r < 6; ++r) {
      const bool is_a = r < 4;
      const unsigned block = is_a ? r / 2 : r - 4, line = lane / 4 + (is_a ? 8 * (r % 2) : 0);
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned bits = random() % 16, k = 4 * (lane % 4) + i + 16 * block;
        problem.word(lane, r) |= bits << (8 * i + 2);
        (is_a ? problem.a[line][k] : problem.b[line][k]) = e2m1(bits);
      }
    }
  }
  for (const bool is_field : {false, true}) {
    expect_products(problem, run_warp(problem, "m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32", "", is_field), 32,
                    is_field, "f8f6f4");
    expect_products(
        problem,
        run_warp(problem, "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m1.f32.ue8m0",
                 ", %r6, {1, 1}, %r7, {3, 3}", is_field),
        32, is_field, "mxf8f6f4");
  }
}

}  // namespace
}  // namespace plumb::machine
