// SPDX-License-Identifier: Apache-2.0
// The record of one abstract value, and the arena of all of them. A record is one cache line. Ids index chunks behind a
// fixed table of atomic pointers, so that every thread can read every value without a lock.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <vector>

#include "domain/field/field.h"
#include "domain/field/residue.h"

namespace plumb::domain::field {

// How a value was made, where rules need it. The first three take part in arithmetic by their residues alone.
enum class Kind : std::uint8_t {
  Plain = 0,
  Constant = 1,     // depends on no input; `approximation` is its real value
  Exponential = 2,  // 2^(value `aux`)
  Log = 4,          // c * log2(E): `aux` is E, `key_of_denominator` is c
  Root,             // square root of `aux`
  InverseRoot,      // 1 / square root of `aux`
  Absolute,         // |aux|
  Maximum,          // of two values: `aux` indexes the worker's pairs
  Minimum,
  Scaled,         // constant times Maximum or Minimum: `aux` indexes the worker's scalings
  Fixed,          // k * 2^e, e and bounds of k known (fixed.h): packed in `aux` and `key_of_denominator`
  Bits,           // an integer bit by bit: `aux` indexes the worker's word_bits; residues unused
  BitsLessSplit,  // of the f32 `aux`, minus those of a routine's constant (library.h): `key_of_denominator` names it
  ExponentBits,   // the same with the low 23 bits cleared
  Undefined,      // never written
  Poison,         // NaN or infinity made from abstract values
};
// The residues (of a logarithm: those modulo q) are not computed yet.
inline constexpr std::uint8_t kLazy = 0x80;

struct alignas(64) Value {
  Residues residues;
  float numerator = 0;  // degree bounds
  float denominator = 0;
  std::uint32_t key_of_denominator = 1;  // equal for equal denominators; with `aux` the approximation of a Constant
  std::uint32_t aux = 0;
  std::uint16_t counts[kRoundingClasses] = {};
  std::uint8_t flags = 0;     // Signature::Flag, and the ones below
  std::uint8_t kind = 0;      // Kind, perhaps with kLazy
  std::uint8_t traits = 0;    // Format in the low four bits, Sign above
  std::uint8_t valid = 0xff;  // lanes whose residue is meaningful

  Kind raw_kind() const { return static_cast<Kind>(kind & ~kLazy); }
  bool is(Kind k) const { return raw_kind() == k; }
  bool is_broken() const { return raw_kind() >= Kind::Undefined; }
  Format format() const { return static_cast<Format>(traits & 15); }
  Sign sign() const { return static_cast<Sign>(traits >> 4); }
  void set(Format f, Sign s) {
    traits = static_cast<std::uint8_t>(static_cast<unsigned>(f) | static_cast<unsigned>(s) << 4);
  }
  void set(Format f) { set(f, sign()); }
  void set(Sign s) { set(format(), s); }
  double approximation() const { return std::bit_cast<double>(std::uint64_t{aux} << 32 | key_of_denominator); }
  void set_approximation(double x) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    key_of_denominator = static_cast<std::uint32_t>(bits);
    aux = static_cast<std::uint32_t>(bits >> 32);
  }
};
static_assert(sizeof(Value) == 64);

// Integers have formats of their own, of 1, 2, 4 and 8 bytes. Their values are polynomials; `bound` B says that the
// number, before any wrapping, is at least -B and below B. Variables of input integers have residues where they are one
// byte wide; wider ones are known by their bits.
constexpr Format integer_format(unsigned bytes) {
  return static_cast<Format>(8 + (bytes >= 2 ? 1 : 0) + (bytes >= 4 ? 1 : 0) + (bytes >= 8 ? 1 : 0));
}
constexpr bool is_integer(Format f) { return static_cast<unsigned>(f) >= 8; }
constexpr unsigned integer_bytes(Format f) { return 1U << (static_cast<unsigned>(f) & 7); }
inline float bound_of(const Value& v) { return std::bit_cast<float>(v.aux); }
inline void set_bound(Value& v, float bound) { v.aux = std::bit_cast<std::uint32_t>(bound); }

