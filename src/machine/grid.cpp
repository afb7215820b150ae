// SPDX-License-Identifier: Apache-2.0
#include "machine/grid.h"

#include <algorithm>

#include "base/parallel.h"
#include "domain/field/field.h"
#include "domain/ieee/ieee.h"

namespace plumb::machine {

namespace {

// Clusters on one worker at a time: what a card has room for, within the bytes that they may take here.
constexpr std::uint64_t kMaxResidents = 1056, kMaxResidentBytes = std::uint64_t{1} << 31;

// An estimate of what one cluster takes.
template <class D>
std::uint64_t cluster_bytes(const Decoded<D>& program, const Launch& launch, const Dim3& shape) {
  const Layout& layout = program.layout;
  const std::uint64_t warps = (launch.block.count() + kLanes - 1) / kLanes;
  const std::uint64_t of_warp = layout.reg_bytes + std::uint64_t{layout.local_bytes + layout.call_param_bytes} * kLanes;
  const std::uint64_t of_cta = layout.static_shared + launch.dynamic_shared + warps * of_warp;
  return shape.count() * of_cta * (D::kHasTags ? 1 + sizeof(domain::Tag) : 1);
}

}  // namespace

std::uint64_t Clusters::first_cta(std::uint64_t cluster) const {
  const std::uint64_t x = cluster % across_, y = cluster / across_ % down_, z = cluster / across_ / down_;
  return x * shape_.x + grid_.x * (y * shape_.y + std::uint64_t{grid_.y} * z * shape_.z);
}

std::uint64_t Clusters::from(std::uint64_t cta) const {
  std::uint64_t low = 0, high = across_ * down_ * deep_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (first_cta(middle) < cta) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class D>
Grid<D>::Grid(const Decoded<D>& program, RunShared& shared, const Clusters& clusters, std::uint64_t first,
              std::uint64_t last, std::vector<D*> domains)
    : program_(program),
      shared_(shared),
      shape_(clusters.shape()),
      first_(first),
      last_(std::max(first, last)),
      workers_(domains.size()),
      max_residents_(std::clamp<std::uint64_t>(
          kMaxResidentBytes / std::max<std::uint64_t>(1, cluster_bytes(program, *shared.launch, clusters.shape())), 2,
          kMaxResidents)),
      next_(first) {
  for (std::size_t i = 0; i < domains.size(); ++i) workers_[i].dom = domains[i];
  shared_.done = 0;
  shared_.all = (last_ - first_) * shape_.count();
}

template <class D>
Result Grid<D>::run() {
  const auto threads = static_cast<unsigned>(std::min<std::uint64_t>(workers_.size(), last_ - first_));
  if (threads != 0) {
    parallel_for(threads, threads, [&](unsigned, std::size_t i) {
      work(workers_[i]);
      return true;
    });
  }
  Result result;
  result.stop = std::move(stop_);
  result.counts.executed.resize(program_.entry_function().instrs.size());
  for (Worker& worker : workers_) count(worker, result);
  return result;
}

template <class D>
void Grid<D>::count(Worker& worker, Result& result) const {
  result.counts.ctas += worker.counts.ctas;
  result.counts.warp_instrs += worker.counts.warp_instrs;
  result.counts.lane_instrs += worker.counts.lane_instrs;
  result.counts.mma_macs += worker.counts.mma_macs;
  for (const auto& cluster : worker.spare) {
    for (std::size_t i = 0; i < result.counts.executed.size(); ++i) {
      if (cluster->executed()[i] != 0) result.counts.executed[i] = true;
    }
  }
}

// Starts the next cluster; false when there is none.
template <class D>
bool Grid<D>::admit(Worker& worker) {
  if (worker.residents.size() >= max_residents_ || stopped_at_.load() != ~std::uint64_t{0}) return false;
  const std::uint64_t index = next_.fetch_add(1);
  if (index >= last_) return false;
  if (worker.spare.empty()) {
    worker.spare.push_back(std::make_unique<Cluster<D>>(program_, *worker.dom, shared_, shape_));
  }
  if (worker.residents.empty()) worker.dom->begin_unit();
  worker.residents.push_back({std::move(worker.spare.back()), index, false});
  worker.spare.pop_back();
  worker.residents.back().cluster->start(index);
  return true;
}

template <class D>
void Grid<D>::leave(Worker& worker, std::size_t index) {
  Resident resident = std::move(worker.residents[index]);
  worker.residents.erase(worker.residents.begin() + static_cast<std::ptrdiff_t>(index));
  resident.cluster->finish(worker.counts);
  worker.spare.push_back(std::move(resident.cluster));
  if (worker.residents.empty()) worker.dom->end_unit();
}

template <class D>
void Grid<D>::work(Worker& worker) {
  for (;;) {
    const auto all_spin = [&] {
      return std::all_of(worker.residents.begin(), worker.residents.end(),
                         [](const Resident& resident) { return resident.is_spinning; });
    };
    if (all_spin() && !admit(worker) && worker.residents.empty()) return;
    // Clusters above one that stopped do not count any more; those below may wait for it for ever. One that was only
    // just admitted has not yet had its say.
    const std::uint64_t stopped_at = stopped_at_.load();
    const bool gives_up = stopped_at != ~std::uint64_t{0} && all_spin();
    for (std::size_t i = worker.residents.size(); i-- > 0;) {
      Resident& resident = worker.residents[i];
      if (gives_up || resident.index > stopped_at) {
        leave(worker, i);
        continue;
      }
      std::optional<Stop> stop;
      resident.cluster->set_alone(worker.residents.size() == 1);
      const Progress progress = resident.cluster->advance(stop);
      resident.is_spinning = progress == Progress::Spins;
      if (progress != Progress::Ended) continue;
      const std::uint64_t index = resident.index;
      leave(worker, i);
      report(index, std::move(stop));
    }
  }
}

template <class D>
void Grid<D>::report(std::uint64_t index, std::optional<Stop> stop) {
  const std::lock_guard lock(mutex_);
  shared_.done += shape_.count();
  shared_.report();
  if (!stop && shared_.is_cancelled.load() && shared_.done < shared_.all) {
    stop = Stop{Stop::Kind::Cancelled, Finding{&kCancelled, Severity::Error, "the run was cancelled", {}, {}, {}}};
  }
  if (!stop || index >= stopped_at_.load()) return;
  stopped_at_.store(index);
  stop_ = std::move(stop);
}

template class Grid<domain::Ieee>;
template class Grid<domain::Field>;

}  // namespace plumb::machine
