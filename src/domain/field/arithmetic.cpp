// SPDX-License-Identifier: Apache-2.0
#include "domain/field/arithmetic.h"

#include <cmath>

#include "domain/field/worker.h"

namespace plumb::domain::field {
namespace {

constexpr std::uint8_t kFastKinds = 3;  // Plain, Constant and Exponential: residues alone
constexpr unsigned kTopLanes = 0x0f;

bool is_constant(const Value& v) { return v.is(Kind::Constant); }

// Marks r as the constant `approximation`, whose sign is known unless it cancelled.
void set_constant(Value& r, double approximation, double magnitude) {
  r.kind = static_cast<std::uint8_t>(Kind::Constant);
  r.set_approximation(approximation);
  const bool is_certain = std::abs(approximation) > 1e-9 * magnitude;
  r.set(is_certain ? sign_of(approximation) : Sign::Unknown);
}

}  // namespace

ValueId Worker::add(Format f, ValueId a, ValueId b) {
  if (((peek(a).kind | peek(b).kind) & ~kFastKinds) != 0) {
    if (peek(a).is_broken()) return a;
    if (peek(b).is_broken()) return b;
    if (peek(a).is(Kind::Log) || peek(b).is(Kind::Log)) {
      if (const ValueId sum = log_sum(f, a, b); sum != kNoValue) return sum;
    }
  }
  const Value &x = get(a), &y = get(b);
  Sign s = sign_of_sum(x.sign(), y.sign());
  if (s == Sign::Unknown && ((x.kind | y.kind) & ~kFastKinds) != 0) s = sign_against_maximum(a, b);
  ValueId id;
  Value& r = allocate(id);
  r.residues = field::add(shared.modulus, x.residues, y.residues);
  derive_sum(r, x, y, f, s);
  if (is_constant(x) && is_constant(y)) {
    const double p = x.approximation(), q = y.approximation();
    set_constant(r, p + q, std::abs(p) + std::abs(q));
  }
  return id;
}

ValueId Worker::sub(Format f, ValueId a, ValueId b) {
  if (((peek(a).kind | peek(b).kind) & ~kFastKinds) != 0) return add(f, a, neg(f, b));
  const Value &x = peek(a), &y = peek(b);
  ValueId id;
  Value& r = allocate(id);
  r.residues = field::sub(shared.modulus, x.residues, y.residues);
  derive_sum(r, x, y, f, sign_of_sum(x.sign(), negated(y.sign())));
  if (is_constant(x) && is_constant(y)) {
    const double p = x.approximation(), q = y.approximation();
    set_constant(r, p - q, std::abs(p) + std::abs(q));
  }
  return id;
}

ValueId Worker::neg(Format f, ValueId a) {
  const Value& x = peek(a);
  if (x.is_broken()) return a;
  ValueId id;
  if (x.is(Kind::Log)) {
    const ValueId factor = neg(f, x.key_of_denominator);
    return as_result(f, logarithm(f, x.aux, factor), a, a);
  }
  if (x.is(Kind::Maximum) || x.is(Kind::Minimum) || x.is(Kind::Scaled)) {
    return mul(f, a, lift(Format::F32, ieee::bits_of(-1.0F)));
  }
  Value& r = allocate(id);
  r = get(a);
  r.residues = field::neg(shared.modulus, r.residues);
  r.set(f, negated(x.sign()));
  if (is_constant(x)) {
    r.set_approximation(-x.approximation());
  } else {
    r.kind = static_cast<std::uint8_t>(Kind::Plain);
    r.key_of_denominator = denominator_key(x);
    r.aux = 0;
  }
  return id;
}

ValueId Worker::copy(Format f, ValueId a) {
  const Value& x = peek(a);
  if (x.is_broken() || x.format() == f) return a;
  get_for_copy(a);
  ValueId id;
  Value& r = allocate(id);
  r = peek(a);
  r.set(f);
  return id;
}

ValueId Worker::inherit(Format f, ValueId number, ValueId a, ValueId b) {
  if (peek(number).is_broken()) return number;
  const Value& n = get_for_copy(number);
  ValueId id;
  Value& r = allocate(id);
  r = n;
  for (const ValueId from : {a, b}) {
    const Value& v = peek(from);
    for (unsigned i = 0; i < kRoundingClasses; ++i) r.counts[i] = std::max(r.counts[i], v.counts[i]);
    r.flags |= v.flags;
    r.valid &= v.valid;
  }
  r.set(f);
  return id;
}

ValueId Worker::as_result(Format f, ValueId form, ValueId a, ValueId b) {
  const ValueId id = inherit(f, form, a, b);
  Value& v = peek(id);
  if (v.is_broken()) return id;
  const Value &x = peek(a), &y = peek(b);
  for (unsigned i = 0; i < kRoundingClasses; ++i) v.counts[i] = std::max(x.counts[i], y.counts[i]);
  return id;
}

// The products that have a normal form of their own; kNoValue for the others.
ValueId Worker::special_product(Format f, ValueId a, ValueId b) {
  const Kind x = peek(a).raw_kind(), y = peek(b).raw_kind();
  if (x == Kind::Constant && y > Kind::Exponential) return special_product(f, b, a);
  if (y == Kind::Constant && is_strict(peek(b).sign())) {
    if (x == Kind::Log) {
      const ValueId factor = mul(f, peek(a).key_of_denominator, b);
      return logarithm(f, peek(a).aux, factor);
    }
    if (x == Kind::Maximum || x == Kind::Minimum || x == Kind::Scaled) return scaled(f, a, b);
  }
  if (x == y && peek(a).aux == peek(b).aux) {
    const ValueId base = peek(a).aux;
    if (x == Kind::Root) return base;
    if (x == Kind::InverseRoot) return div(f, kOneId, base);
    if (x == Kind::Absolute) return mul(f, base, base);
  }
  if (y == Kind::InverseRoot && equal(a, peek(b).aux)) return root(f, peek(b).aux);
  if (x == Kind::InverseRoot && equal(b, peek(a).aux)) return root(f, peek(a).aux);
  return kNoValue;
}

ValueId Worker::scaled(Format f, ValueId a, ValueId factor) {
  const Value& x = peek(a);
  Scaling scaling{a, factor};
  if (x.is(Kind::Scaled)) {
    const Scaling inner = scalings[x.aux];
    scaling = {inner.base, mul(f, inner.factor, factor)};
  }
  const Value& base = peek(scaling.base);
  const Value& k = peek(scaling.factor);
  ValueId id;
  Value& r = allocate(id);
  derive_product(r, base, k, f, sign_of_product(base.sign(), k.sign()));
  r.kind = static_cast<std::uint8_t>(Kind::Scaled) | kLazy;
  r.aux = static_cast<std::uint32_t>(scalings.size());
  scalings.push_back(scaling);
  return id;
}

void Worker::note_scale(ValueId constant) {
  ValueId& noted = noted_scales[constant % noted_scales.size()];
  if (noted == constant) return;
  noted = constant;
  const Value& v = peek(constant);
  if (!is_strict(v.sign())) return;
  shared.note_scale(v.sign() == Sign::Negative ? field::neg(shared.modulus, v.residues) : v.residues);
}

ValueId Worker::mul(Format f, ValueId a, ValueId b) {
  if (((peek(a).kind | peek(b).kind) & ~kFastKinds) != 0) {
    if (peek(a).is_broken()) return a;
    if (peek(b).is_broken()) return b;
    if (const ValueId product = special_product(f, a, b); product != kNoValue) return as_result(f, product, a, b);
  }
  const Value &x = get(a), &y = get(b);
  Sign s = sign_of_product(x.sign(), y.sign());
  if (s == Sign::Unknown && equal(a, b)) s = Sign::NonNegative;
  ValueId id;
  Value& r = allocate(id);
  r.residues = field::mul(shared.modulus, x.residues, y.residues);
  derive_product(r, x, y, f, s);
  if (is_constant(x) != is_constant(y)) note_scale(is_constant(x) ? a : b);
  if (is_constant(x) && is_constant(y)) {
    const double product = x.approximation() * y.approximation();
    set_constant(r, product, std::abs(product));
  }
  return id;
}

ValueId Worker::fma(Format f, ValueId a, ValueId b, ValueId c) {
  const Value &x = peek(a), &y = peek(b), &z = peek(c);
  const bool is_fast = ((x.kind | y.kind | z.kind) & ~kFastKinds) == 0;
  if (!is_fast || (is_constant(x) && is_constant(y))) return add(f, mul(f, a, b), c);
  Sign s = sign_of_product(x.sign(), y.sign());
  if (s == Sign::Unknown && equal(a, b)) s = Sign::NonNegative;
  Value product;
  product.residues = field::mul(shared.modulus, x.residues, y.residues);
  derive_product(product, x, y, f, s);
  if (is_constant(x) != is_constant(y)) note_scale(is_constant(x) ? a : b);
  ValueId id;
  Value& r = allocate(id);
  r.residues = field::add(shared.modulus, product.residues, z.residues);
  derive_sum(r, product, z, f, sign_of_sum(s, z.sign()));
  return id;
}

Residues Worker::reciprocal(ValueId id) {
  if (id == kOneId) return shared.modulus.one;
  Inverse& cached = inverses[id % inverses.size()];
  if (cached.of != id) cached = {id, inverse(shared.modulus, get(id).residues)};
  return cached.residues;
}

ValueId Worker::div(Format f, ValueId a, ValueId b) {
  if (peek(a).is_broken()) return a;
  if (peek(b).is_broken()) return b;
  const Value& y = get(b);
  if (y.is(Kind::Root)) {
    if (equal(a, y.aux)) return as_result(f, root(f, y.aux), a, b);
    if (equal(a, kOneId)) return as_result(f, inverse_root(f, b), a, b);
  }
  const unsigned zeros = zero_lanes(y.residues);
  if ((zeros & kTopLanes) == kTopLanes) return kPoisonId;
  const bool by_constant = is_constant(y);
  if (!by_constant) {
    ++facts.divisions;
    if (!is_strict(y.sign())) denominators.insert(key(y.residues));
  } else if (((peek(a).kind) & ~kFastKinds) != 0) {
    return mul(f, a, div(f, kOneId, b));
  }
  const Value& x = get(a);
  ValueId id;
  Value& r = allocate(id);
  r.residues = field::mul(shared.modulus, x.residues, reciprocal(b));
  derive_product(r, x, y, f, sign_of_quotient(x.sign(), y.sign()));
  r.numerator = x.numerator + y.denominator;
  r.denominator = x.denominator + y.numerator;
  r.key_of_denominator = denominator_key(x) * (by_constant ? 1 : denominator_key_of(y.residues));
  r.valid = static_cast<std::uint8_t>(r.valid & ~zeros);
  if (!by_constant && !is_strict(y.sign())) r.flags |= Signature::kUnprovenDomain;
  if (by_constant && !is_constant(x)) note_scale(b);
  if (by_constant && is_constant(x)) {
    const double quotient = x.approximation() / y.approximation();
    set_constant(r, quotient, std::abs(quotient));
  }
  return id;
}

namespace {

// Known to be neither tiny nor huge, or at least one: a quotient that is lost then is below 2^-126. Sums of
// exponentials that are all guarded count, since one of their terms is 2^0 where the maximum was taken out; that
// nothing else was added to them is not known where a running maximum began at a finite number, which hides the sum's
// sign.
bool is_middling(const Value& v) {
  if (is_constant(v)) return std::abs(v.approximation()) >= 0x1p-126 && std::abs(v.approximation()) <= 0x1p126;
  if (v.sign() == Sign::AtLeastOne) return true;
  const bool is_guarded = (v.flags & kHasExponential) != 0 && (v.flags & Signature::kUnguardedExp) == 0;
  return is_guarded && !is_at_most_zero(v.sign()) && !v.is(Kind::Exponential);
}

}  // namespace

ValueId Worker::div_by(Format f, ValueId a, ValueId b, FloatMode mode) {
  const ValueId id = div(f, a, b);
  // The f64 forms are good to twenty bits whatever the divisor.
  if (mode.narrow && id == fresh && (f == Format::F64 || !is_middling(get(b)))) {
    peek(id).flags |= Signature::kNarrowDivision;
  }
  return id;
}

ValueId Worker::atom(Format f, ValueId a, Purpose purpose) {
  if (peek(a).is_broken()) return a;
  const Value& x = get(a);
  note_atom(x);
  ValueId id;
  Value& r = allocate(id);
  r = x;
  r.residues = shared.random(identity(x), purpose);
  r.numerator = 1;
  r.denominator = 0;
  r.key_of_denominator = 1;
  r.aux = 0;
  r.kind = static_cast<std::uint8_t>(Kind::Plain);
  r.set(f, Sign::Unknown);
  // A key over a lane that is not meaningful says nothing: no lane of the atom is.
  r.valid = is_identified(x) ? 0xff : 0;
  return id;
}

void Worker::note_atom(const Value& argument) {
  ++((argument.flags & kHasExponential) != 0 ? facts.exponential_atoms : facts.atoms);
  facts.largest_degree = std::max(facts.largest_degree, double{argument.numerator} + double{argument.denominator});
}

ValueId Worker::odd_atom(Format f, ValueId a, Purpose purpose) {
  if (peek(a).is_broken()) return a;
  const Value& x = get(a);
  if (key(x.residues) <= key(field::neg(shared.modulus, x.residues))) return atom(f, a, purpose);
  return neg(f, atom(f, neg(f, a), purpose));
}

ValueId Worker::even_atom(Format f, ValueId a, Purpose purpose) {
  if (peek(a).is_broken()) return a;
  const Value& x = get(a);
  const bool is_canonical = key(x.residues) <= key(field::neg(shared.modulus, x.residues));
  return atom(f, is_canonical ? a : neg(f, a), purpose);
}

}  // namespace plumb::domain::field
