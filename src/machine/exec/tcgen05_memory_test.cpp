// SPDX-License-Identifier: Apache-2.0
// Moves between registers and tensor memory. What a shape moves is derived here from the cell: which thread and
// register hold it; the machine derives it from the thread.
#include <array>

#include "machine/kernel_test.h"

namespace plumb::machine {
namespace {

using test::Kernel;

// Allocates all columns, runs `body` with the base address in %base and this warp's quarter of it in %mine_t, and gives
// the columns back.
std::string with_tensor_memory(const std::string& body, const char* columns = "512") {
  return std::string(".reg .b32 %base, %mine_t, %w, %c<260>;\n.shared .align 4 .b32 place;\n") +
         "shr.u32 %w, %t, 5;\nsetp.ne.u32 %p7, %w, 0;\n@%p7 bra ALLOCATED;\n"
         "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], " +
         columns +
         ";\nALLOCATED:\nbar.sync 0;\nld.shared.b32 %base, [place];\n"
         "and.b32 %mine_t, %w, 3;\nshl.b32 %mine_t, %mine_t, 21;\nadd.u32 %mine_t, %mine_t, %base;\n" +
         body +
         "\nbar.sync 0;\n@%p7 bra RELEASED;\n"
         "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, " +
         columns + ";\nRELEASED:\n";
}

// "{%c0, %c1, ...}"
std::string registers(unsigned count, unsigned first = 0) {
  std::string out = "{";
  for (unsigned i = 0; i < count; ++i) out += (i == 0 ? "%c" : ", %c") + std::to_string(first + i);
  return out + "}";
}

// Fills columns 0 to 127 of the warp's quarter: the cell of lane l and column c gets l << 16 | c.
std::string fill() {
  std::string body = "and.b32 %r1, %t, 127;\nshl.b32 %r1, %r1, 16;\n";
  for (unsigned i = 0; i < 128; ++i) body += "add.u32 %c" + std::to_string(i) + ", %r1, " + std::to_string(i) + ";\n";
  return body + "tcgen05.st.sync.aligned.32x32b.x128.b32 [%mine_t], " + registers(128) +
         ";\ntcgen05.wait::st.sync.aligned;\n";
}

// Writes registers %c0 to %c<count - 1> of each thread to out[count * thread + i].
std::string put_out(unsigned count, unsigned first = 0) {
  std::string body = "mad.wide.u32 %rd1, %t, " + std::to_string(4 * count) + ", %out;\n";
  for (unsigned i = 0; i < count; ++i) {
    body += "st.global.b32 [%rd1+" + std::to_string(4 * i) + "], %c" + std::to_string(first + i) + ";\n";
  }
  return body;
}

Kernel kernel_of(std::string body, std::size_t out_words, std::uint32_t threads = 128) {
  Kernel kernel{.body = std::move(body), .out_words = out_words, .block = {threads, 1, 1}};
  kernel.target = "sm_100a";
  return kernel;
}

struct Holder {
  unsigned thread = 0, reg = 0;
};

// Who holds the cell of a row and column under a 16-lane shape of so many columns a row. Eight rows go to groups of
// four threads each, as in the results of mma.sync.
Holder holder_of(unsigned row, unsigned column, unsigned width) {
  const unsigned upper = row / 8, group = 4 * (row % 8);
  if (width == 2) return {group + 2 * (column % 2) + upper, column / 2};
  if (width == 4) return {group + column % 4, 2 * (column / 4) + upper};
  return {group + column % 8 / 2, 4 * (column / 8) + 2 * upper + column % 2};
}

TEST(Tcgen05Memory, A32LaneMoveGivesEachThreadItsLane) {
  const auto ran = test::run_both(
      kernel_of(with_tensor_memory(fill() + "tcgen05.ld.sync.aligned.32x32b.x4.b32 " + registers(4, 200) +
                                   ", [%mine_t+60];\n" + "tcgen05.wait::ld.sync.aligned;\n" + put_out(4, 200)),
                512));
  ASSERT_EQ(ran.code(), "") << ran.message();
  for (unsigned thread = 0; thread < 128; ++thread) {
    for (unsigned i = 0; i < 4; ++i) ASSERT_EQ(ran.out[4 * thread + i], thread << 16 | (60 + i));
  }
}

struct Shape {
  const char* name;
  unsigned width;      // columns of a row
  unsigned registers;  // for one row block
  unsigned count;      // of row blocks: xN
};

class Tcgen05Shapes : public testing::TestWithParam<Shape> {};

TEST_P(Tcgen05Shapes, A16LaneLoadGivesEachCellToItsHolder) {
  const Shape shape = GetParam();
  const unsigned count = shape.registers * shape.count;
  const auto ran = test::run_both(kernel_of(
      with_tensor_memory(fill() + "tcgen05.ld.sync.aligned." + shape.name + ".x" + std::to_string(shape.count) +
                         ".b32 " + registers(count, 130) + ", [%mine_t+" + std::to_string((16 << 16) + 8) +
                         "];\ntcgen05.wait::ld.sync.aligned;\n" + put_out(count, 130)),
      std::size_t{count} * 128));
  ASSERT_EQ(ran.code(), "") << ran.message();
  for (unsigned warp = 0; warp < 4; ++warp) {
    for (unsigned row = 0; row < 16; ++row) {
      for (unsigned column = 0; column < shape.width * shape.count; ++column) {
        const Holder holder = holder_of(row, column, shape.width);
        ASSERT_EQ(ran.out[count * (32 * warp + holder.thread) + holder.reg],
                  (32 * warp + 16 + row) << 16 | (8 + column))
            << shape.name << " row " << row << " column " << column;
      }
    }
  }
}

TEST_P(Tcgen05Shapes, A16LaneStoreWritesEachCellFromItsHolder) {
  const Shape shape = GetParam();
  const unsigned count = shape.registers * shape.count, columns = shape.width * shape.count;
  if (columns > 64) GTEST_SKIP() << "the loads back take too many registers";
  std::string body = fill();
  for (unsigned i = 0; i < count; ++i) {
    body += "mad.lo.u32 %c" + std::to_string(130 + i) + ", %t, 1000, " + std::to_string(1000000 + i) + ";\n";
  }
  body += std::string("tcgen05.st.sync.aligned.") + shape.name + ".x" + std::to_string(shape.count) +
          ".b32 [%mine_t+4], " + registers(count, 130) + ";\ntcgen05.wait::st.sync.aligned;\n" +
          "tcgen05.ld.sync.aligned.32x32b.x64.b32 " + registers(64) + ", [%mine_t+4];\n" +
          "tcgen05.wait::ld.sync.aligned;\n" + put_out(64);
  const auto ran = test::run_both(kernel_of(with_tensor_memory(body), 64 * 128));
  ASSERT_EQ(ran.code(), "") << ran.message();
  for (unsigned lane = 0; lane < 128; ++lane) {
    for (unsigned column = 0; column < 64; ++column) {
      std::uint32_t wanted = lane << 16 | (4 + column);
      if (lane % 32 < 16 && column < columns) {
        const Holder holder = holder_of(lane % 16, column, shape.width);
        wanted = (lane / 32 * 32 + holder.thread) * 1000 + 1000000 + holder.reg;
      }
      ASSERT_EQ(ran.out[64 * lane + column], wanted) << shape.name << " lane " << lane << " column " << column;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Tcgen05Shapes,
                         testing::Values(Shape{"16x64b", 2, 1, 1}, Shape{"16x64b", 2, 1, 16}, Shape{"16x128b", 4, 2, 1},
                                         Shape{"16x128b", 4, 2, 8}, Shape{"16x256b", 8, 4, 1},
                                         Shape{"16x256b", 8, 4, 8}, Shape{"16x256b", 8, 4, 2}));

TEST(Tcgen05Memory, ASplitMoveTakesTheUpperThreadsFromTheOtherHalf) {
  const auto ran = test::run_both(
      kernel_of(with_tensor_memory(fill() + "tcgen05.ld.sync.aligned.16x32bx2.x2.b32 " + registers(2, 200) +
                                   ", [%mine_t+3], 40;\n" + "tcgen05.ld.sync.aligned.16x32bx2.x2.b32 " +
                                   registers(2, 202) + ", [%mine_t+3], " + std::to_string(16 << 16) +
                                   ";\ntcgen05.wait::ld.sync.aligned;\n" + put_out(4, 200)),
                512));
  ASSERT_EQ(ran.code(), "") << ran.message();
  for (unsigned thread = 0; thread < 128; ++thread) {
    const unsigned lane = thread / 32 * 32 + thread % 16;
    const bool is_upper = thread % 32 >= 16;
    for (unsigned i = 0; i < 2; ++i) {
      ASSERT_EQ(ran.out[4 * thread + i], lane << 16 | (3 + i + (is_upper ? 40 : 0)));
      ASSERT_EQ(ran.out[4 * thread + 2 + i], (lane + (is_upper ? 16 : 0)) << 16 | (3 + i));
    }
  }
}

TEST(Tcgen05Memory, PackingJoinsTheLowHalvesOfTwoColumns) {
  const auto ran = test::run_both(
      kernel_of(with_tensor_memory(fill() + "tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 " + registers(2, 200) +
                                   ", [%mine_t+6];\ntcgen05.wait::ld.sync.aligned;\n" + put_out(2, 200)),
                256));
  ASSERT_EQ(ran.code(), "") << ran.message();
  for (unsigned thread = 0; thread < 128; ++thread) {
    ASSERT_EQ(ran.out[2 * thread], 7u << 16 | 6);
    ASSERT_EQ(ran.out[2 * thread + 1], 9u << 16 | 8);
  }
}

TEST(Tcgen05Memory, UnpackingWritesTheHalvesBackToTwoColumns) {
  const auto ran = test::run_both(
      kernel_of(with_tensor_memory("mov.b32 %c0, 0x20001;\nmov.b32 %c1, 0x40003;\n"
                                   "tcgen05.st.sync.aligned.32x32b.x2.unpack::16b.b32 [%mine_t], {%c0, %c1};\n"
                                   "tcgen05.wait::st.sync.aligned;\n"
                                   "tcgen05.ld.sync.aligned.32x32b.x2.pack::16b.b32 {%c2, %c3}, [%mine_t];\n"
                                   "tcgen05.wait::ld.sync.aligned;\n" +
                                   put_out(2, 2)),
                256));
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(ran.out[0], 0x20001u);
  EXPECT_EQ(ran.out[1], 0x40003u);
}

// -- Reductions of what is loaded. ------------------------------------------------------------------------------------
struct Reduction {
  const char* modifiers;
  std::array<std::uint32_t, 4> words;
  std::uint32_t wanted;
};

class Tcgen05LdRed : public testing::TestWithParam<Reduction> {};

TEST_P(Tcgen05LdRed, GivesTheWordsAndTheirReduction) {
  const Reduction& reduction = GetParam();
  std::string body;
  for (unsigned i = 0; i < 4; ++i) {
    body += "mov.b32 %c" + std::to_string(i) + ", " + std::to_string(reduction.words[i]) + ";\n";
  }
  body += "tcgen05.st.sync.aligned.32x32b.x4.b32 [%mine_t], " + registers(4) +
          ";\ntcgen05.wait::st.sync.aligned;\ntcgen05.ld.red.sync.aligned.32x32b.x4." + reduction.modifiers + " " +
          registers(4, 10) + ", %c14, [%mine_t];\ntcgen05.wait::ld.sync.aligned;\n" + put_out(5, 10);
  Kernel kernel = kernel_of(with_tensor_memory(body), 5 * 128);
  kernel.target = "sm_103a", kernel.version = "8.8";
  const auto ran = test::run_both(kernel);
  ASSERT_EQ(ran.code(), "") << ran.message();
  for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(ran.out[5 * 77 + i], reduction.words[i]);
  EXPECT_EQ(ran.out[5 * 77 + 4], reduction.wanted) << reduction.modifiers;
}

constexpr std::uint32_t kOne = 0x3f800000, kMinusTwo = 0xc0000000, kThree = 0x40400000, kMinusFour = 0xc0800000;
constexpr std::uint32_t kFour = 0x40800000, kNan = 0x7fc00001, kCanonicalNan = 0x7fffffff;

INSTANTIATE_TEST_SUITE_P(All, Tcgen05LdRed,
                         testing::Values(Reduction{"max.f32", {kOne, kMinusTwo, kThree, kMinusFour}, kThree},
                                         Reduction{"min.f32", {kOne, kMinusTwo, kThree, kMinusFour}, kMinusFour},
                                         Reduction{"max.abs.f32", {kOne, kMinusTwo, kThree, kMinusFour}, kFour},
                                         Reduction{"min.abs.f32", {kThree, kMinusTwo, kThree, kMinusFour}, 0x40000000},
                                         Reduction{"max.f32", {kOne, kNan, kThree, kMinusFour}, kThree},
                                         Reduction{"max.NaN.f32", {kOne, kNan, kThree, kMinusFour}, kCanonicalNan},
                                         Reduction{"max.u32", {5, 0xffffffff, 7, 1}, 0xffffffff},
                                         Reduction{"min.u32", {5, 0xffffffff, 7, 1}, 1},
                                         Reduction{"max.s32", {5, 0xffffffff, 7, 1}, 7},
                                         Reduction{"min.s32", {5, 0xffffffff, 7, 1}, 0xffffffff}));

// Where the halves of a lane have the same extremes it makes no difference whether they are reduced together.
TEST(Tcgen05Memory, AReductionOfTwoHalvesIsThereWhereTheyAgree) {
  const auto ran = [](const char* other) {
    const std::string body = std::string("mov.b32 %c0, 5;\nmov.b32 %c1, 7;\nmov.b32 %c2, 7;\nmov.b32 %c3, ") + other +
                             ";\ntcgen05.st.sync.aligned.32x32b.x4.b32 [%mine_t], " + registers(4) +
                             ";\ntcgen05.wait::st.sync.aligned;\ntcgen05.ld.red.sync.aligned.16x32bx2.x2.max.u32 " +
                             registers(2, 10) + ", %c12, [%mine_t], 2;\ntcgen05.wait::ld.sync.aligned;\n" +
                             put_out(3, 10);
    Kernel kernel = kernel_of(with_tensor_memory(body), 3 * 128);
    kernel.target = "sm_103a", kernel.version = "8.8";
    return test::run_both(kernel);
  };
  const auto agreeing = ran("6");
  ASSERT_EQ(agreeing.code(), "") << agreeing.message();
  for (unsigned thread = 0; thread < 128; ++thread) {
    const bool is_upper = thread % 32 >= 16;
    EXPECT_EQ(agreeing.out[3 * thread], is_upper ? 7U : 5U);
    EXPECT_EQ(agreeing.out[3 * thread + 1], is_upper ? 6U : 7U);
    EXPECT_EQ(agreeing.out[3 * thread + 2], 7U);
  }
  const auto differing = ran("8");
  EXPECT_EQ(differing.code(), "machine.unmodelled");
  EXPECT_NE(differing.message().find("reduces them together"), std::string::npos) << differing.message();
}

// -- When moves take effect. ------------------------------------------------------------------------------------------
TEST(Tcgen05Memory, AStoreIsNotThereBeforeItsWait) {
  const auto ran = test::run(
      kernel_of(with_tensor_memory("mov.b32 %c0, 7;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%mine_t], {%c0};\n"
                                   "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%c1}, [%mine_t];\n"
                                   "tcgen05.wait::ld.sync.aligned;\ntcgen05.wait::st.sync.aligned;\n" +
                                   put_out(1, 1)),
                128));
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_NE(ran.out[0], 7u);
}

TEST(Tcgen05Memory, ALoadReadsWhatIsThereWhenItIsWaitedFor) {
  const auto ran = test::run(
      kernel_of(with_tensor_memory(fill() +
                                   "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%c200}, [%mine_t];\n"
                                   "mov.b32 %c0, 7;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%mine_t], {%c0};\n"
                                   "tcgen05.wait::st.sync.aligned;\ntcgen05.wait::ld.sync.aligned;\n" +
                                   put_out(1, 200)),
                128));
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(ran.out[5], 7u);
}

TEST(Tcgen05Memory, AnInstructionThatUsesALoadedRegisterGetsTheResult) {
  const auto ran =
      test::run_both(kernel_of(with_tensor_memory(fill() +
                                                  "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%c200}, [%mine_t+9];\n"
                                                  "add.u32 %c201, %c200, 1;\ntcgen05.wait::ld.sync.aligned;\n" +
                                                  put_out(1, 201)),
                               128));
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(ran.out[33], (33u << 16) + 10);
}

TEST(Tcgen05Memory, UndefinedCellsStayUndefinedInRegisters) {
  const auto ran = test::run_field(kernel_of(
      with_tensor_memory("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%c0}, [%mine_t];\ntcgen05.wait::ld.sync.aligned;\n"
                         "ld.shared.b32 %c1, [%c0];\n"),
      1));
  EXPECT_EQ(ran.code(), "machine.undefined") << ran.message();
}

// -- Misuse. ----------------------------------------------------------------------------------------------------------
struct Misuse {
  const char* name;
  const char* body;
  const char* code;
  const char* message;  // a part of it
};

class Tcgen05Misuse : public testing::TestWithParam<Misuse> {};

TEST_P(Tcgen05Misuse, IsAFinding) {
  const auto ran = test::run_both(kernel_of(with_tensor_memory(GetParam().body, "128"), 128));
  EXPECT_EQ(ran.code(), GetParam().code) << ran.message();
  EXPECT_NE(ran.message().find(GetParam().message), std::string::npos) << ran.message();
}

INSTANTIATE_TEST_SUITE_P(
    All, Tcgen05Misuse,
    testing::Values(
        Misuse{"OtherQuarter", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%c0}, [%base];\n", "machine.tensor-memory",
               "names lane 0 of tensor memory; it reaches lanes 96 to 127, from lane 96"},
        Misuse{"MiddleOfAQuarter", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%c0}, [%mine_t+1048576];\n",
               "machine.tensor-memory", "names lane 112 of tensor memory; it reaches lanes 96 to 127, from lane 96"},
        Misuse{"NotAllocated", "tcgen05.ld.sync.aligned.32x32b.x4.b32 {%c0, %c1, %c2, %c3}, [%mine_t+-2];\n",
               "machine.tensor-memory", "of which 350 is not allocated; 352 to 479 are"},
        Misuse{"PastTheLastColumn", "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%c0, %c1}, [%mine_t+159];\n",
               "machine.tensor-memory", "columns 511 to 512 of 512"},
        Misuse{"AddressDiffers", "add.u32 %r1, %mine_t, %t;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%c0}, [%r1];\n",
               "machine.tensor-memory",
               "differs between lanes 0 and 1 of warp 3: lane 96, column 448 and lane 96, column 449"},
        Misuse{"LanesAreMissing",
               "and.b32 %r1, %t, 1;\nsetp.eq.u32 %p1, %r1, 0;\n"
               "@%p1 tcgen05.ld.sync.aligned.32x32b.x1.b32 {%c0}, [%mine_t];\n",
               "machine.collective", ""},
        Misuse{
            "DeallocOfAnotherSize", "@%p7 bra RELEASED;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 64;\n",
            "machine.tensor-alloc",
            "64 columns at lane 0, column 352 are given back, which no `tcgen05.alloc` of the block returned; it has "
            "128 from column 352"},
        Misuse{"DeallocOfAnotherPlace",
               "add.u32 %r1, %base, 32;\n@%p7 bra RELEASED;\n"
               "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 128;\n",
               "machine.tensor-alloc", "column 384 are given back"},
        Misuse{"DeallocTwice", "@%p7 bra RELEASED;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %base, 128;\n",
               "machine.tensor-alloc", "are given back, which no"},
        Misuse{"NeverGivenBack", "ret;\n", "machine.tensor-alloc",
               "exits without having given back the 128 columns of tensor memory allocated here"},
        Misuse{"AllocAfterRelinquish",
               "@%p7 bra RELEASED;\ntcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 32;\n",
               "machine.tensor-alloc", "given up its right"},
        Misuse{"RelinquishTwice",
               "@%p7 bra RELEASED;\ntcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
               "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n",
               "machine.tensor-alloc", "before"},
        Misuse{"AllocGrows",
               "@%p7 bra RELEASED;\n"
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 256;\n",
               "machine.tensor-alloc", "256 columns after one of 128"},
        Misuse{"AllocOfAnOddSize",
               "mov.u32 %r1, 96;\n@%p7 bra RELEASED;\n"
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], %r1;\n",
               "machine.tensor-alloc", "an allocation of 96 columns"},
        Misuse{"AllocWithoutRoom",
               "@%p7 bra RELEASED;\n"
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 128;\n"
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 128;\n"
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 128;\n"
               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 128;\n",
               "machine.deadlock", "for 128 columns of tensor memory side by side; 0 of 512 are free"},
        Misuse{"DeallocUnderALoad", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%c0}, [%mine_t];\n",
               "machine.tensor-in-flight", "has not waited for its `tcgen05.ld`"},
        Misuse{"DeallocUnderAStore", "mov.b32 %c0, 1;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%mine_t], {%c0};\n",
               "machine.tensor-in-flight", "has not waited for its `tcgen05.st`"}),
    [](const auto& each) { return std::string(each.param.name); });

