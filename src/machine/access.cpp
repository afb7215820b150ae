// SPDX-License-Identifier: Apache-2.0
// Memory as one lane sees it: addresses, bounds, alignment, and the copies that are in flight.
#include <algorithm>
#include <cstdio>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/cluster.h"
#include "machine/lanes.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

constexpr std::size_t kMaxInFlight = 65536;
constexpr std::size_t kForgetEvery = 64;  // copies

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string_view space_word(ptx::Space space) {
  switch (space) {
    case ptx::Space::shared:
      return "shared";
    case ptx::Space::local:
      return "local";
    case ptx::Space::constant:
      return "constant";
    case ptx::Space::param:
      return "parameter";
    default:
      return "global";
  }
}

MemorySpace observed(ptx::Space space) {
  switch (space) {
    case ptx::Space::shared:
      return MemorySpace::Shared;
    case ptx::Space::local:
      return MemorySpace::Local;
    case ptx::Space::constant:
      return MemorySpace::Const;
    case ptx::Space::param:
      return MemorySpace::Param;
    default:
      return MemorySpace::Global;
  }
}

// "`out`+4096, 0 bytes past its end of 4096 bytes"
std::string near(const domain::Buffer& buffer, std::uint64_t address) {
  const std::uint64_t end = buffer.address + buffer.size;
  if (address < buffer.address) {
    return "`" + buffer.name + "`-" + std::to_string(buffer.address - address) + ", before its start";
  }
  const std::string at = "`" + buffer.name + "`+" + std::to_string(address - buffer.address);
  if (address < end) {
    return at + ", only " + std::to_string(end - address) + " bytes before its end of " + std::to_string(buffer.size) +
           " bytes";
  }
  return at + ", " + std::to_string(address - end) + " bytes past its end of " + std::to_string(buffer.size) + " bytes";
}

}  // namespace

template <class D>
bool WarpRun<D>::addresses(const Op<D>& op, unsigned width, std::uint64_t (&out)[kLanes], std::uint32_t which) {
  if constexpr (D::kHasTags) {
    if (!this->is_plain(op.a)) {
      bool is_good = true;
      for_lanes(which, [&](unsigned lane) {
        is_good = is_good && this->concrete(op.a, width, lane, "the address").has_value();
      });
      if (!is_good) return false;
    }
  }
  if (width == 8) {
    const Lane<std::uint64_t>* base = this->template lanes<std::uint64_t>(op.a);
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = base[lane] + op.imm;
  } else {
    const Lane<std::uint32_t>* base = this->template lanes<std::uint32_t>(op.a);
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<std::uint32_t>(base[lane] + op.imm);
  }
  (void)which;
  return true;
}

template <class D>
domain::Buffer* WarpRun<D>::global(std::uint64_t address, std::uint64_t size) {
  if (last_buffer != nullptr && address >= last_buffer->address && size <= last_buffer->size &&
      address - last_buffer->address <= last_buffer->size - size) {
    return last_buffer;
  }
  domain::Buffer* found = cta_.run_shared().memory->find(address, size);
  if (found == nullptr) {
    for (auto& buffer : cta_.run_shared().globals) {
      if (address >= buffer->address && size <= buffer->size && address - buffer->address <= buffer->size - size) {
        found = buffer.get();
      }
    }
  }
  if (found != nullptr) last_buffer = found;
  return found;
}

template <class D>
void WarpRun<D>::report_bounds(ptx::Space space, std::uint64_t address, unsigned size, unsigned lane,
                               const char* verb) {
  std::string text = thread_name(lane) + " " + verb + " " + std::to_string(size) + " bytes at ";
  const auto limit = [&](std::uint64_t end) {
    text += std::string(space_word(space)) + " address " + hex(address) + ", past the " + std::to_string(end) +
            " bytes of " + std::string(space_word(space)) + " memory";
  };
  switch (space) {
    case ptx::Space::shared:
      if (address >> kRankShift != cta_.rank()) {
        text += "shared address " + hex(address) + ", which is not in this block's window";
      } else {
        limit(cta_.shared().size());
      }
      break;
    case ptx::Space::local:
      limit(stack_[lane]);
      break;
    case ptx::Space::constant:
      limit(layout().const_image.size());
      break;
    case ptx::Space::param:
      limit(layout().params.size);
      break;
    default: {
      const domain::Buffer* nearest = cta_.run_shared().memory->nearest(address);
      text += nearest == nullptr ? "global address " + hex(address) + "; the launch has no buffers"
                                 : near(*nearest, address);
    }
  }
  this->fault(kBounds, std::move(text));
}

