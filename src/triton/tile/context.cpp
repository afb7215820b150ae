// SPDX-License-Identifier: Apache-2.0
#include "triton/tile/context.h"

#include <fmt/format.h>

#include <utility>

#include "triton/tile/domains.h"

namespace plumb::triton {

bool RunState::report() {
  if (is_cancelled.load(std::memory_order_relaxed)) return false;
  if (!options.progress) return true;
  const std::lock_guard lock(progress_mutex);
  if (!options.progress(done.load(std::memory_order_relaxed), programs)) is_cancelled.store(true);
  return !is_cancelled.load();
}

template <class D>
void Context<D>::fail(const Code& code, std::string message, Stop::Kind kind) const {
  Finding finding{&code, Severity::Error, std::move(message), {source, span}, {}, {}};
  for (std::size_t i = callers.size(); i-- > 0;) finding.notes.push_back({"called from here", callers[i]});
  finding.notes.push_back({fmt::format("in program ({}, {}, {})", program_id[0], program_id[1], program_id[2]), {}});
  throw Halt{{kind, std::move(finding)}};
}

template <class D>
void Context<D>::faulted() const {
  domain::Fault fault = domain.take_fault();
  unmodelled(*fault.code, std::move(fault.text));
}

template <class D>
void Context<D>::flush() {
  const std::uint64_t all = run.steps.fetch_add(steps_, std::memory_order_relaxed) + steps_;
  steps_ = 0;
  if (all > run.options.step_budget) {
    fail(kBudget, fmt::format("the step budget of {} element operations is used up", run.options.step_budget),
         Stop::Kind::Budget);
  }
  if (!run.report()) fail(kCancelled, "cancelled", Stop::Kind::Cancelled);
}

#define PLUMB_INSTANTIATE(D) template class Context<D>;
PLUMB_FOR_EACH_DOMAIN(PLUMB_INSTANTIATE)

}  // namespace plumb::triton
