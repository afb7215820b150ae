// SPDX-License-Identifier: Apache-2.0
// The checker against event streams of mbarriers, bulk copies and warpgroup products: a stream that keeps each rule and
// one that breaks it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "check/codes.h"
#include "check/facts.h"
#include "check/race.h"

namespace plumb::check {
namespace {

using machine::AccessKind;
using machine::AsyncRange;
using machine::MbarrierEvent;
using machine::MemorySpace;
using machine::ProxyFence;
using Kind = machine::MbarrierEvent::Kind;
using Codes = std::vector<std::string>;

constexpr std::uint32_t kAll = ~0U, kOne = 1;
enum : std::uint32_t {
  kInit,
  kBarrier,
  kCopy,
  kArrive,
  kWait,
  kLoad,
  kStore,
  kFence,
  kProduct,
  kPut,
  kMapWrite,
  kCount
};
constexpr std::uint32_t kFull = 0, kEmpty = 8;  // offsets of two mbarriers
constexpr std::uint64_t kStage = 1024;          // of a buffer of 512 bytes
constexpr std::uint64_t kMap = 1 << 16;

// One warp (0) produces, one (1) consumes.
class Pipeline {
 public:
  Pipeline() : checker_(facts(), 64, 0) {}

  static const std::vector<InstrFacts>& facts() {
    static const std::vector<InstrFacts> all = [] {
      std::vector<InstrFacts> list(kCount);
      for (std::uint32_t i = 0; i < kCount; ++i) list[i].line = i + 1;
      list[kCopy].is_async_proxy = list[kProduct].is_async_proxy = list[kPut].is_async_proxy = true;
      list[kMapWrite].is_map_release = true;
      return list;
    }();
    return all;
  }

