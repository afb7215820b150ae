// SPDX-License-Identifier: Apache-2.0
// Between values and tagged bytes: memory, register words, and what `prove` reads.
#include <atomic>
#include <cstring>

#include "domain/field/worker.h"

namespace plumb::domain {
namespace {

using field::Worker;
using Real = Field::Real;

// Tags of the bytes of [offset, offset + count) that still hold their element's variable. Memory keeps its mark: what
// the bytes are follows from where they lie.
void name_inputs(Worker& w, const Buffer& buffer, std::uint64_t offset, unsigned count, Tag* tags) {
  const unsigned size = byte_size(buffer.element);
  const std::uint64_t elements = (buffer.size + size - 1) / size;
  std::uint64_t last = ~std::uint64_t{0};
  ValueId id = kNoValue;
  for (unsigned k = 0; k < count; ++k) {
    if (tags[k] != kPristineTag) continue;
    const std::uint64_t index = (offset + k) / size;
    if (index != last) id = w.shared.input(buffer.tensor, index, elements, buffer.element);
    last = index;
    if (id == kNoValue) return w.raise(kFieldMemory, "no room for more abstract values");
    tags[k] = make_tag(id, static_cast<unsigned>((offset + k) % size));
  }
}

Real mixed(Worker& w, Format f) {
  w.raise(kFieldMixedBytes, std::string("the bytes read as a ") + std::string(name(f)) + " are not those of one value");
  return {field::kPoisonId};
}

// The value all of whose bytes stand in order in tags[0, count), or kNoValue.
ValueId whole_value(const Tag* tags, unsigned count, unsigned first_byte) {
  const ValueId id = tag_value(tags[0]);
  for (unsigned k = 0; k < count; ++k) {
    if (tags[k] != make_tag(id, first_byte + k)) return kNoValue;
  }
  return id;
}

bool is_four_bytes(Format f) { return f == Format::F32 || f == Format::Tf32; }

}  // namespace

void Field::load(Buffer& buffer, std::uint64_t offset, unsigned count, std::byte* bytes, Tag* tags) {
  std::memcpy(bytes, buffer.bytes.get() + offset, count);
  bool has_inputs = false;
  for (unsigned k = 0; k < count; ++k) {
    tags[k] = std::atomic_ref(buffer.tags[offset + k]).load(std::memory_order_acquire);
    has_inputs |= tags[k] == kPristineTag;
  }
  if (has_inputs) name_inputs(*inner_, buffer, offset, count, tags);
}

void Field::store(Buffer& buffer, std::uint64_t offset, unsigned count, const std::byte* bytes, const Tag* tags) {
  std::memcpy(buffer.bytes.get() + offset, bytes, count);
  ValueId last = kNoValue, kept = kNoValue;
  for (unsigned k = 0; k < count; ++k) {
    Tag tag = tags[k];
    if (tag_value(tag) >= kFirstValue) {
      if (tag_value(tag) != last) {
        last = tag_value(tag);
        kept = inner_->keep(last);
      }
      tag = make_tag(kept, tag_byte(tag));
    }
    std::atomic_ref(buffer.tags[offset + k]).store(tag, std::memory_order_release);
  }
}

Real Field::from_word(Format f, const Word& word) {
  Inner& w = *inner_;
  const unsigned size = byte_size(f);
  unsigned tagged = 0;
  for (unsigned k = 0; k < size; ++k) tagged |= (word.tags[k] != 0 ? 1U : 0U) << k;
  if (tagged == 0) return {kNoValue, size == 8 ? word.bits : word.bits & ((1ULL << 8 * size) - 1)};
  for (unsigned k = 0; k < size; ++k) {
    if (word.tags[k] != 0 && tag_value(word.tags[k]) == kUndefined) return {kUndefined};
  }
  w.fresh = kNoValue;
  if (is_four_bytes(f) && tagged == 0xc && (word.bits & 0xffff) == 0) {
    // A bf16 in the upper half is the f32 of the same number.
    const ValueId id = whole_value(word.tags + 2, 2, 0);
    if (id == kNoValue || w.peek(id).format() != Format::BF16) return mixed(w, f);
    return {w.copy(f, id)};
  }
  if (f == Format::BF16 && tag_byte(word.tags[0]) == 2) {
    // The upper half of an f32 is the number truncated.
    const ValueId id = whole_value(word.tags, 2, 2);
    if (id == kNoValue || !is_four_bytes(w.peek(id).format())) return mixed(w, f);
    return w.finish(f, w.copy(f, id), {.round = Round::Rz});
  }
  const ValueId id = whole_value(word.tags, size, 0);
  if (id == kNoValue) return mixed(w, f);
  if (id < kFirstValue) return {id};
  const Format have = w.format_of(id);
  if (have == f) return {id};
  if (f == Format::Tf32 && have == Format::F32) {
    return w.finish(f, w.copy(f, id), {.round = Round::Rz});  // the low bits are ignored
  }
  if (f == Format::F32 && have == Format::Tf32) return {w.copy(f, id)};
  w.raise(kFieldBitView,
          std::string("the bits of a ") + std::string(name(have)) + " are read as a " + std::string(name(f)));
  return {field::kPoisonId};
}

Word Field::to_word(Format f, Real a) {
  Word word;
  if (a.is_concrete()) {
    word.bits = a.bits;
    return word;
  }
  for (unsigned k = 0; k < byte_size(f); ++k) word.tags[k] = make_tag(a.id, k);
  return word;
}

Real Field::read(Buffer& buffer, std::uint64_t offset, Format f) {
  std::byte bytes[8];
  Word word;
  const unsigned size = byte_size(f);
  load(buffer, offset, size, bytes, word.tags);
  for (unsigned k = 0; k < size; ++k) {
    if (word.tags[k] == 0) word.bits |= std::to_integer<std::uint64_t>(bytes[k]) << 8 * k;
  }
  return from_word(f, word);
}

}  // namespace plumb::domain
