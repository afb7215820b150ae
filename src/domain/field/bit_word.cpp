// SPDX-License-Identifier: Apache-2.0
// Words as bits: logic, shifts, sums, tables, comparisons, and floats read from them.
#include <algorithm>
#include <cmath>

#include "domain/field/arithmetic.h"
#include "domain/field/integer.h"
#include "domain/field/number.h"

namespace plumb::domain::field {
namespace {

using Id = Predicates::Id;
constexpr Id kFalse = Predicates::kFalse, kTrue = Predicates::kTrue, kFull = Predicates::kFull;

Id negated(Predicates& p, Id a) { return p.if_then_else(a, kFalse, kTrue); }
Id exclusive_or(Predicates& p, Id a, Id b) { return p.if_then_else(a, negated(p, b), b); }

// The number that bits are, when all are known.
std::optional<std::uint64_t> known(const BitWord& a) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 64; ++i) {
    if (a.bit[i] > kTrue) return std::nullopt;
    bits |= std::uint64_t{a.bit[i]} << i;
  }
  return bits;
}

BitWord logic(Predicates& p, const BitWord& a, const BitWord& b, const BitWord& c, std::uint32_t table,
              unsigned width) {
  const auto entry = [&](unsigned row) { return (table >> row & 1) != 0 ? kTrue : kFalse; };
  BitWord out;
  for (unsigned i = 0; i < width; ++i) {
    const auto pair = [&](unsigned row) { return p.if_then_else(c.bit[i], entry(row + 1), entry(row)); };
    const auto quad = [&](unsigned row) { return p.if_then_else(b.bit[i], pair(row + 2), pair(row)); };
    out.bit[i] = p.if_then_else(a.bit[i], quad(4), quad(0));
  }
  return out;
}

// Bit i of the result is bit i + by of a, `fill` where there is none.
BitWord moved(const BitWord& a, unsigned width, int by, Id fill) {
  BitWord out;
  for (unsigned i = 0; i < width; ++i) {
    const int from = static_cast<int>(i) + by;
    out.bit[i] = from >= 0 && from < static_cast<int>(width) ? a.bit[static_cast<unsigned>(from)] : fill;
  }
  return out;
}

BitWord shift(BitOp op, const BitWord& a, std::uint64_t amount, unsigned width) {
  const int by = static_cast<int>(std::min<std::uint64_t>(amount, width));
  const Id fill = op == BitOp::ShrS ? a.bit[width - 1] : kFalse;
  return moved(a, width, op == BitOp::Shl ? -by : by, fill);
}

BitWord funnel(BitOp op, const BitWord& low, const BitWord& high, std::uint64_t amount) {
  BitWord both = low;
  std::copy_n(high.bit.begin(), 32, both.bit.begin() + 32);
  const int by = static_cast<int>(std::min<std::uint64_t>(amount, 32));
  BitWord out = op == BitOp::FunnelLeft ? moved(both, 64, 32 - by, kFalse) : moved(both, 64, by, kFalse);
  std::fill(out.bit.begin() + 32, out.bit.end(), kFalse);
  return out;
}

BitWord permute(const BitWord& a, const BitWord& b, std::uint64_t selector) {
  BitWord out;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned nibble = selector >> 4 * k & 15;
    const BitWord& from = (nibble & 4) != 0 ? b : a;
    for (unsigned i = 0; i < 8; ++i) {
      out.bit[8 * k + i] = from.bit[8 * (nibble & 3) + ((nibble & 8) != 0 ? 7 : i)];
    }
  }
  return out;
}

// What is above the word repeats its sign, or is zero.
BitWord extract(BitOp op, const BitWord& a, std::uint64_t position, std::uint64_t length, unsigned width) {
  const std::uint64_t used = width == 32 ? 0xff : 0xffffffff;  // as the 32-bit and the 64-bit forms do
  position &= used;
  length &= used;
  const auto bit = [&](std::uint64_t i) {
    return i < width ? a.bit[i] : op == BitOp::BfeS ? a.bit[width - 1] : kFalse;
  };
  BitWord out;
  for (unsigned i = 0; i < width && length != 0; ++i) {
    out.bit[i] = i < length ? bit(position + i) : op == BitOp::BfeS ? bit(position + length - 1) : kFalse;
  }
  return out;
}

BitWord insert(const BitWord& from, const BitWord& base, std::uint64_t position, std::uint64_t length, unsigned width) {
  position &= 0xff;
  length &= 0xff;
  BitWord out = base;
  for (std::uint64_t i = 0; i < length && position + i < width; ++i) out.bit[position + i] = from.bit[i];
  return out;
}