// -- Allocation. ------------------------------------------------------------------------------------------------------
TEST(Tcgen05Memory, APairWithoutAClusterIsAFinding) {
  const auto ran = test::run_both(kernel_of("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;\n", 1, 32));
  EXPECT_EQ(ran.code(), "machine.cluster");
  EXPECT_NE(ran.message().find("`cta_group::2` needs a pair of blocks"), std::string::npos) << ran.message();
}

TEST(Tcgen05Memory, AnAllocationWaitsUntilAnotherWarpGivesColumnsBack) {
  const auto ran = test::run_both(kernel_of(
      ".shared .align 4 .b32 places[2];\nmov.u32 %r2, places;\nshr.u32 %r1, %t, 5;\nsetp.ne.u32 %p1, %r1, 0;\n"
      "@%p1 bar.sync 1, 64;\n@%p1 bra SECOND;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 512;\n"
      "bar.sync 1, 64;\nld.shared.b32 %r3, [%r2];\n"
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 512;\nbra.uni DONE;\n"
      "SECOND:\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2+4], 512;\nld.shared.b32 %r3, [%r2+4];\n"
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 512;\nDONE:\nst.global.b32 [%mine], %r3;\n",
      64, 64));
  EXPECT_EQ(ran.code(), "") << ran.message();
}

