// SPDX-License-Identifier: Apache-2.0
// One cluster from start to end: its warps in turn, and the agent when they cannot go on.
#include "machine/cluster.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/lanes.h"
#include "machine/mend.h"
#include "machine/tensor_transfer.h"

namespace plumb::machine {

namespace {

// Steps that one warp may run before the next has its turn.
constexpr std::uint64_t kSlice = 1 << 14, kSpinSlice = 1 << 10;
// With a schedule: the longest slice is one of as many powers of two, so that some seeds mix finely and others
// coarsely.
constexpr unsigned kSliceRange = 10;
// Rounds in which nothing happened but steps, before the agent goes on although some threads can; and such in which the
// threads looked at memory that others write, before other clusters have their turn. They may spin on what happens
// then.
constexpr unsigned kPatience = 64, kSpinRounds = 4;
// Rounds in which nothing happened but waits that gave up, or but tests of mbarriers, before it is a deadlock.
constexpr unsigned kMaxTimeouts = 64, kMaxPolls = 4096;
// Steps of a turn that did nothing but test an mbarrier.
constexpr std::uint64_t kPollLoop = 256;
// So that a loop without an end, too, is told of and can be cancelled.
constexpr std::uint64_t kStepsBetweenReports = std::uint64_t{1} << 16;

// Whether values stay in registers, local and shared memory between steps: no operation of these keeps any elsewhere.
bool keeps_values_in_sight(const ptx::Module& module) {
  static constexpr std::array<std::string_view, 40> kOpcodes = {
      "ld",  "ldu",  "st",   "mov", "cvt", "cvta", "add",  "sub", "mul",  "mad",   "fma",  "div",    "rem", "neg",
      "abs", "setp", "selp", "set", "bra", "ret",  "exit", "bar", "min",  "max",   "shl",  "shr",    "and", "or",
      "xor", "not",  "lop3", "shf", "bfe", "prmt", "ex2",  "rcp", "sqrt", "rsqrt", "shfl", "barrier"};
  for (const ptx::Function& function : module.functions) {
    for (const ptx::Instr& instr : function.instrs) {
      const bool is_copy = instr.opcode == "cp" && !instr.has(ptx::Mod::bulk);  // cp.async
      if (!is_copy && instr.has(ptx::Mod::async)) return false;
      if (!is_copy && std::find(kOpcodes.begin(), kOpcodes.end(), instr.opcode) == kOpcodes.end()) return false;
    }
  }
  return true;
}

}  // namespace

template <class D>
Cluster<D>::Cluster(const Decoded<D>& program, D& dom, RunShared& shared, Dim3 shape)
    : program_(program), dom_(dom), run_(shared), shape_(shape), agent_(*this), tensor_pipe_(*this) {
  executed_.resize(program.ops.size());
  keeps_values_in_sight_ = keeps_values_in_sight(*program.module);
  const auto size = static_cast<std::uint32_t>(shape.count());
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    ctas_.push_back(std::make_unique<Cta<D>>(*this, program, dom, shared, rank));
  }
}

template <class D>
void Cluster<D>::start(std::uint64_t cluster) {
  const Dim3 grid = run_.launch->grid;
  const std::uint32_t across = grid.x / shape_.x, down = grid.y / shape_.y;
  index_ = {static_cast<std::uint32_t>(cluster % across), static_cast<std::uint32_t>(cluster / across % down),
            static_cast<std::uint32_t>(cluster / across / down)};
  warps_.clear();
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    ctas_[rank]->start({index_.x * shape_.x + rank % shape_.x, index_.y * shape_.y + rank / shape_.x % shape_.y,
                        index_.z * shape_.z + rank / shape_.x / shape_.y});
    for (const auto& warp : ctas_[rank]->warps()) warps_.push_back(warp.get());
  }
  arrivals_.assign(warps_.size(), {});
  is_barrier_active_ = false;
  progress_ = progress_seen_ = 0;
  quiet_rounds_ = busy_rounds_ = 0;
  looks_ = looks_seen_ = 0;
  look_rounds_ = 0;
  is_spinning_ = false;
  is_random_ = run_.options->schedule.has_value();
  stop_.reset();
  const std::uint64_t seed = run_.options->schedule.value_or(0) * 0x9e3779b97f4a7c15 + cluster;
  if (is_random_) {
    random_.seed(seed);
    longest_slice_ = std::uint64_t{2} << random_() % kSliceRange;
  }
  agent_.reset(~seed);
  tensor_pipe_.reset(~seed);
}

template <class D>
void Cluster<D>::finish(Counts& counts) {
  for (auto& cta : ctas_) cta->finish(counts);
}

