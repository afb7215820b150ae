// SPDX-License-Identifier: Apache-2.0
// Tensor memory against event streams: a kernel of six warps that keeps every rule, the same with one step left out,
// put elsewhere or made by somebody else, and every pair of operations that a pipe does or does not keep in order.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>

#include "check/codes.h"
#include "check/facts.h"
#include "check/race.h"

namespace plumb::check {
namespace {

using machine::AccessKind;
using machine::MbarrierEvent;
using machine::MemorySpace;
using machine::ProxyFence;
using machine::TensorKind;
using machine::TensorRole;
using machine::TensorUse;
using Kind = MbarrierEvent::Kind;

constexpr std::uint32_t kAll = ~0U, kWarps = 6, kIssuer = 5;
constexpr std::uint32_t kDone = 0;                                // offset of an mbarrier
constexpr std::uint64_t kStage = 1024;                            // offset of an operand
constexpr std::uint32_t kD = 0, kA = 64, kD2 = 96, kScale = 160;  // columns

enum : std::uint32_t {
  kInit,
  kAlloc,
  kBar,
  kStage_,
  kCopyIn,
  kMma,
  kMma2,
  kCommit,
  kWait,
  kLd,
  kSt,
  kCp,
  kShift,
  kDealloc,
  kOther,
  kCount
};

class Stream {
 public:
  Stream() : checker_(facts(), kWarps * 32, 0) {}

  static const std::vector<InstrFacts>& facts() {
    static const std::vector<InstrFacts> all = [] {
      std::vector<InstrFacts> list(kCount);
      for (std::uint32_t i = 0; i < kCount; ++i) list[i].line = i + 1;
      list[kMma].is_async_proxy = list[kMma2].is_async_proxy = list[kCp].is_async_proxy = true;
      list[kMma].is_product = list[kMma2].is_product = true;
      list[kCopyIn].is_async_proxy = true;
      list[kInit].is_mbarrier_word = true;
      return list;
    }();
    return all;
  }

  void mbarrier(Kind kind, std::uint32_t instr, std::uint32_t warp, std::uint32_t lane, std::uint64_t phase,
                bool is_ordered = true) {
    MbarrierEvent event;
    event.kind = kind, event.instr = instr, event.warp = warp, event.lane = lane, event.offset = kDone;
    event.phase = phase, event.is_ordered = is_ordered;
    checker_.mbarrier(event);
  }
  void begin() {
    mbarrier(Kind::Init, kInit, 0, 0, 0);
    allocate();
    sync();
    fence(kIssuer, true);
  }
  void allocate() { checker_.tensor_allocated(kAlloc, {kIssuer, kAll}, 0, 256); }
  void release(std::uint32_t warp = kIssuer) { checker_.tensor_released(kDealloc, {warp, kAll}, 0, 256); }
  void sync() {
    std::array<machine::WarpMask, kWarps> who{};
    for (std::uint32_t warp = 0; warp < kWarps; ++warp) who[warp] = {warp, kAll};
    for (const auto& warp : who) checker_.barrier_arrived(kBar, 0, warp);
    checker_.barrier_completed(0, who);
  }
  void sync_warp(std::uint32_t warp) { checker_.warp_synchronized(kBar, {warp, kAll}); }
  void fence(std::uint32_t warp, bool is_after) { checker_.tensor_fence(kOther, {warp, kAll}, is_after); }
  void fences(bool is_after) {
    for (std::uint32_t warp = 0; warp < 4; ++warp) fence(warp, is_after);
  }
  void proxy_fence() {
    for (std::uint32_t warp = 0; warp < 4; ++warp) {
      checker_.proxy_fence(kOther, {warp, kAll}, ProxyFence::AsyncSharedCta, nullptr);
    }
  }
  // Four warps write the 2 KiB of the operand.
  void stage(AccessKind kind = AccessKind::Write) {
    for (std::uint32_t warp = 0; warp < 4; ++warp) {
      std::array<std::uint64_t, 32> address{};
      for (unsigned lane = 0; lane < 32; ++lane) address[lane] = kStage + 512 * warp + 16 * lane;
      machine::Access access;
      access.space = MemorySpace::Shared, access.kind = kind, access.instr = kStage_, access.warp = warp;
      access.mask = kAll, access.size = 16, access.address = address.data();
      checker_.access(access);
    }
  }
  void copy_in() {
    const machine::AsyncRange from{MemorySpace::Global, 0, 1 << 20, 512}, to{MemorySpace::Shared, 0, kStage, 512};
    machine::AsyncIssue issue;
    issue.id = 1000, issue.instr = kCopyIn, issue.warp = 4;
    issue.reads = {&from, 1}, issue.writes = {&to, 1};
    checker_.async_issued(issue);
  }

