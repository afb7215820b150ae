// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

struct ShflCase {
  const char* mode;
  unsigned b, c;
  int (*from)(int lane, int b, int low, int high);
};

TEST(Shfl, EachModeTakesFromTheLaneThatTheManualNames) {
  const ShflCase cases[] = {
      {"up", 3, 0x0000, [](int lane, int b, int low, int) { return lane - b >= low ? lane - b : lane; }},
      {"down", 5, 0x001f, [](int lane, int b, int, int high) { return lane + b <= high ? lane + b : lane; }},
      {"bfly", 9, 0x001f, [](int lane, int b, int, int high) { return (lane ^ b) <= high ? lane ^ b : lane; }},
      {"idx", 4, 0x001f, [](int, int b, int low, int) { return low | b; }},
      {"up", 3, 0x1800, [](int lane, int b, int low, int) { return lane - b >= low ? lane - b : lane; }},
      {"down", 3, 0x181f, [](int lane, int b, int, int high) { return lane + b <= high ? lane + b : lane; }},
      {"idx", 6, 0x181f, [](int, int b, int low, int) { return low | (b & 7); }},
  };
  for (const ShflCase& one : cases) {
    const Ran ran = run_both({.body = std::string("mul.lo.u32 %r1, %t, 11;\nshfl.sync.") + one.mode +
                                      ".b32 %r2|%p1, %r1, " + std::to_string(one.b) + ", " + std::to_string(one.c) +
                                      ", -1;\nst.global.u32 [%mine], %r2;\nselp.u32 %r3, 1, 0, %p1;\n"
                                      "st.global.u32 [%mine+128], %r3;"});
    ASSERT_EQ(ran.message(), "");
    const int width = (one.c >> 8) == 0x18 ? 8 : 32;
    for (int lane = 0; lane < 32; ++lane) {
      const int low = lane / width * width, high = low + width - 1;
      const int from = one.from(lane, static_cast<int>(one.b), low, high);
      EXPECT_EQ(ran.out[static_cast<unsigned>(lane)], static_cast<unsigned>(from) * 11) << one.mode << " " << lane;
      const bool is_own = from == lane && std::string(one.mode) != "idx";
      EXPECT_EQ(ran.out[32 + static_cast<unsigned>(lane)], is_own ? 0u : 1u) << one.mode << " " << lane;
    }
  }
}

