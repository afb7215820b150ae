// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma against plain matrix products, over kinds, shapes and layouts; and its misuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "machine/exec/tcgen05_product_test.h"

namespace plumb::machine {
namespace {

using namespace test;  // the types of its problems

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) {
    ADD_FAILURE() << "no `" << from << "` in the kernel";
    return text;
  }
  return text.replace(at, from.size(), to);
}

void check(const Case& c, unsigned seed) {
  const Problem problem = make(c, seed);
  const Ran ran = test::run(problem.kernel);
  ASSERT_FALSE(ran.result.stop) << c.text() << ": " << ran.message() << " at " << ran.place();
  std::size_t wrong = 0;
  std::string first;
  for (unsigned cta = 0; cta < c.group; ++cta) {
    for (unsigned i = 0; i < kCells; ++i) {
      std::uint32_t found = ran.out[cta * kCells + i], expected = problem.expected[cta][i];
      // What is above a sum of 16 bits is nobody's.
      if (c.is_half && i % kColumns >= kSums && i % kColumns < kSums + c.n) found &= 0xffff, expected &= 0xffff;
      if (found == expected) continue;
      if (wrong++ == 0) {
        first = "lane " + number(i / kColumns) + " column " + number(i % kColumns) + " of block " + number(cta) + ": " +
                number(found) + " for " + number(expected);
      }
    }
  }
  EXPECT_EQ(wrong, 0U) << c.text() << ": " << first;
}

TEST(Tcgen05Mma, MultipliesEverySwizzleAndMajor) {
  unsigned seed = 1;
  for (const unsigned swizzle : {16U, 32U, 64U, 128U}) {
    check({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 32, .swizzle = swizzle}, seed++);
    check({.kind = "f16",
           .a = kF16,
           .b = kF16,
           .m = 64,
           .n = 72,
           .swizzle = swizzle,
           .a_transposed = true,
           .b_transposed = true},
          seed++);
    check({.kind = "f8f6f4", .a = kE4M3, .b = kE5M2, .m = 128, .n = 48, .swizzle = swizzle, .b_transposed = true},
          seed++);
    check({.kind = "tf32", .a = kTf32, .b = kTf32, .m = 64, .n = 40, .swizzle = swizzle}, seed++);
    check({.kind = "i8", .a = kS8, .b = kU8, .m = 64, .n = 16, .swizzle = swizzle, .a_transposed = true}, seed++);
  }
  check({.kind = "tf32",
         .a = kTf32,
         .b = kTf32,
         .m = 128,
         .n = 48,
         .swizzle = 129,
         .a_transposed = true,
         .b_transposed = true},
        seed++);
}

TEST(Tcgen05Mma, MultipliesEveryType) {
  unsigned seed = 100;
  for (const Type& a : {kE4M3, kE5M2, kE2M3, kE3M2, kE2M1}) {
    for (const Type& b : {kE4M3, kE2M3, kE3M2, kE2M1}) {
      check({.kind = "f8f6f4", .a = a, .b = b, .m = 64, .n = 8}, seed++);
    }
  }
  check({.kind = "f16", .a = kF16, .b = kF16, .m = 128, .n = 256, .is_half = true}, seed++);
  check({.kind = "f8f6f4", .a = kE4M3, .b = kE4M3, .m = 64, .n = 24, .is_half = true}, seed++);
  for (const Type& a : {kS8, kU8}) check({.kind = "i8", .a = a, .b = kS8, .m = 128, .n = 64}, seed++);
}

TEST(Tcgen05Mma, TakesAFromTensorMemory) {
  unsigned seed = 200;
  check({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 64, .a_in_memory = true}, seed++);
  check({.kind = "f16", .a = kF16, .b = kF16, .m = 64, .n = 16, .a_in_memory = true, .lane = 16}, seed++);
  check({.kind = "tf32", .a = kTf32, .b = kTf32, .m = 64, .n = 16, .a_in_memory = true}, seed++);
  check({.kind = "f8f6f4", .a = kE4M3, .b = kE5M2, .m = 128, .n = 16, .a_in_memory = true}, seed++);
  check({.kind = "f8f6f4", .a = kE2M1, .b = kE4M3, .m = 128, .n = 16, .a_in_memory = true}, seed++);
  check({.kind = "i8", .a = kS8, .b = kS8, .m = 128, .n = 16, .a_in_memory = true}, seed++);
}