  struct Op {
    std::uint32_t instr = kMma;
    TensorKind kind = TensorKind::Mma;
    std::uint32_t warp = kIssuer, lane = 0;
    std::vector<TensorUse> uses;
    std::uint64_t shape = 1;
    bool reads_stage = false;
    std::uint32_t group = 1;
  };
  std::uint64_t issue(const Op& op) {
    std::vector<std::uint32_t> pieces;
    for (std::uint32_t at = 0; at < 2048; at += 16) pieces.push_back(static_cast<std::uint32_t>(kStage) + at);
    const machine::TensorShared shared{0, pieces};
    machine::TensorIssue issue;
    issue.id = ++last_id_;
    issue.kind = op.kind, issue.instr = op.instr, issue.warp = op.warp, issue.group = op.group, issue.shape = op.shape;
    const bool is_warp = op.kind == TensorKind::Load || op.kind == TensorKind::Store;
    issue.mask = is_warp ? kAll : 1U << op.lane;
    issue.uses = op.uses;
    if (op.reads_stage) issue.shared = {&shared, 1};
    checker_.tensor_issued(issue);
    return last_id_;
  }
  static TensorUse use(TensorRole role, std::uint32_t column, bool reads, bool writes, std::uint32_t columns = 32) {
    return {role, reads, writes, 0, 0, 128, column, columns};
  }
  static TensorUse d(bool accumulates, std::uint32_t column = kD) {
    return use(TensorRole::Accumulator, column, accumulates, true, 64);
  }
  static TensorUse a(std::uint32_t column = kA) { return use(TensorRole::A, column, true, false); }
  static TensorUse data(std::uint32_t column, bool writes) { return use(TensorRole::Data, column, !writes, writes); }

  void mma(bool accumulates) { issue({.uses = {d(accumulates)}, .reads_stage = true}); }
  void mma2() { issue({.instr = kMma2, .uses = {d(false, kD2), a()}}); }
  void ld_one(std::uint32_t warp, std::uint32_t column = kD, std::uint32_t columns = 64) {
    TensorUse cells = use(TensorRole::Data, column, true, false, columns);
    cells.lane = 32 * (warp % 4), cells.lanes = 32;
    issue({.instr = kLd, .kind = TensorKind::Load, .warp = warp, .uses = {cells}});
  }
  void st_one(std::uint32_t warp, std::uint32_t column = kA) {
    TensorUse cells = use(TensorRole::Data, column, false, true);
    cells.lane = 32 * (warp % 4), cells.lanes = 32;
    issue({.instr = kSt, .kind = TensorKind::Store, .warp = warp, .uses = {cells}});
  }
  void ld(std::uint32_t column = kD, std::uint32_t columns = 64) {
    for (std::uint32_t warp = 0; warp < 4; ++warp) ld_one(warp, column, columns);
  }
  void st(std::uint32_t column = kA) {
    for (std::uint32_t warp = 0; warp < 4; ++warp) st_one(warp, column);
  }
  void waited(TensorKind kind, std::uint32_t first = 0, std::uint32_t end = 4) {
    for (std::uint32_t warp = first; warp < end; ++warp) checker_.tensor_waited(kOther, {warp, kAll}, kind);
  }
  // The commit, and its arrival in this phase.
  void commit(std::uint64_t phase, std::uint32_t lane = 0, std::uint32_t group = 1) {
    const machine::TensorBarrier barrier{0, kDone};
    const std::uint64_t id = ++last_id_;
    checker_.tensor_committed(id, kCommit, {kIssuer, 1U << lane}, group, {&barrier, 1});
    MbarrierEvent event;
    event.kind = Kind::Arrive, event.instr = kCommit, event.warp = kIssuer, event.lane = lane, event.offset = kDone;
    event.phase = phase, event.completes = true, event.is_async = event.is_commit = true, event.operation = id;
    checker_.mbarrier(event);
  }
  void wait(std::uint64_t phase, std::uint32_t first = 0, std::uint32_t end = 4, bool is_ordered = true) {
    for (std::uint32_t warp = first; warp < end; ++warp) {
      for (unsigned lane = 0; lane < 32; ++lane) mbarrier(Kind::WaitTrue, kWait, warp, lane, phase, is_ordered);
    }
  }

