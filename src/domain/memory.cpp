// SPDX-License-Identifier: Apache-2.0
#include "domain/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace plumb::domain {
namespace {

constexpr std::uint64_t kFirstAddress = 0x7e'0000'0000;
constexpr std::uint64_t kAlignment = 256;
// Wider than any single access or small index slip, so that running off one buffer never lands in the next.
constexpr std::uint64_t kGuard = 1 << 20;

// What an IEEE run reads from memory that was never written: NaN in every format, and no address.
constexpr int kUnwritten = 0xff;

// Beyond this an allocation has pages to itself, which may be mapped anew.
constexpr std::size_t kOwnPages = std::size_t{1} << 25;

// Zeros; in a large allocation they take no memory until they are written.
void fill_with_zeros(void* memory, std::size_t size) {
  if (size <= kOwnPages) {
    std::memset(memory, 0, size);
    return;
  }
  constexpr std::uintptr_t kPage = 4096;
  auto* const begin = static_cast<std::byte*>(memory);
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t before = (address + kPage - 1) / kPage * kPage - address;
  const std::size_t pages = (size - before) / kPage * kPage;
  void* const mapped =
      mmap(begin + before, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  PLUMB_CHECK(mapped == begin + before);
  madvise(mapped, pages, MADV_HUGEPAGE);  // for speed only: a kernel without them refuses
  std::memset(begin, 0, before);
  std::memset(begin + before + pages, 0, size - before - pages);
}

void fill(Buffer& buffer, bool has_tags) {
  buffer.bytes = std::make_unique_for_overwrite<std::byte[]>(buffer.size);
  if (buffer.init == Init::Undefined && !has_tags) {
    std::memset(buffer.bytes.get(), kUnwritten, buffer.size);
  } else {
    fill_with_zeros(buffer.bytes.get(), buffer.size);
  }
  if (!has_tags) return;
  buffer.tags = std::make_unique_for_overwrite<Tag[]>(buffer.size);
  fill_with_zeros(buffer.tags.get(), buffer.size * sizeof(Tag));  // stored_tag.h
}

// The buffer with the largest address that is not above the one given, or null.
const Buffer* last_at_or_below(std::span<const std::unique_ptr<Buffer>> buffers, std::uint64_t address) {
  const auto above = std::upper_bound(buffers.begin(), buffers.end(), address,
                                      [](std::uint64_t a, const auto& buffer) { return a < buffer->address; });
  return above == buffers.begin() ? nullptr : std::prev(above)->get();
}

}  // namespace

Buffer& Memory::add(std::string name, std::uint64_t size, Init init, Format element, std::uint32_t misalign) {
  PLUMB_CHECK(misalign < kAlignment);
  std::uint64_t address = kFirstAddress;
  if (!buffers_.empty()) {
    const std::uint64_t end = buffers_.back()->address + buffers_.back()->size + kGuard;
    address = (end + kAlignment - 1) / kAlignment * kAlignment;
  }
  auto buffer = std::make_unique<Buffer>();
  buffer->name = std::move(name);
  buffer->address = address + misalign;
  buffer->size = size;
  buffer->init = init;
  buffer->element = element;
  buffer->tensor = static_cast<std::uint32_t>(buffers_.size());
  fill(*buffer, has_tags_);
  buffers_.push_back(std::move(buffer));
  return *buffers_.back();
}

const Buffer* Memory::find(std::uint64_t address, std::uint64_t size) const {
  const Buffer* buffer = last_at_or_below(buffers_, address);
  if (buffer == nullptr) return nullptr;
  const std::uint64_t offset = address - buffer->address;
  return offset <= buffer->size && size <= buffer->size - offset ? buffer : nullptr;
}

Buffer* Memory::find(std::uint64_t address, std::uint64_t size) {
  return const_cast<Buffer*>(std::as_const(*this).find(address, size));
}

const Buffer* Memory::nearest(std::uint64_t address) const {
  const auto distance = [&](const Buffer& buffer) -> std::uint64_t {
    if (address < buffer.address) return buffer.address - address;
    const std::uint64_t offset = address - buffer.address;
    return offset < buffer.size ? 0 : offset - buffer.size + 1;
  };
  const Buffer* best = nullptr;
  for (const auto& buffer : buffers_) {
    if (best == nullptr || distance(*buffer) < distance(*best)) best = buffer.get();
  }
  return best;
}

const Buffer* Memory::find(std::string_view name) const {
  for (const auto& buffer : buffers_) {
    if (buffer->name == name) return buffer.get();
  }
  return nullptr;
}

Buffer* Memory::find(std::string_view name) { return const_cast<Buffer*>(std::as_const(*this).find(name)); }

}  // namespace plumb::domain
