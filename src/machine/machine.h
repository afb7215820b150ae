// SPDX-License-Identifier: Apache-2.0
// The functional PTX machine: runs one kernel launch over a domain. Warp-wide (a register is 32 lanes), CTAs in
// parallel on the machine's cores, full SIMT with independent thread scheduling. Asynchronous operations take effect at
// the latest legal moment. Every fault of the program is a finding with thread, place and values; nothing here crashes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/stop.h"
#include "domain/memory.h"
#include "machine/observer.h"
#include "ptx/module.h"

namespace plumb::machine {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

struct Launch {
  std::string entry;
  Dim3 grid, block, cluster;
  std::uint32_t dynamic_shared = 0;  // bytes
  std::vector<std::byte> params;     // the entry's parameter block: each parameter at its natural alignment, in order
};

// Offsets of the entry's parameters in the block, and its size.
struct ParamLayout {
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint32_t> sizes;
  std::uint32_t size = 0;
};
ParamLayout param_layout(const ptx::Module& module, const ptx::Function& entry);

struct Options {
  unsigned workers = 0;         // 0: all cores
  std::uint64_t first_cta = 0;  // linear CTA range [first_cta, last_cta); a cluster goes with its first CTA
  std::uint64_t last_cta = ~0ULL;
  std::uint64_t step_budget = 1ULL << 40;  // warp instructions over the whole launch
  // Seeds which warp runs next and for how long, and when asynchronous operations take effect. Empty: warps in turn,
  // and the latest legal moment. Equal seeds give equal schedules of each cluster.
  std::optional<std::uint64_t> schedule;
  // Called from worker threads; may be empty. Returning false cancels.
  std::function<bool(std::uint64_t done_ctas, std::uint64_t all_ctas)> progress;
  // One observer per CTA, made by the worker that runs it and destroyed at its end; may be empty.
  std::function<std::unique_ptr<Observer>(std::uint64_t cta)> observe;
};

// Counted facts of a run.
struct Counts {
  std::uint64_t ctas = 0;
  std::uint64_t warp_instrs = 0;
  std::uint64_t lane_instrs = 0;
  std::uint64_t mma_macs = 0;
  std::vector<bool> executed;  // per instruction of the entry: reached by some thread
};

struct Result {
  std::optional<Stop> stop;  // of the CTA with the lowest index that stopped
  Counts counts;
};

// A decoded entry for one domain; immutable and shared by workers. Forms without a meaning are decoded to a step that
// stops the run as unmodelled when (and only when) it is reached.
template <class D>
class Program {
 public:
  // `shared_start`: where shared variables begin, which PTX does not say. A text that counts on one place is found by
  // another.
  static std::optional<Program> decode(ptx::CheckedModule module, std::string_view entry, Findings& findings,
                                       std::uint32_t shared_start = 0);
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  // The place in the text of what an observer calls `instr`.
  Place place(std::uint32_t instr) const;

  // `domains` holds one domain object per worker that may be used; at least one. Memory is shared by all.
  Result run(const Launch& launch, const std::vector<D*>& domains, domain::Memory& memory,
             const Options& options) const;

 private:
  struct Inner;
  explicit Program(std::unique_ptr<const Inner> inner);
  std::unique_ptr<const Inner> inner_;
};

}  // namespace plumb::machine
