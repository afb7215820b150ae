// SPDX-License-Identifier: Apache-2.0
// A running cluster: the CTAs that run together on one worker, with what they share. It lets the warps of all its CTAs
// run in turn, lets the asynchronous agent go on when the threads cannot, and says what is wrong when nobody can. A
// launch without clusters runs clusters of one CTA.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "machine/async_agent.h"
#include "machine/mbarrier.h"
#include "machine/run.h"
#include "machine/tensor_pipe.h"

namespace plumb::machine {

inline constexpr std::uint32_t kMaxClusterSize = 16;

// How a cluster got on. Spins: its threads look at memory again and again, and nothing comes of it.
enum class Progress : std::uint8_t { Ended, Spins };

template <class D>
class Cluster {
 public:
  Cluster(const Decoded<D>& program, D& dom, RunShared& shared, Dim3 shape);

  // Begins the cluster with this index in the grid of clusters; then `advance` until it has ended, then `finish`.
  void start(std::uint64_t cluster);
  // Runs until every thread has exited, something stopped it (`stop` says what), or its threads only spin.
  Progress advance(std::optional<Stop>& stop);
  void finish(Counts& counts);
  // Whether no other cluster has values in its domain.
  void set_alone(bool is_alone) { is_alone_ = is_alone; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(ctas_.size()); }
  Cta<D>& cta(std::uint32_t rank) { return *ctas_[rank]; }
  const Dim3& shape() const { return shape_; }
  const Dim3& index() const { return index_; }
  D& dom() { return dom_; }
  RunShared& run_shared() { return run_; }
  AsyncAgent<D>& agent() { return agent_; }
  TensorPipe<D>& tensor_pipe() { return tensor_pipe_; }
  // Operations and commits in flight that signal an mbarrier.
  std::size_t in_flight_for(std::uint32_t rank, std::uint32_t offset) const {
    return agent_.in_flight_for(rank, offset) + tensor_pipe_.in_flight_for(rank, offset);
  }
  std::uint8_t* executed() { return executed_.data(); }

  // Something happened that may let others go on.
  void progressed() { ++progress_; }
  // A thread read memory in a way that tells what others have written there: it may be waiting for that.
  void looked() { ++looks_; }
  // An operation in flight did something wrong; `pc`: where it was issued. The first stays.
  void fault(Stop::Kind kind, const Code& code, std::string text, std::uint32_t pc);
  // An mbarrier's counts changed: begins its next phase when they are full, and wakes who waits for that.
  void settle(std::uint32_t rank, std::uint32_t offset);
  // Asks the waits of the CTA's warps again.
  void poll_waits(std::uint32_t rank);

  // -- barrier.cluster, for the lanes of the warp's mask(); false after a finding. ------------------------------------
  bool arrive(WarpRun<D>& warp);
  bool owes_wait(WarpRun<D>& warp);  // all of them have arrived and not waited since
  bool may_leave(WarpRun<D>& warp);  // the phase that they arrived in is complete
  void leave(WarpRun<D>& warp);
  std::uint32_t missing();  // threads that have not arrived
  // Lanes have exited, perhaps the last ones.
  void lanes_exited(WarpRun<D>& warp);

 private:
  struct Arrivals {
    std::uint32_t here = 0;   // lanes that arrived in this phase
    std::uint32_t owing = 0;  // lanes that arrived and have not waited since
  };

  bool round(std::optional<Stop>& stop);
  std::optional<Stop> turn(WarpRun<D>& warp);
  void make_room();
  bool help();
  std::optional<Stop> quiet();
  void complete_if_full();
  Arrivals& arrivals(WarpRun<D>& warp);
  Stop deadlock();

  const Decoded<D>& program_;
  D& dom_;
  RunShared& run_;
  Dim3 shape_, index_;
  std::vector<std::unique_ptr<Cta<D>>> ctas_;
  std::vector<WarpRun<D>*> warps_;  // of all CTAs
  AsyncAgent<D> agent_;
  TensorPipe<D> tensor_pipe_;
  std::vector<std::uint8_t> executed_;
  std::vector<Arrivals> arrivals_;  // barrier.cluster, by warp
  bool is_barrier_active_ = false;
  std::uint64_t progress_ = 0, progress_seen_ = 0;
  unsigned quiet_rounds_ = 0, busy_rounds_ = 0;
  std::uint64_t looks_ = 0, looks_seen_ = 0;
  bool is_spinning_ = false;
  std::optional<Stop> stop_;  // by an operation in flight
  bool is_random_ = false;
  bool is_alone_ = false;
  bool keeps_values_in_sight_ = false;  // registers, local and shared memory hold all that the program's steps need
  std::mt19937_64 random_;
  std::uint64_t longest_slice_ = 1;
  unsigned look_rounds_ = 0;  // in a row: nothing happened, and threads looked at memory
};

// "the mbarrier at shared address 16, whose phase 2 needs ..."
template <class D>
std::string describe_mbarrier(Cta<D>& cta, std::uint32_t offset);

}  // namespace plumb::machine