// A of 6 bits comes from shared memory by a copy that takes its elements apart; what a store lays down has no meaning.
TEST(Tcgen05Mma, TakesA6BitAThatACopyHasLaidDown) {
  unsigned seed = 240;
  for (const Type& type : {kE2M3, kE3M2}) {
    Case c{.kind = "f8f6f4", .a = type, .b = kE4M3, .m = 128, .n = 16, .swizzle = 16};
    Problem problem = make(c, seed++);
    const std::string product = product_text(c);
    c.a_in_memory = true;
    const std::string from_memory = product_text(c);
    const std::string copy =
        "add.u32 %r8, %base, " + number(kA) + ";\ntcgen05.cp.cta_group::1.128x256b.b8x16.b6x16_p32 [%r8], %da;\n";
    problem.kernel.body = replaced(problem.kernel.body, product, copy + from_memory);
    // The cells of A are not looked at.
    problem.kernel.body =
        replaced(problem.kernel.body, "DRAIN:\n",
                 "DRAIN:\nsetp.ge.u32 %p0, %r5, " + number(kA) + ";\nsetp.lt.and.u32 %p0, %r5, " + number(kA + 8) +
                     ", %p0;\n@%p0 tcgen05.st.sync.aligned.32x32b.x1.b32 [%cell], "
                     "{%r5};\ntcgen05.wait::st.sync.aligned;\n");
    const Ran ran = run(problem.kernel);
    ASSERT_FALSE(ran.result.stop) << c.text() << ": " << ran.message();
    for (unsigned i = 0; i < kCells; ++i) {
      if (i % kColumns >= kA && i % kColumns < kA + 8) continue;
      ASSERT_EQ(ran.out[i], problem.expected[0][i])
          << c.text() << " lane " << i / kColumns << " column " << i % kColumns;
    }
    problem.kernel.body = replaced(problem.kernel.body, copy, "");
    EXPECT_EQ(run(problem.kernel).code(), "machine.unmodelled");
  }
}

// A after a product with `.ashift`: the last row of each 32 lanes stays.
void move_rows(Image& image) {
  for (unsigned lane = 0; lane < 128; ++lane) {
    const auto row = [&](unsigned of) { return image.begin() + of * kColumns + kA; };
    if (lane % 32 != 31) std::copy_n(row(lane + 1), 8, row(lane));
  }
}

TEST(Tcgen05Mma, MovesTheRowsOfABehindAShiftingProduct) {
  unsigned seed = 250;
  for (const Type& type : {kBF16, kTf32, kE4M3, kS8}) {
    const Case c{.kind = type.bits == 16   ? "f16"
                         : type.bits == 32 ? "tf32"
                         : type.fraction   ? "f8f6f4"
                                           : "i8",
                 .a = type,
                 .b = type,
                 .m = 128,
                 .n = 32,
                 .a_in_memory = true,
                 .collector = ".ashift"};
    Problem problem = make(c, seed++);
    move_rows(problem.expected[0]);
    const Ran ran = run(problem.kernel);
    ASSERT_FALSE(ran.result.stop) << c.text() << ": " << ran.message();
    EXPECT_EQ(ran.out, problem.expected[0]) << c.text();
  }
  // Of a pair: in the tensor memory of each block.
  Problem problem = make({.kind = "f16",
                          .a = kBF16,
                          .b = kBF16,
                          .m = 256,
                          .n = 32,
                          .group = 2,
                          .a_in_memory = true,
                          .collector = ".ashift"},
                         seed);
  Image both;
  for (Image& image : problem.expected) {
    move_rows(image);
    both.insert(both.end(), image.begin(), image.end());
  }
  const Ran ran = run(problem.kernel);
  ASSERT_FALSE(ran.result.stop) << ran.message();
  EXPECT_EQ(ran.out, both);
  const Case half{.kind = "f16",
                  .a = kBF16,
                  .b = kBF16,
                  .m = 128,
                  .n = 32,
                  .group = 2,
                  .a_in_memory = true,
                  .collector = ".ashift"};
  EXPECT_EQ(run(make(half, seed).kernel).code(), "machine.unmodelled");
}

TEST(Tcgen05Mma, AddsScalesNegatesAndKeepsLanes) {
  unsigned seed = 300;
  check({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 16, .adds = false}, seed++);
  check({.kind = "i8", .a = kS8, .b = kS8, .m = 128, .n = 16, .adds = false}, seed++);
  check({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 16, .negates_a = true}, seed++);
  check({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 16, .negates_b = true}, seed++);
  check({.kind = "f8f6f4", .a = kE2M3, .b = kE4M3, .m = 128, .n = 16, .negates_a = true, .negates_b = true}, seed++);
  check({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 16, .scale_d = 3}, seed++);
  check({.kind = "f16", .a = kF16, .b = kF16, .m = 64, .n = 16, .lane = 16}, seed++);
  check({.kind = "f16", .a = kF16, .b = kF16, .m = 128, .n = 16, .stays = {1, 0, 0x80000000, 0xffff}}, seed++);
  check({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 64, .repeats = 3}, seed++);
  check({.kind = "i8", .a = kU8, .b = kS8, .m = 64, .n = 32, .repeats = 2}, seed++);
}