template <class D>
void WarpRun<D>::report_alignment(ptx::Space space, std::uint64_t address, unsigned size, unsigned lane,
                                  const char* verb) {
  std::string text = thread_name(lane) + " " + verb + " " + std::to_string(size) + " bytes at " +
                     std::string(space_word(space)) + " address " + hex(address);
  if (space == ptx::Space::global || space == ptx::Space::none) {
    if (const domain::Buffer* buffer = global(address, 1)) {
      text += " (`" + buffer->name + "`+" + std::to_string(address - buffer->address) + ")";
    }
  }
  this->fault(kAlignment, text + ", which is not a multiple of " + std::to_string(size));
}

// Memory that is bytes of this CTA or lane; false when the access is out of bounds.
template <class D>
bool WarpRun<D>::raw_local(std::uint64_t address, unsigned size, unsigned lane, ptx::Space space, std::byte*& bytes,
                           Tag*& tags) {
  const auto within = [&](std::uint64_t at, std::uint64_t end) { return at <= end && size <= end - at; };
  tags = nullptr;
  switch (space) {
    case ptx::Space::shared: {
      const std::uint64_t at = address - cta_.shared_base();
      if (!within(at, cta_.shared().size())) return false;
      bytes = cta_.shared().bytes() + at;
      if constexpr (D::kHasTags) tags = cta_.shared().tags() + at;
      return true;
    }
    case ptx::Space::local:
      if (!within(address, stack_[lane])) return false;
      bytes = local_bytes(lane) + address;
      if constexpr (D::kHasTags) tags = local_tags(lane) + address;
      return true;
    case ptx::Space::param: {
      if (address < kCallParams) return false;
      const std::uint64_t at = address - kCallParams;
      if (!within(at, layout().call_param_bytes)) return false;
      bytes = call_param_bytes(lane) + at;
      if constexpr (D::kHasTags) tags = call_param_tags(lane) + at;
      return true;
    }
    default:
      return false;
  }
}

template <class D>
bool WarpRun<D>::load(ptx::Space space, std::uint64_t address, unsigned size, unsigned lane, TaggedBytes& out) {
  if ((address & (size - 1)) != 0) {
    report_alignment(space, address, size, lane, "reads");
    return false;
  }
  if (space == ptx::Space::global) {
    domain::Buffer* buffer = global(address, size);
    if (buffer == nullptr) {
      report_bounds(space, address, size, lane, "reads");
      return false;
    }
    const std::uint64_t offset = address - buffer->address;
    for (unsigned done = 0; done < size; done += 16) {
      this->dom_->load(*buffer, offset + done, std::min(16u, size - done), out.bytes + done, out.tags + done);
    }
    return true;
  }
  const std::vector<std::byte>* image = space == ptx::Space::constant ? &layout().const_image : nullptr;
  if (space == ptx::Space::param && address < kCallParams) image = &cta_.run_shared().params;
  if (image != nullptr) {
    if (address > image->size() || size > image->size() - address) {
      report_bounds(space, address, size, lane, "reads");
      return false;
    }
    std::memcpy(out.bytes, image->data() + address, size);
    if constexpr (D::kHasTags) std::fill_n(out.tags, size, Tag{0});
    return true;
  }
  std::byte* bytes = nullptr;
  Tag* tags = nullptr;
  if (!raw_local(address, size, lane, space, bytes, tags)) {
    report_bounds(space, address, size, lane, "reads");
    return false;
  }
  if (space == ptx::Space::shared && meets_mbarrier(cta_, address - cta_.shared_base(), size, lane, "reads"))
    return false;
  if (size == 4) {
    std::memcpy(out.bytes, bytes, 4);
    if constexpr (D::kHasTags) std::memcpy(out.tags, tags, 4 * sizeof(Tag));
    return true;
  }
  std::memcpy(out.bytes, bytes, size);
  if constexpr (D::kHasTags) std::memcpy(out.tags, tags, size * sizeof(Tag));
  return true;
}

