// SPDX-License-Identifier: Apache-2.0
#include "machine/tensor_pipe.h"

#include <algorithm>
#include <string>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/cluster.h"

namespace plumb::machine {

namespace {

constexpr std::size_t kMaxInFlight = 65536;
constexpr unsigned kSlothRange = 6;  // with a schedule: steps that a commit may take, as powers of two
constexpr std::uint64_t kFirstId = std::uint64_t{1} << 40;  // far from the numbers of the asynchronous agent

bool overlap(const TensorUse& a, const TensorUse& b) {
  return a.rank == b.rank && a.lane < b.lane + b.lanes && b.lane < a.lane + a.lanes &&
         a.column < b.column + b.columns && b.column < a.column + a.columns;
}

// Whether the order of two operations shows in tensor memory.
template <class D>
bool conflict(const TensorOp<D>& a, const TensorOp<D>& b) {
  return std::any_of(a.uses.begin(), a.uses.end(), [&](const TensorUse& x) {
    return std::any_of(b.uses.begin(), b.uses.end(),
                       [&](const TensorUse& y) { return (x.writes || y.writes) && overlap(x, y); });
  });
}

template <class D>
bool is_tracked(const TensorOp<D>& op, const TensorCommit& commit) {
  return op.id < commit.id && op.rank == commit.rank && op.warp == commit.warp && op.lane == commit.lane &&
         op.group == commit.group;
}

}  // namespace

template <class D>
void TensorPipe<D>::reset(std::uint64_t seed) {
  ops_.clear();
  commits_.clear();
  collectors_.clear();
  next_id_ = kFirstId;
  random_.seed(seed);
  sloth_ = std::uint64_t{2} << random_() % kSlothRange;
}

template <class D>
bool TensorPipe<D>::issue(WarpRun<D>& warp, unsigned lane, std::unique_ptr<TensorOp<D>> op) {
  if (ops_.size() >= kMaxInFlight) {
    warp.unmodelled("more than 65536 operations on tensor memory in flight in one cluster");
    return false;
  }
  op->id = next_id_++;
  op->rank = warp.cta().rank(), op->warp = warp.index(), op->lane = lane, op->pc = warp.pc();
  if (Observer* const observer = warp.cta().observer()) {
    std::vector<TensorShared> shared;
    for (const SharedPieces& each : op->shared) shared.push_back({each.rank, each.offsets});
    TensorIssue issue;
    issue.id = op->id, issue.kind = op->kind, issue.instr = op->pc, issue.warp = op->warp, issue.mask = 1u << lane;
    issue.group = op->group, issue.shape = op->shape, issue.uses = op->uses, issue.shared = shared;
    observer->tensor_issued(issue);
  }
  ops_.push_back(std::move(op));
  return true;
}

template <class D>
bool TensorPipe<D>::commit(WarpRun<D>& warp, unsigned lane, std::uint32_t group, std::span<const TensorBarrier> to) {
  if (commits_.size() >= kMaxInFlight) {
    warp.unmodelled("more than 65536 commits in flight in one cluster");
    return false;
  }
  const std::uint64_t id = next_id_++;
  if (Observer* const observer = warp.cta().observer()) {
    observer->tensor_committed(id, warp.pc(), {warp.index(), 1u << lane}, group, to);
  }
  for (const TensorBarrier& barrier : to) {
    commits_.push_back({id, group, warp.cta().rank(), warp.index(), lane, warp.pc(), barrier});
  }
  return true;
}

template <class D>
std::uint64_t TensorPipe<D>::next_id() {
  return next_id_++;
}

template <class D>
bool TensorPipe<D>::complete_next(std::uint32_t rank, std::uint32_t offset) {
  for (std::size_t i = 0; i < commits_.size(); ++i) {
    if (commits_[i].barrier.rank != rank || commits_[i].barrier.offset != offset) continue;
    complete(i);
    return true;
  }
  return false;
}

template <class D>
std::size_t TensorPipe<D>::in_flight_for(std::uint32_t rank, std::uint32_t offset) const {
  return static_cast<std::size_t>(std::count_if(commits_.begin(), commits_.end(), [&](const TensorCommit& commit) {
    return commit.barrier.rank == rank && commit.barrier.offset == offset;
  }));
}

template <class D>
bool TensorPipe<D>::end_barrier(std::uint32_t rank, std::uint32_t offset) {
  for (const TensorCommit& commit : commits_) {
    if (commit.barrier.rank == rank && commit.barrier.offset == offset &&
        std::any_of(ops_.begin(), ops_.end(), [&](const auto& op) { return is_tracked(*op, commit); })) {
      return false;
    }
  }
  while (complete_next(rank, offset)) {
  }
  return true;
}

template <class D>
void TensorPipe<D>::step() {
  for (std::size_t i = commits_.size(); i-- > 0;) {
    if (random_() % sloth_ == 0) complete(i);
  }
  if (!ops_.empty() && random_() % sloth_ == 0) {
    const std::uint64_t chosen = ops_[random_() % ops_.size()]->id;
    run_where([&](const TensorOp<D>& op) { return op.id == chosen; });
  }
}

template <class D>
const TensorOp<D>* TensorPipe<D>::user_of(std::uint32_t rank, std::uint32_t column, std::uint32_t columns) const {
  TensorUse wanted;
  wanted.rank = rank, wanted.lanes = kTensorLanes, wanted.column = column, wanted.columns = columns;
  for (const auto& op : ops_) {
    if (std::any_of(op->uses.begin(), op->uses.end(), [&](const TensorUse& use) { return overlap(use, wanted); })) {
      return op.get();
    }
  }
  return nullptr;
}

template <class D>
void TensorPipe<D>::cta_exited(std::uint32_t rank) {
  for (const auto& op : ops_) {
    const bool is_here =
        op->rank == rank ||
        std::any_of(op->uses.begin(), op->uses.end(), [&](const TensorUse& use) { return use.rank == rank; }) ||
        std::any_of(op->shared.begin(), op->shared.end(), [&](const SharedPieces& each) { return each.rank == rank; });
    if (!is_here) continue;
    return cluster_.fault(Stop::Kind::Defect, kTensorInFlight,
                          cluster_.cta(rank).name() +
                              " exits while the operation issued here is in flight: nobody has "
                              "waited for a `tcgen05.commit` that tracks it",
                          op->pc);
  }
  // Commits that nobody waited for arrive while the barrier is there; what still runs in another block of the cluster
  // arrives at no barrier.
  const auto is_due = [&](const TensorCommit& commit) {
    return commit.barrier.rank == rank &&
           std::none_of(ops_.begin(), ops_.end(), [&](const auto& op) { return is_tracked(*op, commit); });
  };
  for (auto due = std::find_if(commits_.begin(), commits_.end(), is_due); due != commits_.end();
       due = std::find_if(commits_.begin(), commits_.end(), is_due)) {
    complete(static_cast<std::size_t>(due - commits_.begin()));
  }
  std::erase_if(commits_, [&](const TensorCommit& commit) { return commit.barrier.rank == rank; });
}

// Runs the operations of which `is_due` is true, in the order of issue, and before them those of the same warp that
// they must follow.
template <class D>
template <class Fn>
void TensorPipe<D>::run_where(Fn&& is_due) {
  std::vector<const TensorOp<D>*> due;
  for (std::size_t i = ops_.size(); i-- > 0;) {
    const TensorOp<D>& op = *ops_[i];
    const auto follows = [&](const TensorOp<D>* later) {
      return later->rank == op.rank && later->warp == op.warp && conflict(op, *later);
    };
    if (is_due(op) || std::any_of(due.begin(), due.end(), follows)) due.push_back(&op);
  }
  if (due.empty()) return;
  const std::uint32_t pc = due.back()->pc;
  for (const auto& op : ops_) {
    if (std::find(due.begin(), due.end(), op.get()) != due.end()) op->run(cluster_);
  }
  std::erase_if(ops_, [&](const auto& op) { return std::find(due.begin(), due.end(), op.get()) != due.end(); });
  cluster_.progressed();
  if constexpr (D::kHasTags) {
    if (cluster_.dom().faulted()) {
      domain::Fault fault = cluster_.dom().take_fault();
      cluster_.fault(Stop::Kind::Unmodelled, *fault.code, std::move(fault.text), pc);
    }
  }
}

// The commit leaves the list before its arrival wakes anyone.
template <class D>
void TensorPipe<D>::complete(std::size_t index) {
  const TensorCommit commit = commits_[index];
  commits_.erase(commits_.begin() + static_cast<std::ptrdiff_t>(index));
  run_where([&](const TensorOp<D>& op) { return is_tracked(op, commit); });
  cluster_.progressed();
  Mbarrier* const barrier = cluster_.cta(commit.barrier.rank).mbarrier(commit.barrier.offset);
  MbarrierEvent event;
  if (barrier != nullptr) event.phase = barrier->phase;
  const std::string error = barrier != nullptr ? barrier->arrive(1) : "there is no mbarrier any more where it signals";
  if (!error.empty()) {
    return cluster_.fault(Stop::Kind::Defect, kMbarrier, "when the commit issued here completes: " + error, commit.pc);
  }
  if (Observer* const observer = cluster_.cta(commit.rank).observer()) {
    event.kind = MbarrierEvent::Kind::Arrive;
    event.instr = commit.pc, event.warp = commit.warp, event.lane = commit.lane;
    event.rank = commit.barrier.rank, event.offset = commit.barrier.offset;
    event.count = 1, event.completes = barrier->is_full();
    event.scope = Scope::Cluster;
    event.is_async = event.is_commit = true, event.operation = commit.id;
    observer->mbarrier(event);
  }
  cluster_.settle(commit.barrier.rank, commit.barrier.offset);
}

template class TensorPipe<domain::Ieee>;
template class TensorPipe<domain::Field>;

}  // namespace plumb::machine
