// SPDX-License-Identifier: Apache-2.0
// Commits to mbarriers.
#include "machine/kernel_test.h"

namespace plumb::machine {
namespace {

using test::Kernel;

// Blocks of one warp in one cluster, with an mbarrier of as many arrivals at %r1 (its offset is the same in all), made
// visible; %r2 is the rank, %p1 says whether it is 0, and %p2 whether the lane is 0.
Kernel cluster_of(unsigned size, unsigned arrivals, const std::string& body) {
  Kernel kernel{.body =
                    ".shared .align 8 .b64 barrier;\nmov.u32 %r1, barrier;\nmov.u32 %r2, %cluster_ctarank;\n"
                    "setp.eq.u32 %p1, %r2, 0;\nsetp.eq.u32 %p2, %t, 0;\n"
                    "@%p2 mbarrier.init.shared::cta.b64 [%r1], " +
                    std::to_string(arrivals) + ";\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n" +
                    body + "\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n",
                .out_words = 4};
  kernel.target = "sm_100a";
  kernel.grid = kernel.cluster = {size, 1, 1};
  return kernel;
}

constexpr const char* kWait =
    "WAITING:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 0;\n@!%p3 bra WAITING;\n"
    "mad.wide.u32 %rd1, %r2, 4, %out;\nst.global.b32 [%rd1], 1;\n";

TEST(Tcgen05Commit, WithoutOperationsArrivesWhenItIsWaitedFor) {
  const auto ran = test::run_both(cluster_of(
      1, 1,
      std::string("@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];\n") + kWait));
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(ran.out[0], 1u);
}

TEST(Tcgen05Commit, TakesAGenericAddress) {
  const auto ran =
      test::run_both(cluster_of(1, 1,
                                std::string("cvt.u64.u32 %rd2, %r1;\ncvta.shared.u64 %rd2, %rd2;\n"
                                            "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd2];\n") +
                                    kWait));
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(ran.out[0], 1u);
}

TEST(Tcgen05Commit, OfEveryLaneArrivesAsOftenAsThereAreLanes) {
  const auto ran = test::run_both(cluster_of(
      1, 32, std::string("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];\n") + kWait));
  ASSERT_EQ(ran.code(), "") << ran.message();
  const auto missing = test::run_both(cluster_of(
      1, 32,
      std::string("@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];\n") + kWait));
  EXPECT_EQ(missing.code(), "machine.deadlock");
}

// Nobody waits for the second; its arrival is there all the same, in phase 1, when the block ends.
TEST(Tcgen05Commit, ThatNobodyWaitsForArrivesBeforeItsBlockEnds) {
  const std::string commit = "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];\n";
  Kernel kernel = cluster_of(1, 1, commit + kWait + commit);
  std::vector<std::uint64_t> phases;
  struct Arrivals final : test::QuietObserver {
    explicit Arrivals(std::vector<std::uint64_t>& out) : phases(out) {}
    void mbarrier(const MbarrierEvent& event) override {
      if (event.is_commit) phases.push_back(event.phase);
    }
    std::vector<std::uint64_t>& phases;
  };
  kernel.options.observe = [&](std::uint64_t) { return std::make_unique<Arrivals>(phases); };
  const auto ran = test::run(kernel);
  EXPECT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(phases, (std::vector<std::uint64_t>{0, 1}));
}

TEST(Tcgen05Commit, ReachesEveryBlockOfItsMask) {
  const std::string commit =
      "and.pred %p4, %p1, %p2;\nmov.u16 %h1, 11;\n@%p4 tcgen05.commit.cta_group::2.mbarrier::arrive::one"
      ".shared::cluster.multicast::cluster.b64 [%r1], %h1;\nsetp.eq.u32 %p5, %r2, 2;\n@%p5 bra SKIP;\n";
  const auto ran = test::run_both(cluster_of(4, 1, commit + kWait + "SKIP:\n"));
  ASSERT_EQ(ran.code(), "") << ran.message();
  EXPECT_EQ(ran.out, (std::vector<std::uint32_t>{1, 1, 0, 1}));
}

TEST(Tcgen05Commit, ToABlockOutsideOfTheClusterIsAFinding) {
  const auto ran = test::run_both(
      cluster_of(2, 1,
                 "mov.u16 %h1, 5;\n@%p2 tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster"
                 ".multicast::cluster.b64 [%r1], %h1;\n"));
  EXPECT_EQ(ran.code(), "machine.cluster");
  EXPECT_NE(ran.message().find("names block 2 of a cluster of 2"), std::string::npos) << ran.message();
}

TEST(Tcgen05Commit, WithoutAnMbarrierIsAFinding) {
  const auto ran = test::run_both(
      cluster_of(1, 1, "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1+8];\n"));
  EXPECT_NE(ran.code(), "");
}

TEST(Tcgen05Commit, OfNothingInFlightArrivesBeforeItsMbarrierEnds) {
  const auto ran = test::run_both(cluster_of(1, 2,
                                             "@%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster"
                                             ".b64 [%r1];\n@%p2 mbarrier.inval.shared::cta.b64 [%r1];\n"));
  EXPECT_EQ(ran.code(), "") << ran.message();
}

}  // namespace
}  // namespace plumb::machine
