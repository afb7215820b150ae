// SPDX-License-Identifier: Apache-2.0
// What a register or memory byte holds. Concrete bytes are plain. In the field domain every byte also has a tag: zero
// for a concrete byte, otherwise byte `k` of an abstract value, or "never written". Moves, shuffles, packing and memory
// only permute tagged bytes; a float is read back when all bytes of one value stand together in order.
#pragma once

#include <cstdint>
#include <functional>

namespace plumb::domain {

using ValueId = std::uint32_t;  // into the field domain's arena; < 2^29
using Tag = std::uint32_t;      // 0: concrete; otherwise value id << 3 | byte index

inline constexpr ValueId kNoValue = 0;
inline constexpr ValueId kUndefined = 1;  // a byte that was never written
inline constexpr ValueId kPristine =
    2;  // a byte of an input buffer that still holds its element's variable (memory only)
inline constexpr ValueId kFirstValue = 8;

constexpr Tag make_tag(ValueId id, unsigned byte) { return id << 3 | byte; }
constexpr ValueId tag_value(Tag tag) { return tag >> 3; }
constexpr unsigned tag_byte(Tag tag) { return tag & 7; }
inline constexpr Tag kUndefinedTag = make_tag(kUndefined, 0);
inline constexpr Tag kPristineTag = make_tag(kPristine, 0);

// Up to eight bytes of a register lane. `bits` holds the concrete bytes; bytes with a tag have bits zero.
struct Word {
  std::uint64_t bits = 0;
  Tag tags[8] = {};
};

// Integer operations that a domain with tags gives a meaning to on words with abstract bytes. Operands in PTX order:
// shifts and extracts take the amount (bfe: position, then length) as concrete words; `FunnelLeft`/`FunnelRight` are
// shf.l/shf.r (a low, b high, c amount, clamp mode applied by the caller); `Prmt` is the default mode of prmt; bfi's
// third operand is its length << 8 | position.
enum class BitOp : std::uint8_t {
  And,
  Or,
  Xor,
  Not,
  Lop3,
  Shl,
  ShrU,
  ShrS,
  FunnelLeft,
  FunnelRight,
  Prmt,
  Add,
  Sub,
  BfeU,
  BfeS,
  Bfi,
  Mul,  // the low half
  Mad,  // the low half of a * b, plus c
  MinU,
  MinS,
  MaxU,
  MaxS
};

// What an integer operation does to words of known bits.
using IntFunction = std::function<std::uint64_t(std::uint64_t, std::uint64_t, std::uint64_t)>;

}  // namespace plumb::domain
