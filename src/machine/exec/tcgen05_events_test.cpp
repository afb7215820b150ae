// SPDX-License-Identifier: Apache-2.0
// What an observer hears of tensor memory, in order.
#include <map>

#include "machine/kernel_test.h"
#include "machine/observer.h"

namespace plumb::machine {
namespace {

using test::Kernel;

class Recorder : public test::QuietObserver {
 public:
  explicit Recorder(std::vector<std::string>& lines) : lines_(lines) {}

  void access(const Access& access) override {
    if (access.space == MemorySpace::Shared && access.kind == AccessKind::Write) add("write shared");
  }
  void exited(WarpMask) override { add("exited"); }
  void unfollowed(std::uint32_t, WarpMask, const char* what) override { add(std::string("unfollowed ") + what); }
  void proxy_fence(std::uint32_t, WarpMask, ProxyFence, const std::uint64_t*) override {}

  void mbarrier(const MbarrierEvent& event) override {
    if (event.kind == MbarrierEvent::Kind::Init) add("init");
    if (event.kind == MbarrierEvent::Kind::WaitTrue && event.lane == 0) add("wait");
    if (event.kind != MbarrierEvent::Kind::Arrive) return;
    add(std::string(event.is_commit && event.is_async ? "commit " : "other ") + name(event.operation) + " arrives" +
        (event.completes ? ", the last" : ""));
  }
  void tensor_allocated(std::uint32_t, WarpMask who, std::uint32_t column, std::uint32_t columns) override {
    add("allocated " + std::to_string(column) + "+" + std::to_string(columns) + " by warp " + std::to_string(who.warp));
  }
  void tensor_released(std::uint32_t, WarpMask, std::uint32_t column, std::uint32_t columns) override {
    add("released " + std::to_string(column) + "+" + std::to_string(columns));
  }
  void tensor_issued(const TensorIssue& issue) override {
    static constexpr const char* kKinds[] = {"load", "store", "mma", "copy", "copy of rows", "shift"};
    std::string line = std::string(kKinds[static_cast<int>(issue.kind)]) + " " + name(issue.id) + " by " +
                       std::to_string(std::popcount(issue.mask));
    for (const TensorUse& use : issue.uses) {
      line += std::string(use.reads ? " reads " : "") + (use.writes ? " writes " : "") + std::to_string(use.lane) +
              "+" + std::to_string(use.lanes) + "," + std::to_string(use.column) + "+" + std::to_string(use.columns);
    }
    for (const TensorShared& each : issue.shared) {
      line += " from " + std::to_string(each.pieces.size()) + " pieces of block " + std::to_string(each.rank) + " at " +
              std::to_string(each.pieces.front());
    }
    add(line);
  }
  void tensor_waited(std::uint32_t, WarpMask who, TensorKind kind) override {
    add(std::string("waited for ") + (kind == TensorKind::Load ? "loads" : "stores") + " by " +
        std::to_string(std::popcount(who.mask)));
  }
  void tensor_result_used(std::uint64_t id, std::uint32_t, WarpMask) override { add("used result of " + name(id)); }
  void tensor_committed(std::uint64_t id, std::uint32_t, WarpMask who, std::uint32_t group,
                        std::span<const TensorBarrier> barriers) override {
    add("commit " + name(id) + " of group " + std::to_string(group) + " by " + std::to_string(std::popcount(who.mask)) +
        " to " + std::to_string(barriers.size()));
  }
  void tensor_fence(std::uint32_t, WarpMask, bool is_after) override { add(is_after ? "fence after" : "fence before"); }

 private:
  void add(std::string line) { lines_.push_back(std::move(line)); }
  // Operations by the order in which they are first heard of.
  std::string name(std::uint64_t id) { return "#" + std::to_string(names_.emplace(id, names_.size()).first->second); }

  std::vector<std::string>& lines_;
  std::map<std::uint64_t, std::size_t> names_;
};

TEST(Tcgen05Events, TellOfEveryStepInOrder) {
  std::vector<std::string> lines;
  Kernel kernel{.body = R"(
    .shared .align 128 .b8 data[2048];
    .shared .align 8 .b64 bar;
    .shared .align 4 .b32 place;
    setp.eq.u32 %p1, %t, 0;
    mov.u32 %r1, bar;
    @%p1 mbarrier.init.shared::cta.b64 [%r1], 1;
    bar.warp.sync 0xffffffff;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [place], 64;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    ld.shared.b32 %r2, [place];
    tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%r2], 8, {%t};
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync;
    tcgen05.fence::after_thread_sync;
    mov.u64 %rd1, 0x400800010000;
    @%p1 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r2], %rd1;
    @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];
  WAITING:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r1], 0;
    @!%p2 bra WAITING;
    tcgen05.ld.sync.aligned.16x64b.x1.b32 {%r3}, [%r2];
    mov.b32 %r4, %r3;
    tcgen05.wait::ld.sync.aligned;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 64;
  )"};
  kernel.target = "sm_100a";
  kernel.options.observe = [&](std::uint64_t) { return std::make_unique<Recorder>(lines); };
  const auto ran = test::run(kernel);
  ASSERT_EQ(ran.message(), "");
  EXPECT_EQ(lines,
            (std::vector<std::string>{
                "init",
                "allocated 416+64 by warp 0",
                "write shared",
                "store #0 by 32 writes 0+16,416+1 writes 0+16,424+1",
                "waited for stores by 32",
                "fence before",
                "fence after",
                "copy #1 by 1 writes 0+32,416+4 writes 32+32,416+4 writes 64+32,416+4 writes 96+32,416+4 from 32 "
                "pieces of block 0 at 0",
                "commit #2 of group 1 by 1 to 1",
                "commit #2 arrives, the last",
                "wait",
                "load #3 by 32 reads 0+16,416+2",
                "used result of #3",
                "waited for loads by 32",
                "released 416+64",
                "exited",
            }));
}

}  // namespace
}  // namespace plumb::machine