// a + b, or a - b as a + ~b + 1, bit by bit.
std::optional<BitWord> sum(Predicates& p, const BitWord& a, BitWord b, unsigned width, bool is_difference) {
  BitWord out;
  Id carry = is_difference ? kTrue : kFalse;
  for (unsigned i = 0; i < width; ++i) {
    if (is_difference) b.bit[i] = negated(p, b.bit[i]);
    const Id half = exclusive_or(p, a.bit[i], b.bit[i]);
    out.bit[i] = exclusive_or(p, half, carry);
    carry = p.if_then_else(half, carry, a.bit[i]);
    // Where nothing is carried the bit is one of the operands', whatever that depends on.
    const bool is_given = out.bit[i] == a.bit[i] || out.bit[i] == b.bit[i];
    if (carry == kFull || out.bit[i] == kFull || p.degree(carry) > kMostBits) return std::nullopt;
    if (!is_given && p.degree(out.bit[i]) > kMostBits) return std::nullopt;
  }
  return out;
}

// a * b where one of them is known: shifted copies of the other, which mostly do not meet.
std::optional<BitWord> multiple(Predicates& p, const BitWord& a, const BitWord& b, unsigned width) {
  const std::optional<std::uint64_t> x = known(a), y = known(b);
  if (!x && !y) return std::nullopt;
  const std::uint64_t factor = y ? *y : *x;
  const BitWord& word = y ? a : b;
  BitWord out;
  for (unsigned i = 0; i < width; ++i) {
    if ((factor >> i & 1) == 0) continue;
    const std::optional<BitWord> more = sum(p, out, shift(BitOp::Shl, word, i, width), width, false);
    if (!more) return std::nullopt;
    out = *more;
  }
  return out;
}

// The names of the variables below some diagrams, sorted; false when they are more than kMostBits.
bool collect(const Predicates& p, Id id, std::vector<std::uint64_t>& names) {
  if (id <= kTrue) return true;
  const auto place = std::lower_bound(names.begin(), names.end(), p.variable(id));
  if (place == names.end() || *place != p.variable(id)) {
    if (names.size() == kMostBits) return false;
    names.insert(place, p.variable(id));
  }
  // Diagrams of so few variables are small; what is deeper is too much.
  if (p.degree(id) > kMostBits) return false;
  return collect(p, p.cofactor(id, p.variable(id), true), names) &&
         collect(p, p.cofactor(id, p.variable(id), false), names);
}

// Splits words on their variables in order until all bits are known.
template <std::size_t Count, class Leaf>
void split(const Predicates& p, const std::vector<std::uint64_t>& names, std::size_t depth,
           const std::array<BitWord, Count>& words, Leaf& leaf) {
  if (depth == names.size()) return leaf(words);
  for (const bool is_high : {false, true}) {
    std::array<BitWord, Count> half = words;
    for (BitWord& word : half) {
      for (Id& id : word.bit) {
        if (id > kTrue) id = p.cofactor(id, names[depth], is_high);
      }
    }
    split(p, names, depth + 1, half, leaf);
  }
}

template <std::size_t Count>
bool collect_all(const Predicates& p, const std::array<BitWord, Count>& words, std::vector<std::uint64_t>& names) {
  for (const BitWord& word : words) {
    for (unsigned i = 0; i < 64; ++i) {
      if (word.bit[i] == kFull) return false;
      if (i != 0 && word.bit[i] == word.bit[i - 1]) continue;
      if (!collect(p, word.bit[i], names)) return false;
    }
  }
  return true;
}

// Of one of the variables: found again in a diagram that has it.
const Residues* value_of(const Predicates& p, Id id, std::uint64_t variable) {
  while (id > kTrue && p.variable(id) < variable) {
    const Id high = p.cofactor(id, p.variable(id), true);
    if (const Residues* found = value_of(p, high, variable)) return found;
    id = p.cofactor(id, p.variable(id), false);
  }
  return id > kTrue && p.variable(id) == variable ? &p.variable_value(id) : nullptr;
}

template <std::size_t Count>
Residues value_of(const Predicates& p, const std::array<BitWord, Count>& words, std::uint64_t variable) {
  for (const BitWord& word : words) {
    for (const Id id : word.bit) {
      if (const Residues* found = value_of(p, id, variable)) return *found;
    }
  }
  return {};
}

}  // namespace

std::optional<BitWord> bit_word_op(Worker& w, BitOp op, unsigned width, const BitWord& a, const BitWord& b,
                                   const BitWord& c, std::uint32_t immediate) {
  Predicates& p = w.predicates;
  const std::optional<std::uint64_t> y = known(b), z = known(c);
  switch (op) {
    case BitOp::And:
      return logic(p, a, b, {}, 0xc0, width);
    case BitOp::Or:
      return logic(p, a, b, {}, 0xfc, width);
    case BitOp::Xor:
      return logic(p, a, b, {}, 0x3c, width);
    case BitOp::Not:
      return logic(p, a, {}, {}, 0x0f, width);
    case BitOp::Lop3:
      return logic(p, a, b, c, immediate, width);
    case BitOp::Shl:
    case BitOp::ShrU:
    case BitOp::ShrS:
      if (!y) return std::nullopt;
      return shift(op, a, *y & 0xffffffff, width);
    case BitOp::FunnelLeft:
    case BitOp::FunnelRight:
      if (!z) return std::nullopt;
      return funnel(op, a, b, *z & 0xffffffff);
    case BitOp::Prmt:
      if (!z) return std::nullopt;
      return permute(a, b, *z);
    case BitOp::Add:
    case BitOp::Sub:
      return sum(p, a, b, width, op == BitOp::Sub);
    case BitOp::BfeU:
    case BitOp::BfeS:
      if (!y || !z) return std::nullopt;
      return extract(op, a, *y, *z, width);
    case BitOp::Bfi:
      if (!z) return std::nullopt;
      return insert(a, b, *z, *z >> 8, width);
    case BitOp::Mul:
    case BitOp::Mad: {
      const auto product = multiple(p, a, b, width);
      return product && op == BitOp::Mad ? sum(p, *product, c, width, false) : product;
    }
    case BitOp::MinU:
    case BitOp::MinS:
    case BitOp::MaxU:
    case BitOp::MaxS:
      break;
  }
  return std::nullopt;
}