TEST(Tcgen05Memory, AnAllocationStartsAtNoMultipleOfItsSize) {
  for (const unsigned columns : {64U, 128U, 256U}) {
    const std::string count = std::to_string(columns);
    const auto ran = test::run_both(kernel_of(with_tensor_memory("st.global.b32 [%out], %base;\n", count.c_str()), 1));
    ASSERT_EQ(ran.code(), "") << ran.message();
    EXPECT_NE(ran.out[0] % columns, 0u);
    EXPECT_EQ(ran.out[0] % 32, 0u);
  }
}

TEST(Tcgen05Memory, AllocationsThatFillEverythingFindRoom) {
  const auto ran = test::run_both(kernel_of(
      ".shared .align 4 .b32 places[2];\nmov.u32 %r2, places;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2], 256;\n"
      "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r2+4], 256;\n"
      "ld.shared.b32 %r3, [%r2];\nld.shared.b32 %r4, [%r2+4];\nadd.u32 %r5, %r3, %r4;\nst.global.b32 [%out], %r5;\n"
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r3, 256;\n"
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r4, 256;\n",
      1, 32));
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(ran.out[0], 256u);
}

TEST(Tcgen05Memory, AnAllocationThatFitsOnlyInPiecesIsUnmodelled) {
  const auto ran =
      test::run_both(kernel_of(".shared .align 4 .b32 place;\nmov.u32 %r1, 0;\nAGAIN:\n"
                               "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 128;\n"
                               "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 4;\n@%p1 bra AGAIN;\n",
                               1, 32));
  EXPECT_EQ(ran.code(), "machine.unmodelled");
  EXPECT_NE(ran.message().find("of which 128 are free in pieces"), std::string::npos) << ran.message();
}

