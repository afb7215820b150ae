// SPDX-License-Identifier: Apache-2.0
#include "machine/warpgroup.h"

#include <algorithm>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/codes.h"
#include "machine/exec/wgmma_product.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

// Whether a product adds to what the one before leaves.
template <class D>
bool goes_on(const WarpRun<D>& warp, const WarpgroupProduct<D>& before, const WarpgroupProduct<D>& after) {
  const WgmmaSpec spec = WgmmaSpec::of(before.op->imm), next = WgmmaSpec::of(after.op->imm);
  if (!after.adds || spec.n != next.n || spec.sum != next.sum) return false;
  for (unsigned reg = 0; reg < spec.results(); ++reg) {
    if (warp.listed(*before.op, reg) != warp.listed(*after.op, reg)) return false;
  }
  return true;
}

}  // namespace

template <class D>
void Warpgroup<D>::reset() {
  members_ = {};
  products_.clear(), group_ends_.clear();
  first_ = 1;
}

template <class D>
WarpgroupProduct<D>* Warpgroup<D>::next(std::uint32_t warp) {
  const std::uint64_t number = member(warp).issued + 1;
  return number - first_ < products_.size() ? &products_[number - first_] : nullptr;
}

template <class D>
bool Warpgroup<D>::commit(std::uint32_t warp) {
  Member& m = member(warp);
  const std::uint64_t index = m.groups++;
  if (index == group_ends_.size()) group_ends_.push_back(m.issued);
  return group_ends_[index] == m.issued;
}

template <class D>
std::uint64_t Warpgroup<D>::covered(std::uint32_t warp, std::uint64_t pending) const {
  const Member& m = members_[warp % kGroupWarps];
  return m.groups <= pending ? m.waited : std::max(m.waited, group_ends_[m.groups - pending - 1]);
}

template <class D>
unsigned Warpgroup<D>::missing(std::uint64_t number) const {
  unsigned mask = 0;
  for (unsigned i = 0; i < kGroupWarps; ++i) mask |= members_[i].issued < number ? 1u << i : 0;
  return mask;
}

template <class D>
void Warpgroup<D>::complete(WarpRun<D>& waiting, std::uint64_t last) {
  SumsAtHand sums;
  while (first_ <= last && !products_.empty() && !waiting.is_stopped()) {
    sums.after = first_ < last && goes_on(waiting, products_[0], products_[1]);
    multiply(waiting, products_.front(), sums, scratch_);
    sums.before = sums.after;
    products_.pop_front();
    ++first_;
  }
}

template <class D>
void report_in_flight(WarpRun<D>& warp, const HeldRegisters::Use& use, const char* verb) {
  const bool is_result = use.result_of >= use.source_of;
  const bool is_committed =
      warp.cta().warpgroup(warp.index())->covered(warp.index(), 0) >= std::max(use.result_of, use.source_of);
  warp.fault(kWgmmaInFlight,
             std::string("warp ") + std::to_string(warp.index()) + " " + verb + " a register that holds " +
                 (is_result ? "the result" : "A") + " of a `wgmma.mma_async` in flight: " +
                 (is_committed ? "no `wgmma.wait_group` has covered it" : "it is in no committed group"));
  warp.note("the product", use.product_pc);
}

template <class D>
void touch_held(WarpRun<D>& warp, const Op<D>& op) {
  // No target has both wgmma and tcgen05.
  if (warp.transfers.loads_issued != 0) return touch_loads(warp, op);
  Warpgroup<D>* const group = warp.cta().warpgroup(warp.index());
  if (group == nullptr) return;  // no product was ever issued
  const std::uint64_t waited = group->member(warp.index()).waited;
  const Slot* list = warp.layout().lists.data() + op.watch - 1;
  for (Slot i = 1; i <= list[0]; ++i) {
    HeldRegisters::Use& use = warp.held.at(list[i]);
    if (std::max(use.result_of, use.source_of) > waited) return report_in_flight(warp, use, "accesses");
    use.touched = warp.held.fences();
    use.touch_pc = warp.pc();
  }
}

#define PLUMB_INSTANTIATE_WARPGROUP(D)                 \
  template class Warpgroup<D>;                         \
  template void touch_held(WarpRun<D>&, const Op<D>&); \
  template void report_in_flight(WarpRun<D>&, const HeldRegisters::Use&, const char*);

PLUMB_INSTANTIATE_WARPGROUP(domain::Ieee)
PLUMB_INSTANTIATE_WARPGROUP(domain::Field)

}  // namespace plumb::machine
