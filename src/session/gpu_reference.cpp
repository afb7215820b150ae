// SPDX-License-Identifier: Apache-2.0
#include "session/gpu_reference.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/hash.h"
#include "base/parallel.h"
#include "domain/ieee/ieee.h"
#include "gpu/codes.h"
#include "prove/setup.h"

namespace plumb::session {
namespace {

using Clock = std::chrono::steady_clock;

class Evaluation {
 public:
  Evaluation(const triton::Kernel& kernel, const triton::Call& call, domain::Memory& memory, double seconds,
             unsigned workers)
      : kernel_(kernel), call_(call), memory_(memory), seconds_(seconds), domains_(worker_count(workers)) {
    for (domain::Ieee& domain : domains_) pointers_.push_back(&domain);
  }

  double spent() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  unsigned workers() const { return static_cast<unsigned>(domains_.size()); }

  // Programs [first, last); false when it was stopped.
  bool run(std::uint64_t first, std::uint64_t last, Findings& findings) {
    triton::Options options;
    options.workers = workers();
    options.first_program = first;
    options.last_program = last;
    options.progress = [this](std::uint64_t, std::uint64_t) { return spent() < seconds_; };
    triton::Result result = kernel_.evaluate(call_, pointers_, memory_, options);
    if (result.stop) findings.add(std::move(result.stop->finding));
    return !result.stop;
  }

 private:
  const triton::Kernel& kernel_;
  const triton::Call& call_;
  domain::Memory& memory_;
  double seconds_;
  std::vector<domain::Ieee> domains_;
  std::vector<domain::Ieee*> pointers_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

std::optional<Reference> evaluate_reference(const GpuShape& shape, const triton::Kernel& kernel,
                                            const gpu::SharedMemory& inputs, unsigned char poison, bool has_atomics,
                                            double seconds, std::uint64_t seed, unsigned workers, Findings& findings) {
  Reference out;
  out.memory = make_spec_memory(shape, inputs, poison, findings);
  if (!out.memory) return std::nullopt;
  prove::Setup setup;
  setup.bound = shape.bound;
  setup.has_workspace = false;
  const triton::Call call = prove::make_call(setup, kernel, *out.memory, findings);
  if (findings.has_error()) return std::nullopt;
  const std::uint32_t(&grid)[3] = shape.bound.grid;
  out.all_programs = std::uint64_t{grid[0]} * grid[1] * grid[2];
  Evaluation evaluation(kernel, call, *out.memory, seconds, workers);
  if (!evaluation.run(0, 1, findings)) return std::nullopt;
  out.programs = 1;
  const double rest = evaluation.spent() * static_cast<double>(out.all_programs - 1) / evaluation.workers();
  if (has_atomics || rest < 0.7 * seconds) {
    if (out.all_programs > 1 && !evaluation.run(1, out.all_programs, findings)) return std::nullopt;
    out.programs = out.all_programs;
    return out;
  }
  // Blocks of neighbours, one per worker: the last block, where indices are largest, then others by chance, each once.
  const std::uint64_t width = evaluation.workers();
  const std::uint64_t blocks = (out.all_programs + width - 1) / width;
  std::set<std::uint64_t> done = {0};
  Findings cut;  // the time is over: what was evaluated so far stands
  for (std::uint64_t block = blocks - 1, draws = 0; evaluation.spent() < 0.7 * seconds && draws < blocks; ++draws) {
    if (done.insert(block).second) {
      const std::uint64_t first = block * width, last = std::min(out.all_programs, first + width);
      if (!evaluation.run(first, last, cut)) break;
      out.programs += last - first;
    }
    block = mix64(seed + draws) % blocks;
  }
  return out;
}

}  // namespace plumb::session