template <class D>
Progress Cluster<D>::advance(std::optional<Stop>& stop) {
  while (round(stop)) {
    if (stop || stop_) {
      if (!stop) stop = std::move(stop_);
      return Progress::Ended;
    }
    const bool has_looked = std::exchange(looks_seen_, looks_) != looks_;
    look_rounds_ = busy_rounds_ != 0 && has_looked ? look_rounds_ + 1 : 0;
    if (busy_rounds_ != 0 && busy_rounds_ % kPatience == 0) help();
    // From then on it gets one short round at a time, until something happens.
    is_spinning_ = look_rounds_ >= kSpinRounds;
    if (is_spinning_) return Progress::Spins;
  }
  agent_.finish();
  stop = std::move(stop_);
  return Progress::Ended;
}

// Lets each warp that can go on have a turn; false when every thread has exited.
template <class D>
bool Cluster<D>::round(std::optional<Stop>& stop) {
  bool is_alive = false, has_run = false, has_worked = false;
  if (is_random_) std::shuffle(warps_.begin(), warps_.end(), random_);
  for (WarpRun<D>* warp : warps_) {
    if (warp->is_stopped()) {
      stop = warp->take_stop();
      return true;
    }
    if (warp->is_done()) continue;
    is_alive = true;
    if (!warp->is_ready()) continue;
    has_run = true;
    stop = turn(*warp);
    if (stop) return true;
    has_worked = has_worked || !warp->is_idle();
  }
  if (!is_alive) return false;
  if (keeps_values_in_sight_ && is_alone_ && dom_.wants_room()) make_room();
  const bool has_progressed = std::exchange(progress_seen_, progress_) != progress_;
  if (has_progressed) quiet_rounds_ = busy_rounds_ = 0;
  if (!has_run || !has_worked) {
    stop = quiet();
  } else if (!has_progressed) {
    ++busy_rounds_;
  }
  return true;
}

// Between rounds no step is under way. What a long block computed and dropped makes room for what it will.
template <class D>
void Cluster<D>::make_room() {
  if constexpr (D::kHasTags) {
    std::vector<std::span<const domain::Tag>> roots;
    for (auto& cta : ctas_) {
      roots.emplace_back(cta->shared().tags(), cta->shared().size());
      for (const auto& warp : cta->warps()) {
        roots.push_back(warp->register_tags());
        roots.push_back(warp->all_local_tags());
      }
    }
    dom_.keep_only(roots);
  }
}

template <class D>
std::optional<Stop> Cluster<D>::turn(WarpRun<D>& warp) {
  const std::uint64_t before = warp.steps();
  warp.run(is_random_ ? 1 + random_() % longest_slice_ : is_spinning_ ? kSpinSlice : kSlice);
  if (warp.is_stopped()) return warp.take_stop();
  const std::uint64_t ran = warp.steps() - before;
  warp.judge_turn(ran <= kPollLoop);
  const std::uint64_t steps = run_.steps.fetch_add(ran, std::memory_order_relaxed) + ran;
  if (steps / kStepsBetweenReports != (steps - ran) / kStepsBetweenReports) run_.report();
  if (steps > run_.options->step_budget) {
    const std::string text =
        "the launch executed its budget of " + std::to_string(run_.options->step_budget) + " warp instructions";
    return Stop{Stop::Kind::Budget, Finding{&kBudget, Severity::Error, text, program_.place(warp.pc()), {}, {}}};
  }
  if (run_.is_cancelled.load(std::memory_order_relaxed)) {
    return Stop{Stop::Kind::Cancelled, Finding{&kCancelled, Severity::Error, "the run was cancelled", {}, {}, {}}};
  }
  if (is_random_) {
    agent_.step();
    tensor_pipe_.step();
    complete_some_transfers(warp, random_);
    warp.land_some(random_);
    if (Warpgroup<D>* group = warp.cta().warpgroup(warp.index())) group->complete_some(warp, random_);
  }
  return std::exchange(stop_, std::nullopt);
}

template <class D>
void Cluster<D>::fault(Stop::Kind kind, const Code& code, std::string text, std::uint32_t pc) {
  if (stop_) return;
  stop_ = Stop{kind, Finding{&code, Severity::Error, std::move(text), program_.place(pc), {}, mend_of(code)}};
}

