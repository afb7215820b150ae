// SPDX-License-Identifier: Apache-2.0
// Copies from shared to tensor memory, and how the tensor pipe orders them. The test asks for each cell which byte of
// shared memory it must hold; the machine goes through the rows of the source.
#include <optional>

#include "machine/kernel_test.h"

namespace plumb::machine {
namespace {

using test::Kernel;

constexpr std::uint32_t kSource = 1024;  // where the source starts

// K-major without swizzle: 8-row groups 128 bytes apart, the second 16 bytes of a row 2048 further.
constexpr std::uint64_t kPlain =
    std::uint64_t{1} << 46 | std::uint64_t{128 >> 4} << 32 | std::uint64_t{2048 >> 4} << 16 | kSource >> 4;
// Rows of 128 bytes, swizzled.
constexpr std::uint64_t kSwizzled = std::uint64_t{2} << 61 | std::uint64_t{1} << 46 | std::uint64_t{1024 >> 4} << 32 |
                                    std::uint64_t{1} << 16 | kSource >> 4;

// 128 threads (in each block). Shared word i holds i, columns 0 to 63 of tensor memory hold 0xffffffff, %base is their
// address, %bar an mbarrier of one arrival, and %p0 is true for one thread. `body` follows; then everything is given
// back.
std::string prepared(const std::string& body, const char* group = "1", unsigned words = 16384) {
  std::string text =
      ".reg .b32 %base, %quarter, %w, %bar, %c<70>;\n.shared .align 1024 .b8 data[" + std::to_string(4 * words) +
      "];\n.shared .align 8 .b64 bar;\n.shared .align 4 .b32 place;\n"
      "mov.u32 %bar, bar;\nshr.u32 %w, %t, 5;\nsetp.ne.u32 %p7, %w, 0;\nsetp.eq.u32 %p0, %t, 0;\n"
      "mov.u32 %r1, %t;\nmov.u32 %r2, data;\nmad.lo.u32 %r2, %t, 4, %r2;\nFILL:\nst.shared.b32 [%r2], %r1;\n"
      "add.u32 %r1, %r1, 128;\nadd.u32 %r2, %r2, 512;\nsetp.lt.u32 %p1, %r1, " +
      std::to_string(words) +
      ";\n@%p1 bra FILL;\n@%p0 mbarrier.init.shared::cta.b64 [%bar], 1;\nfence.proxy.async;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n@%p7 bra ALLOCATED;\n"
      "tcgen05.alloc.cta_group::" +
      std::string(group) +
      ".sync.aligned.shared::cta.b32 [place], 64;\nALLOCATED:\nbar.sync 0;\nld.shared.b32 %base, [place];\n"
      "shl.b32 %quarter, %w, 21;\nadd.u32 %quarter, %quarter, %base;\n";
  std::string list;
  for (unsigned i = 0; i < 64; ++i) {
    text += "mov.b32 %c" + std::to_string(i) + ", 0xffffffff;\n";
    list += (i == 0 ? "%c" : ", %c") + std::to_string(i);
  }
  return text + "tcgen05.st.sync.aligned.32x32b.x64.b32 [%quarter], {" + list +
         "};\ntcgen05.wait::st.sync.aligned;\nbar.sync 0;\n" + body +
         "\nbar.sync 0;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n@%p7 bra RELEASED;\n"
         "tcgen05.dealloc.cta_group::" +
         group + ".sync.aligned.b32 %base, 64;\nRELEASED:\n";
}

std::string copy(const std::string& shape, std::uint64_t descriptor, unsigned column = 0, const char* group = "1") {
  return "mov.u64 %rd5, " + std::to_string(descriptor) + ";\n@%p0 tcgen05.cp.cta_group::" + group + "." + shape +
         " [%base+" + std::to_string(column) + "], %rd5;\n";
}
std::string commit_and_wait() {
  return "@%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n"
         "WAITING:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%bar], 0;\n@!%p3 bra WAITING;\n";
}
// out[16 * thread + i]: column i of the thread's lane.
std::string put_out() {
  std::string text, list;
  for (unsigned i = 0; i < 16; ++i) list += (i == 0 ? "%c" : ", %c") + std::to_string(i);
  text = "tcgen05.ld.sync.aligned.32x32b.x16.b32 {" + list +
         "}, [%quarter];\ntcgen05.wait::ld.sync.aligned;\n"
         "mad.wide.u32 %rd1, %t, 64, %out;\n";
  for (unsigned i = 0; i < 16; ++i) {
    text += "st.global.b32 [%rd1+" + std::to_string(4 * i) + "], %c" + std::to_string(i) + ";\n";
  }
  return text;
}

Kernel kernel_of(std::string body) {
  Kernel kernel{.body = std::move(body), .out_words = 16 * 128, .block = {128, 1, 1}};
  kernel.target = "sm_100a";
  return kernel;
}

// The row of the source that a lane holds.
using RowOf = std::optional<unsigned> (*)(unsigned lane);
struct Shape {
  const char* name;
  unsigned columns;
  RowOf row;
};

class Tcgen05Cp : public testing::TestWithParam<Shape> {};

TEST_P(Tcgen05Cp, GivesEachCellItsBytes) {
  const Shape shape = GetParam();
  for (const bool is_swizzled : {false, true}) {
    const auto ran = test::run_both(
        kernel_of(prepared(copy(shape.name, is_swizzled ? kSwizzled : kPlain, 4) + commit_and_wait() + put_out())));
    ASSERT_EQ(ran.code(), "") << ran.message();
    for (unsigned lane = 0; lane < 128; ++lane) {
      for (unsigned column = 0; column < 16; ++column) {
        std::uint32_t wanted = 0xffffffff;
        if (const auto row = shape.row(lane); row && column >= 4 && column < 4 + shape.columns) {
          const unsigned byte = 4 * (column - 4);
          const unsigned at = is_swizzled ? kSource + *row * 128 + (byte ^ (*row % 8 << 4))
                                          : kSource + *row % 8 * 16 + *row / 8 * 128 + byte / 16 * 2048 + byte % 16;
          wanted = at / 4;
        }
        ASSERT_EQ(ran.out[16 * lane + column], wanted) << shape.name << " lane " << lane << " column " << column;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Tcgen05Cp,
    testing::Values(
        Shape{"128x256b", 8, [](unsigned lane) { return std::optional(lane); }},
        Shape{"128x128b", 4, [](unsigned lane) { return std::optional(lane); }},
        Shape{"4x256b", 8, [](unsigned lane) { return lane % 32 == 0 ? std::optional(lane / 32) : std::nullopt; }},
        Shape{"64x128b.warpx2::02_13", 4, [](unsigned lane) { return std::optional(lane % 64); }},
        Shape{"64x128b.warpx2::01_23", 4, [](unsigned lane) { return std::optional(lane / 64 * 32 + lane % 32); }},
        Shape{"32x128b.warpx4", 4, [](unsigned lane) { return std::optional(lane % 32); }}));

TEST(Tcgen05CpOf4Bits, GivesEachElementAByteOfItsOwn) {
  const auto ran = test::run_both(
      kernel_of(prepared(copy("32x128b.warpx4.b8x16.b4x16_p64", kPlain) + commit_and_wait() + put_out())));
  ASSERT_EQ(ran.code(), "") << ran.message();
  for (unsigned lane = 0; lane < 128; ++lane) {
    const std::uint32_t first = (kSource + lane % 32 % 8 * 16 + lane % 32 / 8 * 128) / 4;
    for (unsigned column = 0; column < 4; ++column) {
      const std::uint32_t source = first + column / 2;
      std::uint32_t wanted = 0;
      for (unsigned i = 0; i < 4; ++i) wanted |= (source >> (16 * (column % 2) + 4 * i) & 15) << (8 * i + 2);
      ASSERT_EQ(ran.out[16 * lane + column], wanted) << "lane " << lane << " column " << column;
    }
  }
}

// Where six bits lie in their byte is not said: nobody may look, until the cells are written otherwise.
TEST(Tcgen05CpOf6Bits, IsForProductsOfSuchElementsOnly) {
  const std::string six = copy("32x128b.warpx4.b8x16.b6x16_p32", kPlain);
  const auto seen = test::run_both(kernel_of(prepared(six + commit_and_wait() + put_out())));
  EXPECT_EQ(seen.code(), "machine.unmodelled");
  EXPECT_NE(seen.message().find("element of 6 bits"), std::string::npos) << seen.message();
  const auto overwritten =
      test::run_both(kernel_of(prepared(six + copy("32x128b.warpx4", kPlain) + commit_and_wait() + put_out())));
  ASSERT_EQ(overwritten.code(), "") << overwritten.message();
  EXPECT_EQ(overwritten.out[16 * 33], (kSource + 16) / 4);
}

TEST(Tcgen05Pipe, ACopyIsNotThereBeforeItsCommitIsWaitedFor) {
  const auto early = test::run_both(kernel_of(prepared(copy("128x128b", kPlain) + put_out() + commit_and_wait())));
  ASSERT_EQ(early.code(), "") << early.message();
  EXPECT_EQ(early.out[0], 0xffffffffu);
}

TEST(Tcgen05Pipe, ACommitThatComesBeforeACopyDoesNotTrackIt) {
  const auto ran = test::run_both(kernel_of(prepared(
      "@%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n" +
      copy("128x128b", kPlain) +
      "WAITING:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%bar], 0;\n@!%p3 bra WAITING;\n" + put_out())));
  EXPECT_EQ(ran.code(), "machine.tensor-in-flight") << ran.message();
  EXPECT_EQ(ran.out[0], 0xffffffffu);
}

TEST(Tcgen05Pipe, ACommitOfAnotherThreadDoesNotTrackACopy) {
  const auto ran = test::run_both(
      kernel_of(prepared(copy("128x128b", kPlain) + "setp.eq.u32 %p0, %t, 1;\n" + commit_and_wait() + put_out())));
  EXPECT_EQ(ran.code(), "machine.tensor-in-flight") << ran.message();
  EXPECT_EQ(ran.out[0], 0xffffffffu);
}

TEST(Tcgen05Pipe, ACopyReadsItsSourceAsLateAsItMay) {
  const auto ran = test::run_both(
      kernel_of(prepared(copy("128x128b", kPlain) + "mov.u32 %r3, data;\n@%p0 st.shared.b32 [%r3+1024], 77;\n" +
                         commit_and_wait() + put_out())));
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(ran.out[0], 77u);
}

TEST(Tcgen05Pipe, ALaterCopyOfAWarpFollowsAnEarlierOneToTheSameCells) {
  const auto ran =
      test::run_both(kernel_of(prepared(copy("128x128b", kPlain) + "setp.eq.u32 %p0, %t, 1;\n" +
                                        copy("128x128b", kPlain + (512 >> 4)) + commit_and_wait() + put_out())));
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(ran.out[0], (kSource + 512) / 4);
}

TEST(Tcgen05Pipe, AScheduleLeavesTheSameMemory) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Kernel kernel = kernel_of(
        prepared(copy("128x128b", kPlain) + copy("32x128b.warpx4", kPlain, 8) + commit_and_wait() + put_out()));
    kernel.options.schedule = seed;
    const auto ran = test::run(kernel);
    ASSERT_EQ(ran.code(), "") << ran.message();
    EXPECT_EQ(ran.out[16 * 5 + 1], (kSource + 5 * 16) / 4 + 1);
    EXPECT_EQ(ran.out[16 * 37 + 8], (kSource + 5 * 16) / 4);
  }
}

TEST(Tcgen05Pipe, AScheduleShowsAMissingWait) {
  bool has_early = false, has_late = false;
  for (std::uint64_t seed = 1; seed <= 32; ++seed) {
    Kernel kernel = kernel_of(prepared(copy("128x128b", kPlain) + put_out() + commit_and_wait()));
    kernel.options.schedule = seed;
    const auto ran = test::run(kernel);
    ASSERT_EQ(ran.code(), "") << ran.message();
    (ran.out[0] == 0xffffffff ? has_late : has_early) = true;
  }
  EXPECT_TRUE(has_early);
  EXPECT_TRUE(has_late);
}

TEST(Tcgen05Pipe, ABlockThatExitsUnderACopyIsAFinding) {
  const auto ran = test::run_both(kernel_of(prepared(copy("128x128b", kPlain) + "ret;\n")));
  EXPECT_EQ(ran.code(), "machine.tensor-in-flight") << ran.message();
  EXPECT_NE(ran.message().find("exits while the operation issued here is in flight"), std::string::npos);
}

TEST(Tcgen05Pipe, AnMbarrierThatEndsUnderACopyIsAFinding) {
  const auto ran = test::run_both(
      kernel_of(prepared(copy("128x128b", kPlain) +
                         "@%p0 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];\n"
                         "@%p0 mbarrier.inval.shared::cta.b64 [%bar];\n")));
  EXPECT_EQ(ran.code(), "machine.mbarrier") << ran.message();
  EXPECT_NE(ran.message().find("tracks operations in flight"), std::string::npos) << ran.message();
}

TEST(Tcgen05Pipe, ACopyByManyThreadsIsAFinding) {
  const auto ran = test::run_both(kernel_of(prepared("setp.lt.u32 %p0, %t, 32;\n" + copy("128x128b", kPlain))));
  EXPECT_EQ(ran.code(), "machine.tensor-issue") << ran.message();
}

TEST(Tcgen05Pipe, ACopyOutsideOfItsColumnsIsAFinding) {
  const auto ran = test::run_both(kernel_of(prepared(copy("128x256b", kPlain, 60))));
  EXPECT_EQ(ran.code(), "machine.tensor-memory") << ran.message();
}

TEST(Tcgen05Pipe, ACopyFromOutsideOfSharedMemoryIsAFinding) {
  const auto ran = test::run_both(kernel_of(prepared(copy("128x128b", kPlain), "1", 512)));
  EXPECT_EQ(ran.code(), "machine.matrix-descriptor") << ran.message();
}

TEST(Tcgen05Pipe, ACopyOfAPairFillsBothBlocksFromTheirOwnMemory) {
  // The second block's words are 100000 larger; it issues nothing.
  const std::string body =
      "mov.u32 %r5, %cluster_ctarank;\nsetp.ne.u32 %p5, %r5, 0;\nmov.u32 %r3, data;\nmad.lo.u32 %r3, %t, 16, %r3;\n"
      "@%p5 st.shared.b32 [%r3+1024], 100000;\nfence.proxy.async;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nmov.u16 %h1, 3;\n"
      "not.pred %p6, %p5;\nand.pred %p0, %p0, %p6;\n" +
      copy("128x128b", kPlain, 0, "2") +
      "@%p0 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %h1;\n"
      "WAITING:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%bar], 0;\n@!%p3 bra WAITING;\n"
      "mad.wide.u32 %out, %r5, 8192, %out;\n";
  Kernel kernel = kernel_of(prepared(body + put_out(), "2"));
  kernel.grid = kernel.cluster = {2, 1, 1};
  kernel.out_words *= 2;
  const auto ran = test::run_both(kernel);
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(ran.out[0], kSource / 4);
  EXPECT_EQ(ran.out[16 * 128], 100000u);
}

// -- Shifts. ----------------------------------------------------------------------------------------------------------

std::string shift(std::uint32_t lane, const char* mask = "@%p0 ") {
  return "add.u32 %r6, %base, " + std::to_string(lane << 16 | 4) + ";\n" + mask +
         "tcgen05.shift.cta_group::1.down [%r6];\n";
}

TEST(Tcgen05Shift, GivesEachRowOfItsGroupTheNextButTheLast) {
  const auto ran =
      test::run_both(kernel_of(prepared(copy("128x256b", kPlain, 4) + shift(32) + commit_and_wait() + put_out())));
  ASSERT_EQ(ran.code(), "") << ran.message();
  for (unsigned lane = 0; lane < 128; ++lane) {
    const unsigned row = lane >= 32 && lane < 63 ? lane + 1 : lane;
    for (unsigned column = 0; column < 16; ++column) {
      const unsigned byte = 4 * (column - 4);
      const unsigned at = kSource + row % 8 * 16 + row / 8 * 128 + byte / 16 * 2048 + byte % 16;
      const std::uint32_t wanted = column >= 4 && column < 12 ? at / 4 : 0xffffffff;
      ASSERT_EQ(ran.out[16 * lane + column], wanted) << "lane " << lane << " column " << column;
    }
  }
}

TEST(Tcgen05Shift, OfAPairMovesTheRowsOfBothBlocks) {
  // The second block's words are 100000 larger; it issues nothing.
  std::string moves =
      "add.u32 %r6, %base, " + std::to_string(32 << 16) + ";\n@%p0 tcgen05.shift.cta_group::2.down [%r6];\n";
  const std::string body =
      "mov.u32 %r5, %cluster_ctarank;\nsetp.ne.u32 %p5, %r5, 0;\nmov.u32 %r3, data;\nmov.u32 %r7, 0;\n"
      "MORE:\nmad.lo.u32 %r8, %t, 4, %r7;\nadd.u32 %r8, %r8, %r3;\nld.shared.b32 %r9, [%r8];\n"
      "@%p5 add.u32 %r9, %r9, 100000;\nst.shared.b32 [%r8], %r9;\nadd.u32 %r7, %r7, 512;\n"
      "setp.lt.u32 %p4, %r7, 8192;\n@%p4 bra MORE;\nfence.proxy.async;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nmov.u16 %h1, 3;\n"
      "not.pred %p6, %p5;\nand.pred %p0, %p0, %p6;\n" +
      copy("128x256b", kPlain, 0, "2") + moves +
      "@%p0 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %h1;\n"
      "WAITING:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%bar], 0;\n@!%p3 bra WAITING;\n"
      "mad.wide.u32 %out, %r5, 8192, %out;\n";
  Kernel kernel = kernel_of(prepared(body + put_out(), "2"));
  kernel.grid = kernel.cluster = {2, 1, 1};
  kernel.out_words *= 2;
  const auto ran = test::run_both(kernel);
  ASSERT_EQ(ran.code(), "") << ran.message();
  for (unsigned cta = 0; cta < 2; ++cta) {
    for (unsigned lane = 0; lane < 128; ++lane) {
      const unsigned row = lane >= 32 && lane < 63 ? lane + 1 : lane;
      const unsigned at = kSource + row % 8 * 16 + row / 8 * 128;
      ASSERT_EQ(ran.out[2048 * cta + 16 * lane], at / 4 + 100000 * cta) << "block " << cta << " lane " << lane;
    }
  }
}

TEST(Tcgen05Shift, OutsideOfAGroupOrByManyThreadsIsAFinding) {
  const auto inside = test::run_both(kernel_of(prepared(shift(16) + commit_and_wait())));
  EXPECT_EQ(inside.code(), "machine.tensor-operand") << inside.message();
  EXPECT_NE(inside.place().find("tcgen05.shift"), std::string::npos);
  const auto many = test::run_both(kernel_of(prepared(shift(32, "") + commit_and_wait())));
  EXPECT_EQ(many.code(), "machine.tensor-issue") << many.message();
  const auto below = test::run_both(kernel_of(prepared(shift(128) + commit_and_wait())));
  EXPECT_EQ(below.code(), "machine.tensor-memory") << below.message();
}
}  // namespace
}  // namespace plumb::machine