  void event(Kind kind, std::uint32_t instr, std::uint32_t warp, std::uint32_t lane, std::uint32_t offset,
             std::uint64_t phase, bool completes = false) {
    MbarrierEvent event;
    event.kind = kind, event.instr = instr, event.warp = warp, event.lane = lane, event.offset = offset;
    event.phase = phase, event.completes = completes;
    checker_.mbarrier(event);
  }
  void init() {
    event(Kind::Init, kInit, 0, 0, kFull, 0);
    event(Kind::Init, kInit, 0, 0, kEmpty, 0);
  }
  // The barriers are there, and everybody knows.
  void begin() {
    init();
    sync();
  }
  void sync() {
    const std::array<machine::WarpMask, 2> who = {{{0, kAll}, {1, kAll}}};
    for (const auto& warp : who) checker_.barrier_arrived(kBarrier, 0, warp);
    checker_.barrier_completed(0, who);
  }
  // The producer's arrival with its bytes, and the copy.
  void produce(std::uint64_t id, std::uint64_t phase, std::uint64_t map = 0) {
    event(Kind::ExpectTx, kArrive, 0, 0, kFull, phase);
    event(Kind::Arrive, kArrive, 0, 0, kFull, phase);
    copy(id, map);
  }
  void copy(std::uint64_t id, std::uint64_t map = 0) {
    const AsyncRange from{MemorySpace::Global, 0, 1 << 20, 512}, to{MemorySpace::Shared, 0, kStage, 512};
    machine::AsyncIssue issue;
    issue.id = id, issue.instr = kCopy, issue.reads = {&from, 1}, issue.writes = {&to, 1};
    issue.has_mbarrier = true, issue.barrier_offset = kFull, issue.bytes = 512, issue.map = map;
    checker_.async_issued(issue);
  }
  void land(std::uint64_t id, std::uint64_t phase, bool completes = true) {
    MbarrierEvent event;
    event.kind = Kind::CompleteTx, event.instr = kCopy, event.offset = kFull, event.phase = phase;
    event.count = 512, event.completes = completes, event.is_async = true, event.operation = id;
    checker_.async_completed(id);
    checker_.mbarrier(event);
  }
  void wait(std::uint32_t warp, std::uint32_t offset, std::uint64_t phase, std::uint32_t mask = kAll) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1) != 0) event(Kind::WaitTrue, kWait, warp, lane, offset, phase);
    }
  }
  void access(std::uint32_t instr, AccessKind kind, std::uint32_t warp, std::uint32_t mask = kAll) {
    std::array<std::uint64_t, 32> address{};
    for (unsigned lane = 0; lane < 32; ++lane) address[lane] = kStage + 16 * lane;
    touch(instr, kind, warp, mask, MemorySpace::Shared, 16, address);
  }
  void touch(std::uint32_t instr, AccessKind kind, std::uint32_t warp, std::uint32_t mask, MemorySpace space,
             std::uint32_t size, const std::array<std::uint64_t, 32>& address) {
    machine::Access access;
    access.space = space, access.kind = kind, access.instr = instr, access.warp = warp, access.mask = mask;
    access.size = size, access.address = address.data();
    checker_.access(access);
  }
  void read(std::uint32_t warp) { access(kLoad, AccessKind::Read, warp); }
  void write(std::uint32_t warp) { access(kStore, AccessKind::Write, warp); }
  void release(std::uint64_t phase) {
    for (unsigned lane = 0; lane < 32; ++lane) event(Kind::Arrive, kArrive, 1, lane, kEmpty, phase, lane == 31);
  }
  void fence(std::uint32_t warp, ProxyFence kind = ProxyFence::AsyncSharedCta, std::uint32_t mask = kAll) {
    checker_.proxy_fence(kFence, {warp, mask}, kind, nullptr);
  }
  void product(std::uint64_t id, std::uint32_t warp) {
    const std::array<std::uint32_t, 2> a = {kStage, kStage + 16}, b = {kStage + 256, kStage + 272};
    checker_.product_issued(id, kProduct, {warp, kAll}, a, b);
  }
  void product_wait(std::uint64_t id, std::uint32_t warp) { checker_.product_waited(id, {warp, kAll}); }
  // A bulk store of the buffer by thread 0.
  void put(std::uint64_t id) {
    const AsyncRange from{MemorySpace::Shared, 0, kStage, 512}, to{MemorySpace::Global, 0, 1 << 21, 512};
    machine::AsyncIssue issue;
    issue.id = id, issue.instr = kPut, issue.reads = {&from, 1}, issue.writes = {&to, 1};
    checker_.async_issued(issue);
  }
  RaceChecker& checker() { return checker_; }

  Codes codes() {
    Codes all;
    const CtaLog log = checker_.finish();
    EXPECT_TRUE(log.unfollowed.empty());
    for (const auto& [key, conflict] : log.conflicts.all()) all.emplace_back(conflict.code->id);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

 private:
  RaceChecker checker_;
};

TEST(Pipeline, RoundsOfCopyWaitReadAndReleaseAreClean) {
  Pipeline p;
  p.begin();
  for (std::uint64_t round = 0; round < 5; ++round) {
    p.wait(0, kEmpty, round - 1, kOne);
    p.produce(round, round);
    p.land(round, round);
    p.wait(1, kFull, round);
    p.read(1);
    p.release(round);
  }
  EXPECT_EQ(p.codes(), Codes{});
}

TEST(Pipeline, ReadingBeforeTheWaitIsFound) {
  Pipeline p;
  p.begin();
  p.produce(0, 0);
  p.read(1);
  EXPECT_EQ(p.codes(), Codes{"async.unwaited-read"});
}

TEST(Pipeline, OnlyThoseWhoWaitedKnowOfTheBytes) {
  Pipeline p;
  p.begin();
  p.produce(0, 0);
  p.land(0, 0);
  p.wait(1, kFull, 0, kOne);  // one lane; the others are told by nobody
  p.read(1);
  EXPECT_EQ(p.codes(), Codes{"async.unwaited-read"});

  Pipeline q;
  q.begin();
  q.produce(0, 0);
  q.land(0, 0);
  q.wait(1, kFull, 0, kOne);
  q.checker().warp_synchronized(kBarrier, {1, kAll});
  q.read(1);
  EXPECT_EQ(q.codes(), Codes{});
}

