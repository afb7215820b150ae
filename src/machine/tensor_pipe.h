// SPDX-License-Identifier: Apache-2.0
// The tensor pipe of a cluster: the asynchronous `tcgen05` operations that single threads issue (mma, cp, shift) and
// the commits that tell mbarriers of their completion. An operation takes effect at the latest legal moment: when a
// thread waits for an mbarrier that a commit tracking it signals, and nothing else can let that thread go on. Before
// it, the earlier operations of its warp that touch the same tensor memory take effect, in the order of issue: those
// are what PTX calls pipelined. With a schedule operations and commits complete at random legal moments.
//
// To issue one, an instruction checks its operands, fills in a class derived from TensorOp and hands it over:
//
//   auto product = std::make_unique<Product>();
//   product->kind = TensorKind::Mma, product->group = 1;
//   product->uses = {...};                        // every cell that it reads or writes
//   product->shared = {{rank, pieces}, ...};      // every 16 bytes of shared memory that it reads
//   w.cta().cluster().tensor_pipe().issue(w, lane, std::move(product));
//
// and its `run` computes when the pipe says so, from the operands that it kept.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "machine/observer.h"
#include "machine/tensor_memory.h"

namespace plumb::machine {

template <class D>
class Cluster;
template <class D>
class WarpRun;

struct CollectorFill;

// Pieces of 16 bytes in the shared memory of one CTA.
struct SharedPieces {
  std::uint32_t rank = 0;
  std::vector<std::uint32_t> offsets;
};

template <class D>
class TensorOp {
 public:
  virtual ~TensorOp() = default;
  // Reads the sources and writes the results, now. What goes wrong is said by `cluster.fault(..., pc)`.
  virtual void run(Cluster<D>& cluster) = 0;

  TensorKind kind = TensorKind::Mma;
  std::uint32_t group = 1;  // of cta_group::1 or ::2
  // Mma: equal numbers for products of one kind and shape; of those, and only of those, with the same accumulator
  // address PTX promises that they follow each other in the pipe.
  std::uint64_t shape = 0;
  std::vector<TensorUse> uses;
  std::vector<SharedPieces> shared;

  // Set by the pipe.
  std::uint64_t id = 0;
  std::uint32_t rank = 0, warp = 0, lane = 0, pc = 0;  // who issued it
};

// One arrival of a commit that has not taken place. It tracks the operations with smaller numbers of the same lane and
// group.
struct TensorCommit {
  std::uint64_t id = 0;
  std::uint32_t group = 1;
  std::uint32_t rank = 0, warp = 0, lane = 0, pc = 0;  // who issued it
  TensorBarrier barrier;
};

template <class D>
class TensorPipe {
 public:
  explicit TensorPipe(Cluster<D>& cluster) : cluster_(cluster) {}
  void reset(std::uint64_t seed);

  // Takes in an operation of one lane of the running warp; its cells and bytes have been checked. False after a
  // finding.
  bool issue(WarpRun<D>& warp, unsigned lane, std::unique_ptr<TensorOp<D>> op);
  // Tracks the operations that the lane has issued so far for this group: when they have completed, each mbarrier has
  // one arrival. False after a finding.
  bool commit(WarpRun<D>& warp, unsigned lane, std::uint32_t group, std::span<const TensorBarrier> barriers);
  // A number for an operation that the pipe does not hold (loads and stores).
  std::uint64_t next_id();

  // Completes the oldest commit that signals this mbarrier; false when there is none.
  bool complete_next(std::uint32_t rank, std::uint32_t offset);
  std::size_t in_flight_for(std::uint32_t rank, std::uint32_t offset) const;
  // The mbarrier is about to end: commits that signal it, and of which all operations have completed, arrive there.
  // False when one tracks an operation in flight.
  bool end_barrier(std::uint32_t rank, std::uint32_t offset);
  // What the last product of a CTA (of a pair: its first one) left in a collector buffer; null: nothing.
  std::shared_ptr<CollectorFill>& collector(std::uint32_t rank, unsigned buffer) { return collectors_[{rank, buffer}]; }
  // Random legal progress.
  void step();
  // An operation in flight that uses tensor memory in these columns of a CTA; null: none.
  const TensorOp<D>* user_of(std::uint32_t rank, std::uint32_t column, std::uint32_t columns) const;
  // The CTA's last thread has left: a finding when something in flight still needs its memory.
  void cta_exited(std::uint32_t rank);

 private:
  template <class Fn>
  void run_where(Fn&& is_due);
  void complete(std::size_t index);

  Cluster<D>& cluster_;
  std::deque<std::unique_ptr<TensorOp<D>>> ops_;  // in flight, by id
  std::vector<TensorCommit> commits_;             // in flight, by id
  std::map<std::pair<std::uint32_t, unsigned>, std::shared_ptr<CollectorFill>> collectors_;
  std::uint64_t next_id_ = 1;
  std::mt19937_64 random_;
  std::uint64_t sloth_ = 1;  // with a schedule: a commit completes in one of so many steps
};

}  // namespace plumb::machine