template <class D>
bool WarpRun<D>::store(ptx::Space space, std::uint64_t address, unsigned size, unsigned lane, const TaggedBytes& in) {
  if ((address & (size - 1)) != 0) {
    report_alignment(space, address, size, lane, "writes");
    return false;
  }
  if (space == ptx::Space::global) {
    domain::Buffer* buffer = global(address, size);
    if (buffer == nullptr) {
      report_bounds(space, address, size, lane, "writes");
      return false;
    }
    const std::uint64_t offset = address - buffer->address;
    for (unsigned done = 0; done < size; done += 16) {
      this->dom_->store(*buffer, offset + done, std::min(16u, size - done), in.bytes + done, in.tags + done);
    }
    return true;
  }
  std::byte* bytes = nullptr;
  Tag* tags = nullptr;
  if (!raw_local(address, size, lane, space, bytes, tags)) {
    report_bounds(space, address, size, lane, "writes");
    return false;
  }
  if (space == ptx::Space::shared && spoils_mbarrier(cta_, address - cta_.shared_base(), size, lane, "writes"))
    return false;
  std::memcpy(bytes, in.bytes, size);
  if constexpr (D::kHasTags) std::memcpy(tags, in.tags, size * sizeof(Tag));
  return true;
}

// Plain accesses of the bytes of a live mbarrier see whatever memory held before: a defect.
template <class D>
bool WarpRun<D>::meets_mbarrier(const Cta<D>& owner, std::uint64_t offset, unsigned size, unsigned lane,
                                const char* verb) {
  const auto barrier = owner.mbarrier_in(offset, size);
  if (!barrier) return false;
  this->fault(kMbarrier, thread_name(lane) + " " + verb + " " + std::to_string(size) + " bytes at shared address " +
                             hex(offset) + ", where the mbarrier at " + hex(*barrier) + " lives");
  return true;
}

template <class D>
bool WarpRun<D>::spoils_mbarrier(Cta<D>& owner, std::uint64_t offset, unsigned size, unsigned lane, const char* verb) {
  for (auto barrier = owner.mbarrier_in(offset, size); barrier; barrier = owner.mbarrier_in(offset, size)) {
    const Mbarrier& old = *owner.mbarrier(*barrier);
    Cluster<D>& cluster = cta_.cluster();
    const std::size_t in_flight = cluster.agent().in_flight_for(owner.rank(), *barrier) +
                                  cluster.tensor_pipe().in_flight_for(owner.rank(), *barrier);
    const bool is_in_use = !old.is_idle() || in_flight != 0;
    if (is_in_use) return meets_mbarrier(owner, offset, size, lane, verb);
    if (cta_.observer() != nullptr) {
      MbarrierEvent event;
      event.kind = MbarrierEvent::Kind::Overwritten;
      event.instr = pc_, event.warp = index_, event.lane = lane;
      event.rank = owner.rank(), event.offset = *barrier, event.phase = old.phase;
      cta_.observer()->mbarrier(event);
    }
    owner.remove_mbarrier(*barrier);
  }
  return false;
}

template <class D>
Cta<D>* WarpRun<D>::shared_owner(std::uint64_t& address, unsigned size, unsigned lane, const char* verb) {
  const std::uint64_t rank = address >> kRankShift, offset = address & ((1u << kRankShift) - 1);
  const auto text = [&] {
    return thread_name(lane) + " " + verb + " " + std::to_string(size) + " bytes at shared address ";
  };
  if (rank >= cta_.cluster().size()) {
    this->fault(kBounds, text() + hex(address) + ", which is in no block of the cluster");
    return nullptr;
  }
  Cta<D>& owner = cta_.cluster().cta(static_cast<std::uint32_t>(rank));
  if (owner.is_done()) {
    this->fault(kCluster, text() + hex(offset) + " of " + owner.name() + ", which has exited");
    return nullptr;
  }
  if (offset > owner.shared().size() || size > owner.shared().size() - offset) {
    this->fault(kBounds, text() + hex(offset) + " of " + owner.name() + ", past the " +
                             std::to_string(owner.shared().size()) + " bytes of shared memory");
    return nullptr;
  }
  address = offset;
  return &owner;
}

template <class D>
bool WarpRun<D>::load_cluster(std::uint64_t address, unsigned size, unsigned lane, TaggedBytes& out) {
  if ((address & (size - 1)) != 0) {
    report_alignment(ptx::Space::shared, address, size, lane, "reads");
    return false;
  }
  Cta<D>* owner = shared_owner(address, size, lane, "reads");
  if (owner == nullptr || meets_mbarrier(*owner, address, size, lane, "reads")) return false;
  std::memcpy(out.bytes, owner->shared().bytes() + address, size);
  if constexpr (D::kHasTags) std::memcpy(out.tags, owner->shared().tags() + address, size * sizeof(Tag));
  return true;
}

