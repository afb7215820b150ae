// SPDX-License-Identifier: Apache-2.0
// Comparisons, predicates and selects of `Field`.
#include "domain/field/arithmetic.h"
#include "domain/field/fixed.h"
#include "domain/field/library.h"
#include "domain/field/number.h"
#include "domain/field/worker.h"

namespace plumb::domain {
namespace {

using field::Class;
using field::Predicates;
using field::Worker;
using Real = Field::Real;
using Bool = Field::Bool;
using Relation = Predicates::Relation;

// Numbers only: values of the domain are never NaN, so the unordered forms are the ordered ones.
std::optional<Relation> relation_of(Compare op) {
  switch (op) {
    case Compare::Eq:
    case Compare::Equ:
      return Relation::Equal;
    case Compare::Ne:
    case Compare::Neu:
      return Relation::NotEqual;
    case Compare::Lt:
    case Compare::Ltu:
      return Relation::Below;
    case Compare::Le:
    case Compare::Leu:
      return Relation::AtMost;
    case Compare::Gt:
    case Compare::Gtu:
      return Relation::Above;
    case Compare::Ge:
    case Compare::Geu:
      return Relation::AtLeast;
    case Compare::Num:
    case Compare::Nan:
      break;
  }
  return std::nullopt;
}

Relation mirrored(Relation r) {
  switch (r) {
    case Relation::Above:
      return Relation::Below;
    case Relation::AtLeast:
      return Relation::AtMost;
    case Relation::Below:
      return Relation::Above;
    case Relation::AtMost:
      return Relation::AtLeast;
    case Relation::Equal:
    case Relation::NotEqual:
      break;
  }
  return r;
}

// Whether `number` (by its sign: -1, 0, 1) stands in the relation to zero.
bool holds(Relation r, int sign) {
  switch (r) {
    case Relation::Above:
      return sign > 0;
    case Relation::AtLeast:
      return sign >= 0;
    case Relation::Below:
      return sign < 0;
    case Relation::AtMost:
      return sign <= 0;
    case Relation::Equal:
      return sign == 0;
    case Relation::NotEqual:
      return sign != 0;
  }
  return false;
}

// What a sign that may be zero decides.
std::optional<bool> holds(Relation r, Sign s) {
  if (s == Sign::NonNegative) {
    if (r == Relation::AtLeast) return true;
    if (r == Relation::Below) return false;
  }
  if (s == Sign::NonPositive) {
    if (r == Relation::AtMost) return true;
    if (r == Relation::Above) return false;
  }
  return std::nullopt;
}

Bool to_bool(Worker& w, Predicates::Id id) {
  if (id == Predicates::kFalse || id == Predicates::kTrue) return {0, id == Predicates::kTrue};
  if (id == Predicates::kFull) {
    w.raise(kFieldPredicate, "too many predicates on data in one unit");
    return {0, false};
  }
  return {id, false};
}
Predicates::Id to_id(Bool p) { return p.id != 0 ? p.id : p.value ? Predicates::kTrue : Predicates::kFalse; }

Bool compare_with_zero(Worker& w, ValueId difference, Relation relation) {
  if (const auto sign = w.known_sign(difference)) return {0, holds(relation, *sign)};
  const field::Value& d = w.get(difference);
  if (const auto decided = holds(relation, d.sign())) return {0, *decided};
  const field::ScaleClass scale = *w.shared.classify(d, true);
  w.note_atom(d);
  const field::Key k = w.shared.class_identity(scale.index);
  return to_bool(w, w.predicates.atom(scale.index, scale.is_negative ? mirrored(relation) : relation,
                                      w.shared.random(k, field::Purpose::Positive),
                                      w.shared.random(k, field::Purpose::NotNegative)));
}

}  // namespace

Bool Field::compare(Format f, Compare op, Real a, Real b, FloatMode mode) {
  Inner& w = *inner_;
  if (a.is_concrete() && b.is_concrete()) return {0, w.ieee.compare(f, op, a.bits, b.bits, mode)};
  for (const Real& x : {a, b}) {
    if (!x.is_concrete() && w.peek(x.id).is_broken()) {
      w.raise(kFieldUndefined, "a value that is undefined, or no number, is compared");
      return {0, false};
    }
  }
  const auto relation = relation_of(op);
  if (a.is_concrete() || b.is_concrete()) {
    const Class c = w.classify(f, a.is_concrete() ? a.bits : b.bits);
    if (c == Class::NotANumber) {  // the ordered comparisons are false, the others true
      const bool is_ordered = op <= Compare::Ge || op == Compare::Num;
      return {0, !is_ordered};
    }
    if (!relation) return {0, op == Compare::Num};
    if (c == Class::Infinite || c == Class::NegativeInfinite) {  // inputs are finite, and so is what is made of them
      const bool is_above = (c == Class::NegativeInfinite) != a.is_concrete();
      return {0, holds(*relation, is_above ? 1 : -1)};
    }
  }
  if (!relation) return {0, op == Compare::Num};
  return compare_with_zero(w, w.sub(f, w.operand(f, a), w.operand(f, b)), *relation);
}

Bool Field::logical_and(Bool a, Bool b) {
  if (a.id == 0) return a.value ? b : a;
  if (b.id == 0) return b.value ? a : b;
  return to_bool(*inner_, inner_->predicates.if_then_else(a.id, b.id, Predicates::kFalse));
}

Bool Field::logical_or(Bool a, Bool b) {
  if (a.id == 0) return a.value ? a : b;
  if (b.id == 0) return b.value ? b : a;
  return to_bool(*inner_, inner_->predicates.if_then_else(a.id, Predicates::kTrue, b.id));
}

Bool Field::logical_xor(Bool a, Bool b) {
  if (a.id == 0 && b.id == 0) return {0, a.value != b.value};
  Predicates& p = inner_->predicates;
  const Predicates::Id other = to_id(b);
  return to_bool(*inner_, p.if_then_else(to_id(a), p.negate(other), other));
}

Bool Field::logical_not(Bool a) {
  if (a.id == 0) return {0, !a.value};
  return to_bool(*inner_, inner_->predicates.negate(a.id));
}

Real Field::select(Format f, Bool p, Real a, Real b) {
  Inner& w = *inner_;
  if (p.id == 0) return p.value ? a : b;
  if (a.is_concrete() && b.is_concrete() && a.bits == b.bits) return a;
  w.fresh = kNoValue;
  for (const Real& x : {a, b}) {
    if (!x.is_concrete()) {
      if (w.peek(x.id).is_broken()) return x;
      continue;
    }
    const Class c = w.classify(f, x.bits);
    if (c == Class::Zero || c == Class::Finite) continue;
    w.raise(kFieldInfinity, "a predicate on data chooses between an infinity or NaN and another value");
    return {field::kPoisonId};
  }
  const ValueId x = w.operand(f, a), y = w.operand(f, b);
  if (w.equal(x, y)) return a.is_concrete() ? b : a;
  const ValueId difference = w.sub(f, x, y);
  if (const Predicates::Simple* simple = w.predicates.simple(p.id)) {
    // The predicate compares the two operands with each other: the larger or the smaller of them.
    const auto scale = w.shared.classify(w.get(difference), false);
    if (scale && scale->index == simple->class_index) {
      const Relation r = scale->is_negative ? mirrored(simple->relation) : simple->relation;
      w.fresh = kNoValue;
      if (r == Relation::Above || r == Relation::AtLeast) return w.finish(f, w.maximum(f, x, y, false), {}, false);
      if (r == Relation::Below || r == Relation::AtMost) return w.finish(f, w.maximum(f, x, y, true), {}, false);
    }
  }
  ValueId indicator;
  field::Value& i = w.allocate(indicator);
  i = field::Value{};
  i.residues = w.predicates.value(p.id);
  i.numerator = static_cast<float>(w.predicates.degree(p.id));
  i.set(f, Sign::NonNegative);
  const ValueId result = w.add(f, y, w.mul(f, indicator, difference));
  if (f == Format::F32) field::note_rescaled(w, result, p.id, x, y);
  const Sign s = w.peek(x).sign();
  if (s == w.peek(y).sign() && w.fresh == result) w.peek(result).set(s);
  return field::finish_fixed(w, f, result, {}, field::either(field::fixed_of(w, f, a), field::fixed_of(w, f, b)),
                             false);
}

}  // namespace plumb::domain
