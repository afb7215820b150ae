// SPDX-License-Identifier: Apache-2.0
#include "domain/field/library.h"

#include <algorithm>
#include <cmath>

#include "domain/field/arithmetic.h"

namespace plumb::domain::field {
namespace {

constexpr std::uint32_t kTwoThirds = 0x3f2aaaab, kExponentMask = 0xff800000;
constexpr std::uint32_t kMinusOne = 0xbf800000, kLn2 = 0x3f317218;
// Of the polynomial in m - 1 that is multiplied by (m - 1)^2 before m - 1 is added, highest first.
constexpr std::uint32_t kLogarithm[] = {0xbe055027, 0x3e1039f6, 0xbdf8cdcc, 0x3e0f2955, 0xbe2ad8b9,
                                        0x3e4ced0b, 0xbe7fff22, 0x3eaaaa78, 0xbf000000};
constexpr int kRescale = 23;

// The value whose four bytes stand in order, or kNoValue.
ValueId whole(const Word& word) {
  const ValueId id = tag_value(word.tags[0]);
  for (unsigned k = 0; k < 4; ++k) {
    if (word.tags[k] == 0 || word.tags[k] != make_tag(id, k)) return kNoValue;
  }
  return id < kFirstValue ? kNoValue : id;
}

bool is_number(const Word& word, std::uint32_t bits) {
  return std::all_of(word.tags, word.tags + 4, [](Tag tag) { return tag == 0; }) &&
         static_cast<std::uint32_t>(word.bits) == bits;
}

bool is_float(Worker& w, ValueId id) {
  return id != kNoValue && w.format_of(id) == Format::F32 && !w.peek(id).is_broken();
}

ValueId made(Worker& w, Format f, Kind kind, const Residues& residues, std::uint32_t aux, Sign s) {
  ValueId id;
  Value& v = w.allocate(id);
  v = Value{};
  v.residues = residues;
  v.numerator = 1;
  v.kind = static_cast<std::uint8_t>(kind);
  v.aux = aux;
  v.set(f, s);
  w.fresh = kNoValue;
  return id;
}

Word four_bytes(ValueId id) {
  Word word;
  for (unsigned k = 0; k < 4; ++k) word.tags[k] = make_tag(id, k);
  return word;
}

// m, and what the polynomial in it is.
ValueId mantissa(Worker& w, ValueId y) {
  const Value& v = w.get(y);
  w.note_atom(v);
  const Key name = w.identity(v);
  const Modulus& m = w.shared.modulus;
  const Residues power = w.shared.random(name, Purpose::Mantissa);
  const auto literal = [&](std::uint32_t bits) { return w.peek(w.lift(Format::F32, bits)).residues; };
  const Residues less_one = add(m, power, literal(kMinusOne));
  Residues t = literal(kLogarithm[0]);
  for (std::size_t i = 1; i < std::size(kLogarithm); ++i) t = add(m, mul(m, t, less_one), literal(kLogarithm[i]));
  t = add(m, mul(m, mul(m, t, less_one), less_one), less_one);
  const ValueId exponent = made(w, Format::F32, Kind::Plain, w.shared.random(name, Purpose::Binade), 0, Sign::Unknown);
  w.log_targets[key(t)] = {y, exponent};
  const ValueId id = made(w, Format::F32, Kind::Plain, power, 0, Sign::Positive);
  for (Value* each : {&w.peek(id), &w.peek(exponent)}) {
    std::copy_n(v.counts, kRoundingClasses, each->counts);
    each->flags = v.flags;
    each->valid = Worker::is_identified(v) ? 0xff : 0;
  }
  return id;
}

}  // namespace

std::optional<Word> library_op(Field& field, Worker& w, BitOp op, const Word& a, const Word& b) {
  const ValueId x = whole(a);
  if (x == kNoValue) return std::nullopt;
  if (op == BitOp::Add && is_float(w, x) && is_number(b, 0U - kTwoThirds)) {
    return four_bytes(made(w, integer_format(4), Kind::BitsLessTwoThirds, {}, x, Sign::Unknown));
  }
  if (op == BitOp::And && w.peek(x).is(Kind::BitsLessTwoThirds) && is_number(b, kExponentMask)) {
    return four_bytes(made(w, integer_format(4), Kind::ExponentBits, {}, w.peek(x).aux, Sign::Unknown));
  }
  const ValueId y = whole(b);
  if (op == BitOp::Sub && is_float(w, x) && y != kNoValue && w.peek(y).is(Kind::ExponentBits) && w.peek(y).aux == x) {
    return field.to_word(Format::F32, {mantissa(w, x)});
  }
  return std::nullopt;
}

std::optional<ValueId> library_integer(Worker& w, const Word& word) {
  const ValueId id = whole(word);
  if (id == kNoValue || !w.peek(id).is(Kind::ExponentBits)) return std::nullopt;
  const Value& y = w.get(w.peek(id).aux);
  const Modulus& m = w.shared.modulus;
  const Residues k = w.shared.random(w.identity(y), Purpose::Binade);
  const ValueId out = made(w, integer_format(4), Kind::Plain, mul(m, k, from_integer(m, 1U << 23)), 0, Sign::Unknown);
  Value& v = w.peek(out);
  std::copy_n(y.counts, kRoundingClasses, v.counts);
  v.flags = y.flags;
  v.valid = Worker::is_identified(y) ? 0xff : 0;
  set_bound(v, 0x1p31F);
  return out;
}

Field::Real recognised(Field& field, Worker& w, Field::Real sum) {
  if (sum.is_concrete() || w.peek(sum.id).is_broken()) return sum;
  const auto found = w.log_targets.find(key(w.get(sum.id).residues));
  if (found == w.log_targets.end()) return sum;
  const auto [y, exponent] = found->second;
  w.shared.assume({"library", "the body of libdevice's logarithm of f32 is log(x), to its stated error of 1 ulp"});
  const ValueId ln2 = w.lift(Format::F32, kLn2);
  const auto rescaled = w.rescaled.find(y);
  const Field::Real logarithm = field.log(Format::F32, {rescaled != w.rescaled.end() ? rescaled->second.base : y});
  if (logarithm.is_concrete()) return sum;
  ValueId out = w.sub(Format::F32, logarithm.id, w.mul(Format::F32, exponent, ln2));
  if (rescaled != w.rescaled.end()) {
    const Predicates::Id p = rescaled->second.below;
    const ValueId indicator = made(w, Format::F32, Kind::Plain, w.predicates.value(p), 0, Sign::NonNegative);
    w.peek(indicator).numerator = static_cast<float>(w.predicates.degree(p));
    const ValueId by = w.lift(Format::F32, 0x41b80000);  // 23
    out = w.add(Format::F32, out, w.mul(Format::F32, w.mul(Format::F32, indicator, by), ln2));
  }
  return w.finish(Format::F32, out, {}, true);
}

void note_rescaled(Worker& w, ValueId result, Predicates::Id p, ValueId scaled, ValueId x) {
  const Modulus& m = w.shared.modulus;
  const Residues expected = mul(m, w.get(x).residues, from_integer(m, std::uint64_t{1} << kRescale));
  if (key(w.get(scaled).residues) == key(expected)) w.rescaled[result] = {x, p};
}

bool is_non_negative_float(Worker& w, const Word& word) {
  const ValueId id = whole(word);
  return is_float(w, id) && is_at_least_zero(w.peek(id).sign());
}

}  // namespace plumb::domain::field
