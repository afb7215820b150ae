// SPDX-License-Identifier: Apache-2.0
// The checker against event streams written by hand: every rule has a stream that breaks it and one that keeps it.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "check/codes.h"
#include "check/facts.h"
#include "check/log.h"
#include "check/message.h"
#include "check/race.h"

namespace plumb::check {
namespace {

using machine::Access;
using machine::AccessKind;
using machine::MemorySpace;
using machine::WarpMask;

constexpr std::uint32_t kAll = ~0U;
// Instruction numbers of the streams.
enum : std::uint32_t { kStore, kLoad, kCopy, kWait, kBarrier, kMatrixLoad, kAdd, kMax, kArrive, kStore2, kCount };

class Stream {
 public:
  explicit Stream(unsigned threads = 64) : checker_(facts(), threads, 0) {}

  static const std::vector<InstrFacts>& facts() {
    static const std::vector<InstrFacts> all = [] {
      std::vector<InstrFacts> list(kCount);
      const char* opcodes[] = {"st.shared.b32",       "ld.shared.b32",      "cp.async.cg.shared.global",
                               "cp.async.wait_group", "bar.sync",           "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
                               "red.global.add.f32",  "red.global.max.s32", "bar.arrive",
                               "st.shared.b32"};
      for (std::uint32_t i = 0; i < kCount; ++i) {
        list[i].opcode = opcodes[i];
        list[i].line = 10 * (i + 1);
      }
      list[kWait].is_copy_wait = true;
      list[kMatrixLoad].is_collective = true;
      list[kArrive].is_arrive_only = true;
      list[kAdd].commuting_op = 1;
      list[kMax].commuting_op = 2;
      return list;
    }();
    return all;
  }

  // Lane i of the mask touches [base + i * stride, + size).
  void access(std::uint32_t instr, AccessKind kind, std::uint32_t warp, std::uint64_t base, std::uint32_t stride,
              std::uint32_t size, std::uint32_t mask = kAll, MemorySpace space = MemorySpace::Shared,
              std::uint64_t key = 0) {
    std::array<std::uint64_t, 32> address{}, keys{};
    for (unsigned lane = 0; lane < 32; ++lane) {
      address[lane] = base + std::uint64_t{lane} * stride;
      keys[lane] = key;
    }
    Access access;
    access.space = space;
    access.kind = kind;
    access.instr = instr;
    access.warp = warp;
    access.mask = mask;
    access.size = size;
    access.address = address.data();
    access.value_key = key == 0 ? nullptr : keys.data();
    checker_.access(access);
  }
  void write(std::uint32_t warp, std::uint64_t base, std::uint32_t stride = 4, std::uint32_t mask = kAll) {
    access(kStore, AccessKind::Write, warp, base, stride, 4, mask);
  }
  void read(std::uint32_t warp, std::uint64_t base, std::uint32_t stride = 4, std::uint32_t mask = kAll) {
    access(kLoad, AccessKind::Read, warp, base, stride, 4, mask);
  }
  void barrier(std::initializer_list<std::uint32_t> warps = {0, 1}, std::uint32_t number = 0) {
    std::vector<WarpMask> who;
    for (const std::uint32_t warp : warps) {
      checker_.barrier_arrived(kBarrier, number, {warp, kAll});
      who.push_back({warp, kAll});
    }
    checker_.barrier_completed(number, who);
  }
  // 16 bytes a lane.
  void copy(std::uint64_t id, std::uint32_t warp, std::uint64_t shared, std::uint64_t global = 1 << 20) {
    std::array<std::uint64_t, 32> to{}, from{};
    std::array<std::uint32_t, 32> size{};
    for (unsigned lane = 0; lane < 32; ++lane) {
      to[lane] = shared + 16 * lane;
      from[lane] = global + 16 * lane;
      size[lane] = 16;
    }
    checker_.async_copy_issued(id, kCopy, {warp, kAll}, to.data(), from.data(), 16, size.data());
  }
  RaceChecker& checker() { return checker_; }