TEST(Tcgen05Mma, HoldsBWithWs) {
  unsigned seed = 400;
  for (const unsigned m : {32U, 64U, 128U}) {
    check({.kind = "f16", .a = kBF16, .b = kBF16, .m = m, .n = 64, .is_stationary = true}, seed++);
    check({.kind = "i8", .a = kS8, .b = kS8, .m = m, .n = 256, .is_stationary = true}, seed++);
    check({.kind = "f16", .a = kF16, .b = kF16, .m = m, .n = 64, .is_sparse = true, .is_stationary = true}, seed++);
    check({.kind = "f8f6f4", .a = kE4M3, .b = kE4M3, .m = m, .n = 128, .is_sparse = true, .is_stationary = true},
          seed++);
  }
  check({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 64, .a_in_memory = true, .is_stationary = true}, seed++);
  check({.kind = "f16",
         .a = kBF16,
         .b = kBF16,
         .m = 128,
         .n = 64,
         .is_stationary = true,
         .first_column = 24,
         .last_column = 64},
        seed++);
  check({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 64, .is_stationary = true, .shift = 7}, seed++);
  check({.kind = "f8f6f4",
         .a = kE4M3,
         .b = kE4M3,
         .m = 64,
         .n = 64,
         .b_transposed = true,
         .is_stationary = true,
         .shift = 13},
        seed++);
  check({.kind = "f8f6f4", .a = kE2M1, .b = kE2M3, .m = 64, .n = 64, .is_stationary = true, .shift = 5}, seed++);
}

TEST(Tcgen05Mma, MultipliesSparseOperands) {
  unsigned seed = 500;
  check({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 32, .is_sparse = true}, seed++);
  check(
      {.kind = "f16", .a = kF16, .b = kF16, .m = 128, .n = 32, .swizzle = 16, .b_transposed = true, .is_sparse = true},
      seed++);
  check({.kind = "tf32", .a = kTf32, .b = kTf32, .m = 128, .n = 16, .is_sparse = true}, seed++);
  check({.kind = "f8f6f4", .a = kE4M3, .b = kE5M2, .m = 128, .n = 16, .is_sparse = true}, seed++);
  check({.kind = "f8f6f4", .a = kE2M1, .b = kE3M2, .m = 128, .n = 16, .is_sparse = true}, seed++);
  check({.kind = "i8", .a = kS8, .b = kU8, .m = 128, .n = 32, .a_in_memory = true, .is_sparse = true}, seed++);
  check({.kind = "f16", .a = kBF16, .b = kBF16, .m = 256, .n = 32, .group = 2, .is_sparse = true}, seed++);
  for (const unsigned lane : {0U, 16U}) {
    check({.kind = "f16", .a = kF16, .b = kF16, .m = 64, .n = 16, .is_sparse = true, .lane = lane}, seed++);
    check({.kind = "tf32", .a = kTf32, .b = kTf32, .m = 64, .n = 16, .is_sparse = true, .lane = lane}, seed++);
    check({.kind = "i8", .a = kS8, .b = kS8, .m = 64, .n = 32, .a_in_memory = true, .is_sparse = true, .lane = lane},
          seed++);
  }
  check({.kind = "mxf8f6f4", .a = kE4M3, .b = kE4M3, .m = 128, .n = 16, .is_sparse = true, .scales = 1}, seed++);
  check({.kind = "mxf4", .a = kFour, .b = kFour, .m = 128, .n = 16, .is_sparse = true, .scales = 2}, seed++);
  check({.kind = "mxf4nvf4",
         .a = kFour,
         .b = kFour,
         .m = 256,
         .n = 32,
         .group = 2,
         .is_sparse = true,
         .scales = 4,
         .has_ue4m3 = true},
        seed++);
}

TEST(Tcgen05Mma, MultipliesInPairsOfBlocks) {
  unsigned seed = 600;
  for (const unsigned m : {128U, 256U}) {
    check({.kind = "f16", .a = kBF16, .b = kBF16, .m = m, .n = 64, .group = 2}, seed++);
    check(
        {.kind = "f16", .a = kF16, .b = kF16, .m = m, .n = 256, .group = 2, .a_transposed = true, .b_transposed = true},
        seed++);
    check({.kind = "f8f6f4", .a = kE4M3, .b = kE4M3, .m = m, .n = 32, .group = 2, .a_in_memory = true}, seed++);
    check({.kind = "i8", .a = kS8, .b = kS8, .m = m, .n = 32, .group = 2, .adds = false}, seed++);
    check({.kind = "mxf8f6f4", .a = kE5M2, .b = kE4M3, .m = m, .n = 64, .group = 2, .scales = 1}, seed++);
    check({.kind = "mxf4", .a = kFour, .b = kFour, .m = m, .n = 128, .group = 2, .scales = 2}, seed++);
  }
}

