// SPDX-License-Identifier: Apache-2.0
// The asynchronous agent of a cluster: what runs beside the threads. An operation is an object with a point of issue,
// the bytes that it reads and writes, and a way to complete: bytes counted at an mbarrier, an arrival at one, or a bulk
// group of its thread. Unless a run has a schedule, effects come at the latest legal moment: the source is read when
// the thread waits for the reads or when the bytes are written, and the bytes are written when a thread waits for
// them and nothing else can let it go on. With a schedule both come at random legal moments, in any order.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "domain/memory.h"
#include "machine/observer.h"
#include "machine/reduce.h"

namespace plumb::machine {

template <class D>
class Cluster;
template <class D>
class WarpRun;

// Where consecutive bytes at one end of an operation lie: in a global buffer, or in one CTA's shared memory.
struct AsyncEnd {
  domain::Buffer* buffer = nullptr;  // null: shared memory
  std::uint32_t rank = 0;            // shared: of the CTA in its cluster
  std::uint64_t offset = 0;          // in the buffer, or in that CTA's shared memory
};

// Bytes that move as one. `is_fill`: nothing is read, the bytes are `fill` repeated.
struct AsyncPiece {
  AsyncEnd from, to;
  std::uint32_t size = 0;
  bool is_fill = false;
  std::uint32_t fill = 0;
};

// What becomes of the bytes on their way.
enum class AsyncEffect : std::uint8_t {
  Copy,
  Reduce,     // element by element into what is there
  RoundTf32,  // f32 elements rounded to tf32, to nearest even
};

enum class Completion : std::uint8_t { CompleteTx, Arrive, BulkGroup };

template <class D>
struct AsyncOp {
  AsyncKind kind = AsyncKind::BulkCopy;
  Completion completion = Completion::CompleteTx;
  AsyncEffect effect = AsyncEffect::Copy;
  Reduction reduction;
  // CompleteTx and Arrive: the mbarrier, and the bytes that are counted there.
  std::uint32_t barrier_rank = 0, barrier_offset = 0, barrier_bytes = 0;
  std::uint64_t map = 0;  // as AsyncIssue::map
  std::vector<AsyncPiece> pieces;
  // The bytes of all pieces in a row, between reading and writing. An operation that carries register values has them
  // from the start, and `is_read`.
  std::vector<std::byte> bytes;
  std::vector<domain::Tag> tags;  // in domains with tags
  bool is_read = false;

  // Set by the agent.
  std::uint64_t id = 0;
  WarpRun<D>* issuer = nullptr;
  std::uint32_t lane = 0;
  std::uint32_t pc = 0;
  std::uint32_t copies_before = 0;  // Arrive: of the lane's cp.async copies, those with smaller numbers
};

template <class D>
class AsyncAgent {
 public:
  explicit AsyncAgent(Cluster<D>& cluster) : cluster_(cluster) {}
  void reset(std::uint64_t seed);

  // Takes in an operation of one lane of the running warp. Bounds, alignment and barriers of its operands have been
  // checked. False after a finding.
  bool issue(WarpRun<D>& warp, unsigned lane, AsyncOp<D> op);

  // -- Bulk groups, each lane's own; for the lanes of the warp's mask(). ----------------------------------------------
  void commit(WarpRun<D>& warp);
  void wait(WarpRun<D>& warp, std::uint32_t pending, bool reads_only);

  // Completes the oldest operation that signals this mbarrier; false when there is none.
  bool complete_next(std::uint32_t rank, std::uint32_t offset);
  std::size_t in_flight_for(std::uint32_t rank, std::uint32_t offset) const;
  // Random legal progress.
  void step();
  // The CTA's last thread has left: a finding when something in flight still needs its shared memory.
  void cta_exited(std::uint32_t rank);
  // The cluster has ended: stores that nobody waited for arrive.
  void finish();

 private:
  using Owner = std::tuple<std::uint32_t, std::uint32_t, unsigned>;  // rank, warp, lane
  struct Groups {
    std::vector<std::uint64_t> open;
    std::deque<std::vector<std::uint64_t>> closed;
  };

  std::size_t find(std::uint64_t id) const;  // in ops_; its size when the operation is complete
  void read(AsyncOp<D>& op);
  void write(AsyncOp<D>& op);
  void complete(std::size_t index);
  void signal(const AsyncOp<D>& op);
  void move_out(const AsyncOp<D>& op, const AsyncPiece& piece, std::size_t at);
  void reduce_into(const AsyncOp<D>& op, const AsyncPiece& piece, std::size_t at);
  void round_tf32(AsyncOp<D>& op);

  Cluster<D>& cluster_;
  std::vector<std::unique_ptr<AsyncOp<D>>> ops_;  // in flight, by id
  std::map<Owner, Groups> groups_;
  std::uint64_t next_id_ = 0;
  std::mt19937_64 random_;
  std::uint64_t sloth_ = 1;  // with a schedule: an operation gets on in one of so many steps
};

}  // namespace plumb::machine
