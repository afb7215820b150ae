// SPDX-License-Identifier: Apache-2.0
#include "domain/field/deferred.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/hash.h"

namespace plumb::domain::field {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21;

}  // namespace

void Deferred::clear() {
  used_steps_ = used_panels_ = 0;
  std::fill(cache_.begin(), cache_.end(), kNone);
  for (SeenFragment& seen : fragments_) seen.panel = kNone;
  chunk_ = 0;
  place_ = 0;
  block_ = block_place_ = 0;
}

std::uint32_t Deferred::panel(std::span<const ValueId> ids, std::uint32_t rows, std::uint32_t k) {
  std::uint64_t hash = std::uint64_t{rows} << 32 | k;
  for (std::size_t i = 0; i < ids.size(); i += 7) hash = (hash ^ ids[i]) * 0x9e3779b97f4a7c15ULL;
  hash = mix64(hash);
  std::uint32_t& cached = cache_[hash % kCached];
  if (cached != kNone) {
    const Panel& known = panels_[cached];
    if (known.hash == static_cast<std::uint32_t>(hash >> 32) && known.rows == rows && known.k == k &&
        std::equal(ids.begin(), ids.end(), known.ids.begin(), known.ids.end())) {
      return cached;
    }
  }
  if (used_panels_ == panels_.size()) panels_.emplace_back();
  Panel& made = panels_[used_panels_];
  made.ids.assign(ids.begin(), ids.end());
  made.rows = rows;
  made.k = k;
  made.hash = static_cast<std::uint32_t>(hash >> 32);
  made.packed = nullptr;
  made.lines.clear();
  return cached = static_cast<std::uint32_t>(used_panels_++);
}

std::size_t Deferred::fragment_slot(std::span<const Tag* const> registers, std::size_t tags_each) {
  const Tag* const last = registers.back();
  return mix64(std::uint64_t{registers.front()[0]} << 32 | last[tags_each - 1]) % kSeenFragments;
}

std::uint32_t Deferred::find_fragment(std::span<const Tag* const> registers, std::size_t tags_each, Format f) const {
  const SeenFragment& seen = fragments_[fragment_slot(registers, tags_each)];
  if (seen.panel == kNone || seen.format != f || seen.tags.size() != registers.size() * tags_each) return kNone;
  for (std::size_t i = 0; i < registers.size(); ++i) {
    if (std::memcmp(seen.tags.data() + i * tags_each, registers[i], tags_each * sizeof(Tag)) != 0) return kNone;
  }
  return seen.panel;
}

void Deferred::note_fragment(std::span<const Tag* const> registers, std::size_t tags_each, Format f,
                             std::uint32_t panel) {
  SeenFragment& seen = fragments_[fragment_slot(registers, tags_each)];
  seen.panel = panel;
  seen.format = f;
  seen.tags.resize(registers.size() * tags_each);
  for (std::size_t i = 0; i < registers.size(); ++i) {
    std::memcpy(seen.tags.data() + i * tags_each, registers[i], tags_each * sizeof(Tag));
  }
}

Residues* Deferred::room(std::size_t count) {
  const auto make = [](std::size_t size) {
    const std::size_t bytes = (size * sizeof(Residues) + kHugePage - 1) / kHugePage * kHugePage;
    void* const memory = std::aligned_alloc(kHugePage, bytes);
    if (memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);  // speed only: refused where the kernel has none
    return std::unique_ptr<Residues[], Free>(static_cast<Residues*>(memory));
  };
  if (count > kBlock) {  // a block of its own, put before the one being filled
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(block_), make(count));
    return blocks_[block_++].get();
  }
  if (block_place_ + count > kBlock) {
    ++block_;
    block_place_ = 0;
  }
  if (block_ == blocks_.size()) blocks_.push_back(make(kBlock));
  Residues* room = blocks_[block_].get() + block_place_;
  block_place_ += count;
  return room;
}

ValueId Deferred::take(std::uint32_t count, std::uint32_t step) {
  if (place_ + count > Arena::kChunkSize && chunk_ < chunks_.size()) {
    ++chunk_;
    place_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const std::uint32_t number = arena_->add_chunks(1, ChunkKind::Temporary, false);
    if (number == Arena::kNoChunk) return kNoValue;
    chunk_of_[number] = static_cast<std::uint32_t>(chunks_.size());
    chunks_.push_back({number, std::vector<std::uint32_t>(Arena::kChunkSize / kGroup)});
  }
  Chunk& chunk = chunks_[chunk_];
  for (std::uint32_t i = 0; i < count; i += kGroup) chunk.steps[(place_ + i) / kGroup] = step;
  const ValueId first = (chunk.number << Arena::kChunkBits) + place_;
  place_ += count;
  return first;
}

std::uint32_t Deferred::step_of(ValueId id) const {
  const Chunk& chunk = chunks_[chunk_of_[id >> Arena::kChunkBits]];
  return chunk.steps[(id & (Arena::kChunkSize - 1)) / kGroup];
}

bool Deferred::continues(std::uint32_t index, const DotShape& shape, std::span<const ValueId> addends) const {
  const Step& step = steps_[index];
  if (step.shape.m != shape.m || step.shape.n != shape.n || step.shape.a != shape.a || step.shape.kind != shape.kind ||
      step.shape.promoted_k != shape.promoted_k) {
    return false;
  }
  for (std::size_t i = 0; i < addends.size(); ++i) {
    if (addends[i] != step.first + i) return false;
  }
  return true;
}

std::uint32_t Deferred::add(const DotShape& shape, std::uint32_t left, std::uint32_t right,
                            std::span<const ValueId> addends) {
  const auto index = static_cast<std::uint32_t>(used_steps_++);
  if (index == steps_.size()) steps_.emplace_back();
  const std::size_t results = std::size_t{shape.m} * shape.n;
  const bool is_deferrable = shape.acc == Format::F32 && results % kGroup == 0 && results <= Arena::kChunkSize;
  Step& made = steps_[index];
  made.shape = shape;
  made.left = left;
  made.right = right;
  made.previous = kNone;
  made.addends.clear();
  made.made.clear();
  made.first = is_deferrable ? take(static_cast<std::uint32_t>(results), index) : kNoValue;
  if (addends.empty()) return index;
  if (arena_->is_deferred(addends[0])) {
    const std::uint32_t previous = step_of(addends[0]);
    if (continues(previous, shape, addends)) made.previous = previous;
  }
  if (made.previous == kNone) made.addends.assign(addends.begin(), addends.end());
  return index;
}

}  // namespace plumb::domain::field
