// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <mutex>

#include "machine/codes.h"
#include "machine/dispatch.h"
#include "machine/kernel_test.h"

namespace plumb::machine::test {
namespace {

TEST(Launch, ThatDoesNotFitIsAFinding) {
  const auto message = [](Kernel kernel) {
    const Ran ran = run(kernel);
    EXPECT_EQ(ran.code(), "machine.launch");
    return ran.message();
  };
  EXPECT_EQ(message({.body = "", .grid = {0, 1, 1}}), "a grid of (0,1,1) has no blocks");
  EXPECT_EQ(message({.body = "", .block = {32, 33, 1}}),
            "a block of (32,33,1) threads; a block has 1 to 1024, at most 64 of them in z");
  EXPECT_EQ(message({.body = "", .dynamic_shared = 101377, .target = "sm_89"}),
            "101377 bytes of shared memory; `sm_89` has 101376 a block");
}

TEST(Launch, AnEntryThatIsNotThereNamesThoseThatAre) {
  Findings findings;
  auto module = ptx::load(std::make_shared<Source>("k.ptx", kernel_text({.body = ""})), findings);
  ASSERT_TRUE(module) << render(findings, false);
  EXPECT_FALSE(Program<domain::Ieee>::decode(*module, "other", findings));
  ASSERT_EQ(findings.list().size(), 1u);
  EXPECT_EQ(findings.list()[0].code->id, "machine.entry");
  EXPECT_EQ(findings.list()[0].message, "there is no entry `other`; the module has `k`");
}

TEST(Launch, OfTheLowestBlockThatStopsIsTheOneReported) {
  Kernel kernel{.body = "mov.u32 %r1, %ctaid.x;\nsetp.gt.u32 %p1, %r1, 2;\n@%p1 trap;", .grid = {64, 1, 1}};
  kernel.options.workers = 2;
  const Ran ran = run(kernel);
  EXPECT_EQ(ran.message(), "thread (0,0,0) of block (3,0,0) executes `trap`");
}

TEST(Launch, ARangeOfBlocksRunsOnlyThose) {
  Kernel kernel{.body = "mov.u32 %r1, %ctaid.x;\nmad.wide.u32 %rd1, %r1, 4, %out;\nst.global.u32 [%rd1], 1;",
                .grid = {8, 1, 1}};
  kernel.options.first_cta = 2, kernel.options.last_cta = 5;
  const Ran ran = run(kernel);
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(ran.result.counts.ctas, 3u);
  EXPECT_EQ(std::vector<std::uint32_t>(ran.out.begin(), ran.out.begin() + 8),
            (std::vector<std::uint32_t>{0, 0, 1, 1, 1, 0, 0, 0}));
}

TEST(Launch, CountsWhatItExecutes) {
  const Ran ran =
      run({.body = "setp.lt.u32 %p1, %t, 8;\n@%p1 add.u32 %r1, %t, 1;\nbra.uni END;\nmov.u32 %r2, 1;\nEND:"});
  ASSERT_EQ(ran.message(), "");
  // Four of the prologue, setp, add, bra, ret.
  EXPECT_EQ(ran.result.counts.warp_instrs, 8u);
  EXPECT_EQ(ran.result.counts.lane_instrs, 7u * 32 + 8);
  const std::vector<bool> expected = {true, true, true, true, true, true, true, false, true};
  EXPECT_EQ(ran.result.counts.executed, expected);
}

TEST(Launch, CanBeCancelled) {
  Kernel kernel{.body = "", .grid = {100, 1, 1}};
  kernel.options.progress = [](std::uint64_t done, std::uint64_t) { return done < 3; };
  const Ran ran = run(kernel);
  EXPECT_EQ(ran.code(), "machine.cancelled");
}

TEST(Launch, CanBeCancelledInALoopWithoutAnEnd) {
  Kernel kernel{.body = "LOOP:\nbra.uni LOOP;"};
  kernel.options.progress = [](std::uint64_t, std::uint64_t) { return false; };
  EXPECT_EQ(run(kernel).code(), "machine.cancelled");
}

struct Log {
  std::mutex mutex;
  std::vector<std::string> lines;
};

class Recorder : public Observer {
 public:
  explicit Recorder(Log& log) : log_(log) {}
  void access(const Access& access) override {
    static constexpr const char* kKinds[] = {"read", "write", "atomic"};
    static constexpr const char* kSpaces[] = {"global", "shared", "local", "param", "const"};
    if (access.space == MemorySpace::Param) return;
    add(std::string(kKinds[static_cast<int>(access.kind)]) + " " + kSpaces[static_cast<int>(access.space)] + " " +
        std::to_string(access.size) + " x" + std::to_string(std::popcount(access.mask)) + " scope " +
        std::to_string(static_cast<int>(access.scope)));
  }
  void async_copy_issued(std::uint64_t id, std::uint32_t, WarpMask, const std::uint64_t* shared, const std::uint64_t*,
                         std::uint32_t size, const std::uint32_t*) override {
    add("copy " + std::to_string(id) + " of " + std::to_string(size) + " to " + std::to_string(shared[1]));
  }
  void async_copy_waited(std::uint64_t id, WarpMask who) override {
    add("waited " + std::to_string(id) + " x" + std::to_string(std::popcount(who.mask)));
  }
  void barrier_arrived(std::uint32_t, std::uint32_t barrier, WarpMask who) override {
    add("arrived " + std::to_string(barrier) + " warp " + std::to_string(who.warp));
  }
  void barrier_completed(std::uint32_t barrier, std::span<const WarpMask> participants) override {
    add("completed " + std::to_string(barrier) + " of " + std::to_string(participants.size()));
  }
  void warp_synchronized(std::uint32_t, WarpMask who) override {
    add("synchronized x" + std::to_string(std::popcount(who.mask)));
  }
  void fence(std::uint32_t, WarpMask, Scope scope) override { add("fence " + std::to_string(static_cast<int>(scope))); }
  void exited(WarpMask who) override { add("exited x" + std::to_string(std::popcount(who.mask))); }