  // "code@instruction" of each conflict.
  std::vector<std::string> found() {
    std::vector<std::string> out;
    const CtaLog log = checker_.finish();
    for (const auto& [key, conflict] : log.conflicts.all()) {
      out.push_back(std::string(conflict.code->id) + "@" + std::to_string(conflict.later.instr));
    }
    return out;
  }

 private:
  RaceChecker checker_;
  std::uint64_t last_id_ = 0;
};

std::string at(const char* code, std::uint32_t instr) { return std::string(code) + "@" + std::to_string(instr); }

// -- A kernel. --------------------------------------------------------------------------------------------------------

struct Step {
  std::string name;
  std::function<void(Stream&)> run;
};

// Warps 0 to 3 stage an operand; one thread of warp 5 multiplies it; they read the sum, turn it into the A operand of
// a second product, and read that. Twice, through the same memory.
std::vector<Step> kernel() {
  std::vector<Step> steps = {{"begin", [](Stream& s) { s.begin(); }}};
  for (std::uint64_t round = 0; round < 2; ++round) {
    const std::string n = std::to_string(round);
    const std::vector<Step> more = {
        {"stage" + n, [](Stream& s) { s.stage(); }},
        {"proxy" + n, [](Stream& s) { s.proxy_fence(); }},
        {"handed" + n, [](Stream& s) { s.sync(); }},
        {"issuer-after" + n, [](Stream& s) { s.fence(kIssuer, true); }},
        {"mma" + n, [](Stream& s) { s.mma(false); }},
        {"more" + n, [](Stream& s) { s.mma(true); }},
        {"commit" + n, [round](Stream& s) { s.commit(2 * round); }},
        {"wait" + n, [round](Stream& s) { s.wait(2 * round); }},
        {"after" + n, [](Stream& s) { s.fences(true); }},
        {"ld" + n, [](Stream& s) { s.ld(); }},
        {"wait::ld" + n, [](Stream& s) { s.waited(TensorKind::Load); }},
        {"st" + n, [](Stream& s) { s.st(); }},
        {"wait::st" + n, [](Stream& s) { s.waited(TensorKind::Store); }},
        {"before" + n, [](Stream& s) { s.fences(false); }},
        {"told" + n, [](Stream& s) { s.sync(); }},
        {"issuer-after-st" + n, [](Stream& s) { s.fence(kIssuer, true); }},
        {"mma2" + n, [](Stream& s) { s.mma2(); }},
        {"commit2" + n, [round](Stream& s) { s.commit(2 * round + 1); }},
        {"wait2" + n, [round](Stream& s) { s.wait(2 * round + 1); }},
        {"after2" + n, [](Stream& s) { s.fences(true); }},
        {"ld2" + n, [](Stream& s) { s.ld(kD2); }},
        {"wait::ld2" + n, [](Stream& s) { s.waited(TensorKind::Load); }},
        {"before2" + n, [](Stream& s) { s.fences(false); }},
    };
    steps.insert(steps.end(), more.begin(), more.end());
  }
  steps.push_back({"last", [](Stream& s) { s.sync(); }});
  steps.push_back({"issuer-after-last", [](Stream& s) { s.fence(kIssuer, true); }});
  steps.push_back({"dealloc", [](Stream& s) { s.release(); }});
  return steps;
}

std::vector<std::string> run(const std::vector<Step>& steps) {
  Stream stream;
  for (const Step& step : steps) step.run(stream);
  return stream.found();
}

TEST(TensorKernel, KeepsEveryRule) { EXPECT_EQ(run(kernel()), std::vector<std::string>{}); }

// The step `name` (with a star: every step that begins so) is left out or replaced; `is_before`: something happens
// before it.
struct Fault {
  const char* label;
  const char* name;
  std::function<void(Stream&)> instead;
  const char* code;
  std::uint32_t instr;
  bool is_before = false;
};

class TensorFault : public testing::TestWithParam<Fault> {};

TEST_P(TensorFault, IsFound) {
  const Fault& fault = GetParam();
  std::vector<Step> steps = kernel();
  const std::string_view name = fault.name;
  const auto is_meant = [&](const Step& step) {
    return name.ends_with('*') ? step.name.starts_with(name.substr(0, name.size() - 1)) : step.name == name;
  };
  const auto found = std::find_if(steps.begin(), steps.end(), is_meant);
  ASSERT_NE(found, steps.end());
  if (fault.is_before) {
    steps.insert(found, {"fault", fault.instead});
  } else {
    for (Step& step : steps) {
      if (is_meant(step)) step.run = fault.instead ? fault.instead : [](Stream&) {};
    }
  }
  const std::vector<std::string> seen = run(steps);
  EXPECT_NE(std::find(seen.begin(), seen.end(), at(fault.code, fault.instr)), seen.end())
      << testing::PrintToString(seen);
}

INSTANTIATE_TEST_SUITE_P(
    Misuse, TensorFault,
    testing::Values(
        Fault{"read_without_wait", "wait0", nullptr, "tensor.unwaited-read", kLd},
        Fault{"read_of_second_round_without_wait", "wait1", nullptr, "tensor.unwaited-read", kLd},
        Fault{"relaxed_wait", "wait0", [](Stream& s) { s.wait(0, 0, 4, false); }, "tensor.unwaited-read", kLd},
        Fault{"one_warp_waits", "wait0", [](Stream& s) { s.wait(0, 0, 1); }, "tensor.unwaited-read", kLd},
        Fault{"commit_of_another_lane", "commit0", [](Stream& s) { s.commit(0, 1); }, "tensor.unwaited-read", kLd},
        Fault{"commit_of_another_group", "commit0", [](Stream& s) { s.commit(0, 0, 2); }, "tensor.unwaited-read", kLd},
        Fault{"product_after_the_commit", "wait0",
              [](Stream& s) {
                s.mma(true);
                s.wait(0);
              },
              "tensor.unwaited-read", kLd},
        Fault{"no_wait_ld_before_reuse", "wait::ld*", nullptr, "tensor.overwrites-read", kMma2},
        Fault{"wait_st_for_wait_ld", "wait::ld*", [](Stream& s) { s.waited(TensorKind::Store); },
              "tensor.overwrites-read", kMma2},
        Fault{"one_warp_without_wait_ld", "wait::ld*", [](Stream& s) { s.waited(TensorKind::Load, 0, 3); },
              "tensor.overwrites-read", kMma2},
        Fault{"no_wait_st", "wait::st0", nullptr, "tensor.unwaited-read", kMma2},
        Fault{"wait_ld_for_wait_st", "wait::st0", [](Stream& s) { s.waited(TensorKind::Load); }, "tensor.unwaited-read",
              kMma2},
        Fault{"one_warp_without_wait_st", "wait::st0", [](Stream& s) { s.waited(TensorKind::Store, 1, 4); },
              "tensor.unwaited-read", kMma2},
        Fault{"stores_not_told", "told0", nullptr, "tensor.unwaited-read", kMma2},
        Fault{"store_after_telling", "issuer-after-st0", [](Stream& s) { s.st_one(2); }, "tensor.unwaited-read", kMma2},
        Fault{"no_proxy_fence", "proxy0", nullptr, "proxy.missing-fence", kMma},
        Fault{"store_after_proxy_fence", "handed0",
              [](Stream& s) {
                s.stage();
                s.sync();
              },
              "proxy.missing-fence", kMma},
        Fault{"operand_not_handed_over", "handed0", nullptr, "async.source-written", kMma},
        Fault{"operand_overwritten", "wait0", [](Stream& s) { s.stage(); }, "async.source-written", kStage_, true},
        Fault{"copy_into_operand", "wait0", [](Stream& s) { s.copy_in(); }, "async.source-written", kCopyIn, true},
        Fault{"second_product_reads_the_first", "commit0",
              [](Stream& s) {
                s.issue({.instr = kMma2, .uses = {Stream::d(false, kD2), Stream::a(kD)}});
              },
              "tensor.unwaited-read", kMma2, true},
        Fault{"other_shape_on_the_accumulator", "more0",
              [](Stream& s) { s.issue({.instr = kMma2, .uses = {Stream::d(true)}, .shape = 2}); },
              "tensor.unwaited-read", kMma2},
        Fault{"other_shape_overwrites", "more0",
              [](Stream& s) { s.issue({.instr = kMma2, .uses = {Stream::d(false)}, .shape = 2}); },
              "tensor.unwaited-write", kMma2},
        Fault{"overlapping_accumulators", "more0",
              [](Stream& s) { s.issue({.instr = kMma2, .uses = {Stream::d(false, kD + 8)}}); }, "tensor.unwaited-write",
              kMma2},
        Fault{"product_of_another_warp", "more0",
              [](Stream& s) { s.issue({.instr = kMma2, .warp = 4, .uses = {Stream::d(true)}}); },
              "tensor.unwaited-read", kMma2},
        Fault{"product_of_another_thread", "more0",
              [](Stream& s) { s.issue({.instr = kMma2, .lane = 1, .uses = {Stream::d(true)}}); },
              "tensor.unwaited-read", kMma2},
        Fault{"store_into_the_accumulator", "commit0", [](Stream& s) { s.st(kD); }, "tensor.unwaited-write", kSt, true},
        Fault{"store_into_a_operand", "wait20", [](Stream& s) { s.st(kA); }, "tensor.overwrites-read", kSt, true},
        Fault{"copy_into_the_accumulator", "commit0",
              [](Stream& s) { s.issue({.instr = kCp, .kind = TensorKind::Copy, .uses = {Stream::data(kD, true)}}); },
              "tensor.unwaited-write", kCp, true},
        Fault{"dealloc_without_barrier", "last", nullptr, "tensor.lifetime", kDealloc},
        Fault{"dealloc_before_wait_ld", "wait::ld21", nullptr, "tensor.lifetime", kDealloc},
        Fault{"dealloc_before_the_product_ends", "last",
              [](Stream& s) {
                s.sync();
                s.mma(false);
              },
              "tensor.lifetime", kDealloc},
        Fault{"used_before_told_of_alloc", "begin",
              [](Stream& s) {
                s.mbarrier(Kind::Init, kInit, 0, 0, 0);
                s.sync();
                s.allocate();
                s.fence(kIssuer, true);
                s.st_one(2);
              },
              "tensor.lifetime", kSt},
        Fault{"commit_before_told_of_init", "begin",
              [](Stream& s) {
                s.allocate();
                s.sync();
                s.mbarrier(Kind::Init, kInit, 0, 0, 0);
                s.issue({.instr = kMma2, .uses = {Stream::d(false)}});
                s.commit(0);
              },
              "mbarrier.lifetime", kCommit},
        Fault{"commit_without_a_wait_between", "commit0",
              [](Stream& s) {
                s.commit(0);
                s.commit(1);
              },
              "mbarrier.phase", kCommit},
        Fault{"no_fence_after", "after0", nullptr, "tensor.fence", kLd},
        Fault{"fence_after_of_another_warp", "after0", [](Stream& s) { s.fence(0, true); }, "tensor.fence", kLd},
        Fault{"no_fence_before", "before*", nullptr, "tensor.fence", kMma2},
        Fault{"no_fence_before_dealloc", "before21", nullptr, "tensor.fence", kDealloc},
        Fault{"no_fence_after_before_product", "issuer-after-st0", nullptr, "tensor.fence", kMma2}),
    [](const auto& tested) { return tested.param.label; });

// -- Pairs. -----------------------------------------------------------------------------------------------------------

Stream::Op product(const TensorUse& extra, bool accumulates = true) {
  return {.instr = kMma, .uses = {Stream::d(accumulates), extra}};
}
Stream::Op copy(std::uint32_t column, TensorKind kind = TensorKind::Copy) {
  return {.instr = kCp, .kind = kind, .uses = {Stream::data(column, true)}};
}
Stream::Op shift(std::uint32_t column) {
  return {.instr = kShift, .kind = TensorKind::Shift, .uses = {Stream::use(TensorRole::Data, column, true, true)}};
}
Stream::Op store(std::uint32_t column, std::uint32_t warp = 0) {
  return {.instr = kSt, .kind = TensorKind::Store, .warp = warp, .uses = {Stream::data(column, true)}};
}
Stream::Op load(std::uint32_t column, std::uint32_t warp = 0) {
  return {.instr = kLd, .kind = TensorKind::Load, .warp = warp, .uses = {Stream::data(column, false)}};
}
TensorUse shifted_a() { return Stream::use(TensorRole::A, kA, true, true); }
TensorUse scales(std::uint32_t column = kScale) { return Stream::use(TensorRole::Scale, column, true, false); }
TensorUse metadata(std::uint32_t column = kScale) { return Stream::use(TensorRole::Metadata, column, true, false); }

struct Pair {
  const char* label;
  Stream::Op first, second;
  const char* code;  // null: the pipe keeps them in order
};

class TensorPair : public testing::TestWithParam<Pair> {};

TEST_P(TensorPair, IsJudged) {
  const Pair& pair = GetParam();
  Stream stream;
  stream.begin();
  stream.issue(pair.first);
  stream.issue(pair.second);
  const std::vector<std::string> expected =
      pair.code == nullptr ? std::vector<std::string>{} : std::vector<std::string>{at(pair.code, pair.second.instr)};
  // Whatever moves rows is remarked on, besides.
  std::vector<std::string> found = stream.found();
  const std::size_t all = found.size();
  std::erase_if(found, [](const std::string& one) { return one.starts_with("tensor.shift"); });
  const auto moves = [](const Stream::Op& op) {
    return op.kind == TensorKind::Shift || (op.kind == TensorKind::Mma && op.uses.back().writes);
  };
  EXPECT_EQ(all != found.size(), moves(pair.first) || moves(pair.second));
  EXPECT_EQ(found, expected);
}

constexpr const char *kRead = "tensor.unwaited-read", *kWritten = "tensor.unwaited-write",
                     *kOver = "tensor.overwrites-read";

INSTANTIATE_TEST_SUITE_P(
    Pipe, TensorPair,
    testing::Values(Pair{"products", product(Stream::a()), product(Stream::a()), nullptr},
                    Pair{"products_that_overwrite", product(Stream::a(), false), product(Stream::a(), false), nullptr},
                    Pair{"copy_then_scales", copy(kScale), product(scales()), nullptr},
                    Pair{"copy_then_metadata", copy(kScale), product(metadata()), nullptr},
                    Pair{"row_copy_then_a", copy(kA, TensorKind::CopyRow), product(Stream::a()), nullptr},
                    Pair{"scales_then_copy", product(scales()), copy(kScale), nullptr},
                    Pair{"a_then_shift", product(Stream::a()), shift(kA), nullptr},
                    Pair{"shift_then_a", shift(kA), product(Stream::a()), nullptr},
                    Pair{"shift_then_row_copy", shift(kA), copy(kA, TensorKind::CopyRow), nullptr},
                    Pair{"copy_then_shifted_a", copy(kA), product(shifted_a()), nullptr},
                    Pair{"shifted_a_then_a", product(shifted_a()), product(Stream::a()), kRead},
                    Pair{"shifted_a_then_row_copy", product(shifted_a()), copy(kA, TensorKind::CopyRow), kWritten},
                    Pair{"two_reads", load(kA), product(Stream::a()), nullptr},
                    Pair{"shift_then_copy", shift(kA), copy(kA), kWritten},
                    Pair{"copy_then_copy", copy(kScale), copy(kScale), kWritten},
                    Pair{"copy_then_shift", copy(kA), shift(kA), kRead},
                    Pair{"accumulator_then_shift", product(scales()), shift(kD), kRead},
                    Pair{"copy_then_accumulator", copy(kD), product(scales()), kRead},
                    Pair{"copy_then_load", copy(kScale), load(kScale), kRead},
                    Pair{"shift_then_load", shift(kA), load(kA), kRead},
                    Pair{"product_then_load", product(scales()), load(kD), kRead},
                    Pair{"product_then_store", product(scales()), store(kD), kWritten},
                    Pair{"scales_then_store", product(scales()), store(kScale), kOver},
                    Pair{"store_then_scales", store(kScale), product(scales()), kRead},
                    Pair{"store_then_load_of_its_warp", store(kA), load(kA), kRead},
                    Pair{"store_then_store_of_its_warp", store(kA), store(kA), kWritten},
                    Pair{"load_then_store_of_its_warp", load(kA), store(kA), kOver},
                    Pair{"copy_of_another_warp_then_scales",
                         {.instr = kCp, .kind = TensorKind::Copy, .warp = 4, .uses = {Stream::data(kScale, true)}},
                         product(scales()),
                         kRead},
                    Pair{"copy_of_another_group_then_scales",
                         {.instr = kCp, .kind = TensorKind::Copy, .uses = {Stream::data(kScale, true)}, .group = 2},
                         product(scales()),
                         kRead}),
    [](const auto& tested) { return tested.param.label; });

// -- Chains. ----------------------------------------------------------------------------------------------------------

TEST(TensorChain, ACommitTellsWhatItsThreadKnewToHaveEnded) {
  Stream stream;
  stream.begin();
  stream.st();
  stream.waited(TensorKind::Store);
  stream.fences(false);
  stream.sync();
  stream.fence(kIssuer, true);
  stream.mma2();
  stream.commit(0);
  stream.wait(0, 4, 5);
  stream.fence(4, true);
  stream.issue(store(kA, 4));  // over what the others stored and the product read
  EXPECT_EQ(stream.found(), std::vector<std::string>{});
}

TEST(TensorChain, ALaterCommitTellsOfEarlierOperations) {
  Stream stream;
  stream.begin();
  stream.mma2();
  stream.commit(0);
  stream.wait(0, kIssuer, kIssuer + 1);
  stream.sync_warp(kIssuer);
  stream.issue({.instr = kMma, .uses = {Stream::d(false)}});
  stream.commit(1);
  stream.wait(1, kIssuer, kIssuer + 1);
  stream.sync();
  stream.fences(true);
  stream.ld(kD2, 32);
  stream.ld(kD);
  EXPECT_EQ(stream.found(), std::vector<std::string>{});
}

TEST(TensorChain, ThreadsOfAWarpFollowEachOtherOnceTheyAreSynchronised) {
  Stream stream;
  stream.begin();
  stream.issue({.uses = {Stream::d(false)}});
  stream.sync_warp(kIssuer);
  stream.issue({.instr = kMma2, .lane = 1, .uses = {Stream::d(true)}});
  EXPECT_EQ(stream.found(), std::vector<std::string>{});
}

TEST(TensorChain, CellsBesideEachOtherDoNotMeet) {
  Stream stream;
  stream.begin();
  stream.st_one(0);
  stream.ld_one(1, kA, 32);  // other lanes
  stream.ld_one(0, kD2, 32);
  EXPECT_EQ(stream.found(), std::vector<std::string>{});
}

TEST(TensorChain, ColumnsAreNewAfterARelease) {
  Stream stream;
  stream.begin();
  stream.st();
  stream.waited(TensorKind::Store);
  stream.fences(false);
  stream.sync();
  stream.fence(kIssuer, true);
  stream.release();
  stream.allocate();
  stream.sync();
  stream.fences(true);
  stream.ld(kA, 32);
  EXPECT_EQ(stream.found(), std::vector<std::string>{});
}

}  // namespace
}  // namespace plumb::check