std::optional<BitWord> tabulate(Worker& w, unsigned result, const BitWord& a, const BitWord& b, const BitWord& c,
                                const IntFunction& fn) {
  Predicates& p = w.predicates;
  const std::array<BitWord, 3> words = {a, b, c};
  std::vector<std::uint64_t> names;
  if (!collect_all(p, words, names)) return std::nullopt;
  std::vector<std::uint64_t> rows;
  rows.reserve(std::size_t{1} << names.size());
  auto leaf = [&](const std::array<BitWord, 3>& row) {
    rows.push_back(fn(*known(row[0]), *known(row[1]), *known(row[2])));
  };
  split(p, names, 0, words, leaf);
  std::vector<Residues> values;
  for (const std::uint64_t variable : names) values.push_back(value_of(p, words, variable));
  BitWord out;
  std::vector<Id> level(rows.size());
  for (unsigned i = 0; i < result; ++i) {
    for (std::size_t row = 0; row < rows.size(); ++row) level[row] = (rows[row] >> i & 1) != 0 ? kTrue : kFalse;
    std::size_t size = rows.size();
    for (std::size_t depth = names.size(); depth-- > 0;) {
      size /= 2;
      for (std::size_t row = 0; row < size; ++row) {
        level[row] = p.node(names[depth], values[depth], level[2 * row + 1], level[2 * row]);
      }
    }
    out.bit[i] = level[0];
  }
  return out;
}

Id below(Worker& w, unsigned width, bool is_signed, const BitWord& a, const BitWord& b) {
  Predicates& p = w.predicates;
  Id is_below = kFalse;
  for (unsigned i = 0; i < width; ++i) {
    const bool is_sign = is_signed && i + 1 == width;
    is_below = p.if_then_else(exclusive_or(p, a.bit[i], b.bit[i]), is_sign ? a.bit[i] : b.bit[i], is_below);
  }
  return is_below;
}

Id equal(Worker& w, unsigned width, const BitWord& a, const BitWord& b) {
  Predicates& p = w.predicates;
  Id is_equal = kTrue;
  for (unsigned i = width; i-- > 0;) {
    is_equal = p.if_then_else(exclusive_or(p, a.bit[i], b.bit[i]), kFalse, is_equal);
  }
  return is_equal;
}

bool decoded(Worker& w, Format f, const BitWord& bits, Decoded& out) {
  const Predicates& p = w.predicates;
  const Modulus& m = w.shared.modulus;
  const std::array<BitWord, 1> words = {bits};
  std::vector<std::uint64_t> names;
  if (!collect_all(p, words, names)) return false;
  std::vector<Residues> rows;
  rows.reserve(std::size_t{1} << names.size());
  bool is_finite = true;
  std::optional<Fixed> lattice;
  double least = INFINITY, most = -INFINITY;
  auto leaf = [&](const std::array<BitWord, 1>& row) {
    const double value = to_double(f, *known(row[0]));
    is_finite = is_finite && std::isfinite(value);
    if (!is_finite) return;
    lattice = rows.empty() ? exactly(value) : either(lattice, exactly(value));
    least = std::min(least, value);
    most = std::max(most, value);
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    rows.push_back(from_dyadic(m, static_cast<std::int64_t>(std::ldexp(fraction, 53)), exponent - 53));
  };
  split(p, names, 0, words, leaf);
  if (!is_finite) return false;
  // The multilinear function through the rows.
  for (std::size_t depth = names.size(); depth-- > 0;) {
    const Residues variable = value_of(p, words, names[depth]);
    for (std::size_t row = 0; row < rows.size() / 2; ++row) {
      rows[row] = add(m, rows[2 * row], mul(m, variable, sub(m, rows[2 * row + 1], rows[2 * row])));
    }
    rows.resize(rows.size() / 2);
  }
  Value& v = w.allocate(out.id);
  v = Value{};
  v.residues = rows[0];
  v.numerator = static_cast<float>(names.size());
  v.set(f, least >= 1   ? Sign::AtLeastOne
           : least > 0  ? Sign::Positive
           : least == 0 ? most == 0 ? Sign::Zero : Sign::NonNegative
           : most < 0   ? Sign::Negative
           : most == 0  ? Sign::NonPositive
                        : Sign::Unknown);
  out.known = lattice;
  return true;
}

}  // namespace plumb::domain::field