TEST(Tcgen05Mma, ScalesBlocks) {
  unsigned seed = 700;
  for (unsigned id = 0; id < 4; ++id) {
    check({.kind = "mxf8f6f4", .a = kE4M3, .b = kE4M3, .m = 128, .n = 16, .scales = 1, .id_a = id, .id_b = 3 - id},
          seed++);
  }
  for (const Type& a : {kE2M1, kE3M2, kE2M3})
    check({.kind = "mxf8f6f4", .a = a, .b = kE4M3, .m = 128, .n = 16, .scales = 1}, seed++);
  check({.kind = "mxf4", .a = kFour, .b = kFour, .m = 128, .n = 48, .scales = 2, .id_a = 2}, seed++);
  check({.kind = "mxf4", .a = kFour, .b = kFour, .m = 128, .n = 256, .a_in_memory = true, .scales = 2, .id_b = 2},
        seed++);
  check({.kind = "mxf4nvf4", .a = kFour, .b = kFour, .m = 128, .n = 16, .scales = 2}, seed++);
  check({.kind = "mxf4nvf4", .a = kFour, .b = kFour, .m = 128, .n = 16, .scales = 4}, seed++);
  check({.kind = "mxf4nvf4", .a = kFour, .b = kFour, .m = 128, .n = 16, .scales = 4, .has_ue4m3 = true}, seed++);
}

// Rows of 48 bytes: the eight steps of K through three swizzled rows of 128 bytes, and without a swizzle.
TEST(Tcgen05Mma, MultipliesRowsOf48Bytes) {
  unsigned seed = 750;
  for (unsigned unit = 0; unit < 8; ++unit) {
    check({.kind = "mxf4",
           .a = kFour,
           .b = kFour,
           .m = 128,
           .n = unit % 2 == 0 ? 32U : 192U,
           .scales = 3,
           .id_a = unit % 4,
           .id_b = 3 - unit % 4,
           .is_wide = true,
           .unit = unit},
          seed++);
  }
  for (const unsigned swizzle : {16U, 64U}) {
    check({.kind = "mxf4", .a = kFour, .b = kFour, .m = 128, .n = 48, .swizzle = swizzle, .scales = 3, .is_wide = true},
          seed++);
  }
  for (const unsigned id : {0U, 2U}) {
    for (const bool has_ue4m3 : {false, true}) {
      check({.kind = "mxf4nvf4",
             .a = kFour,
             .b = kFour,
             .m = 128,
             .n = has_ue4m3 ? 256U : 128U,
             .scales = 6,
             .has_ue4m3 = has_ue4m3,
             .id_a = id,
             .id_b = 2 - id,
             .is_wide = true,
             .unit = 6},
            seed++);
    }
  }
  check({.kind = "mxf4nvf4",
         .a = kFour,
         .b = kFour,
         .m = 256,
         .n = 64,
         .group = 2,
         .scales = 3,
         .id_a = 1,
         .is_wide = true,
         .unit = 7},
        seed++);
  check({.kind = "mxf4nvf4",
         .a = kFour,
         .b = kFour,
         .m = 256,
         .n = 256,
         .group = 2,
         .scales = 6,
         .has_ue4m3 = true,
         .is_wide = true,
         .unit = 3},
        seed++);
}

// -- Over the reals ---------------------------------------------------------------------------------------------------