// Flag of values that depend on an exponential; not part of the public signature.
inline constexpr std::uint8_t kHasExponential = 0x80;

// Reserved ids (word.h has the first three).
inline constexpr ValueId kPoisonId = 3;
inline constexpr ValueId kZeroId = 4;
inline constexpr ValueId kOneId = 5;
inline constexpr ValueId kKappaId = 6;  // log2(e)
inline constexpr ValueId kKappaInverseId = 7;

// What a chunk's values are: one worker's until its unit ends; permanent; variables of input elements, permanent too.
enum class ChunkKind : std::uint8_t { Temporary, Permanent, Input };

class Arena {
 public:
  static constexpr unsigned kChunkBits = 16;
  static constexpr std::uint32_t kChunkSize = 1U << kChunkBits;
  static constexpr std::uint32_t kChunks = 1U << (29 - kChunkBits);
  static constexpr std::uint32_t kNoChunk = ~0U;

  explicit Arena(std::uint64_t most_bytes) : most_chunks_(most_bytes / (sizeof(Value) * kChunkSize)) {}
  ~Arena();
  Arena(const Arena&) = delete;  // values are addressed through it from many threads
  Arena& operator=(const Arena&) = delete;

  Value& at(ValueId id) { return chunks_[id >> kChunkBits].load(std::memory_order_relaxed)[id & (kChunkSize - 1)]; }
  bool is_temporary(ValueId id) const { return kinds_[id >> kChunkBits] == ChunkKind::Temporary; }
  bool is_input(ValueId id) const { return kinds_[id >> kChunkBits] == ChunkKind::Input; }
  // Whether the id is of a chunk without memory: a worker's product that is not computed yet (deferred.h), or variables
  // that were given up and can be made again.
  bool is_absent(ValueId id) const { return chunks_[id >> kChunkBits].load(std::memory_order_relaxed) == nullptr; }
  bool is_deferred(ValueId id) const { return is_absent(id) && !is_input(id); }
  // The first of `count` chunks in a row; kNoChunk when ids or memory ran out, or more is held than allowed.
  std::uint32_t add_chunks(std::uint32_t count, ChunkKind kind, bool has_memory = true);
  // Gives a chunk without memory some; false when there is none.
  bool give_memory(std::uint32_t chunk);
  // Takes the memory of all variables away; no one may be reading any.
  void give_up_inputs();
  std::uint64_t bytes() const;
  std::uint64_t input_bytes() const;

 private:
  bool fill(std::uint32_t chunk);

  std::array<std::atomic<Value*>, kChunks> chunks_{};
  std::array<ChunkKind, kChunks> kinds_{};
  mutable std::mutex mutex_;
  std::uint64_t most_chunks_;
  std::uint32_t used_ = 0, with_memory_ = 0;
};

// One worker's place in the arena: chunks it fills, in order; `rewind` starts over with the same chunks.
class Cursor {
 public:
  Cursor(Arena& arena, ChunkKind kind) : arena_(&arena), kind_(kind) {}

  // Null when the arena is full.
  Value* allocate(ValueId& id) {
    if (next_ == end_ && !advance()) return nullptr;
    id = next_++;
    return place_++;
  }
  void rewind() {
    chunk_ = 0;
    next_ = end_ = 0;
  }
  std::size_t filled() const { return chunk_; }  // chunks that hold values
  // Fills the chunks for which `is_needed` is false anew.
  template <class IsNeeded>
  void recycle(IsNeeded&& is_needed) {
    const auto end = chunks_.begin() + static_cast<std::ptrdiff_t>(chunk_);
    chunk_ = static_cast<std::size_t>(std::stable_partition(chunks_.begin(), end, is_needed) - chunks_.begin());
    next_ = end_ = 0;
  }

 private:
  bool advance();

  Arena* arena_;
  ChunkKind kind_;
  std::vector<std::uint32_t> chunks_;
  std::size_t chunk_ = 0;  // the next chunk to fill
  ValueId next_ = 0, end_ = 0;
  Value* place_ = nullptr;
};

}  // namespace plumb::domain::field