TEST(Pipeline, RefillingBeforeTheReleaseIsFound) {
  Pipeline p;
  p.begin();
  p.produce(0, 0);
  p.land(0, 0);
  p.wait(0, kFull, 0, kOne);
  p.wait(1, kFull, 0);
  p.read(1);
  p.produce(1, 1);  // nobody said that warp 1 is done
  EXPECT_EQ(p.codes(), Codes{"async.overwrites-read"});
}

TEST(Pipeline, AnInitMustBePublished) {
  Pipeline p;
  p.init();
  p.produce(0, 0);
  p.land(0, 0);
  p.wait(1, kFull, 0);
  EXPECT_EQ(p.codes(), Codes{"mbarrier.lifetime"});
}

TEST(Pipeline, AnArrivalThatMayCountForThePhaseBeforeIsFound) {
  Pipeline p;
  p.begin();
  p.produce(0, 0);
  p.land(0, 0);
  p.event(Kind::Arrive, kArrive, 1, 0, kFull, 1);  // warp 1 never heard that phase 0 is over
  EXPECT_EQ(p.codes(), Codes{"mbarrier.phase"});
}

TEST(Pipeline, TooFewExpectedBytesLetAPhaseEndEarly) {
  Pipeline p;
  p.begin();
  p.produce(0, 0);
  p.copy(1);
  p.land(0, 0);
  p.land(1, 1, false);  // counted into the next phase
  const Codes codes = p.codes();
  EXPECT_TRUE(std::find(codes.begin(), codes.end(), "mbarrier.phase") != codes.end());
}

TEST(Pipeline, APhaseMustNotEndWhileSomeoneWaitsForTheOneBefore) {
  Pipeline p;
  p.begin();
  p.produce(0, 0);
  p.land(0, 0);
  p.wait(0, kFull, 0, kOne);
  p.wait(1, kFull, 0);
  p.event(Kind::Arrive, kArrive, 0, 0, kFull, 1, true);  // warp 1 may not have polled yet
  EXPECT_EQ(p.codes(), Codes{"mbarrier.lag"});
}

// The consumers' release is told by the copy alone that the other lanes of the producer have gone on: the arrival of
// its first lane came before that.
TEST(Pipeline, ACopyComesAfterWhatItsThreadKnew) {
  for (const bool is_told : {true, false}) {
    Pipeline p;
    p.begin();
    p.wait(0, kEmpty, ~std::uint64_t{0});  // a fresh mbarrier lets the first round through
    p.event(Kind::ExpectTx, kArrive, 0, 0, kFull, 0);
    p.event(Kind::Arrive, kArrive, 0, 0, kFull, 0);
    if (is_told) p.checker().warp_synchronized(kBarrier, {0, kAll});
    p.copy(0);
    p.land(0, 0);
    p.wait(1, kFull, 0);
    p.read(1);
    p.release(0);
    EXPECT_EQ(p.codes(), is_told ? Codes{} : Codes{"mbarrier.lag"});
  }
}

TEST(Pipeline, BytesAreAnnouncedBeforeTheLastArrival) {
  Pipeline p;
  p.begin();
  p.event(Kind::ExpectTx, kArrive, 1, 0, kFull, 0);
  p.event(Kind::Arrive, kArrive, 0, 0, kFull, 0);
  p.copy(0);
  p.land(0, 0);
  EXPECT_EQ(p.codes(), Codes{"mbarrier.late-expect"});
}

TEST(AsyncProxy, StoresNeedAFenceBeforeABulkStoreReadsThem) {
  Pipeline p;
  p.write(0);
  p.sync();
  p.put(0);
  EXPECT_EQ(p.codes(), Codes{"proxy.missing-fence"});

  Pipeline q;
  q.write(0);
  q.write(0);
  q.fence(0);
  q.sync();
  q.put(0);
  EXPECT_EQ(q.codes(), Codes{});
}