// in: A [64][16], then B by columns [8][16]; 16-byte units of eight rows stand together, A's halves of K 1024 bytes
// apart, B's 128. out: of each thread the sums by tcgen05, then those by mma.sync.
std::string abstract_body(bool is_negated, bool a_in_memory) {
  std::string body =
      ".reg .b32 %a<4>, %n<4>, %b<2>, %x<8>, %base, %cell;\n.reg .f32 %d<4>, %e<4>;\n.reg .pred %one, %w0;\n"
      ".shared .align 8 .b64 bar;\n.shared .align 4 .b32 slot;\n"
      "setp.eq.u32 %one, %t, 0;\nsetp.lt.u32 %w0, %t, 32;\n@%one mbarrier.init.shared.b64 [bar], 1;\nmov.u32 %r0, "
      "tile;\n"
      "add.u64 %rd1, %in, 2048;\nshr.u32 %r1, %t, 1;\nand.b32 %r2, %t, 1;\nmad.wide.u32 %rd2, %t, 16, %in;\n"
      "ld.global.v4.b32 {%x0, %x1, %x2, %x3}, [%rd2];\nmad.lo.u32 %r3, %r1, 16, %r0;\nmad.lo.u32 %r3, %r2, 1024, %r3;\n"
      "st.shared.v4.b32 [%r3], {%x0, %x1, %x2, %x3};\nsetp.ge.u32 %p0, %t, 16;\n@%p0 bra FILLED;\n"
      "mad.wide.u32 %rd2, %t, 16, %rd1;\nld.global.v4.b32 {%x0, %x1, %x2, %x3}, [%rd2];\nmad.lo.u32 %r3, %r1, 16, "
      "%r0;\n"
      "mad.lo.u32 %r3, %r2, 128, %r3;\nst.shared.v4.b32 [%r3+2048], {%x0, %x1, %x2, %x3};\nFILLED:\n"
      "fence.proxy.async;\nbar.sync 0;\n@!%w0 bra NOALLOC;\nmov.u32 %r4, slot;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 32;\nNOALLOC:\nbar.sync 0;\nld.shared.b32 %base, "
      "[slot];\nshr.u32 %r5, %t, 5;\nand.b32 %r6, %t, 31;\nshl.b32 %cell, %r5, 21;\nadd.u32 %cell, %cell, %base;\n"
      "and.b32 %r7, %r6, 15;\nmad.lo.u32 %r7, %r5, 16, %r7;\nmad.wide.u32 %rd2, %r7, 32, %in;\n"
      "ld.global.v4.b32 {%x0, %x1, %x2, %x3}, [%rd2];\nld.global.v4.b32 {%x4, %x5, %x6, %x7}, [%rd2+16];\n"
      "tcgen05.st.sync.aligned.32x32b.x8.b32 [%cell+8], {%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7};\n"
      "tcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;\nbar.sync 0;\n"
      "tcgen05.fence::after_thread_sync;\nmov.b64 %rd3, " +
      number(descriptor({16, 16, false, 16, 1024, 128}, 0)) + ";\nmov.b64 %rd4, " +
      number(descriptor({16, 16, false, 16, 128, 128}, 2048)) + ";\nmov.b32 %r8, " +
      number(0x04020490U | (is_negated ? 1U << 13 : 0)) +
      ";\nsetp.ne.u32 %p1, 0, 0;\nsetp.eq.u32 %p2, 0, 0;\n@!%one bra WAIT;\n";
  const std::string a = a_in_memory ? "[%base+8]" : "%rd3";
  body += "tcgen05.mma.cta_group::1.kind::f16 [%base], " + a + ", %rd4, %r8, %p1;\n" +
          "tcgen05.mma.cta_group::1.kind::f16 [%base], " + a + ", %rd4, %r8, %p2;\n" +
          "mov.u32 %r9, bar;\ntcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];\n"
          "WAIT:\nmbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;\n@!%p3 bra WAIT;\nbar.warp.sync 0xffffffff;\n"
          "tcgen05.fence::after_thread_sync;\ntcgen05.ld.sync.aligned.16x256b.x1.b32 {%d0, %d1, %d2, %d3}, [%cell];\n"
          "tcgen05.wait::ld.sync.aligned;\ntcgen05.fence::before_thread_sync;\nbar.sync 0;\n@!%w0 bra NODEALLOC;\n"
          "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 32;\nNODEALLOC:\nshr.u32 %r7, %r6, 2;\nand.b32 %r8, "
          "%r6, 3;\n"
          "mad.lo.u32 %r9, %r5, 16, %r7;\nmad.lo.u32 %r9, %r9, 8, %r8;\nmad.wide.u32 %rd3, %r9, 4, %in;\n"
          "ld.global.b32 %a0, [%rd3];\nld.global.b32 %a1, [%rd3+256];\nld.global.b32 %a2, [%rd3+16];\n"
          "ld.global.b32 %a3, [%rd3+272];\nmad.lo.u32 %r9, %r7, 8, %r8;\nmad.wide.u32 %rd4, %r9, 4, %rd1;\n"
          "ld.global.b32 %b0, [%rd4];\nld.global.b32 %b1, [%rd4+16];\n";
  for (const char* i : {"0", "1", "2", "3"}) {
    body += std::string("mov.f32 %e") + i + ", 0f00000000;\n";
    body += std::string(is_negated ? "neg.bf16x2" : "mov.b32") + " %n" + i + ", %a" + i + ";\n";
  }
  for (unsigned i = 0; i < 2; ++i) {
    body +=
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%e0, %e1, %e2, %e3}, {%n0, %n1, %n2, %n3}, {%b0, %b1}, "
        "{%e0, %e1, %e2, %e3};\n";
  }
  return body +
         "mad.wide.u32 %rd6, %t, 32, %out;\nst.global.v4.f32 [%rd6], {%d0, %d1, %d2, %d3};\n"
         "st.global.v4.f32 [%rd6+16], {%e0, %e1, %e2, %e3};\n";
}

