// SPDX-License-Identifier: Apache-2.0
// Exponentials by the homomorphism from level q to level p, logarithms back down, roots as variables of their own.
#include <algorithm>

#include "domain/field/arithmetic.h"
#include "domain/field/worker.h"

namespace plumb::domain::field {
namespace {

constexpr unsigned kTopLanes = 0x0f;

double total_degree(const Value& v) { return double{v.numerator} + double{v.denominator}; }

}  // namespace

ValueId Worker::exponential(Format f, ValueId a, bool is_counted) {
  if (peek(a).is_broken()) return a;
  if (peek(a).is(Kind::Log)) {
    const ValueId argument = peek(a).aux;
    const Residues& factor = get(peek(a).key_of_denominator).residues;
    if (key(factor) == key(shared.modulus.one)) return as_result(f, argument, a, a);
    if (key(factor) == key(field::neg(shared.modulus, shared.modulus.one))) {
      return as_result(f, div(f, kOneId, argument), a, a);
    }
  }
  const Value& x = get(a);
  if ((zero_lanes(x.residues) & kTopLanes) == kTopLanes) return lift(f, ieee.from_int(f, 1, {}));
  const bool is_guarded = is_at_most_zero(x.sign()) || x.is(Kind::Constant);
  ValueId id;
  Value& r = allocate(id);
  r = x;
  r.residues = shared.random(identity(x), Purpose::Exponent);
  const Residues top = shared.exponential(x.residues);
  std::copy_n(top.lane, kRepetitions, r.residues.lane);
  r.numerator = 1;
  r.denominator = 0;
  r.key_of_denominator = 1;
  r.kind = static_cast<std::uint8_t>(Kind::Exponential);
  r.aux = a;
  r.set(f, Sign::Positive);
  // The upper lane needs the lower one of its repetition; the lower ones are functions of all upper ones.
  r.valid = static_cast<std::uint8_t>(x.valid >> kRepetitions | (is_identified(x) ? 0xf0 : 0));
  if (is_counted) {
    ++facts.exponentials;
    if (!is_guarded) {
      ++facts.unguarded_exponentials;
      r.flags |= Signature::kUnguardedExp;
    }
  }
  if ((x.flags & kHasExponential) != 0) facts.uses_exponential_of_exponential = true;
  r.flags |= kHasExponential;
  facts.largest_exponent_degree = std::max(facts.largest_exponent_degree, total_degree(x));
  return id;
}

// factor * log2(a)
ValueId Worker::logarithm(Format f, ValueId a, ValueId factor) {
  if (peek(a).is_broken()) return a;
  if (peek(a).is(Kind::Exponential)) return inherit(f, mul(f, peek(a).aux, factor), a, a);
  const Value& x = get(a);
  const Value& c = get(factor);
  const unsigned zeros = zero_lanes(x.residues);
  if ((zeros & kTopLanes) == kTopLanes) return kPoisonId;
  const Residues inverted = inverse(shared.modulus, x.residues);
  const bool is_inverted = key(inverted) < key(x.residues);
  if (key(x.residues) == key(shared.modulus.one)) return lift(f, 0);
  note_atom(x);
  ValueId id;
  Value& r = allocate(id);
  r = x;
  // log(1/a) = -log(a): one variable for both.
  const Key k = shared.identity(is_inverted ? inverted : x.residues, (x.flags & kHasExponential) != 0);
  r.residues = field::mul(shared.modulus, c.residues, shared.random(k, Purpose::Logarithm));
  if (is_inverted) r.residues = field::neg(shared.modulus, r.residues);
  r.numerator = 1 + c.numerator;
  r.denominator = c.denominator;
  r.kind = static_cast<std::uint8_t>(Kind::Log) | kLazy;
  r.aux = a;
  r.key_of_denominator = factor;
  r.set(f, Sign::Unknown);
  r.valid = is_identified(x) ? static_cast<std::uint8_t>(0xff & ~(zeros << kRepetitions)) : 0;
  return id;
}

void Worker::force_logarithm(Value& v) {
  const Residues argument = from_form(shared.modulus, get(v.aux).residues);
  Residues exponents;
  for (unsigned r = 0; r < kRepetitions; ++r) {
    if (argument.lane[r] != 0) exponents.lane[r + kRepetitions] = shared.logarithms(r, argument.lane[r]);
  }
  const Residues& factor = get(v.key_of_denominator).residues;
  const Residues lower = field::mul(shared.modulus, factor, to_form(shared.modulus, exponents));
  std::copy_n(lower.lane + kRepetitions, kRepetitions, v.residues.lane + kRepetitions);
}

// c log(E) + c log(F) = c log(EF) and c log(E) + b = c log(E 2^(b/c)): the same value whichever way it was put
// together.
ValueId Worker::log_sum(Format f, ValueId a, ValueId b) {
  if (!peek(a).is(Kind::Log)) std::swap(a, b);
  const ValueId factor = peek(a).key_of_denominator, argument = peek(a).aux;
  if (!peek(b).is(Kind::Log)) {
    const ValueId exponent = div(f, b, factor);
    const ValueId moved = mul(f, argument, exponential(f, exponent, false));
    // What a library's routine took out of its argument is back: it is the argument again, and not one that went
    // through exponentials.
    const auto base = log_bases.empty() ? log_bases.end() : log_bases.find(key(get(moved).residues));
    if (base == log_bases.end()) return as_result(f, logarithm(f, moved, factor), a, b);
    const ValueId sum = as_result(f, logarithm(f, base->second, factor), a, b);
    if (!peek(sum).is_broken() && (peek(base->second).flags & kHasExponential) == 0) {
      peek(sum).flags &= static_cast<std::uint8_t>(~kHasExponential);
    }
    return sum;
  }
  const ValueId other = peek(b).key_of_denominator;
  if (equal(factor, other)) {
    return as_result(f, logarithm(f, mul(f, argument, peek(b).aux), factor), a, b);
  }
  if (equal(factor, neg(f, other))) {
    return as_result(f, logarithm(f, div(f, argument, peek(b).aux), factor), a, b);
  }
  return kNoValue;
}

ValueId Worker::root(Format f, ValueId a) {
  if (peek(a).is_broken()) return a;
  const Value& x = get(a);
  if ((zero_lanes(x.residues) & kTopLanes) == kTopLanes) return a;
  const Sign s = x.sign();
  const ValueId id = atom(f, a, Purpose::SquareRoot);
  Value& r = peek(id);
  r.kind = static_cast<std::uint8_t>(Kind::Root);
  r.aux = a;
  r.set(is_positive(s) ? s : Sign::NonNegative);
  return id;
}

ValueId Worker::inverse_root(Format f, ValueId a) {
  const Value& s = get(a);
  ValueId id;
  Value& r = allocate(id);
  r = s;
  r.residues = inverse(shared.modulus, s.residues);
  r.numerator = 0;
  r.denominator = 1;
  r.key_of_denominator = denominator_key_of(s.residues);
  r.kind = static_cast<std::uint8_t>(Kind::InverseRoot);
  r.set(f, Sign::Positive);
  r.valid = static_cast<std::uint8_t>(r.valid & ~zero_lanes(s.residues));
  return id;
}

}  // namespace plumb::domain::field