// Two blocks, each with one warp; `body` finds its rank in %r1.
Kernel pair_of(const std::string& body) {
  Kernel kernel = kernel_of(
      ".shared .align 4 .b32 place;\nmov.u32 %r1, %cluster_ctarank;\nsetp.eq.u32 %p1, %r1, 0;\n" + body, 2, 32);
  kernel.grid = kernel.cluster = {2, 1, 1};
  return kernel;
}

TEST(Tcgen05Memory, APairAllocatesTheSameColumnsTogether) {
  const auto ran = test::run_both(
      pair_of("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [place], 64;\nld.shared.b32 %r2, [place];\n"
              "mad.wide.u32 %rd1, %r1, 4, %out;\nst.global.b32 [%rd1], %r2;\n"
              "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r2, 64;\n"));
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(ran.out[0], ran.out[1]);
  EXPECT_EQ(ran.out[0], 416u);
}

TEST(Tcgen05Memory, AnAllocationOfAPairWaitsForTheOtherBlock) {
  const auto ran =
      test::run_both(pair_of("@%p1 bra DONE;\ntcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [place], 64;\n"
                             "DONE:\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"));
  EXPECT_EQ(ran.code(), "machine.deadlock");
  ASSERT_TRUE(ran.result.stop);
  std::string notes;
  for (const auto& note : ran.result.stop->finding.notes) notes += note.text + "\n";
  EXPECT_NE(notes.find("for the other block of the pair, block (0,0,0)"), std::string::npos) << notes;
}

TEST(Tcgen05Memory, APairThatAsksForDifferentSizesIsAFinding) {
  const auto ran =
      test::run_both(pair_of("mov.u32 %r3, 64;\n@%p1 mov.u32 %r3, 32;\n"
                             "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [place], %r3;\n"));
  EXPECT_EQ(ran.code(), "machine.tensor-alloc");
  EXPECT_NE(ran.message().find("both blocks of the pair must ask for the same"), std::string::npos) << ran.message();
}

}  // namespace
}  // namespace plumb::machine