TEST(Shfl, DivergentLanesMeetBeforeTheyExchange) {
  const Ran ran = run_both({.body = R"(
    mov.u32 %r1, 1;
    setp.lt.u32 %p1, %t, 16;
    @%p1 bra LOW;
    mov.u32 %r1, 2;
LOW:
    shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;
    st.global.u32 [%mine], %r2;
  )"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i < 16 ? 2u : 1u);
}

TEST(Shfl, HalfWarpsWithMasksOfTheirOwnDoNotWaitForEachOther) {
  const Ran ran = run_both({.body = R"(
    setp.lt.u32 %p1, %t, 16;
    selp.b32 %r1, 0xffff, 0xffff0000, %p1;
    shfl.sync.bfly.b32 %r2, %t, 1, 31, %r1;
    st.global.u32 [%mine], %r2;
  )"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) EXPECT_EQ(ran.out[i], i ^ 1);
}

TEST(Shfl, AMissingLaneIsFoundWithTheLanesThatWait) {
  const Ran ran = run_both({.body = R"(
    setp.lt.u32 %p1, %t, 16;
    @!%p1 bra OTHER;
    shfl.sync.bfly.b32 %r2, %t, 1, 31, -1;
    bra.uni END;
OTHER:
    shfl.sync.bfly.b32 %r2, %t, 2, 31, -1;
END:
  )"});
  EXPECT_EQ(ran.code(), "machine.collective");
  EXPECT_NE(ran.message().find("lanes 0-15 of warp 0 wait here for lanes 16-31"), std::string::npos) << ran.message();
}

TEST(Shfl, ALaneOutsideOfItsMaskIsFound) {
  const Ran ran = run_both({.body = "shfl.sync.bfly.b32 %r2, %t, 1, 31, 0xffff;"});
  EXPECT_EQ(ran.code(), "machine.collective");
  EXPECT_EQ(ran.message(), "thread (16,0,0) of block (0,0,0) is not in its own member mask");
}

TEST(Vote, CountsAndComparesTheVotesOfTheMask) {
  const Ran ran = run_both({.body = R"(
    setp.lt.u32 %p1, %t, 5;
    vote.sync.ballot.b32 %r1, %p1, -1;
    vote.sync.any.pred %p2, %p1, -1;
    vote.sync.all.pred %p3, %p1, -1;
    vote.sync.uni.pred %p4, %p1, -1;
    selp.u32 %r2, 1, 0, %p2;
    selp.u32 %r3, 2, 0, %p3;
    selp.u32 %r4, 4, 0, %p4;
    or.b32 %r2, %r2, %r3;
    or.b32 %r2, %r2, %r4;
    st.global.u32 [%mine], %r1;
    st.global.u32 [%mine+128], %r2;
  )"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(ran.out[i], 31u);
    EXPECT_EQ(ran.out[32 + i], 1u);
  }
}

TEST(Match, FindsTheLanesWithAnEqualValue) {
  const Ran ran = run_both({.body = R"(
    rem.u32 %r1, %t, 4;
    match.any.sync.b32 %r2, %r1, -1;
    match.all.sync.b32 %r3|%p1, %r1, -1;
    st.global.u32 [%mine], %r2;
    st.global.u32 [%mine+128], %r3;
  )"});
  ASSERT_EQ(ran.message(), "");
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(ran.out[i], 0x11111111u << (i % 4));
    EXPECT_EQ(ran.out[32 + i], 0u);
  }
}

TEST(Redux, ReducesOverTheMask) {
  const Ran ran = run_both({.body = R"(
    sub.u32 %r1, %t, 10;
    redux.sync.add.u32 %r2, %r1, -1;
    redux.sync.min.s32 %r3, %r1, -1;
    redux.sync.max.u32 %r4, %r1, -1;
    add.u32 %r5, %r2, %r3;
    st.global.u32 [%mine], %r5;
    st.global.u32 [%mine+128], %r4;
  )"});
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.out[0], 496u - 320 - 10);
  EXPECT_EQ(ran.out[32], 0xffffffffu);
}

TEST(Redux, OfFloatsIsTheirMaximumOrMinimum) {
  // Lane i holds i - 20, lane 7 a NaN.
  const std::string floats = R"(
    sub.s32 %r1, %t, 20;
    cvt.rn.f32.s32 %f1, %r1;
    setp.eq.u32 %p1, %t, 7;
    selp.f32 %f1, 0f7FFFFFFF, %f1, %p1;
  )";
  const Ran ran = run_both({.body = floats + R"(
    redux.sync.max.f32 %f2, %f1, -1;
    redux.sync.min.f32 %f3, %f1, -1;
    st.global.f32 [%mine], %f2;
    st.global.f32 [%mine+128], %f3;
  )",
                            .target = "sm_100a"});
  ASSERT_EQ(ran.message(), "");
  const Ran other = run_both({.body = floats + R"(
    redux.sync.max.abs.f32 %f2, %f1, -1;
    redux.sync.min.NaN.f32 %f3, %f1, -1;
    st.global.f32 [%mine], %f2;
    st.global.f32 [%mine+128], %f3;
  )",
                              .target = "sm_100a"});
  ASSERT_EQ(other.message(), "");
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(std::bit_cast<float>(ran.out[i]), 11.0F);
    EXPECT_EQ(std::bit_cast<float>(ran.out[32 + i]), -20.0F);
    EXPECT_EQ(std::bit_cast<float>(other.out[i]), 20.0F);
    EXPECT_EQ(other.out[32 + i], 0x7fffffffU);
  }
}

}  // namespace
}  // namespace plumb::machine::test