  std::vector<std::string> codes() {
    std::vector<std::string> all;
    const CtaLog log = checker_.finish();
    for (const auto& [key, conflict] : log.conflicts.all()) all.emplace_back(conflict.code->id);
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  RaceChecker checker_;
};

using Codes = std::vector<std::string>;

TEST(Race, ReadOfAnotherWarpsWriteNeedsABarrier) {
  Stream with, without;
  with.write(0, 0);
  with.barrier();
  with.read(1, 0);
  EXPECT_EQ(with.codes(), Codes{});
  without.write(0, 0);
  without.read(1, 0);
  EXPECT_EQ(without.codes(), Codes{"race.shared"});
}

TEST(Race, OverwritingWhatAnotherWarpReadsNeedsABarrier) {
  Stream stream;
  stream.write(0, 0);
  stream.barrier();
  stream.read(1, 0);
  stream.write(0, 0);  // the next round of a loop
  EXPECT_EQ(stream.codes(), Codes{"race.shared"});
}

TEST(Race, AThreadsOwnPlaceNeedsNothing) {
  Stream stream;
  stream.write(0, 0);
  stream.read(0, 0);
  stream.write(0, 0);
  stream.access(kLoad, AccessKind::Read, 0, 0, 2, 2);  // bytes of lanes 0..15 read by others
  EXPECT_EQ(stream.codes(), Codes{"race.shared"});
}

TEST(Race, NeighboursInOneGranuleDoNotConflict) {
  Stream stream;
  stream.access(kStore, AccessKind::Write, 0, 0, 1, 1);
  stream.access(kLoad, AccessKind::Read, 0, 0, 1, 1);
  stream.access(kStore, AccessKind::Write, 0, 0, 1, 1);
  EXPECT_EQ(stream.codes(), Codes{});
}

TEST(Race, LanesOfOneWarpNeedAWarpBarrier) {
  Stream with, without;
  with.write(0, 0);
  with.checker().warp_synchronized(kBarrier, {0, kAll});
  with.read(0, 4);
  EXPECT_EQ(with.codes(), Codes{});
  without.write(0, 0);
  without.read(0, 4, 4, 0x7fffffff);
  EXPECT_EQ(without.codes(), Codes{"race.shared"});
}

TEST(Race, AWarpBarrierOrdersOnlyItsMask) {
  Stream stream;
  stream.write(0, 0);
  stream.checker().warp_synchronized(kBarrier, {0, 0x0000ffff});
  stream.read(0, 4, 4, 0x00007fff);  // lane i reads lane i + 1's word, all within the mask
  EXPECT_EQ(stream.codes(), Codes{});
  Stream across;
  across.write(0, 0);
  across.checker().warp_synchronized(kBarrier, {0, 0x0000ffff});
  across.read(0, 4, 4, 0x00008000);  // lane 15 reads lane 16's word
  EXPECT_EQ(across.codes(), Codes{"race.shared"});
}

TEST(Race, OrderIsTransitiveThroughNamedBarriers) {
  Stream stream(96);
  stream.write(0, 0);
  stream.barrier({0, 1}, 1);
  stream.barrier({1, 2}, 2);
  stream.read(2, 0);
  EXPECT_EQ(stream.codes(), Codes{});
  Stream without(96);
  without.write(0, 0);
  without.barrier({1, 2}, 2);
  without.barrier({0, 1}, 1);
  without.read(2, 0);
  EXPECT_EQ(without.codes(), Codes{"race.shared"});
}

TEST(Race, ArriveOnlyPublishesButDoesNotLearn) {
  Stream stream;
  stream.write(0, 0);
  stream.write(1, 512);
  stream.checker().barrier_arrived(kArrive, 1, {0, kAll});
  stream.checker().barrier_arrived(kBarrier, 1, {1, kAll});
  const WarpMask both[] = {{0, kAll}, {1, kAll}};
  stream.checker().barrier_completed(1, both);
  stream.read(1, 0);
  EXPECT_EQ(stream.checker().finish().conflicts.all().size(), 0u);
  stream.read(0, 512);
  EXPECT_EQ(stream.codes(), Codes{"race.shared"});
}

TEST(Race, WritesAfterArrivalAreNotPublished) {
  Stream stream;
  stream.checker().barrier_arrived(kArrive, 1, {0, kAll});
  stream.write(0, 0);
  stream.checker().barrier_arrived(kBarrier, 1, {1, kAll});
  const WarpMask both[] = {{0, kAll}, {1, kAll}};
  stream.checker().barrier_completed(1, both);
  stream.read(1, 0);
  EXPECT_EQ(stream.codes(), Codes{"race.shared"});
}

TEST(Race, ArrivingAgainWithoutKnowingOfTheLastRoundIsMisuse) {
  Stream stream;
  const WarpMask both[] = {{0, kAll}, {1, kAll}};
  for (int round = 0; round < 2; ++round) {
    stream.checker().barrier_arrived(kArrive, 1, {0, kAll});
    stream.checker().barrier_arrived(kBarrier, 1, {1, kAll});
    stream.checker().barrier_completed(1, both);
  }
  EXPECT_EQ(stream.codes(), Codes{"barrier.reentry"});
  Stream good;
  for (int round = 0; round < 2; ++round) {
    good.checker().barrier_arrived(kArrive, 1, {0, kAll});
    good.checker().barrier_arrived(kBarrier, 1, {1, kAll});
    good.checker().barrier_completed(1, both);
    good.barrier({0, 1}, 2);
  }
  EXPECT_EQ(good.codes(), Codes{});
}

// Nobody waits, so that nobody is told: only who knows of every arrival may arrive again.
TEST(Race, ArrivingAgainAfterARoundInWhichAllOnlyArrivedIsMisuse) {
  const WarpMask both[] = {{0, kAll}, {1, kAll}};
  const auto round = [&](Stream& stream) {
    stream.checker().barrier_arrived(kArrive, 1, {0, kAll});
    stream.checker().barrier_arrived(kArrive, 1, {1, kAll});
    stream.checker().barrier_completed(1, both);
  };
  Stream stream, good;
  round(stream);
  EXPECT_EQ(stream.codes(), Codes{});
  round(stream);
  EXPECT_EQ(stream.codes(), Codes{"barrier.reentry"});
  round(good);
  good.barrier({0, 1}, 2);
  round(good);
  EXPECT_EQ(good.codes(), Codes{});
}

TEST(Race, OneStoreOfManyLanesToOnePlaceIsTold) {
  Stream same, different, unknown;
  same.access(kStore, AccessKind::Write, 0, 0, 0, 4, kAll, MemorySpace::Shared, 77);
  EXPECT_EQ(same.codes(), Codes{"race.duplicate-write"});
  different.access(kStore, AccessKind::Write, 0, 0, 0, 4, 1, MemorySpace::Shared, 77);
  different.access(kStore, AccessKind::Write, 0, 0, 0, 4, 2, MemorySpace::Shared, 78);
  EXPECT_EQ(different.codes(), Codes{"race.same-instruction"});
  unknown.access(kStore, AccessKind::Write, 0, 0, 0, 4);
  EXPECT_EQ(unknown.codes(), Codes{"race.same-instruction"});
}

TEST(Race, SameValueFromTwoWarpsIsARemarkButItsReaderStillNeedsOrder) {
  Stream stream;
  stream.access(kStore, AccessKind::Write, 0, 0, 4, 4, kAll, MemorySpace::Shared, 7);
  stream.access(kStore, AccessKind::Write, 1, 0, 4, 4, kAll, MemorySpace::Shared, 7);
  stream.read(1, 0);
  EXPECT_EQ(stream.codes(), (Codes{"race.duplicate-write", "race.shared"}));
}

TEST(Race, BroadcastReadsOfManyWarpsThenAWriteIsFoundAndABarrierMendsIt) {
  Stream with(1024), without(1024);
  for (std::uint32_t warp = 0; warp < 32; ++warp) {
    with.read(warp, 64, 0);
    without.read(warp, 64, 0);
  }
  std::vector<WarpMask> who;
  for (std::uint32_t warp = 0; warp < 32; ++warp) {
    with.checker().barrier_arrived(kBarrier, 0, {warp, kAll});
    who.push_back({warp, kAll});
  }
  with.checker().barrier_completed(0, who);
  with.write(3, 64, 0, 1);
  without.write(3, 64, 0, 1);
  EXPECT_EQ(with.codes(), Codes{});
  EXPECT_EQ(without.codes(), Codes{"race.shared"});
}

TEST(AsyncCopy, MustBeWaitedForBeforeItIsRead) {
  Stream unwaited, barrier_only, wait_only, good;
  unwaited.copy(1, 0, 0);
  unwaited.read(0, 0, 16);
  EXPECT_EQ(unwaited.codes(), Codes{"async.unwaited-read"});

  barrier_only.copy(1, 0, 0);
  barrier_only.barrier();
  barrier_only.read(1, 0);
  EXPECT_EQ(barrier_only.codes(), Codes{"async.unwaited-read"});

  wait_only.copy(1, 0, 0);
  wait_only.checker().async_copy_waited(1, {0, kAll});
  wait_only.read(0, 0, 16);  // the thread that waited sees its own copy
  EXPECT_EQ(wait_only.checker().finish().conflicts.all().size(), 0u);
  wait_only.read(1, 0, 16);  // others do not
  EXPECT_EQ(wait_only.codes(), Codes{"race.shared"});

  good.copy(1, 0, 0);
  good.checker().async_copy_waited(1, {0, kAll});
  good.barrier();
  good.read(1, 0);
  EXPECT_EQ(good.codes(), Codes{});
}

TEST(AsyncCopy, MustNotBeIssuedIntoBytesThatAreStillRead) {
  Stream stream, good;
  for (Stream* one : {&stream, &good}) {
    one->copy(1, 0, 0);
    one->checker().async_copy_waited(1, {0, kAll});
    one->barrier();
    one->access(kMatrixLoad, AccessKind::Read, 1, 0, 16, 16);
  }
  good.barrier();
  stream.copy(2, 0, 0);
  good.copy(2, 0, 0);
  EXPECT_EQ(stream.codes(), Codes{"async.overwrites-read"});
  EXPECT_EQ(good.codes(), Codes{});
}

TEST(AsyncCopy, SurvivesABarrierInFlight) {
  Stream stream;
  stream.copy(1, 0, 0);
  for (int i = 0; i < 3; ++i) stream.barrier();
  stream.write(1, 0);
  EXPECT_EQ(stream.codes(), Codes{"async.unwaited-write"});
}

TEST(AsyncCopy, TwoInFlightToOnePlaceConflict) {
  Stream stream;
  stream.copy(1, 0, 0);
  stream.copy(2, 0, 0);
  EXPECT_EQ(stream.codes(), Codes{"async.overlapping-copies"});
}

TEST(AsyncCopy, ItsSourceMustNotBeWrittenMeanwhile) {
  Stream stream, good;
  for (Stream* one : {&stream, &good}) {
    one->copy(1, 0, 0, 1 << 20);
  }
  good.checker().async_copy_waited(1, {0, kAll});
  for (Stream* one : {&stream, &good}) {
    one->access(kStore, AccessKind::Write, 0, 1 << 20, 16, 16, kAll, MemorySpace::Global);
  }
  EXPECT_EQ(stream.codes(), Codes{"async.source-written"});
  EXPECT_EQ(good.codes(), Codes{});
}

TEST(AsyncCopy, LeftInFlightAtExitIsTold) {
  Stream stream;
  stream.copy(1, 0, 0);
  stream.checker().exited({0, kAll});
  EXPECT_EQ(stream.codes(), Codes{"async.unwaited-exit"});
}

TEST(Collective, LdmatrixReadsForTheWholeWarp) {
  Stream stream, good;
  for (Stream* one : {&stream, &good}) one->access(kStore, AccessKind::Write, 0, 0, 16, 16);
  good.checker().warp_synchronized(kBarrier, {0, kAll});
  for (Stream* one : {&stream, &good}) one->access(kMatrixLoad, AccessKind::Read, 0, 0, 16, 16);
  EXPECT_EQ(stream.codes(), Codes{"race.shared"});
  EXPECT_EQ(good.codes(), Codes{});
}

TEST(Atomics, OfOneOperationCommuteAndOthersDoNot) {
  Stream same, mixed, plain;
  same.access(kAdd, AccessKind::Atomic, 0, 4096, 0, 4, kAll, MemorySpace::Global);
  same.access(kAdd, AccessKind::Atomic, 1, 4096, 0, 4, kAll, MemorySpace::Global);
  EXPECT_EQ(same.codes(), Codes{});
  mixed.access(kAdd, AccessKind::Atomic, 0, 4096, 0, 4, kAll, MemorySpace::Global);
  mixed.access(kMax, AccessKind::Atomic, 1, 4096, 0, 4, kAll, MemorySpace::Global);
  EXPECT_EQ(mixed.codes(), Codes{"atomic.mixed"});
  plain.access(kAdd, AccessKind::Atomic, 0, 4096, 0, 4, kAll, MemorySpace::Global);
  plain.access(kLoad, AccessKind::Read, 1, 4096, 0, 4, 1, MemorySpace::Global);
  EXPECT_EQ(plain.codes(), Codes{"atomic.mixed"});
}

TEST(Atomics, DoNotHideAnEarlierWriteFromLaterAtomics) {
  Stream stream;
  stream.access(kStore, AccessKind::Write, 0, 4096, 0, 4, 1, MemorySpace::Global, 5);
  stream.access(kAdd, AccessKind::Atomic, 0, 4096, 0, 4, 1, MemorySpace::Global);  // after it, by program order
  stream.access(kAdd, AccessKind::Atomic, 1, 4096, 0, 4, 1, MemorySpace::Global);  // not after it
  EXPECT_EQ(stream.codes(), Codes{"atomic.mixed"});
}

std::vector<std::uint64_t> ops() {
  std::vector<std::uint64_t> all;
  for (const InstrFacts& facts : Stream::facts()) all.push_back(facts.commuting_op);
  return all;
}

TEST(CrossCta, OverlappingWritesAndReadsConflict) {
  const Interval low{0, 64, kStore, AccessKind::Write}, high{64, 128, kStore, AccessKind::Write},
      middle{60, 68, kLoad, AccessKind::Read};
  EXPECT_TRUE(cross_cta_conflicts({{0, 0, {low}}, {1, 1, {high}}}, ops()).all().empty());
  EXPECT_EQ(cross_cta_conflicts({{0, 0, {low}}, {1, 1, {low}}}, ops()).all().size(), 1u);
  EXPECT_EQ(cross_cta_conflicts({{0, 0, {low}}, {1, 1, {high, middle}}}, ops()).all().size(), 1u);
  EXPECT_TRUE(cross_cta_conflicts({{0, 0, {low, high, middle}}, {1, 1, {}}}, ops()).all().empty());
}

TEST(CrossCta, ALongIntervalBeforeManyShortOnesIsFound) {
  std::vector<CtaFootprint> all{{0, 0, {{0, 1000, kStore, AccessKind::Write}}}, {1, 1, {}}};
  for (std::uint64_t i = 0; i < 50; ++i) all[0].intervals.push_back({i * 4, i * 4 + 4, kStore2, AccessKind::Write});
  all[1].intervals.push_back({990, 994, kLoad, AccessKind::Read});
  const Conflicts conflicts = cross_cta_conflicts(all, ops());
  ASSERT_EQ(conflicts.all().size(), 1u);
  EXPECT_EQ(conflicts.all().begin()->second.earlier.instr, kStore);
}

TEST(CrossCta, CommutingAtomicsShare) {
  const Interval add{0, 4, kAdd, AccessKind::Atomic}, max{0, 4, kMax, AccessKind::Atomic};
  EXPECT_TRUE(cross_cta_conflicts({{0, 0, {add}}, {1, 1, {add}}}, ops()).all().empty());
  EXPECT_EQ(cross_cta_conflicts({{0, 0, {add}}, {1, 1, {max}}}, ops()).all().size(), 1u);
}

TEST(Footprints, OfALoopBecomeOneInterval) {
  Footprint footprint;
  for (std::uint64_t row = 0; row < 4; ++row) {
    for (std::uint64_t step = 0; step < 100; ++step) {
      footprint.add(row * 1000000 + step * 64, row * 1000000 + step * 64 + 64, kLoad, AccessKind::Read);
      footprint.add(row * 1000000 + 500000 + step * 32, row * 1000000 + 500000 + step * 32 + 32, kCopy,
                    AccessKind::Read);
    }
  }
  EXPECT_EQ(footprint.take().size(), 8u);
}

TEST(Footprints, WhatALoopReadsInEqualStepsIsOneInterval) {
  Footprint footprint;
  for (std::uint64_t step = 0; step < 100; ++step) {
    for (std::uint64_t lane = 0; lane < 8; ++lane) {
      const std::uint64_t begin = lane * 100000 + step * 64;
      footprint.add(begin, begin + 2, kLoad, AccessKind::Read, 3, static_cast<unsigned>(lane));
    }
  }
  EXPECT_EQ(footprint.take().size(), 8u);
}

TEST(Footprints, HoldExactlyTheBytesAdded) {
  std::mt19937 random(7);
  for (unsigned round = 0; round < 200; ++round) {
    Footprint footprint;
    std::set<std::pair<std::uint32_t, std::uint64_t>> expected, held;
    for (unsigned loop = 0; loop < 6; ++loop) {
      const std::uint32_t instr = random() % 2 == 0 ? kLoad : kCopy, warp = random() % 2;
      const std::uint64_t base = random() % 200, stride = random() % 40, size = 1 + random() % 24;
      const unsigned place = random() % 3;
      for (std::uint64_t step = 0; step < 1 + loop * 3; ++step) {
        const std::uint64_t begin = base + step * stride;
        footprint.add(begin, begin + size, instr, AccessKind::Read, warp, place);
        for (std::uint64_t byte = begin; byte < begin + size; ++byte) expected.emplace(instr, byte);
      }
    }
    for (const Interval& interval : footprint.take()) {
      for (std::uint32_t i = 0; i < interval.count; ++i) {
        for (std::uint64_t byte = interval.begin; byte < interval.end; ++byte) {
          held.emplace(interval.instr, byte + i * interval.stride);
        }
      }
    }
    ASSERT_EQ(held, expected) << round;
  }
}

TEST(CrossCta, ReadsInStepsMeetTheWritesInThemAndNotThoseBetween) {
  const Interval steps{0, 2, kLoad, AccessKind::Read, 100, 64}, between{32, 64, kStore, AccessKind::Write},
      within{64 * 70 + 1, 64 * 70 + 3, kStore, AccessKind::Write};
  EXPECT_TRUE(cross_cta_conflicts({{0, 0, {steps}}, {1, 1, {between}}}, ops()).all().empty());
  const Conflicts conflicts = cross_cta_conflicts({{0, 0, {steps}}, {1, 1, {between, within}}}, ops());
  ASSERT_EQ(conflicts.all().size(), 1u);
  EXPECT_EQ(conflicts.all().begin()->second.address, 64u * 70 + 1);
  const Interval writes{0, 2, kStore, AccessKind::Write, 100, 64}, reads{64 * 99, 64 * 99 + 1, kLoad, AccessKind::Read};
  EXPECT_EQ(cross_cta_conflicts({{0, 0, {writes}}, {1, 1, {reads}}}, ops()).all().size(), 1u);
}

TEST(Message, NamesBothPlacesTheBytesAndTheMend) {
  Conflict conflict;
  conflict.code = &kRaceShared;
  conflict.earlier = {kStore, 1, 0};
  conflict.later = {kLoad, 40, 0};
  conflict.address = 64;
  conflict.bytes = 4;
  conflict.is_later_read = true;
  const Finding finding = describe({Stream::facts(), {}, {64, 1, 1}, nullptr}, conflict);
  EXPECT_EQ(finding.message,
            "`ld.shared.b32` of thread 40 reads the 4 bytes at shared offset 64 that thread 1 writes with "
            "`st.shared.b32` at line 10, and nothing orders the two");
  EXPECT_EQ(finding.hint, "put a `bar.sync 0` between line 10 and line 20");
}

// The thread that comes later in the text may be the first that runs; only in a loop is the way from it to the other
// one back.
TEST(Message, SpeaksOfAWayBackInLoopsOnly) {
  Conflict conflict;
  conflict.code = &kRaceShared;
  conflict.earlier = {kLoad, 40, 0};
  conflict.later = {kStore, 1, 0};
  std::vector<InstrFacts> facts = Stream::facts();
  EXPECT_EQ(describe({facts, {}, {64, 1, 1}, nullptr}, conflict).hint,
            "put a `bar.sync 0` between line 10 and line 20");
  facts[kLoad].loop_line = facts[kStore].line;
  EXPECT_EQ(describe({facts, {}, {64, 1, 1}, nullptr}, conflict).hint,
            "put a `bar.sync 0` on the way from line 20 back to line 10");
}

TEST(Message, NamesTheWaitThatIsTooWeak) {
  std::vector<InstrFacts> facts = Stream::facts();
  std::swap(facts[kLoad], facts[kBarrier]);  // ... copy, wait, load
  Conflict conflict;
  conflict.code = &kUnwaitedRead;
  conflict.earlier = {kCopy, 1, 0};
  conflict.later = {kBarrier, 40, 0};
  conflict.is_later_read = true;
  const Finding finding = describe({facts, {}, {64, 1, 1}, nullptr}, conflict);
  EXPECT_EQ(finding.hint, "let the wait at line 40 leave fewer groups pending, or commit the copy's group earlier");
}

TEST(Codes, AreListedOnceEach) {
  std::vector<std::string_view> ids;
  for (const Code* code : codes()) ids.push_back(code->id);
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  EXPECT_EQ(ids.size(), 31u);
}

}  // namespace
}  // namespace plumb::check
