// SPDX-License-Identifier: Apache-2.0
#include "domain/field/value.h"

#include <sys/mman.h>

#include <cstdlib>

namespace plumb::domain::field {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{Arena::kChunkSize} * sizeof(Value);
constexpr std::size_t kHugePage = 2 << 20;

}  // namespace

Arena::~Arena() {
  for (std::uint32_t i = 0; i < used_; ++i) std::free(chunks_[i].load(std::memory_order_relaxed));
}

std::uint32_t Arena::add_chunks(std::uint32_t count, ChunkKind kind, bool has_memory) {
  const std::lock_guard lock(mutex_);
  if (count > kChunks - used_) return kNoChunk;
  if (has_memory && count + std::uint64_t{with_memory_} > most_chunks_) return kNoChunk;
  const std::uint32_t first = used_;
  for (std::uint32_t i = 0; i < count; ++i) {
    kinds_[used_++] = kind;
    if (has_memory && !fill(used_ - 1)) return kNoChunk;
  }
  return first;
}

bool Arena::fill(std::uint32_t chunk) {
  void* memory = std::aligned_alloc(kHugePage, kChunkBytes);
  if (memory == nullptr) return false;
  madvise(memory, kChunkBytes, MADV_HUGEPAGE);  // speed only: refused where the kernel has none
  chunks_[chunk].store(static_cast<Value*>(memory), std::memory_order_release);
  ++with_memory_;
  return true;
}

bool Arena::give_memory(std::uint32_t chunk) {
  const std::lock_guard lock(mutex_);
  if (chunks_[chunk].load(std::memory_order_relaxed) != nullptr) return true;
  return with_memory_ < most_chunks_ && fill(chunk);
}

void Arena::give_up_inputs() {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < used_; ++i) {
    if (kinds_[i] != ChunkKind::Input || chunks_[i].load(std::memory_order_relaxed) == nullptr) continue;
    std::free(chunks_[i].exchange(nullptr, std::memory_order_relaxed));
    --with_memory_;
  }
}

std::uint64_t Arena::input_bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t chunks = 0;
  for (std::uint32_t i = 0; i < used_; ++i) {
    chunks += kinds_[i] == ChunkKind::Input && chunks_[i].load(std::memory_order_relaxed) != nullptr ? 1 : 0;
  }
  return chunks * kChunkBytes;
}

std::uint64_t Arena::bytes() const {
  const std::lock_guard lock(mutex_);
  return std::uint64_t{with_memory_} * kChunkBytes;
}

bool Cursor::advance() {
  if (chunk_ == chunks_.size()) {
    const std::uint32_t chunk = arena_->add_chunks(1, kind_);
    if (chunk == Arena::kNoChunk) return false;
    chunks_.push_back(chunk);
  }
  next_ = chunks_[chunk_++] << Arena::kChunkBits;
  end_ = next_ + Arena::kChunkSize;
  place_ = &arena_->at(next_);
  if (next_ == 0) {  // the reserved ids
    next_ += kFirstValue;
    place_ += kFirstValue;
  }
  return true;
}

}  // namespace plumb::domain::field