template <class D>
bool WarpRun<D>::store_cluster(std::uint64_t address, unsigned size, unsigned lane, const TaggedBytes& in) {
  if ((address & (size - 1)) != 0) {
    report_alignment(ptx::Space::shared, address, size, lane, "writes");
    return false;
  }
  Cta<D>* owner = shared_owner(address, size, lane, "writes");
  if (owner == nullptr || spoils_mbarrier(*owner, address, size, lane, "writes")) return false;
  std::memcpy(owner->shared().bytes() + address, in.bytes, size);
  if constexpr (D::kHasTags) std::memcpy(owner->shared().tags() + address, in.tags, size * sizeof(Tag));
  return true;
}

template <class D>
void WarpRun<D>::observe(AccessKind kind, ptx::Space space, const Op<D>& op, std::uint32_t mask, unsigned size,
                         const std::uint64_t* address, const std::uint64_t* value_key) {
  if (cta_.observer() == nullptr || mask == 0) return;
  Access access;
  access.space = observed(space), access.kind = kind;
  access.scope = static_cast<Scope>(op.order.scope);
  access.is_acquire = op.order.is_acquire, access.is_release = op.order.is_release;
  access.instr = pc_, access.warp = index_, access.mask = mask, access.size = size, access.address = address;
  access.value_key = value_key;
  if (space != ptx::Space::shared || cta_.cluster().size() == 1) return cta_.observer()->access(access);
  // By the block whose memory it is, with addresses counted from its start.
  std::uint64_t offset[kLanes] = {};
  for_lanes(mask, [&](unsigned lane) { offset[lane] = address[lane] & ((1u << kRankShift) - 1); });
  access.address = offset;
  while (mask != 0) {
    const auto rank = static_cast<std::uint32_t>(address[std::countr_zero(mask)] >> kRankShift);
    access.mask = 0;
    for_lanes(mask, [&](unsigned lane) {
      if (address[lane] >> kRankShift == rank) access.mask |= 1u << lane;
    });
    mask &= ~access.mask;
    if (rank == cta_.rank()) {
      cta_.observer()->access(access);
    } else {
      cta_.observer()->remote_access(access, rank);
    }
  }
}

template <class D>
AsyncCopy<D>& WarpRun<D>::issue_copy() {
  if (copies_.size() % kForgetEvery == kForgetEvery - 1) forget_copies();
  if (copies_.size() >= kMaxInFlight) this->unmodelled("more than 65536 copies in flight in one warp");
  open_copies_.emplace_back(first_copy_ + static_cast<std::uint32_t>(copies_.size()), this->mask_);
  AsyncCopy<D>& copy = copies_.emplace_back();
  copy.id = cta_.next_copy_id();
  copy.mask = this->mask_;
  return copy;
}

template <class D>
void WarpRun<D>::commit_copies() {
  if (groups_.size() >= kMaxInFlight) this->unmodelled("more than 65536 groups of copies that nobody waited for");
  AsyncGroup group;
  group.mask = this->mask_;
  for (auto& [copy, lanes] : open_copies_) {
    if ((lanes & this->mask_) != 0) group.copies.emplace_back(copy, lanes & this->mask_);
    lanes &= ~this->mask_;
  }
  std::erase_if(open_copies_, [](const auto& open) { return open.second == 0; });
  groups_.push_back(std::move(group));
}

template <class D>
void WarpRun<D>::wait_copies(std::uint32_t pending, bool all) {
  std::uint32_t counts[kLanes] = {};
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    std::uint32_t due = 0;
    for_lanes(group->mask & this->mask_, [&](unsigned lane) {
      if (counts[lane]++ >= pending) due |= 1u << lane;
    });
    group->mask &= ~due;
  }
  // Oldest first, so that of two copies to one place the later one lasts.
  for (AsyncGroup& group : groups_) {
    for (auto& [copy, lanes] : group.copies) {
      const std::uint32_t due = lanes & this->mask_ & ~group.mask;
      if (due != 0) complete_copy(copy, due);
      lanes &= ~due;
    }
  }
  std::erase_if(groups_, [](const AsyncGroup& group) { return group.mask == 0; });
  if (all) {
    for (auto& [copy, lanes] : open_copies_) {
      const std::uint32_t due = lanes & this->mask_;
      if (due != 0) complete_copy(copy, due);
      lanes &= ~due;
    }
    std::erase_if(open_copies_, [](const auto& open) { return open.second == 0; });
  }
  while (!copies_.empty() && copies_.front().mask == 0) {
    copies_.pop_front();
    ++first_copy_;
  }
}

