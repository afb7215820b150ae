// SPDX-License-Identifier: Apache-2.0
// Counts what a run does, instruction by instruction: how often it ran, the bytes that it moved in each memory, the
// sectors and wavefronts that this takes, and what it asked of the tensor cores. Facts of the PTX as it was executed;
// nothing here says how long anything takes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "machine/observer.h"

namespace plumb::machine {

enum class ProfiledSpace : std::uint8_t { Global, Shared, Cluster, Tensor, Local, Param, Const };
// Who moves the bytes: lanes by loads, stores, atomics and cp.async; bulk and tensor copies; tensor cores, which read
// their operands themselves.
enum class Mover : std::uint8_t { Lanes, Copies, TensorCores };

struct Traffic {
  ProfiledSpace space = ProfiledSpace::Global;
  Mover mover = Mover::Lanes;
  AccessKind kind = AccessKind::Read;
  std::uint64_t requests = 0;                          // of lanes: instructions of warps; otherwise operations
  std::uint64_t bytes = 0;                             // asked for; lanes that ask for the same bytes count each
  std::uint64_t sectors = 0, least_sectors = 0;        // global
  std::uint64_t wavefronts = 0, least_wavefronts = 0;  // shared, by loads and stores

  bool is_like(const Traffic& other) const {
    return space == other.space && mover == other.mover && kind == other.kind;
  }
  void add(const Traffic& other);
};

struct InstrProfile {
  std::uint64_t warps = 0;  // instructions of warps, those included of which the guard let no lane through
  std::uint64_t lanes = 0;  // that executed it
  std::uint64_t macs = 0;
  std::vector<Traffic> traffic;

  void add(const Traffic& more);
  void add(const InstrProfile& more);
};

// Of one run.
class Profile {
 public:
  // `loads_matrix`: whether an instruction is ldmatrix, by its number; empty: none is.
  explicit Profile(std::function<bool(std::uint32_t)> loads_matrix = {}) : loads_matrix_(std::move(loads_matrix)) {}
  // For a block; it adds what it has counted when it is destroyed, and must not outlive this.
  std::unique_ptr<Observer> observe();
  // By number of the instruction, as observers have it; those at the end that nobody reached may be missing.
  const std::vector<InstrProfile>& instrs() const { return instrs_; }

 private:
  class Counter;

  std::function<bool(std::uint32_t)> loads_matrix_;
  std::mutex mutex_;
  std::vector<InstrProfile> instrs_;
};

}  // namespace plumb::machine
