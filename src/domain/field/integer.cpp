// SPDX-License-Identifier: Apache-2.0
// Integers of data: `Field`'s operations on words, and on the numbers that they are once their bits are too much.
#include "domain/field/integer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "domain/field/arithmetic.h"
#include "domain/field/library.h"
#include "domain/field/product.h"

namespace plumb::domain {
namespace {

using field::BitWord;
using field::Kind;
using field::Predicates;
using field::Residues;
using field::Value;
using field::Worker;
using Real = Field::Real;
using Id = Predicates::Id;

std::uint64_t low_bits(std::uint64_t x, unsigned bits) { return bits >= 64 ? x : x & ((std::uint64_t{1} << bits) - 1); }

std::int64_t extended(std::uint64_t x, unsigned bits, bool is_signed) {
  x = low_bits(x, bits);
  if (is_signed && bits < 64 && (x >> (bits - 1) & 1) != 0) x |= ~std::uint64_t{0} << bits;
  return static_cast<std::int64_t>(x);
}

Residues residues_of(const field::Modulus& m, std::int64_t x) { return field::from_dyadic(m, x, 0); }

// Rounded up: a bound stays one.
float up(double x) {
  const auto f = static_cast<float>(x);
  return f < x ? std::nextafter(f, INFINITY) : f;
}

bool is_extreme(const Value& v) { return v.is(Kind::Maximum) || v.is(Kind::Minimum); }

// The bound of a number, which of an extreme is beside its operands.
double bound_of(const Worker& w, const Value& v) { return is_extreme(v) ? w.pairs[v.aux].bound : field::bound_of(v); }

// What a number is, concrete or not, for arithmetic.
struct Number {
  Residues residues;
  float degree = 0;
  double bound = 0;
};

Number number_of(Worker& w, Real x) {
  if (x.is_concrete()) {
    const auto value = static_cast<std::int64_t>(x.bits);
    return {residues_of(w.shared.modulus, value), 0, std::abs(static_cast<double>(value)) + 1};
  }
  const Value& v = w.get(x.id);
  return {v.residues, v.numerator, bound_of(w, v)};
}

Real made(Worker& w, unsigned bytes, const Number& number, Sign sign = Sign::Unknown) {
  ValueId id;
  Value& v = w.allocate(id);
  v = Value{};
  v.residues = number.residues;
  v.numerator = number.degree;
  v.set(field::integer_format(bytes), sign);
  field::set_bound(v, up(number.bound));
  w.fresh = kNoValue;
  return {id};
}

void refuse(Worker& w, std::optional<BitOp> op) {
  w.raise(kFieldInteger, op ? "`" + std::string(field::name(*op)) + "` of integers that depend on too many bits of data"
                            : std::string("an operation on integers that depend on too many bits of data"));
}

// The number that bits are. Bits above the word's own repeat the sign, or are zero.
Real sum_of_bits(Worker& w, const BitWord& word, unsigned bits, bool is_signed) {
  const field::Modulus& m = w.shared.modulus;
  const auto& bit = word.bit;
  unsigned used = bits;  // bits that are not copies of the one below, or zeros
  const Id fill = is_signed ? bit[bits - 1] : Predicates::kFalse;
  while (used > 0 && bit[used - 1] == fill) --used;
  Number number;
  const Residues sign = is_signed ? w.predicates.value(fill) : Residues{};
  number.residues = field::neg(m, sign);
  unsigned degree = is_signed ? w.predicates.degree(fill) : 0;
  for (unsigned i = used; i-- > 0;) {
    number.residues = field::add(m, number.residues, number.residues);
    number.residues = field::add(m, number.residues, w.predicates.value(bit[i]));
    degree = std::max(degree, w.predicates.degree(bit[i]));
  }
  number.degree = static_cast<float>(degree);
  number.bound = std::ldexp(1.0, static_cast<int>(used));
  const bool is_never_negative = fill == Predicates::kFalse;
  return made(w, std::max(1U, bits / 8), number, is_never_negative ? Sign::NonNegative : Sign::Unknown);
}

// The number of a sum of products, or of an input of one byte: the low bytes, in order, of one value.
std::optional<Real> whole_number(Worker& w, const Word& word, unsigned bits, bool is_signed, bool wraps) {
  const ValueId id = tag_value(word.tags[0]);
  if (!w.is_integer_value(id) || bits % 8 != 0) return std::nullopt;
  const Value& v = w.peek(id);
  if (!v.is(Kind::Plain) && !is_extreme(v)) return std::nullopt;
  const unsigned size = field::integer_bytes(v.format()), bytes = bits / 8;
  if (bytes > size) return std::nullopt;
  for (unsigned k = 0; k < bytes; ++k) {
    if (word.tags[k] != make_tag(id, k)) return std::nullopt;
  }
  if (w.shared.arena.is_input(id)) return size == 1 && is_signed ? std::optional(Real{id}) : std::nullopt;
  const bool is_inside =
      is_signed ? bound_of(w, v) <= std::ldexp(1.0, static_cast<int>(bits) - 1)
                : field::is_at_least_zero(v.sign()) && bound_of(w, v) <= std::ldexp(1.0, static_cast<int>(bits));
  if (!wraps && !is_inside) return std::nullopt;
  if (bytes == size) return Real{id};
  return made(w, bytes, number_of(w, {id}), v.sign());
}

std::optional<Real> try_integer(Worker& w, const Word& word, unsigned bits, bool is_signed, bool wraps) {
  Word low = word;
  for (unsigned k = (bits + 7) / 8; k < 8; ++k) low.tags[k] = 0;
  if (!field::has_tags(low)) return Real{kNoValue, static_cast<std::uint64_t>(extended(word.bits, bits, is_signed))};
  if (const auto whole = whole_number(w, low, bits, is_signed, wraps)) return whole;
  if (bits == 32 && is_signed) {
    if (const auto number = field::library_integer(w, low)) return Real{*number};
  }
  const auto split = field::bits_of(w, low);
  if (!split) return std::nullopt;
  return sum_of_bits(w, *split, bits, is_signed);
}

// The larger or smaller of two numbers, neither of which may have wrapped: that of the numbers that they are. A set of
// numbers has one extreme, however it was gathered.
std::optional<Word> extreme_op(Field& field, Worker& w, BitOp op, unsigned width, const Word& a, const Word& b) {
  const bool is_signed = op == BitOp::MinS || op == BitOp::MaxS, is_minimum = op == BitOp::MinS || op == BitOp::MinU;
  const auto x = try_integer(w, a, width, is_signed, false), y = try_integer(w, b, width, is_signed, false);
  if (!x || !y) return std::nullopt;
  const Number p = number_of(w, *x), q = number_of(w, *y);
  // A known number beyond all that the other may be: masked lanes, the beginning of a loop.
  for (const auto& [constant, other, bound] : {std::tuple(&a, &b, q.bound), std::tuple(&b, &a, p.bound)}) {
    if (field::has_tags(*constant)) continue;
    const Real& number = constant == &a ? *x : *y;
    const auto value = static_cast<std::int64_t>(number.bits);
    if (!is_signed && value < 0) return std::nullopt;  // of 64 bits: no number here
    // A double does not tell the last numbers of 64 bits apart.
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    const bool is_exact = value >= -kExact && value <= kExact;
    const bool is_least = value == (is_signed ? std::numeric_limits<std::int64_t>::min() : 0);
    const auto real = static_cast<double>(value);
    if (is_least || (is_exact && real <= -bound)) return is_minimum ? *constant : *other;
    if (is_exact && real >= bound - 1) return is_minimum ? *other : *constant;
  }
  const unsigned bytes = width / 8;
  const auto id_of = [&](const Real& number, const Number& known) {
    if (!number.is_concrete()) return number.id;
    return made(w, bytes, known, static_cast<std::int64_t>(number.bits) >= 0 ? Sign::NonNegative : Sign::Negative).id;
  };
  const ValueId left = id_of(*x, p), right = id_of(*y, q);
  const ValueId id = w.maximum(field::integer_format(bytes), left, right, is_minimum);
  if (id != left && id != right) w.pairs[w.peek(id).aux].bound = up(std::max(p.bound, q.bound));
  w.fresh = kNoValue;
  return field.integer_word({id}, bytes);
}

// Operations on numbers whose bits are not known: those that commute with wrapping, and extending the sign of one that
// cannot have wrapped.
std::optional<Word> number_op(Field& field, Worker& w, BitOp op, unsigned width, const Word& a, const Word& b,
                              const Word& c) {
  const field::Modulus& m = w.shared.modulus;
  const unsigned bytes = width / 8;
  if (op == BitOp::BfeS) {
    const unsigned length = static_cast<unsigned>(c.bits & 0xff);
    const bool is_whole = !field::has_tags(b) && !field::has_tags(c) && (b.bits & 0xff) == 0 && length % 8 == 0;
    if (!is_whole || length == 0 || length > width) return std::nullopt;
    const auto x = try_integer(w, a, length, true, false);
    if (!x || x->is_concrete()) return std::nullopt;
    return field.integer_word(made(w, bytes, number_of(w, *x), w.peek(x->id).sign()), bytes);
  }
  if (op >= BitOp::MinU) return extreme_op(field, w, op, width, a, b);
  const bool is_shift = op == BitOp::Shl && !field::has_tags(b) && (b.bits & 0xffffffff) < width;
  const bool is_sum = op == BitOp::Add || op == BitOp::Sub;
  if (!is_shift && !is_sum && op != BitOp::Mul && op != BitOp::Mad) return std::nullopt;
  const auto x = try_integer(w, a, width, true, true);
  const auto y = is_shift ? std::optional(Real{kNoValue, std::uint64_t{1} << (b.bits & 63)})
                          : try_integer(w, b, width, true, true);
  const auto z = op == BitOp::Mad ? try_integer(w, c, width, true, true) : std::optional(Real{});
  if (!x || !y || !z) return std::nullopt;
  const Number p = number_of(w, *x), q = number_of(w, *y);
  Number out;
  if (is_sum) {
    out.residues = op == BitOp::Add ? field::add(m, p.residues, q.residues) : field::sub(m, p.residues, q.residues);
    out.degree = std::max(p.degree, q.degree);
    out.bound = p.bound + q.bound + 1;
  } else {
    const Number r = number_of(w, *z);
    out.residues = field::add(m, field::mul(m, p.residues, q.residues), r.residues);
    out.degree = std::max(p.degree + q.degree, r.degree);
    out.bound = p.bound * q.bound + 1 + r.bound;
  }
  return field.integer_word(made(w, bytes, out), bytes);
}

Field::Bool to_bool(Worker& w, Id id) {
  if (id == Predicates::kFull) {
    w.raise(kFieldPredicate, "too many bits of integer data in one unit");
    return {0, false};
  }
  if (id <= Predicates::kTrue) return {0, id == Predicates::kTrue};
  return {id, false};
}

bool is_full(const BitWord& word) {
  return std::find(word.bit.begin(), word.bit.end(), Predicates::kFull) != word.bit.end();
}

}  // namespace

bool field::has_tags(const Word& word) {
  return std::any_of(std::begin(word.tags), std::end(word.tags), [](Tag tag) { return tag != 0; });
}

bool field::is_integral(Worker& w, const Word& word) {
  return std::all_of(std::begin(word.tags), std::end(word.tags),
                     [&](Tag tag) { return tag == 0 || w.is_integer_value(tag_value(tag)); });
}

std::optional<BitWord> field::bits_of(Worker& w, const Word& word) {
  BitWord out;
  for (unsigned k = 0; k < 8; ++k) {
    const Tag tag = word.tags[k];
    if (tag == 0) {
      for (unsigned i = 8 * k; i < 8 * k + 8; ++i) out.bit[i] = (word.bits >> i & 1) != 0 ? 1 : 0;
      continue;
    }
    const ValueId id = tag_value(tag);
    if (!w.is_integer_value(id)) return std::nullopt;
    const Value& v = w.peek(id);
    for (unsigned i = 0; i < 8; ++i) {
      const unsigned bit = 8 * tag_byte(tag) + i;
      Id& to = out.bit[8 * k + i];
      if (v.is(Kind::Bits)) {
        to = w.word_bits[v.aux + bit];
      } else if (!w.shared.arena.is_input(id)) {
        return std::nullopt;
      } else if (v.numerator != 0) {  // otherwise the element is zero
        const std::uint64_t name = Shared::bit_name(id, bit);
        to = w.predicates.bit(name, [&] { return w.shared.bit_value(name); });
        if (to == Predicates::kFull) return std::nullopt;
      }
    }
  }
  return out;
}

Word field::word_of(Worker& w, const BitWord& bits, unsigned bytes) {
  Word out;
  bool is_known = true;
  for (unsigned i = 0; i < 8 * bytes; ++i) is_known = is_known && bits.bit[i] <= Predicates::kTrue;
  ValueId id = kNoValue;
  if (!is_known) {
    Value& v = w.allocate(id);
    v = Value{};
    v.kind = static_cast<std::uint8_t>(Kind::Bits);
    v.set(integer_format(bytes), Sign::Unknown);
    v.aux = static_cast<std::uint32_t>(w.word_bits.size());
    w.word_bits.insert(w.word_bits.end(), bits.bit.begin(), bits.bit.begin() + 8 * bytes);
    w.fresh = kNoValue;
  }
  for (unsigned k = 0; k < bytes; ++k) {
    std::uint64_t byte = 0;
    bool is_byte_known = true;
    for (unsigned i = 0; i < 8; ++i) {
      const Id bit = bits.bit[8 * k + i];
      is_byte_known = is_byte_known && bit <= Predicates::kTrue;
      byte |= std::uint64_t{bit & 1} << i;
    }
    if (is_byte_known) {
      out.bits |= byte << 8 * k;
    } else {
      out.tags[k] = make_tag(id, k);
    }
  }
  return out;
}

bool Field::int_op(std::optional<BitOp> op, unsigned width, unsigned result, const Word& a, const Word& b,
                   const Word& c, std::uint32_t immediate, const IntFunction& fn, Word& out) {
  Inner& w = *inner_;
  if (op && width == result && field::byte_op(*this, w, *op, width, a, b, c, immediate, out)) return true;
  if (op && width == 32 && result == 32) {
    if (const auto word = field::library_op(*this, w, *op, a, b)) {
      out = *word;
      return true;
    }
  }
  if (!field::is_integral(w, a) || !field::is_integral(w, b) || !field::is_integral(w, c)) {
    w.raise(kFieldBitView, op ? "`" + std::string(field::name(*op)) + "` on the bits of an abstract float"
                              : std::string("an integer operation on the bits of an abstract float"));
    return false;
  }
  // The extreme of two words of data is one of numbers, so that it does not matter with what it is taken first.
  const bool is_of_data = op && *op >= BitOp::MinU && width == result && field::has_tags(a) && field::has_tags(b);
  if (is_of_data) {
    if (const auto word = extreme_op(*this, w, *op, width, a, b)) {
      out = *word;
      return true;
    }
  }
  const auto x = field::bits_of(w, a), y = field::bits_of(w, b), z = field::bits_of(w, c);
  if (x && y && z) {
    std::optional<BitWord> bits;
    if (op && width == result) bits = field::bit_word_op(w, *op, width, *x, *y, *z, immediate);
    if (!bits) bits = field::tabulate(w, result, *x, *y, *z, fn);
    if (bits && !is_full(*bits)) {
      out = field::word_of(w, *bits, std::max(1U, result / 8));
      return true;
    }
  }
  if (op && width == result) {
    if (const auto word = number_op(*this, w, *op, width, a, b, c)) {
      out = *word;
      return true;
    }
  }
  refuse(w, op);
  return false;
}

Real Field::integer(const Word& word, unsigned bits, bool is_signed, bool wraps) {
  Inner& w = *inner_;
  for (unsigned k = 0; k < (bits + 7) / 8; ++k) {
    if (word.tags[k] != 0 && tag_value(word.tags[k]) == kUndefined) return {kUndefined};
  }
  if (const auto number = try_integer(w, word, bits, is_signed, wraps)) return *number;
  const bool is_integral = field::is_integral(w, word);
  w.raise(is_integral ? kFieldInteger : kFieldBitView,
          is_integral ? "a sum of products that may have wrapped, or a part of one, is used as a number"
                      : "the bytes of an abstract float are used as an integer");
  return {field::kPoisonId};
}

Word Field::integer_word(Real number, unsigned bytes) {
  Word word;
  if (number.is_concrete()) {
    word.bits = low_bits(number.bits, 8 * bytes);
    return word;
  }
  for (unsigned k = 0; k < bytes; ++k) word.tags[k] = make_tag(number.id, k);
  return word;
}

Real Field::from_integer(Format f, Real number, FloatMode mode) {
  Inner& w = *inner_;
  if (number.is_concrete()) return from_int(f, static_cast<std::int64_t>(number.bits), mode);
  const Value& v = w.peek(number.id);
  if (v.is_broken()) {
    w.raise(kFieldUndefined, "an integer that was never written becomes a float");
    return number;
  }
  const double bound = bound_of(w, v);
  w.get(number.id);
  ValueId id;
  Value& made = w.allocate(id);
  made = Value{};
  made.residues = w.peek(number.id).residues;
  made.numerator = w.peek(number.id).numerator;
  std::copy_n(w.peek(number.id).counts, kRoundingClasses, made.counts);
  made.flags = w.peek(number.id).flags;
  made.valid = w.peek(number.id).valid;
  made.set(f, w.peek(number.id).sign());
  const bool is_never_negative = field::is_at_least_zero(made.sign());
  return field::finish_fixed(w, f, id, mode, field::between(is_never_negative ? 0 : -bound, bound - 1, 0));
}

Field::Bool Field::compare(Compare op, unsigned width, bool is_signed, const Word& a, const Word& b) {
  Inner& w = *inner_;
  const bool is_below_infinity = (op == Compare::Lt || op == Compare::Ltu) && width == 32 && !is_signed &&
                                 !field::has_tags(b) && b.bits == 0x7f800000;
  if (is_below_infinity && field::is_non_negative_float(w, a)) return {0, true};
  const auto x = field::bits_of(w, a), y = field::bits_of(w, b);
  if (!x || !y) {
    w.raise(field::is_integral(w, a) && field::is_integral(w, b) ? kFieldInteger : kFieldBitView,
            "a comparison of integers whose bits are not known as functions of the input's");
    return {};
  }
  const auto is_below = [&](const BitWord& p, const BitWord& q) {
    return to_bool(w, field::below(w, width, is_signed, p, q));
  };
  switch (op) {
    case Compare::Lt:
    case Compare::Ltu:
      return is_below(*x, *y);
    case Compare::Gt:
    case Compare::Gtu:
      return is_below(*y, *x);
    case Compare::Le:
    case Compare::Leu:
      return logical_not(is_below(*y, *x));
    case Compare::Ge:
    case Compare::Geu:
      return logical_not(is_below(*x, *y));
    case Compare::Ne:
    case Compare::Neu:
      return logical_not(to_bool(w, field::equal(w, width, *x, *y)));
    default:
      return to_bool(w, field::equal(w, width, *x, *y));
  }
}

Word Field::select(unsigned width, Bool p, const Word& a, const Word& b) {
  Inner& w = *inner_;
  if (p.id == 0) return p.value ? a : b;
  const auto x = field::bits_of(w, a), y = field::bits_of(w, b);
  if (!x || !y) {
    w.raise(kFieldInteger, "a predicate on data chooses between words whose bits are not known");
    return a;
  }
  BitWord chosen;
  for (unsigned i = 0; i < width; ++i) chosen.bit[i] = w.predicates.if_then_else(p.id, x->bit[i], y->bit[i]);
  if (is_full(chosen)) {
    to_bool(w, Predicates::kFull);
    return a;
  }
  return field::word_of(w, chosen, width / 8);
}

bool Field::is_integer_choice(Bool p, const Word& a, const Word& b) const {
  Inner& w = *inner_;
  if (!field::is_integral(w, a) || !field::is_integral(w, b)) return false;
  if (field::has_tags(a) || field::has_tags(b)) return true;
  // Of two known words by bits of the input alone: a float read from the choice is the choice of the floats. So it is
  // by any predicate, but floats chosen at once are known better; no float that a program means is a small integer.
  if (p.id != 0 && w.predicates.variable(p.id) >= Predicates::kFirstBit) return true;
  const auto is_no_float = [](std::uint64_t bits) {
    const bool is_subnormal = bits != 0 && bits < 0x00800000;
    return is_subnormal || (bits <= 0xffffffff && (bits & 0x7fffffff) > 0x7f800000);
  };
  return is_no_float(a.bits) || is_no_float(b.bits);
}

namespace {

// Where nothing is data.
void known_dot(std::uint32_t m, std::uint32_t n, std::uint32_t k, const Real* a, const Real* b, const Real* c, Real* d,
               bool is_saturating) {
  for (std::size_t i = 0; i < std::size_t{m} * n; ++i) {
    std::uint64_t sum = c[i].bits;
    for (std::size_t l = 0; l < k; ++l) sum += a[i / n * k + l].bits * b[l * n + i % n].bits;
    using Limits = std::numeric_limits<std::int32_t>;
    const auto exact = static_cast<std::int64_t>(sum);
    const std::int64_t result = is_saturating ? std::clamp<std::int64_t>(exact, Limits::min(), Limits::max())
                                              : static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
    d[i] = {kNoValue, static_cast<std::uint64_t>(result)};
  }
}

}  // namespace

void Field::int_dot(std::uint32_t m, std::uint32_t n, std::uint32_t k, const Real* a, const Real* b, const Real* c,
                    Real* d, bool is_saturating) {
  Inner& w = *inner_;
  const auto are_known = [](const Real* x, std::size_t count) {
    return std::all_of(x, x + count, [](const Real& each) { return each.is_concrete(); });
  };
  if (are_known(a, std::size_t{m} * k) && are_known(b, std::size_t{k} * n) && are_known(c, std::size_t{m} * n)) {
    return known_dot(m, n, k, a, b, c, d, is_saturating);
  }
  std::vector<Residues> left(std::size_t{m} * k), right(std::size_t{n} * k), sums(std::size_t{m} * n);
  float degrees[2] = {0, 0};
  double bounds[2] = {0, 0};
  const auto take = [&](const Real& x, Residues& to, unsigned side) {
    if (!x.is_concrete() && w.peek(x.id).is_broken()) w.raise(kFieldUndefined, "an operand of an integer product");
    const Number number = number_of(w, x);
    to = number.residues;
    degrees[side] = std::max(degrees[side], number.degree);
    bounds[side] = std::max(bounds[side], number.bound);
  };
  for (std::size_t i = 0; i < left.size(); ++i) take(a[i], left[i], 0);
  for (std::size_t i = 0; i < right.size(); ++i) take(b[i % k * n + i / k], right[i], 1);
  const field::Segment segment{left.data(), right.data(), k};
  field::block_product(w.shared.modulus, std::span(&segment, 1), m, n, sums.data());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Number before = number_of(w, c[i]);
    Number after;
    after.residues = field::add(w.shared.modulus, sums[i], before.residues);
    after.degree = std::max(degrees[0] + degrees[1], before.degree);
    after.bound = k * (bounds[0] * bounds[1] + 1) + before.bound;
    if (is_saturating && after.bound > 0x1p31) {
      w.raise(kFieldInteger, "a product clamps a sum that may leave the range of 32 bits");
    }
    d[i] = made(w, 4, after);
  }
}

Real Field::read_integer(Buffer& buffer, std::uint64_t offset, unsigned bytes) {
  std::byte raw[8] = {};
  Word word;
  load(buffer, offset, bytes, raw, word.tags);
  for (unsigned k = 0; k < bytes; ++k) {
    if (word.tags[k] == 0) word.bits |= std::to_integer<std::uint64_t>(raw[k]) << 8 * k;
  }
  return integer(word, 8 * bytes, true, true);
}

Comparison Field::compare_integers(Real spec, Real candidate) {
  Inner& w = *inner_;
  if (spec.id == kUndefined || candidate.id == kUndefined) {
    return spec.id == candidate.id ? Comparison::Equal : Comparison::Undefined;
  }
  const Number a = number_of(w, spec), b = number_of(w, candidate);
  return field::key(a.residues) == field::key(b.residues) ? Comparison::Equal : Comparison::Different;
}

std::array<std::uint32_t, kLanes> Field::integer_residues(Real a) {
  Inner& w = *inner_;
  const Residues plain = field::from_form(w.shared.modulus, number_of(w, a).residues);
  std::array<std::uint32_t, kLanes> out{};
  std::copy(std::begin(plain.lane), std::end(plain.lane), out.begin());
  return out;
}

}  // namespace plumb::domain