// On abstract data tcgen05.mma and mma.sync make the same values.
TEST(Tcgen05Mma, EqualsMmaOnAbstractData) {
  for (const auto& [is_negated, a_in_memory] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
    Kernel kernel;
    kernel.body = abstract_body(is_negated, a_in_memory);
    kernel.target = "sm_100a", kernel.before = ".shared .align 1024 .b8 tile[4096];\n";
    Findings findings;
    const auto module = ptx::load(std::make_shared<Source>("kernel.ptx", kernel_text(kernel)), findings);
    ASSERT_TRUE(module) << render(findings, false);
    const auto program = Program<domain::Field>::decode(*module, "k", findings);
    domain::FieldContext context({.seed = 5});
    domain::Field field(context);
    domain::Memory memory(true);
    domain::Buffer& in = memory.add("in", 2304, domain::Init::Abstract, domain::Format::BF16);
    domain::Buffer& out = memory.add("out", 4096, domain::Init::Undefined, domain::Format::F32);
    Launch launch;
    launch.entry = "k", launch.block.x = 128, launch.params.resize(16);
    std::memcpy(launch.params.data(), &in.address, 8);
    std::memcpy(launch.params.data() + 8, &out.address, 8);
    const Result result = program->run(launch, {&field}, memory, {.workers = 1});
    ASSERT_FALSE(result.stop) << render(result.stop->finding, false);
    const auto value = [&](std::uint64_t offset) {
      std::byte bytes[4];
      domain::Word word;
      field.load(out, offset, 4, bytes, word.tags);
      std::memcpy(&word.bits, bytes, 4);
      return field.from_word(domain::Format::F32, word);
    };
    for (unsigned i = 0; i < 512; ++i) {
      const std::uint64_t at = i / 4 * 32 + i % 4 * 4, other = (i / 4 + 1) % 128 * 32 + i % 4 * 4;
      EXPECT_EQ(field.compare_outputs(domain::Format::F32, value(at), value(at + 16)), domain::Comparison::Equal) << i;
      EXPECT_NE(field.compare_outputs(domain::Format::F32, value(at), value(other)), domain::Comparison::Equal) << i;
    }
  }
}

// Concrete operands of every kind have a meaning there, too.
TEST(Tcgen05Mma, RunsEveryKindOverTheReals) {
  unsigned seed = 800;
  for (const Case& c : {Case{.kind = "f16", .a = kF16, .b = kF16, .m = 64, .n = 8, .is_half = true},
                        Case{.kind = "tf32", .a = kTf32, .b = kTf32, .m = 128, .n = 16, .is_sparse = true},
                        Case{.kind = "f8f6f4", .a = kE2M3, .b = kE4M3, .m = 64, .n = 8},
                        Case{.kind = "mxf4", .a = kFour, .b = kFour, .m = 128, .n = 16, .is_sparse = true, .scales = 2},
                        Case{.kind = "mxf4", .a = kFour, .b = kFour, .m = 128, .n = 16, .scales = 3, .is_wide = true},
                        Case{.kind = "mxf8f6f4", .a = kE4M3, .b = kE5M2, .m = 128, .n = 64, .group = 2, .scales = 1}}) {
    const Ran ran = run_field(make(c, seed++).kernel);
    EXPECT_FALSE(ran.result.stop) << c.text() << ": " << ran.message();
  }
  const Problem integers = make({.kind = "i8", .a = kS8, .b = kS8, .m = 64, .n = 8}, seed);
  const Ran ran = run_field(integers.kernel);
  EXPECT_EQ(ran.out, integers.expected[0]) << ran.message();
}

// -- When it takes effect ---------------------------------------------------------------------------------------------

TEST(Tcgen05Mma, LeavesTheSameUnderEverySchedule) {
  Problem problem = make({.kind = "f16", .a = kBF16, .b = kBF16, .m = 64, .n = 16, .repeats = 3}, 900);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    problem.kernel.options.schedule = seed;
    const Ran ran = run(problem.kernel);
    ASSERT_FALSE(ran.result.stop) << ran.message();
    EXPECT_EQ(ran.out, problem.expected[0]) << "seed " << seed;
  }
}

// Operands are read when the wait lets the product take effect, not when it is issued.
TEST(Tcgen05Mma, ReadsSharedMemoryAtTheWait) {
  const Case c{.kind = "i8", .a = kS8, .b = kS8, .m = 64, .n = 8};
  Problem problem = make(c, 901);
  problem.kernel.body =
      replaced(problem.kernel.body, "mov.u32 %r7, bar;\n",
               "mov.u32 %r7, tile;\nmov.b32 %r8, 0;\nmov.u32 %r9, 0;\nCLEAR:\n"
               "st.shared.v4.b32 [%r7], {%r8, %r8, %r8, %r8};\nadd.u32 %r7, %r7, 16;\n"
               "add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p4, %r9, 512;\n@%p4 bra CLEAR;\nmov.u32 %r7, bar;\n");
  const Ran ran = run(problem.kernel);
  ASSERT_FALSE(ran.result.stop) << ran.message();
  EXPECT_EQ(ran.out, std::vector<std::uint32_t>(problem.kernel.in.begin() + kTileWords, problem.kernel.in.end()));
}