TEST(AsyncProxy, AFenceBeforeTheStoreOrOfOtherMemoryIsNoFence) {
  Pipeline p;
  p.fence(0);
  p.write(0);
  p.sync();
  p.put(0);
  EXPECT_EQ(p.codes(), Codes{"proxy.missing-fence"});

  Pipeline q;
  q.write(0);
  q.fence(0, ProxyFence::AsyncGlobal);
  q.sync();
  q.put(0);
  EXPECT_EQ(q.codes(), Codes{"proxy.missing-fence"});
}

TEST(AsyncProxy, AFenceDoesNotOrderThreads) {
  Pipeline p;
  p.write(1);
  p.fence(1);
  p.put(0);
  EXPECT_EQ(p.codes(), Codes{"async.source-written"});
}

TEST(AsyncProxy, TheSourceOfABulkStoreIsFreeAfterTheWaitForItsReads) {
  Pipeline p;
  p.put(0);
  p.write(0);
  EXPECT_EQ(p.codes(), Codes{"async.source-written"});

  Pipeline q;
  q.put(0);
  q.checker().async_waited(0, kWait, {0, kOne}, true);
  q.sync();
  q.write(1);
  EXPECT_EQ(q.codes(), Codes{});

  Pipeline r;  // only the thread that waited knows
  r.put(0);
  r.checker().async_waited(0, kWait, {0, kOne}, true);
  r.write(1);
  EXPECT_EQ(r.codes(), Codes{"race.shared"});
}

TEST(Products, OperandsByStoresNeedAFence) {
  Pipeline p;
  p.write(0);
  p.sync();
  p.product(0, 0);
  EXPECT_EQ(p.codes(), Codes{"proxy.missing-fence"});

  Pipeline q;
  q.write(0);
  q.fence(0);
  q.sync();
  q.product(0, 0);
  q.product_wait(0, 0);
  EXPECT_EQ(q.codes(), Codes{});
}

TEST(Products, OperandsAreInUseUntilTheWait) {
  Pipeline p;
  p.product(0, 1);
  p.sync();
  p.write(0);
  EXPECT_EQ(p.codes(), Codes{"async.source-written"});

  Pipeline q;
  q.product(0, 1);
  q.product_wait(0, 1);
  q.sync();
  q.write(0);
  EXPECT_EQ(q.codes(), Codes{});
}

TEST(Products, TheWaitOfOneWarpTellsOfTheWholeProduct) {
  Pipeline p;
  p.product(0, 0);
  p.product(0, 1);
  p.product_wait(0, 0);
  p.write(0);  // warp 1 has not waited, but its operands are read
  EXPECT_EQ(p.codes(), Codes{});

  Pipeline q;
  q.product(0, 0);
  q.product(0, 1);
  q.product_wait(0, 0);
  q.write(1);  // warp 1 was not told
  EXPECT_EQ(q.codes(), Codes{"async.source-written"});
}

TEST(Products, AnOperandThatACopyBringsNeedsItsWait) {
  Pipeline p;
  p.begin();
  p.produce(0, 0);
  p.land(0, 0);
  p.product(0, 1);
  EXPECT_EQ(p.codes(), Codes{"async.unwaited-read"});
}

TEST(TensorMaps, AMapWrittenInTheKernelMustBeAcquired) {
  std::array<std::uint64_t, 32> map{};
  map.fill(kMap);
  const auto run = [&](bool is_told, bool is_acquired) {
    Pipeline p;
    p.init();
    p.touch(kMapWrite, AccessKind::Write, 1, kOne, MemorySpace::Global, 128, map);
    if (is_told) p.sync();
    if (is_acquired) p.checker().proxy_fence(kFence, {0, kAll}, ProxyFence::TensormapAcquire, map.data());
    p.sync();
    p.produce(0, 0, kMap);
    return p.codes();
  };
  EXPECT_EQ(run(true, true), Codes{});
  EXPECT_EQ(run(true, false), Codes{"proxy.tensor-map"});
  EXPECT_EQ(run(false, true), Codes{"proxy.tensor-map"});  // acquired before the write was known
}

}  // namespace
}  // namespace plumb::check
