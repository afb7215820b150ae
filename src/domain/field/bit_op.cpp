// SPDX-License-Identifier: Apache-2.0
// Integer operations on words of which some bytes belong to abstract values: permutations and merges of bytes, and the
// sign idioms of floats. A result byte is one operand byte, a constant, or a sign change of a value's top byte.
#include <optional>

#include "domain/field/integer.h"
#include "domain/field/worker.h"

namespace plumb::domain {
namespace {

using field::Worker;

// One byte: of a value when `tag` is not zero, otherwise `bits`.
struct Byte {
  Tag tag = 0;
  std::uint8_t bits = 0;
  bool is(std::uint8_t value) const { return tag == 0 && bits == value; }
};

// What happens to the sign bit of a value's top byte.
enum class SignEdit : std::uint8_t { None, Clear, Set, Flip };

struct Bytes {
  Byte at[8];
  SignEdit edit[8] = {};
};

Bytes split(const Word& word, unsigned count) {
  Bytes bytes;
  for (unsigned k = 0; k < count; ++k) {
    bytes.at[k].tag = word.tags[k];
    if (word.tags[k] == 0) bytes.at[k].bits = static_cast<std::uint8_t>(word.bits >> 8 * k);
  }
  return bytes;
}

bool is_abstract(const Word& word, unsigned count) {
  for (unsigned k = 0; k < count; ++k) {
    if (word.tags[k] != 0) return true;
  }
  return false;
}

bool is_zero(const Bytes& a, unsigned count) {
  for (unsigned k = 0; k < count; ++k) {
    if (!a.at[k].is(0)) return false;
  }
  return true;
}

// f(a, b, c) bit by bit, `table` as of lop3. Empty when the result is none of the forms above.
std::optional<std::pair<Byte, SignEdit>> logic(Byte a, Byte b, Byte c, std::uint32_t table) {
  Tag tag = 0;
  for (const Byte& x : {a, b, c}) {
    if (x.tag == 0) continue;
    if (tag != 0 && tag != x.tag) return std::nullopt;
    tag = x.tag;
  }
  // Per bit: the result where the abstract bit is 0 and where it is 1.
  unsigned if_zero = 0, if_one = 0;
  for (unsigned bit = 0; bit < 8; ++bit) {
    const auto result = [&](unsigned abstract) {
      unsigned row = 0;
      for (const Byte& x : {a, b, c}) row = row << 1 | (x.tag != 0 ? abstract : x.bits >> bit & 1U);
      return table >> row & 1U;
    };
    if_zero |= result(0) << bit;
    if_one |= result(1) << bit;
  }
  if (if_zero == if_one) return std::pair{Byte{0, static_cast<std::uint8_t>(if_zero)}, SignEdit::None};
  if (if_zero == 0x00 && if_one == 0xff) return std::pair{Byte{tag, 0}, SignEdit::None};
  if ((if_zero & 0x7f) != 0 || (if_one & 0x7f) != 0x7f) return std::nullopt;
  const unsigned sign = if_zero >> 7 << 1 | if_one >> 7;
  const SignEdit edit = sign == 0 ? SignEdit::Clear : sign == 3 ? SignEdit::Set : SignEdit::Flip;
  return std::pair{Byte{tag, 0}, edit};
}

// lop3 tables of the binary operations, on their first two operands.
constexpr std::uint32_t kAnd = 0xc0, kOr = 0xfc, kXor = 0x3c, kNot = 0x0f;

bool logic(const Bytes& a, const Bytes& b, const Bytes& c, std::uint32_t table, unsigned count, Bytes& out) {
  for (unsigned k = 0; k < count; ++k) {
    const auto result = logic(a.at[k], b.at[k], c.at[k], table);
    if (!result) return false;
    out.at[k] = result->first;
    out.edit[k] = result->second;
  }
  return true;
}

// bytes[k] of the result is bytes[k - by] of a; `fill` comes in where there is none.
Bytes moved(const Bytes& a, unsigned count, int by, Byte fill) {
  Bytes out;
  for (unsigned k = 0; k < count; ++k) {
    const int from = static_cast<int>(k) - by;
    out.at[k] = from >= 0 && from < static_cast<int>(count) ? a.at[from] : fill;
  }
  return out;
}

// No two bytes that are not zero meet, so that a sum is a merge.
bool merge(const Bytes& a, const Bytes& b, unsigned count, Bytes& out) {
  for (unsigned k = 0; k < count; ++k) {
    if (!a.at[k].is(0) && !b.at[k].is(0)) return false;
    out.at[k] = a.at[k].is(0) ? b.at[k] : a.at[k];
  }
  return true;
}

bool permute(const Bytes& a, const Bytes& b, std::uint64_t selector, Bytes& out) {
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned nibble = selector >> 4 * k & 15;
    const Byte from = (nibble & 4) != 0 ? b.at[nibble & 3] : a.at[nibble & 3];
    if ((nibble & 8) == 0) {
      out.at[k] = from;
    } else if (from.tag == 0) {
      out.at[k].bits = (from.bits & 0x80) != 0 ? 0xff : 0;
    } else {
      return false;
    }
  }
  return true;
}

// The sign byte that an arithmetic shift or a signed extract brings in; empty when it is abstract.
std::optional<Byte> sign_fill(Byte top) {
  if (top.tag != 0) return std::nullopt;
  return Byte{0, static_cast<std::uint8_t>((top.bits & 0x80) != 0 ? 0xff : 0)};
}

bool shift(BitOp op, const Bytes& a, std::uint64_t amount, unsigned count, Bytes& out) {
  const std::uint64_t width = 8 * count;
  if (amount > width) amount = width;
  if (amount % 8 != 0) return false;
  const int by = static_cast<int>(amount / 8);
  if (op == BitOp::Shl) {
    out = moved(a, count, by, {});
    return true;
  }
  Byte fill;
  if (op == BitOp::ShrS && by != 0) {
    const auto sign = sign_fill(a.at[count - 1]);
    if (!sign) return false;
    fill = *sign;
  }
  out = moved(a, count, -by, fill);
  return true;
}

bool funnel(BitOp op, const Bytes& low, const Bytes& high, std::uint64_t amount, Bytes& out) {
  if (amount > 32) amount = 32;
  if (amount % 8 != 0) return false;
  Bytes both;
  for (unsigned k = 0; k < 4; ++k) {
    both.at[k] = low.at[k];
    both.at[k + 4] = high.at[k];
  }
  const int by = static_cast<int>(amount / 8);
  const Bytes whole = moved(both, 8, op == BitOp::FunnelLeft ? by : -by, {});
  const unsigned first = op == BitOp::FunnelLeft ? 4 : 0;
  for (unsigned k = 0; k < 4; ++k) out.at[k] = whole.at[first + k];
  return true;
}

bool extract(BitOp op, const Bytes& a, std::uint64_t position, std::uint64_t length, unsigned count, Bytes& out) {
  const std::uint64_t used = count == 4 ? 0xff : 0xffffffff;  // as the 32-bit and the 64-bit forms do
  position &= used;
  length &= used;
  if (position % 8 != 0 || length % 8 != 0) return false;
  const std::uint64_t first = position / 8, taken = length / 8;
  Byte fill;
  if (op == BitOp::BfeS && taken != 0) {
    const std::uint64_t top = position / 8 + taken - 1;
    const auto sign = sign_fill(a.at[top < count ? top : count - 1]);
    if (!sign) return false;
    fill = *sign;
  }
  for (unsigned k = 0; k < count; ++k) out.at[k] = k < taken && first + k < count ? a.at[first + k] : fill;
  return true;
}

bool insert(const Bytes& field, const Bytes& base, std::uint64_t position, std::uint64_t length, unsigned count,
            Bytes& out) {
  position &= 0xff;
  length &= 0xff;
  if (position % 8 != 0 || length % 8 != 0) return false;
  out = base;
  for (unsigned k = 0; k < length / 8 && position / 8 + k < count; ++k) out.at[position / 8 + k] = field.at[k];
  return true;
}

// Turns edits of sign bits into the changed values; false when an edited byte is not the top of a whole value.
bool apply_edits(Field& field, Worker& w, unsigned count, Bytes& bytes) {
  for (unsigned k = 0; k < count; ++k) {
    if (bytes.edit[k] == SignEdit::None) continue;
    const ValueId id = tag_value(bytes.at[k].tag);
    if (id < kFirstValue || w.is_integer_value(id)) return false;
    const Format f = w.peek(id).format();
    const unsigned size = byte_size(f);
    if (tag_byte(bytes.at[k].tag) != size - 1 || k + 1 < size) return false;
    const unsigned first = k + 1 - size;
    for (unsigned i = 0; i < size; ++i) {
      if (bytes.at[first + i].tag != make_tag(id, i) || (i + 1 < size && bytes.edit[first + i] != SignEdit::None)) {
        return false;
      }
    }
    Field::Real changed{id};
    if (bytes.edit[k] != SignEdit::Flip) changed = field.abs(f, changed, {});
    if (bytes.edit[k] != SignEdit::Clear) changed = field.neg(f, changed, {});
    const Word word = field.to_word(f, changed);
    for (unsigned i = 0; i < size; ++i) {
      bytes.at[first + i] = {word.tags[i], static_cast<std::uint8_t>(word.tags[i] == 0 ? word.bits >> 8 * i : 0)};
      bytes.edit[first + i] = SignEdit::None;
    }
  }
  return true;
}

}  // namespace