// -- Collector buffers ------------------------------------------------------------------------------------------------

// The n-th product gets the n-th word.
Problem collecting(const Case& c, const std::vector<std::string>& words) {
  Problem problem = make(c, 950);
  std::string& body = problem.kernel.body;
  std::size_t at = 0;
  for (const std::string& word : words) {
    at = body.find(" [%sums]", at);
    body.insert(at, word);
    at += word.size() + 1;
  }
  return problem;
}
const Case kThree{.kind = "f16", .a = kBF16, .b = kBF16, .m = 64, .n = 16, .repeats = 3};
const Case kThreeWs{.kind = "i8", .a = kS8, .b = kS8, .m = 32, .n = 64, .is_stationary = true, .repeats = 3};

TEST(Tcgen05Mma, TakesOperandsFromCollectorBuffers) {
  for (const std::uint64_t schedule : {0, 3}) {
    Problem problem = collecting(kThree, {".collector::a::fill", ".collector::a::use", ".collector::a::lastuse"});
    if (schedule != 0) problem.kernel.options.schedule = schedule;
    const Ran ran = run(problem.kernel);
    EXPECT_EQ(ran.out, problem.expected[0]) << ran.message();
    Problem held = collecting(kThreeWs, {".collector::b2::fill", "", ".collector::b2::use"});
    const Ran with_b = run(held.kernel);
    EXPECT_EQ(with_b.out, held.expected[0]) << with_b.message();
  }
}

