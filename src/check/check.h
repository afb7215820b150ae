// SPDX-License-Identifier: Apache-2.0
// Is one schedule enough? A Collector watches every CTA of one launch through machine observers, tracks happens-before
// per byte for threads and cp.async copies, and reports data races, reads before a wait, barrier misuse, and whatever
// else would let another schedule leave other memory. No finding and no unknown: every schedule gives this run's
// memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/finding.h"
#include "domain/memory.h"
#include "machine/machine.h"
#include "machine/observer.h"
#include "ptx/module.h"

namespace plumb::check {

struct Report {
  Findings findings;                        // defects (errors) and remarks (notes), one per cause
  Findings unknowns;                        // why this run may not stand for every schedule; each with its place
  std::vector<std::string> nondeterminism;  // accepted, but the rounding depends on the order (float atomics)
  bool is_clean() const { return !findings.has_error() && unknowns.empty(); }
};

class Collector {
 public:
  // `memory` names buffers in messages; it may be null. The module's source is where findings point. `place` is
  // machine::Program::place, for entries that call functions.
  Collector(ptx::CheckedModule module, const ptx::Function& entry, const machine::Launch& launch,
            const domain::Memory* memory, const std::function<Place(std::uint32_t)>& place = {});
  ~Collector();
  Collector(const Collector&) = delete;  // observers point into it
  Collector& operator=(const Collector&) = delete;

  // Callable from any thread. The observer must be destroyed before `finish`.
  std::unique_ptr<machine::Observer> observe(std::uint64_t cta);
  // `executed`: machine::Counts::executed; instructions whose result depends on the schedule count only where reached.
  Report finish(const std::vector<bool>& executed);

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace plumb::check