 private:
  void add(std::string line) { log_.lines.push_back(std::move(line)); }
  Log& log_;
};

TEST(Observer, HearsEverythingInOrder) {
  Log log;
  Kernel kernel{.body = R"(
    shl.b32 %r1, %t, 2;
    mov.u32 %r2, tile;
    add.u32 %r3, %r2, %r1;
    mad.wide.u32 %rd1, %t, 4, %in;
    cp.async.ca.shared.global [%r3], [%rd1], 4;
    cp.async.wait_all;
    bar.warp.sync -1;
    bar.sync 0;
    ld.shared.u32 %r4, [%r3];
    fence.acq_rel.gpu;
    atom.global.add.u32 %r5, [%out], 1;
    setp.eq.u32 %p1, %t, 3;
    @%p1 st.relaxed.gpu.global.u32 [%mine], %r4;
  )",
                .before = ".shared .align 16 .b8 tile[128];\n",
                .in = std::vector<std::uint32_t>(32, 1)};
  kernel.options.observe = [&](std::uint64_t) { return std::make_unique<Recorder>(log); };
  const Ran ran = run(kernel);
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(log.lines,
            (std::vector<std::string>{"copy 0 of 4 to 4", "waited 0 x32", "synchronized x32", "arrived 0 warp 0",
                                      "completed 0 of 1", "read shared 4 x32 scope 0", "fence 3",
                                      "atomic global 4 x32 scope 3", "write global 4 x1 scope 3", "exited x32"}));
}

TEST(Forms, EachHasAMeaningOrAReason) {
  for (const ptx::FormSpec& form : ptx::forms()) EXPECT_FALSE(form.name.empty());
  EXPECT_TRUE(unmodelled_reason(ptx::Form::AddInt).empty());
  EXPECT_EQ(unmodelled_reason(ptx::Form::Tex), "textures");
}

TEST(Codes, AreListedOnceWithTheirFolder) {
  std::vector<std::string_view> ids;
  for (const Code* code : codes()) {
    EXPECT_TRUE(code->id.starts_with("machine.")) << code->id;
    EXPECT_FALSE(code->summary.empty());
    EXPECT_FALSE(code->explanation.empty());
    EXPECT_EQ(std::count(ids.begin(), ids.end(), code->id), 0) << code->id;
    ids.push_back(code->id);
  }
}

}  // namespace
}  // namespace plumb::machine::test