TEST(Tcgen05Mma, ReportsCollectorBuffersThatHoldNothingOrAnotherOperand) {
  const auto message = [](const Problem& problem) {
    const Ran ran = run(problem.kernel);
    EXPECT_EQ(ran.code(), "machine.tensor-operand");
    return ran.message();
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(message(collecting(kThree, {".collector::a::use"})), "no product before has filled");
  has(message(collecting(kThree, {".collector::a::fill", ".collector::a::lastuse", ".collector::a::use"})),
      "one has discarded");
  has(message(collecting(kThree, {".collector::a::fill", "", ".collector::a::use"})), "one has discarded");
  has(message(collecting(kThreeWs, {".collector::b0::fill", ".collector::b1::use"})), "B is to come");
  Problem other = collecting(kThree, {".collector::a::fill", ".collector::a::use"});
  other.kernel.body = replaced(other.kernel.body, ", %adds;\n", ", %adds;\nadd.u64 %da, %da, 2;\n");
  has(message(other), "another operand");
  // A is overwritten between the two.
  Problem changed = collecting(kThree, {".collector::a::fill", ".collector::a::use"});
  changed.kernel.body = replaced(
      replaced(replaced(changed.kernel.body, "bar;\n", "bar, bar2;\n"), "@%one fence.mbarrier_init",
               "@%one mbarrier.init.shared.b64 [bar2], 1;\n@%one fence.mbarrier_init"),
      ", %adds;\n",
      ", %adds;\nmov.u32 %r7, bar2;\ntcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7];\n"
      "WAIT2:\nmbarrier.try_wait.parity.shared.b64 %p3, [bar2], 0;\n@!%p3 bra WAIT2;\nmov.b32 %r8, 0x3f80;\n"
      "st.shared.b32 [%r0], %r8;\nfence.proxy.async;\n");
  has(message(changed), "changed while a collector buffer held it");
}

// -- Misuse -----------------------------------------------------------------------------------------------------------

Ran run_changed(const Case& c, const std::string& from, const std::string& to) {
  Problem problem = make(c, 1);
  problem.kernel.body = replaced(problem.kernel.body, from, to);
  const Ran ran = run(problem.kernel);
  if (ran.result.stop) {
    EXPECT_NE(ran.place().find("tcgen05.mma"), std::string::npos) << ran.place();
  }
  return ran;
}
const Case kPlain{.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 16};
constexpr const char* kBefore = "setp.ne.u32 %adds";

void expect(const Case& c, const std::string& change, const char* code, const char* part) {
  const Ran ran = run_changed(c, kBefore, change + ";\n" + kBefore);
  EXPECT_EQ(ran.code(), code) << change << ": " << ran.message();
  EXPECT_NE(ran.message().find(part), std::string::npos) << ran.message();
}

TEST(Tcgen05Mma, ReportsWrongMatrixDescriptors) {
  const char* const code = "machine.matrix-descriptor";
  expect(kPlain, "xor.b64 %da, %da, 0x400000000000", code, "wgmma");
  expect(kPlain, "or.b64 %db, %db, 0x4000", code, "carried out of its field");
  expect(kPlain, "or.b64 %db, %db, 0x2000000000000000", code, "no swizzle");
  expect(kPlain, "add.u64 %da, %da, 7", code, "leaves it");
  expect(kPlain, "add.u64 %da, %da, 8", code, "first row");
  expect(kPlain, "add.u64 %db, %db, 4096", code, "past the");
  expect({.kind = "tf32",
          .a = kTf32,
          .b = kTf32,
          .m = 128,
          .n = 16,
          .swizzle = 129,
          .a_transposed = true,
          .b_transposed = true},
         "xor.b64 %da, %da, 0x6000000000000000", code, "32-byte atoms only");
  expect(kPlain, "or.b64 %da, %da, 0x2000000000000", "machine.unmodelled", "base offset");
  expect(kPlain, "or.b64 %da, %da, 0x10000000000000", code, "rows of 48 bytes");
  const Case wide{.kind = "mxf4", .a = kFour, .b = kFour, .m = 128, .n = 32, .scales = 3, .is_wide = true, .unit = 6};
  expect(wide, "xor.b64 %da, %da, 0x10000000000000", code, "leaves it");
  expect(wide, "add.u64 %da, %da, 0x10000", "machine.unmodelled", "begins no swizzle pattern");
}

TEST(Tcgen05Mma, ReportsWrongInstructionDescriptors) {
  const char* const code = "machine.instruction-descriptor";
  expect(kPlain, "or.b32 %id, %id, 4", code, "sparse");
  expect(kPlain, "or.b32 %id, %id, 64", code, "reserved");
  expect(kPlain, "mov.b32 %id, 0x08040890", code, "the type of B");
  expect({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 32, .group = 2}, "xor.b32 %id, %id, 0x0c000000", code,
         "M of both");  // 64, that of each block
  expect({.kind = "i8", .a = kS8, .b = kS8, .m = 128, .n = 16}, "or.b32 %id, %id, 0x2000", code, "negates");
  expect(kPlain, "xor.b32 %id, %id, 0x00060000", "machine.unmodelled", "N % 16");
  const Case four{.kind = "mxf4", .a = kFour, .b = kFour, .m = 128, .n = 32, .scales = 2};
  expect(four, "or.b32 %id, %id, 0x80000000", code, "K = 96, which only sm_103a has");
  expect({.kind = "f16", .a = kBF16, .b = kBF16, .m = 128, .n = 64, .is_stationary = true, .shift = 4},
         "or.b64 %mask, %mask, 0x1000000000", code, "mask");
}

TEST(Tcgen05Mma, ReportsOperandsAtTheWrongPlaceOfTensorMemory) {
  const char* const code = "machine.tensor-operand";
  expect(kPlain, "add.u32 %sums, %sums, 0x100000", code, "starts at lane 16");
  Case half{.kind = "f16", .a = kBF16, .b = kBF16, .m = 64, .n = 16, .a_in_memory = true, .lane = 16};
  expect(half, "add.u32 %sums, %sums, 0x100000", code, "starts at lane 32");
  expect(half, "sub.u32 %ha, %ha, 0x100000", code, "A of M = 64 starts at lane 0");
  expect(kPlain, "add.u32 %sums, %base, 500", "machine.tensor-memory", "accumulator");
  const Case scaled{.kind = "mxf8f6f4", .a = kE4M3, .b = kE4M3, .m = 128, .n = 16, .scales = 1};
  Problem problem = make(scaled, 1);
  problem.kernel.in[kTileWords + 65 * kColumns + kScalesA] ^= 1;
  const Ran ran = run(problem.kernel);
  EXPECT_EQ(ran.code(), code);
  EXPECT_NE(ran.message().find("copies of the scales of A differ"), std::string::npos) << ran.message();
  const Case sparse{.kind = "i8", .a = kS8, .b = kS8, .m = 128, .n = 16, .is_sparse = true};
  problem = make(sparse, 1);
  problem.kernel.in[kTileWords + 3 * kColumns + kMeta] = 0;
  EXPECT_EQ(run(problem.kernel).code(), code);
  const Case pair{.kind = "f8f6f4", .a = kE4M3, .b = kE4M3, .m = 128, .n = 32, .group = 2, .a_in_memory = true};
  problem = make(pair, 1);
  problem.kernel.in[kTileWords + 70 * kColumns + kA] ^= 1;
  EXPECT_EQ(run(problem.kernel).code(), code);
}

TEST(Tcgen05Mma, ReportsProductsOfAWholeWarp) {
  const Ran ran = run_changed(kPlain, "@!%one bra WAIT;\n", "@!%w0 bra WAIT;\n");
  EXPECT_EQ(ran.code(), "machine.tensor-issue") << ran.message();
}

}  // namespace
}  // namespace plumb::machine
