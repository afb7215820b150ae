// SPDX-License-Identifier: Apache-2.0
// What every step of an evaluation can reach: the domain, the memory, the program's ids, the place for messages, and
// how to end. A step that cannot go on throws `Halt`; it is caught where a program is run and never leaves this folder.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/stop.h"
#include "domain/memory.h"
#include "triton/codes.h"
#include "triton/frontend/tree.h"
#include "triton/kernel.h"
#include "triton/tile/value.h"

namespace plumb::triton {

struct Halt {
  Stop stop;
};

// Shared by the workers of one evaluation.
struct RunState {
  const Options& options;
  std::uint64_t programs = 0;
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> is_cancelled{false};
  std::mutex progress_mutex;
  // Tells the caller how far things are; false, for good, once the caller cancelled.
  bool report();
};

template <class D>
class Evaluator;

template <class D>
class Context {
 public:
  Context(const Program& program_, const Call& call_, D& domain_, domain::Memory& memory_, RunState& run_)
      : program(program_), call(call_), domain(domain_), memory(memory_), run(run_) {}

  [[noreturn]] void fail(const Code& code, std::string message, Stop::Kind kind = Stop::Kind::Defect) const;
  [[noreturn]] void unmodelled(const Code& code, std::string message) const {
    fail(code, std::move(message), Stop::Kind::Unmodelled);
  }
  // Ends the evaluation when the domain has no meaning for what it was asked.
  void check() const {
    if (domain.faulted()) faulted();
  }
  // Counts element operations against the budget.
  void count(std::uint64_t operations) {
    steps_ += operations;
    if (steps_ >= kFlush) flush();
  }
  void flush();

  const Program& program;
  const Call& call;
  D& domain;
  domain::Memory& memory;
  RunState& run;
  std::uint32_t program_id[3] = {0, 0, 0};
  SourcePtr source;            // of the function that is being evaluated
  Span span;                   // of what is being evaluated
  std::vector<Place> callers;  // calls of jitted functions that are open, outermost first
  Evaluator<D>* evaluator = nullptr;

 private:
  static constexpr std::uint64_t kFlush = std::uint64_t{1} << 20;
  [[noreturn]] void faulted() const;
  std::uint64_t steps_ = 0;
};

}  // namespace plumb::triton