std::string_view field::name(BitOp op) {
  constexpr std::string_view kNames[] = {"and",   "or",    "xor",  "not", "lop3", "shl", "shr", "shr",
                                         "shf.l", "shf.r", "prmt", "add", "sub",  "bfe", "bfe", "bfi",
                                         "mul",   "mad",   "min",  "min", "max",  "max"};
  return kNames[static_cast<unsigned>(op)];
}

bool field::byte_op(Field& field, Worker& w, BitOp op, unsigned width, const Word& a, const Word& b, const Word& c,
                    std::uint32_t immediate, Word& out) {
  const unsigned count = width / 8;
  const Bytes x = split(a, count), y = split(b, count), z = split(c, count);
  // Amounts and selectors must be known.
  const auto is_known = [&](const Word& word) { return !is_abstract(word, op == BitOp::Prmt ? 2 : 4); };
  Bytes result;
  bool is_modelled = false;
  switch (op) {
    case BitOp::And:
      is_modelled = logic(x, y, {}, kAnd, count, result);
      break;
    case BitOp::Or:
      is_modelled = logic(x, y, {}, kOr, count, result);
      break;
    case BitOp::Xor:
      is_modelled = logic(x, y, {}, kXor, count, result);
      break;
    case BitOp::Not:
      is_modelled = logic(x, {}, {}, kNot, count, result);
      break;
    case BitOp::Lop3:
      is_modelled = logic(x, y, z, immediate, count, result);
      break;
    case BitOp::Shl:
    case BitOp::ShrU:
    case BitOp::ShrS:
      is_modelled = is_known(b) && shift(op, x, b.bits & 0xffffffff, count, result);
      break;
    case BitOp::FunnelLeft:
    case BitOp::FunnelRight:
      is_modelled = is_known(c) && funnel(op, x, y, c.bits & 0xffffffff, result);
      break;
    case BitOp::Prmt:
      is_modelled = is_known(c) && permute(x, y, c.bits, result);
      break;
    case BitOp::Add:
      is_modelled = merge(x, y, count, result);
      break;
    case BitOp::Sub:
      result = x;
      is_modelled = is_zero(y, count);
      break;
    case BitOp::BfeU:
    case BitOp::BfeS:
      is_modelled = is_known(b) && is_known(c) && extract(op, x, b.bits, c.bits, count, result);
      break;
    case BitOp::Bfi:
      is_modelled = is_known(c) && insert(x, y, c.bits, c.bits >> 8, count, result);
      break;
    case BitOp::Mul:
    case BitOp::Mad:
    case BitOp::MinU:
    case BitOp::MinS:
    case BitOp::MaxU:
    case BitOp::MaxS:
      break;
  }
  if (is_modelled) is_modelled = apply_edits(field, w, count, result);
  if (!is_modelled) return false;
  out = {};
  for (unsigned k = 0; k < count; ++k) {
    out.tags[k] = result.at[k].tag;
    if (result.at[k].tag == 0) out.bits |= std::uint64_t{result.at[k].bits} << 8 * k;
  }
  return true;
}

bool Field::bit_op(BitOp op, unsigned width, const Word& a, const Word& b, const Word& c, Word& out,
                   std::uint32_t immediate) {
  if (field::byte_op(*this, *inner_, op, width, a, b, c, immediate, out)) return true;
  inner_->raise(kFieldBitView, "`" + std::string(field::name(op)) + "` on the bits of an abstract float");
  return false;
}

}  // namespace plumb::domain
