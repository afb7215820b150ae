// SPDX-License-Identifier: Apache-2.0
#include "domain/field/library.h"

#include <algorithm>
#include <array>

#include "domain/field/arithmetic.h"

namespace plumb::domain::field {
namespace {

// y = m 2^k with m at least `split` and below twice that; log(y) = k `unit` + slope u + u^2 polynomial(u), u = m - 1.
struct Routine {
  std::uint32_t split;
  std::uint32_t unit;   // the logarithm of two
  std::uint32_t slope;  // that of one unit of m - 1
  std::array<std::uint32_t, 10> polynomial;
  unsigned terms;  // of the polynomial, highest first
  Purpose mantissa, binade;
  const char* name;
};

constexpr std::uint32_t kOne = 0x3f800000, kMinusOne = 0xbf800000, kExponentMask = 0xff800000;
constexpr Routine kRoutines[] = {
    {0x3f2aaaab,
     0x3f317218,
     kOne,
     {0xbe055027, 0x3e1039f6, 0xbdf8cdcc, 0x3e0f2955, 0xbe2ad8b9, 0x3e4ced0b, 0xbe7fff22, 0x3eaaaa78, 0xbf000000},
     9,
     Purpose::Mantissa,
     Purpose::Binade,
     "the body of libdevice's logarithm of f32 is log(x), to its stated error of 1 ulp"},
    {0x3f3504f3,
     kOne,
     0x3fb8aa3b,
     {0x3dc6b27f, 0xbe2c7f30, 0x3e2fcf2a, 0xbe374e43, 0x3e520bf4, 0xbe763c8b, 0x3e93bf99, 0xbeb8aa49, 0x3ef6384a,
      0xbf38aa3b},
     10,
     Purpose::MantissaOfLog2,
     Purpose::BinadeOfLog2,
     "the body of libdevice's binary logarithm of f32 is log2(x), to its stated error of 1 ulp"}};
constexpr int kRescale = 23;
constexpr std::uint32_t kRescaleBits = 0x41b80000;  // as a float

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

Value& made(Worker& w, Format f, Kind kind, const Residues& residues, ValueId& id) {
  Value& v = w.allocate(id);
  v = Value{};
  v.residues = residues;
  v.numerator = 1;
  v.kind = static_cast<std::uint8_t>(kind);
  v.set(f, Sign::Unknown);
  w.fresh = kNoValue;
  return v;
}

// A variable of the number that `of` is: as well known, and rounded as often.
ValueId variable(Worker& w, Format f, const Residues& residues, const Value& of) {
  ValueId id;
  Value& v = made(w, f, Kind::Plain, residues, id);
  std::copy_n(of.counts, kRoundingClasses, v.counts);
  v.flags = of.flags;
  v.valid = Worker::is_identified(of) ? 0xff : 0;
  return id;
}

// The bits of `of` after a step of a routine.
ValueId bits(Worker& w, Kind kind, ValueId of, std::uint32_t routine) {
  ValueId id;
  Value& v = made(w, integer_format(4), kind, {}, id);
  v.aux = of;
  v.key_of_denominator = routine;
  return id;
}

Word four_bytes(ValueId id) {
  Word word;
  for (unsigned k = 0; k < 4; ++k) word.tags[k] = make_tag(id, k);
  return word;
}

// m, and what the polynomial in it is.
ValueId mantissa(Worker& w, ValueId y, std::uint32_t index) {
  const Routine& routine = kRoutines[index];
  const Value& v = w.get(y);
  w.note_atom(v);
  const Key name = w.identity(v);
  const Modulus& m = w.shared.modulus;
  const Residues power = w.shared.random(name, routine.mantissa);
  const auto literal = [&](std::uint32_t bits) { return w.peek(w.lift(Format::F32, bits)).residues; };
  const Residues u = add(m, power, literal(kMinusOne));
  Residues t = literal(routine.polynomial[0]);
  for (unsigned i = 1; i < routine.terms; ++i) t = add(m, mul(m, t, u), literal(routine.polynomial[i]));
  t = add(m, mul(m, mul(m, t, u), u), mul(m, u, literal(routine.slope)));
  const ValueId exponent = variable(w, Format::F32, w.shared.random(name, routine.binade), v);
  w.log_targets[key(t)] = {y, exponent, index};
  const ValueId id = variable(w, Format::F32, power, v);
  w.peek(id).set(Sign::Positive);
  return id;
}

}  // namespace

std::optional<Word> library_op(Field& field, Worker& w, BitOp op, const Word& a, const Word& b) {
  const ValueId x = whole(a);
  if (x == kNoValue) return std::nullopt;
  if (op == BitOp::Add && is_float(w, x)) {
    for (std::uint32_t i = 0; i < std::size(kRoutines); ++i) {
      if (is_number(b, 0U - kRoutines[i].split)) return four_bytes(bits(w, Kind::BitsLessSplit, x, i));
    }
  }
  if (op == BitOp::And && w.peek(x).is(Kind::BitsLessSplit) && is_number(b, kExponentMask)) {
    const Value& less = w.peek(x);
    return four_bytes(bits(w, Kind::ExponentBits, less.aux, less.key_of_denominator));
  }
  const ValueId y = whole(b);
  if (op == BitOp::Sub && is_float(w, x) && y != kNoValue && w.peek(y).is(Kind::ExponentBits) && w.peek(y).aux == x) {
    return field.to_word(Format::F32, {mantissa(w, x, w.peek(y).key_of_denominator)});
  }
  return std::nullopt;
}

std::optional<ValueId> library_integer(Worker& w, const Word& word) {
  const ValueId id = whole(word);
  if (id == kNoValue || !w.peek(id).is(Kind::ExponentBits)) return std::nullopt;
  const Value& y = w.get(w.peek(id).aux);
  const Modulus& m = w.shared.modulus;
  const Residues k = w.shared.random(w.identity(y), kRoutines[w.peek(id).key_of_denominator].binade);
  const ValueId out = variable(w, integer_format(4), mul(m, k, from_integer(m, 1U << 23)), y);
  set_bound(w.peek(out), 0x1p31F);
  return out;
}

Field::Real recognised(Field& field, Worker& w, Field::Real sum) {
  if (sum.is_concrete() || w.peek(sum.id).is_broken() || w.peek(sum.id).is(Kind::Log)) return sum;
  const auto found = w.log_targets.find(key(w.get(sum.id).residues));
  if (found == w.log_targets.end()) return sum;
  const auto [y, exponent, index] = found->second;
  const Routine& routine = kRoutines[index];
  const ValueId unit = w.lift(Format::F32, routine.unit);
  const auto rescaled = w.rescaled.find(y);
  const Field::Real argument{rescaled != w.rescaled.end() ? rescaled->second.base : y};
  const Field::Real logarithm =
      routine.unit == kOne ? field.lg2(Format::F32, argument, {}) : field.log(Format::F32, argument);
  if (logarithm.is_concrete()) return sum;
  w.shared.assume({"library", routine.name});
  if (w.log_bases.emplace(key(w.get(argument.id).residues), argument.id).second) ++w.facts.exponential_atoms;
  ValueId out = w.sub(Format::F32, logarithm.id, w.mul(Format::F32, exponent, unit));
  if (rescaled != w.rescaled.end()) {
    const Predicates::Id p = rescaled->second.below;
    ValueId indicator;
    Value& i = made(w, Format::F32, Kind::Plain, w.predicates.value(p), indicator);
    i.numerator = static_cast<float>(w.predicates.degree(p));
    i.set(Sign::NonNegative);
    const ValueId by = w.lift(Format::F32, kRescaleBits);
    out = w.add(Format::F32, out, w.mul(Format::F32, w.mul(Format::F32, indicator, by), unit));
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
