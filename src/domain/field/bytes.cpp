// SPDX-License-Identifier: Apache-2.0
// Between values and tagged bytes: memory, register words, and what `prove` reads.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "domain/field/fixed.h"
#include "domain/field/integer.h"
#include "domain/field/worker.h"
#include "domain/stored_tag.h"

namespace plumb::domain {
namespace {

using field::Worker;
using Real = Field::Real;

// Tags of the bytes of [offset, offset + count) that still hold their element's variable. Memory keeps its mark: what
// the bytes are follows from where they lie.
void name_inputs(Worker& w, const Buffer& buffer, std::uint64_t offset, unsigned count, Tag* tags) {
  const unsigned size = buffer.integer_bytes != 0 ? buffer.integer_bytes : byte_size(buffer.element);
  const auto shift = static_cast<unsigned>(std::countr_zero(size));
  const Format format = buffer.integer_bytes != 0 ? field::integer_format(size) : buffer.element;
  const std::uint64_t elements = (buffer.size + size - 1) >> shift;
  std::uint64_t last = ~std::uint64_t{0};
  ValueId id = kNoValue;
  for (unsigned k = 0; k < count; ++k) {
    if (tags[k] != kPristineTag) continue;
    const std::uint64_t index = (offset + k) >> shift;
    if (index != last) {
      // Variables have ids in a row, and are made in groups.
      const bool is_next = id != kNoValue && index == last + 1 && index % field::Shared::kInputGroup != 0;
      id = is_next ? id + 1 : w.shared.input(buffer.tensor, index, elements, format);
    }
    last = index;
    if (id == kNoValue) return w.raise(kFieldMemory, "no room for more abstract values");
    tags[k] = make_tag(id, static_cast<unsigned>(offset + k) & (size - 1));
  }
}

// Bytes that are not those of one float: a float by the bits of integers, or none.
Real other_bytes(Worker& w, Format f, const Word& word) {
  Word low = word;
  std::fill(low.tags + byte_size(f), low.tags + 8, Tag{0});
  if (field::is_integral(w, low)) {
    if (const auto bits = field::bits_of(w, low)) {
      field::Decoded made;
      if (field::decoded(w, f, *bits, made)) return field::finish_fixed(w, f, made.id, {}, made.known, false);
    }
    w.raise(kFieldInteger, "bits of integer data that are a " + std::string(name(f)) +
                               " for some inputs only, or that depend on too much, are read as one");
    return {field::kPoisonId};
  }
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
  if (count == 4) std::memcpy(bytes, buffer.bytes.get() + offset, 4);
  else std::memcpy(bytes, buffer.bytes.get() + offset, count);
  bool has_inputs = false;
  const Tag first = first_tag(buffer.init);
  for (unsigned k = 0; k < count; ++k) {
    tags[k] = std::atomic_ref(buffer.tags[offset + k]).load(std::memory_order_acquire) ^ first;
    has_inputs |= tags[k] == kPristineTag;
  }
  if (has_inputs) name_inputs(*inner_, buffer, offset, count, tags);
}

namespace {

// Bits are this unit's. What is stored of them is the number, a byte or an aligned element at a time.
void keep_numbers(Field& field, Worker& w, const Buffer& buffer, std::uint64_t offset, unsigned count,
                  const std::byte* bytes, Tag* tags) {
  const auto is_bits = [&](Tag tag) {
    const ValueId id = tag_value(tag);
    return w.is_integer_value(id) && w.peek(id).is(field::Kind::Bits);
  };
  const unsigned element = std::max(1U, std::min<unsigned>(buffer.integer_bytes, count));
  for (unsigned first = 0; first < count;) {
    const unsigned size = (offset + first) % element == 0 && first + element <= count ? element : 1;
    if (std::any_of(tags + first, tags + first + size, is_bits)) {
      Word word;
      for (unsigned k = 0; k < size; ++k) {
        word.tags[k] = tags[first + k];
        if (tags[first + k] == 0) word.bits |= std::to_integer<std::uint64_t>(bytes[first + k]) << 8 * k;
      }
      const Word number = field.integer_word(field.integer(word, 8 * size, true, true), size);
      std::copy_n(number.tags, size, tags + first);
    }
    first += size;
  }
}

}  // namespace

void Field::store(Buffer& buffer, std::uint64_t offset, unsigned count, const std::byte* bytes, const Tag* tags) {
  std::memcpy(buffer.bytes.get() + offset, bytes, count);
  Tag own[16];
  const bool has_integers =
      std::any_of(tags, tags + count, [&](Tag tag) { return inner_->is_integer_value(tag_value(tag)); });
  if (has_integers) {
    std::copy_n(tags, count, own);
    keep_numbers(*this, *inner_, buffer, offset, count, bytes, own);
    for (unsigned k = 0; k < count; ++k) {
      if (own[k] != 0) buffer.bytes[offset + k] = std::byte{0};
    }
    tags = own;
  }
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
    std::atomic_ref(buffer.tags[offset + k]).store(stored_tag(buffer.init, tag), std::memory_order_release);
  }
}

Real Field::from_word(Format f, const Word& word) {
  Inner& w = *inner_;
  if (f == Format::F32) {  // a whole value, as nearly always
    const Tag first = word.tags[0];
    const ValueId id = tag_value(first);
    const bool is_whole = ((word.tags[1] ^ (first + 1)) | (word.tags[2] ^ (first + 2)) | (word.tags[3] ^ (first + 3)) |
                           tag_byte(first)) == 0;
    if (is_whole && id >= kFirstValue && w.format_of(id) == f) {
      w.fresh = kNoValue;
      return {id};
    }
  }
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
    if (id == kNoValue || w.peek(id).format() != Format::BF16) return other_bytes(w, f, word);
    return {w.copy(f, id)};
  }
  if (f == Format::BF16 && tag_byte(word.tags[0]) == 2) {
    // The upper half of an f32 is the number truncated.
    const ValueId id = whole_value(word.tags, 2, 2);
    if (id == kNoValue || !is_four_bytes(w.peek(id).format())) return other_bytes(w, f, word);
    return field::converted(w, f, w.peek(id).format(), id, {.round = Round::Rz}, true);
  }
  const ValueId id = whole_value(word.tags, size, 0);
  if (id == kNoValue) return other_bytes(w, f, word);
  if (id < kFirstValue) return {id};
  const Format have = w.format_of(id);
  if (field::is_integer(have)) return other_bytes(w, f, word);
  if (have == f) return {id};
  if (f == Format::Tf32 && have == Format::F32) {
    return field::converted(w, f, have, id, {.round = Round::Rz}, true);  // the low bits are ignored
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