// The bytes of some lanes arrive.
template <class D>
void WarpRun<D>::move_copy(AsyncCopy<D>& copy, std::uint32_t lanes) {
  lanes &= copy.mask & ~copy.moved;
  copy.moved |= lanes;
  for_lanes(lanes, [&](unsigned lane) {
    TaggedBytes moved = {};
    const std::uint32_t read = copy.source_size[lane];
    if (read != 0) this->dom_->load(*copy.buffer[lane], copy.offset[lane], read, moved.bytes, moved.tags);
    for (std::uint32_t i = read; i < copy.size; ++i) moved.bytes[i] = std::byte{0}, moved.tags[i] = 0;
    std::memcpy(cta_.shared().bytes() + copy.shared[lane], moved.bytes, copy.size);
    if constexpr (D::kHasTags) {
      std::memcpy(cta_.shared().tags() + copy.shared[lane], moved.tags, copy.size * sizeof(Tag));
    }
  });
}

// A thread has waited: what has not arrived yet does so now, at the latest legal moment.
template <class D>
void WarpRun<D>::complete_copy(std::uint32_t number, std::uint32_t lanes) {
  if (number - first_copy_ >= copies_.size()) return;  // forgotten
  AsyncCopy<D>& copy = copies_[number - first_copy_];
  move_copy(copy, lanes);
  copy.mask &= ~lanes;
  if (cta_.observer() != nullptr) cta_.observer()->async_copy_waited(copy.id, {index_, lanes});
}

// Copies that arrived because an mbarrier was told, and that nobody has waited for otherwise, need not be kept.
template <class D>
void WarpRun<D>::forget_copies() {
  while (!copies_.empty() && (copies_.front().mask & ~copies_.front().moved) == 0) {
    copies_.pop_front();
    ++first_copy_;
  }
  const auto is_gone = [&](const auto& entry) { return entry.first - first_copy_ >= copies_.size(); };
  std::erase_if(open_copies_, is_gone);
  for (AsyncGroup& group : groups_) std::erase_if(group.copies, is_gone);
}

template <class D>
void WarpRun<D>::land_copies(unsigned lane, std::uint32_t before) {
  for (std::uint32_t number = first_copy_; before - number - 1 < copies_.size(); ++number) {
    move_copy(copies_[number - first_copy_], 1u << lane);
  }
}

#define PLUMB_INSTANTIATE_ACCESS(D)                                                                        \
  template bool WarpRun<D>::addresses(const Op<D>&, unsigned, std::uint64_t(&)[kLanes], std::uint32_t);    \
  template domain::Buffer* WarpRun<D>::global(std::uint64_t, std::uint64_t);                               \
  template void WarpRun<D>::report_bounds(ptx::Space, std::uint64_t, unsigned, unsigned, const char*);     \
  template void WarpRun<D>::report_alignment(ptx::Space, std::uint64_t, unsigned, unsigned, const char*);  \
  template bool WarpRun<D>::load(ptx::Space, std::uint64_t, unsigned, unsigned, TaggedBytes&);             \
  template bool WarpRun<D>::store(ptx::Space, std::uint64_t, unsigned, unsigned, const TaggedBytes&);      \
  template Cta<D>* WarpRun<D>::shared_owner(std::uint64_t&, unsigned, unsigned, const char*);              \
  template bool WarpRun<D>::meets_mbarrier(const Cta<D>&, std::uint64_t, unsigned, unsigned, const char*); \
  template bool WarpRun<D>::spoils_mbarrier(Cta<D>&, std::uint64_t, unsigned, unsigned, const char*);      \
  template bool WarpRun<D>::load_cluster(std::uint64_t, unsigned, unsigned, TaggedBytes&);                 \
  template bool WarpRun<D>::store_cluster(std::uint64_t, unsigned, unsigned, const TaggedBytes&);          \
  template void WarpRun<D>::move_copy(AsyncCopy<D>&, std::uint32_t);                                       \
  template void WarpRun<D>::forget_copies();                                                               \
  template void WarpRun<D>::land_copies(unsigned, std::uint32_t);                                          \
  template void WarpRun<D>::observe(AccessKind, ptx::Space, const Op<D>&, std::uint32_t, unsigned,         \
                                    const std::uint64_t*, const std::uint64_t*);                           \
  template AsyncCopy<D>& WarpRun<D>::issue_copy();                                                         \
  template void WarpRun<D>::commit_copies();                                                               \
  template void WarpRun<D>::wait_copies(std::uint32_t, bool);

PLUMB_INSTANTIATE_ACCESS(domain::Ieee)
PLUMB_INSTANTIATE_ACCESS(domain::Field)

}  // namespace plumb::machine
