// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/operands.h"

#include <cstdio>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"

namespace plumb::machine {

namespace {

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

unsigned add_address(DecodeContext& ctx, const ptx::Operand& operand, std::vector<Slot>& slots) {
  const DecodeContext::Address at = ctx.address(operand);
  ptx::Operand offset;
  offset.kind = ptx::Operand::Kind::Int;
  offset.integer = static_cast<std::int64_t>(at.offset);
  slots.push_back(at.base);
  slots.push_back(ctx.source(offset, ptx::Type::b64));
  return at.width;
}

template <class D>
bool listed_addresses(WarpRun<D>& w, const Op<D>& op, unsigned index, unsigned width, std::uint64_t (&out)[kLanes]) {
  Op<D> of_operand = op;
  of_operand.a = w.listed(op, index);
  of_operand.imm = w.template lanes<std::uint64_t>(w.listed(op, index + 1))[0];
  return w.addresses(of_operand, width, out);
}

template <class D>
bool to_shared(WarpRun<D>& w, std::uint64_t& address, unsigned lane) {
  if (address < kSharedWindows * kWindowSize) return true;
  if (space_of(address) == ptx::Space::shared) {
    address -= kSharedWindow;
    return true;
  }
  w.fault(kBounds, w.thread_name(lane) + " names address " + hex(address) + " where one in shared memory must stand");
  return false;
}

namespace {

// The CTA that holds the bytes, and makes the address an offset in it; null after a finding.
template <class D>
Cta<D>* owner_of(WarpRun<D>& w, std::uint64_t& address, std::uint32_t size, unsigned alignment, unsigned lane,
                 const char* verb) {
  if (!to_shared(w, address, lane)) return nullptr;
  if (address % alignment != 0) {
    w.report_alignment(ptx::Space::shared, address, alignment, lane, verb);
    return nullptr;
  }
  return w.shared_owner(address, size, lane, verb);
}

}  // namespace

template <class D>
std::optional<SharedPlace> shared_bytes(WarpRun<D>& w, std::uint64_t address, std::uint32_t size, unsigned alignment,
                                        unsigned lane, const char* verb) {
  Cta<D>* owner = owner_of(w, address, size, alignment, lane, verb);
  if (owner == nullptr || (size != 0 && w.meets_mbarrier(*owner, address, size, lane, verb))) return std::nullopt;
  return SharedPlace{owner->rank(), static_cast<std::uint32_t>(address)};
}

template <class D>
std::optional<SharedPlace> shared_target(WarpRun<D>& w, std::uint64_t address, std::uint32_t size, unsigned alignment,
                                         unsigned lane) {
  Cta<D>* owner = owner_of(w, address, size, alignment, lane, "writes");
  if (owner == nullptr || (size != 0 && w.spoils_mbarrier(*owner, address, size, lane, "writes"))) return std::nullopt;
  return SharedPlace{owner->rank(), static_cast<std::uint32_t>(address)};
}

template <class D>
Mbarrier* mbarrier_at(WarpRun<D>& w, std::uint64_t address, bool is_own, unsigned lane, SharedPlace& place) {
  if (!to_shared(w, address, lane)) return nullptr;
  if (address % kMbarrierBytes != 0) {
    w.report_alignment(ptx::Space::shared, address, kMbarrierBytes, lane, "names an mbarrier of");
    return nullptr;
  }
  if (is_own && address >> kRankShift != w.cta().rank()) {
    w.fault(kMbarrier, w.thread_name(lane) + " names an mbarrier of another block, at shared address " + hex(address) +
                           "; this instruction takes one of its own");
    return nullptr;
  }
  Cta<D>* owner = w.shared_owner(address, kMbarrierBytes, lane, "uses an mbarrier of");
  if (owner == nullptr) return nullptr;
  place = {owner->rank(), static_cast<std::uint32_t>(address)};
  Mbarrier* barrier = owner->mbarrier(place.offset);
  if (barrier == nullptr) {
    w.fault(kMbarrier, w.thread_name(lane) + " uses an mbarrier at shared address " + hex(place.offset) + " of " +
                           owner->name() + ", where none was initialised");
  }
  return barrier;
}

#define PLUMB_INSTANTIATE_OPERANDS(D)                                                                               \
  template bool listed_addresses(WarpRun<D>&, const Op<D>&, unsigned, unsigned, std::uint64_t(&)[kLanes]);          \
  template bool to_shared(WarpRun<D>&, std::uint64_t&, unsigned);                                                   \
  template std::optional<SharedPlace> shared_bytes(WarpRun<D>&, std::uint64_t, std::uint32_t, unsigned, unsigned,   \
                                                   const char*);                                                    \
  template std::optional<SharedPlace> shared_target(WarpRun<D>&, std::uint64_t, std::uint32_t, unsigned, unsigned); \
  template Mbarrier* mbarrier_at(WarpRun<D>&, std::uint64_t, bool, unsigned, SharedPlace&);

PLUMB_INSTANTIATE_OPERANDS(domain::Ieee)
PLUMB_INSTANTIATE_OPERANDS(domain::Field)

}  // namespace plumb::machine
