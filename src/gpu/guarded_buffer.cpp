// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "gpu/card.h"

namespace plumb::gpu {
namespace {

constexpr std::uint64_t kUnmapped = 64ULL << 20;  // addresses left free on each side
constexpr std::uint64_t kPadding = 64ULL << 10;   // on each side, where only the pattern guards

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

std::unique_ptr<GuardedBuffer> GuardedBuffer::make(const Card& card, std::uint64_t bytes, std::uint32_t alignment,
                                                   bool is_at_end, Failure& failure) {
  const Driver& driver = card.driver();
  std::unique_ptr<GuardedBuffer> out(new GuardedBuffer(card));
  out->bytes_ = bytes;
  const auto failed = [&](Status status, std::string_view what) {
    const Outcome bad = card.check(status, what);
    if (bad) failure = *bad;
    return bad.has_value();
  };
  if (card.has_virtual_memory()) {
    AllocationProperties properties;
    std::size_t unit = 0;
    if (failed(driver.granularity(&unit, &properties, 0), "cuMemGetAllocationGranularity")) return nullptr;
    const std::uint64_t guard = round_up(kUnmapped, unit);
    const std::uint64_t mapped = round_up(std::max<std::uint64_t>(bytes, 1), unit);
    if (failed(driver.address_reserve(&out->reserved_, mapped + 2 * guard, 0, 0, 0), "cuMemAddressReserve")) {
      return nullptr;
    }
    out->is_virtual_ = true;
    out->reserved_bytes_ = mapped + 2 * guard;
    if (failed(driver.memory_create(&out->handle_, mapped, &properties, 0), "cuMemCreate")) return nullptr;
    if (failed(driver.memory_map(out->reserved_ + guard, mapped, 0, out->handle_, 0), "cuMemMap")) return nullptr;
    out->mapped_ = out->reserved_ + guard;
    out->mapped_bytes_ = mapped;
    const AccessDescriptor access;
    if (failed(driver.memory_access(out->mapped_, mapped, &access, 1), "cuMemSetAccess")) return nullptr;
    out->address_ = is_at_end ? (out->mapped_ + mapped - bytes) / alignment * alignment : out->mapped_;
  } else {
    const std::uint64_t all = bytes + 2 * kPadding;
    if (failed(driver.memory_alloc(&out->mapped_, all), "cuMemAlloc")) return nullptr;
    out->mapped_bytes_ = all;
    out->address_ = out->mapped_ + kPadding;
  }
  if (failed(driver.fill(out->mapped_, kPattern, out->mapped_bytes_, card.stream()), "cuMemsetD8")) return nullptr;
  // What is copied in next does not go through the stream.
  if (failed(driver.stream_synchronize(card.stream()), "cuMemsetD8")) return nullptr;
  return out;
}

GuardedBuffer::~GuardedBuffer() {
  const Driver& driver = card_.driver();
  if (!is_virtual_) {
    if (mapped_ != 0) driver.memory_free(mapped_);
    return;
  }
  if (mapped_ != 0) driver.memory_unmap(mapped_, mapped_bytes_);
  if (handle_ != 0) driver.memory_release(handle_);
  driver.address_free(reserved_, reserved_bytes_);
}

std::optional<std::int64_t> GuardedBuffer::first_written_beside(Failure& failure) const {
  const std::uint64_t before = address_ - mapped_;
  const std::uint64_t behind = mapped_bytes_ - before - bytes_;
  std::vector<unsigned char> held(std::max(before, behind));
  const auto changed = [&](DevicePtr from, std::uint64_t size) -> std::optional<std::uint64_t> {
    if (size == 0) return std::nullopt;
    if (const Outcome bad = card_.check(card_.driver().copy_to_host(held.data(), from, size), "cuMemcpyDtoH")) {
      failure = *bad;
      return std::nullopt;
    }
    const auto end = held.begin() + static_cast<std::ptrdiff_t>(size);
    const auto at = std::find_if(held.begin(), end, [](unsigned char byte) { return byte != kPattern; });
    if (at == end) return std::nullopt;
    return static_cast<std::uint64_t>(at - held.begin());
  };
  if (const auto at = changed(mapped_, before))
    return static_cast<std::int64_t>(*at) - static_cast<std::int64_t>(before);
  if (const auto at = changed(address_ + bytes_, behind)) return static_cast<std::int64_t>(bytes_ + *at);
  return std::nullopt;
}

}  // namespace plumb::gpu