// Completes operations that threads wait for, for one mbarrier; false when there are none in flight.
template <class D>
bool Cluster<D>::help() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted;
  for (WarpRun<D>* warp : warps_) {
    if (warp->is_done()) continue;
    if (const auto polled = warp->polled(); polled && warp->is_idle()) wanted.emplace_back(warp->cta().rank(), *polled);
    warp->explain_waits(
        [&](const Split<D>&, const WaitPicture& picture) {
          wanted.insert(wanted.end(), picture.barriers.begin(), picture.barriers.end());
        },
        false);
  }
  bool has_helped = false;
  for (const auto& [rank, offset] : wanted) {
    const Mbarrier* barrier = ctas_[rank]->mbarrier(offset);
    if (barrier == nullptr) continue;
    const std::uint64_t phase = barrier->phase;
    while (!stop_ && (agent_.complete_next(rank, offset) || tensor_pipe_.complete_next(rank, offset))) {
      has_helped = true;
      if (barrier->phase != phase) return true;
    }
  }
  return has_helped;
}

// No thread did anything but wait.
template <class D>
std::optional<Stop> Cluster<D>::quiet() {
  if (help()) return std::nullopt;
  ++quiet_rounds_;
  if (quiet_rounds_ <= kMaxTimeouts) {
    bool any = false;
    for (WarpRun<D>* warp : warps_) any |= !warp->is_done() && warp->give_up_waits();
    if (any) return std::nullopt;
  }
  const bool has_polls =
      std::any_of(warps_.begin(), warps_.end(), [](WarpRun<D>* warp) { return !warp->is_done() && warp->is_idle(); });
  if (has_polls && quiet_rounds_ <= kMaxPolls) return std::nullopt;
  return deadlock();
}

template <class D>
void Cluster<D>::settle(std::uint32_t rank, std::uint32_t offset) {
  progressed();
  Mbarrier* barrier = ctas_[rank]->mbarrier(offset);
  if (barrier != nullptr && barrier->try_complete()) poll_waits(rank);
}

template <class D>
void Cluster<D>::poll_waits(std::uint32_t rank) {
  for (const auto& warp : ctas_[rank]->warps()) {
    if (!warp->is_done()) warp->poll_waits();
  }
}

template <class D>
typename Cluster<D>::Arrivals& Cluster<D>::arrivals(WarpRun<D>& warp) {
  return arrivals_[warp.cta().rank() * warp.cta().warps().size() + warp.index()];
}

template <class D>
bool Cluster<D>::arrive(WarpRun<D>& warp) {
  Arrivals& of_warp = arrivals(warp);
  if (const std::uint32_t again = of_warp.owing & warp.mask(); again != 0) {
    warp.fault(kCluster, warp.thread_name(static_cast<unsigned>(std::countr_zero(again))) +
                             " arrives at the cluster's barrier again without having waited");
    return false;
  }
  of_warp.here |= warp.mask();
  of_warp.owing |= warp.mask();
  is_barrier_active_ = true;
  progressed();
  complete_if_full();
  return true;
}

template <class D>
bool Cluster<D>::owes_wait(WarpRun<D>& warp) {
  return (warp.mask() & ~arrivals(warp).owing) == 0;
}

template <class D>
bool Cluster<D>::may_leave(WarpRun<D>& warp) {
  return (warp.mask() & arrivals(warp).here) == 0;
}

template <class D>
void Cluster<D>::leave(WarpRun<D>& warp) {
  arrivals(warp).owing &= ~warp.mask();
}

template <class D>
std::uint32_t Cluster<D>::missing() {
  std::uint32_t count = 0;
  for (WarpRun<D>* warp : warps_) {
    count += static_cast<std::uint32_t>(std::popcount(warp->live() & ~arrivals(*warp).here));
  }
  return count;
}

template <class D>
void Cluster<D>::complete_if_full() {
  if (!is_barrier_active_ || missing() != 0) return;
  is_barrier_active_ = false;
  for (Arrivals& each : arrivals_) each.here = 0;
  progressed();
  for (std::uint32_t rank = 0; rank < size(); ++rank) poll_waits(rank);
}

template <class D>
void Cluster<D>::lanes_exited(WarpRun<D>& warp) {
  progressed();
  complete_if_full();
  if (!warp.cta().is_done()) return;
  agent_.cta_exited(warp.cta().rank());
  tensor_pipe_.cta_exited(warp.cta().rank());
  if (const auto& left = warp.cta().tensor_memory().allocations(); !left.empty()) {
    fault(Stop::Kind::Defect, kTensorAlloc,
          warp.cta().name() + " exits without having given back the " + std::to_string(left.front().columns) +
              " columns of tensor memory allocated here",
          left.front().pc);
  }
}

template class Cluster<domain::Ieee>;
template class Cluster<domain::Field>;

}  // namespace plumb::machine
