// SPDX-License-Identifier: Apache-2.0
// The clusters of a launch over the machine's cores. A worker runs one cluster after the other; one that only spins on
// memory, perhaps until another block writes it, shares the worker with the clusters after it, as blocks share a card.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "machine/cluster.h"

namespace plumb::machine {

// The clusters of a grid, numbered x first.
class Clusters {
 public:
  Clusters(const Dim3& grid, const Dim3& shape)
      : grid_(grid), shape_(shape), across_(grid.x / shape.x), down_(grid.y / shape.y), deep_(grid.z / shape.z) {}
  const Dim3& shape() const { return shape_; }

  // The first cluster whose first block has at least this number; numbers of first blocks rise with the cluster's.
  std::uint64_t from(std::uint64_t cta) const;

 private:
  std::uint64_t first_cta(std::uint64_t cluster) const;

  Dim3 grid_, shape_;
  std::uint64_t across_, down_, deep_;
};

template <class D>
class Grid {
 public:
  // Runs the clusters [first, last), with one domain object for each worker.
  Grid(const Decoded<D>& program, RunShared& shared, const Clusters& clusters, std::uint64_t first, std::uint64_t last,
       std::vector<D*> domains);

  Result run();

 private:
  struct Resident {
    std::unique_ptr<Cluster<D>> cluster;
    std::uint64_t index = 0;
    bool is_spinning = false;
  };
  struct Worker {
    D* dom = nullptr;
    std::vector<Resident> residents;
    std::vector<std::unique_ptr<Cluster<D>>> spare;  // to run others in
    Counts counts;
  };

  void work(Worker& worker);
  bool admit(Worker& worker);
  void leave(Worker& worker, std::size_t index);
  void report(std::uint64_t index, std::optional<Stop> stop);
  void count(Worker& worker, Result& result) const;

  const Decoded<D>& program_;
  RunShared& shared_;
  Dim3 shape_;
  std::uint64_t first_, last_;
  std::vector<Worker> workers_;
  std::uint64_t max_residents_;
  std::atomic<std::uint64_t> next_;
  std::atomic<std::uint64_t> stopped_at_{~std::uint64_t{0}};  // the lowest cluster that stopped
  std::mutex mutex_;                                          // guards what follows
  std::optional<Stop> stop_;                                  // of that cluster
};

}  // namespace plumb::machine
