// SPDX-License-Identifier: Apache-2.0
// The arithmetic of `Field`: concrete operands fold as IEEE where that is exact, everything else is the algebra's.
#include <cmath>

#include "domain/field/arithmetic.h"
#include "domain/field/fixed.h"
#include "domain/field/library.h"
#include "domain/field/number.h"
#include "domain/field/worker.h"

namespace plumb::domain {
namespace {

using field::Class;
using field::to_double;
using field::Worker;
using Real = Field::Real;

FloatMode plain(FloatMode mode) {
  mode.sat = mode.relu = mode.satfinite = false;
  return mode;
}

bool is_special(Format f, std::uint64_t bits) { return ieee::is_nan(f, bits) || ieee::is_infinite(f, bits); }

// a + b exactly, if a double holds it.
std::optional<double> exact_sum(double a, double b) {
  const double sum = a + b;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  return error == 0 ? std::optional(sum) : std::nullopt;
}

std::optional<double> exact_product(double a, double b) {
  const double product = a * b;
  // Below this the error term itself could be lost.
  if (product != 0 && std::abs(product) < 0x1p-900) return std::nullopt;
  if (product == 0 && a != 0 && b != 0) return std::nullopt;
  return std::fma(a, b, -product) == 0 ? std::optional(product) : std::nullopt;
}

std::optional<double> exact_quotient(double a, double b) {
  const double quotient = a / b;
  if (b == 0 || (a != 0 && std::abs(a) < 0x1p-900) || !std::isfinite(quotient)) return std::nullopt;
  return std::fma(quotient, b, -a) == 0 ? std::optional(quotient) : std::nullopt;
}

// The IEEE result of an operation on concrete operands where the reals agree with it.
template <class Operation>
std::optional<Real> fold(Format f, FloatMode mode, bool has_special, std::optional<double> exact,
                         Operation&& operation) {
  const std::uint64_t result = operation(mode);
  if (has_special) return Real{kNoValue, result};
  if (!exact || to_double(f, operation(plain(mode))) != *exact) return std::nullopt;
  return Real{kNoValue, result};
}

Real nan(Format f) { return {kNoValue, ieee::layout(f).canonical}; }
Real infinity(Format f, bool is_negative) {
  return {kNoValue, ieee::layout(f).infinity | (is_negative ? ieee::sign_bit(f) : 0)};
}
bool is_broken(Worker& w, Real a) { return !a.is_concrete() && w.peek(a.id).is_broken(); }

// a + b with exactly one of them concrete, where the concrete one decides.
std::optional<Real> mixed_sum(Worker& w, Format f, Real a, Real b, FloatMode mode) {
  const Real abstract = a.is_concrete() ? b : a, concrete = a.is_concrete() ? a : b;
  if (is_broken(w, abstract)) return abstract;
  switch (w.classify(f, concrete.bits)) {
    case Class::NotANumber:
      return nan(f);
    case Class::Infinite:
      return infinity(f, false);
    case Class::NegativeInfinite:
      return infinity(f, true);
    case Class::Zero:
      return w.finish(f, abstract.id, mode, false);
    case Class::Finite:
      break;
  }
  return std::nullopt;
}

// An infinity times an abstract value: its sign must be known.
Real infinite_product(Worker& w, Format f, ValueId abstract, bool is_negative) {
  const Sign s = w.peek(abstract).sign();
  if (field::is_positive(s)) return infinity(f, is_negative);
  if (s == Sign::Negative) return infinity(f, !is_negative);
  w.raise(kFieldInfinity, "infinity times a value of unknown sign");
  return {field::kPoisonId};
}

std::optional<Real> mixed_product(Worker& w, Format f, Real a, Real b, FloatMode mode) {
  const Real abstract = a.is_concrete() ? b : a, concrete = a.is_concrete() ? a : b;
  if (is_broken(w, abstract)) return abstract;
  switch (w.classify(f, concrete.bits)) {
    case Class::NotANumber:
      return nan(f);
    case Class::Infinite:
      return infinite_product(w, f, abstract.id, false);
    case Class::NegativeInfinite:
      return infinite_product(w, f, abstract.id, true);
    case Class::Zero:  // of either sign: an abstract zero, by which a division is not an infinity of known sign
      return Real{w.lift(f, 0)};
    case Class::Finite:
      break;
  }
  const double value = to_double(f, concrete.bits);
  if (value == 1) return w.finish(f, abstract.id, mode, false);
  if (value == -1) return w.finish(f, w.neg(f, abstract.id), mode, false);
  return std::nullopt;
}

bool both_concrete(Real a, Real b) { return a.is_concrete() && b.is_concrete(); }

}  // namespace

Real Field::constant(Format, std::uint64_t bits) { return {kNoValue, bits}; }

Real Field::add(Format f, Real a, Real b, FloatMode mode) {
  Inner& w = *inner_;
  w.fresh = kNoValue;
  if (both_concrete(a, b)) {
    const bool has_special = is_special(f, a.bits) || is_special(f, b.bits);
    const auto exact = exact_sum(to_double(f, a.bits), to_double(f, b.bits));
    if (auto folded =
            fold(f, mode, has_special, exact, [&](FloatMode m) { return w.ieee.add(f, a.bits, b.bits, m); })) {
      return *folded;
    }
  } else if (a.is_concrete() || b.is_concrete()) {
    if (auto decided = mixed_sum(w, f, a, b, mode)) return *decided;
  }
  const ValueId total = w.add(f, w.operand(f, a), w.operand(f, b));
  if (!field::is_fixed(w, a) && !field::is_fixed(w, b)) return w.finish(f, total, mode);
  return field::finish_fixed(w, f, total, mode, field::sum(field::fixed_of(w, f, a), field::fixed_of(w, f, b)));
}

Real Field::sub(Format f, Real a, Real b, FloatMode mode) {
  Inner& w = *inner_;
  w.fresh = kNoValue;
  if (both_concrete(a, b)) {
    const bool has_special = is_special(f, a.bits) || is_special(f, b.bits);
    const auto exact = exact_sum(to_double(f, a.bits), -to_double(f, b.bits));
    if (auto folded =
            fold(f, mode, has_special, exact, [&](FloatMode m) { return w.ieee.sub(f, a.bits, b.bits, m); })) {
      return *folded;
    }
  } else if (b.is_concrete()) {
    if (auto decided = mixed_sum(w, f, a, {kNoValue, b.bits ^ ieee::sign_bit(f)}, mode)) return *decided;
  } else if (a.is_concrete()) {
    if (is_broken(w, b)) return b;
    if (field::Class c = w.classify(f, a.bits); c == Class::Zero) {
      return w.finish(f, w.neg(f, b.id), mode, false);
    } else if (c != Class::Finite) {
      return *mixed_sum(w, f, a, b, mode);
    }
  }
  const ValueId difference = w.sub(f, w.operand(f, a), w.operand(f, b));
  if (!field::is_fixed(w, a) && !field::is_fixed(w, b)) return w.finish(f, difference, mode);
  return field::finish_fixed(w, f, difference, mode,
                             field::sum(field::fixed_of(w, f, a), field::negated(field::fixed_of(w, f, b))));
}

Real Field::mul(Format f, Real a, Real b, FloatMode mode) {
  Inner& w = *inner_;
  w.fresh = kNoValue;
  if (both_concrete(a, b)) {
    const bool has_special = is_special(f, a.bits) || is_special(f, b.bits);
    const auto exact = exact_product(to_double(f, a.bits), to_double(f, b.bits));
    if (auto folded =
            fold(f, mode, has_special, exact, [&](FloatMode m) { return w.ieee.mul(f, a.bits, b.bits, m); })) {
      return *folded;
    }
  } else if (a.is_concrete() || b.is_concrete()) {
    if (auto decided = mixed_product(w, f, a, b, mode)) return *decided;
  }
  const ValueId made = w.mul(f, w.operand(f, a), w.operand(f, b));
  if (!field::is_fixed(w, a) && !field::is_fixed(w, b)) return w.finish(f, made, mode);
  return field::finish_fixed(w, f, made, mode, field::product(field::fixed_of(w, f, a), field::fixed_of(w, f, b)));
}

Real Field::fma(Format f, Real a, Real b, Real c, FloatMode mode) {
  Inner& w = *inner_;
  w.fresh = kNoValue;
  if (both_concrete(a, b) && c.is_concrete()) {
    const bool has_special = is_special(f, a.bits) || is_special(f, b.bits) || is_special(f, c.bits);
    const auto product = exact_product(to_double(f, a.bits), to_double(f, b.bits));
    const auto exact = product ? exact_sum(*product, to_double(f, c.bits)) : std::nullopt;
    const auto operation = [&](FloatMode m) { return w.ieee.fma(f, a.bits, b.bits, c.bits, m); };
    if (auto folded = fold(f, mode, has_special, exact, operation)) return *folded;
  }
  if (c.is_concrete() && w.classify(f, c.bits) == Class::Zero) return mul(f, a, b, mode);
  // The product without its rounding, then the sum with the operation's.
  Real product;
  if (!a.is_concrete() && !b.is_concrete() && !c.is_concrete()) {
    const bool is_fixed = field::is_fixed(w, a) || field::is_fixed(w, b) || field::is_fixed(w, c);
    if (!is_fixed && w.log_targets.empty()) return w.finish(f, w.fma(f, a.id, b.id, c.id), mode);
  }
  if (both_concrete(a, b)) {
    const bool has_zero = to_double(f, a.bits) == 0 || to_double(f, b.bits) == 0;
    if (has_zero || is_special(f, a.bits) || is_special(f, b.bits)) {
      product = {kNoValue, w.ieee.mul(f, a.bits, b.bits, {})};
    } else {
      product = {w.mul(f, w.lift(f, a.bits), w.lift(f, b.bits))};
    }
  } else if (a.is_concrete() || b.is_concrete()) {
    auto decided = mixed_product(w, f, a, b, {});
    product = decided ? *decided : Real{w.mul(f, w.operand(f, a), w.operand(f, b))};
  } else {
    product = {w.mul(f, a.id, b.id)};
  }
  w.fresh = kNoValue;
  if (product.is_concrete() && c.is_concrete()) return add(f, product, c, mode);
  if (product.is_concrete() || c.is_concrete()) {
    if (auto decided = mixed_sum(w, f, product, c, mode)) return *decided;
  }
  const ValueId total = w.add(f, w.operand(f, product), w.operand(f, c));
  if (!field::is_fixed(w, a) && !field::is_fixed(w, b) && !field::is_fixed(w, c)) {
    const Real result = w.finish(f, total, mode);
    return w.log_targets.empty() ? result : field::recognised(*this, w, result);
  }
  const auto known = field::product(field::fixed_of(w, f, a), field::fixed_of(w, f, b));
  return field::finish_fixed(w, f, total, mode, field::sum(known, field::fixed_of(w, f, c)));
}

Real Field::div(Format f, Real a, Real b, FloatMode mode) {
  Inner& w = *inner_;
  w.fresh = kNoValue;
  if (both_concrete(a, b)) {
    const bool has_special = is_special(f, a.bits) || is_special(f, b.bits) || w.classify(f, b.bits) == Class::Zero;
    const auto exact = exact_quotient(to_double(f, a.bits), to_double(f, b.bits));
    if (auto folded =
            fold(f, mode, has_special, exact, [&](FloatMode m) { return w.ieee.div(f, a.bits, b.bits, m); })) {
      return *folded;
    }
  } else if (b.is_concrete()) {
    if (is_broken(w, a)) return a;
    switch (w.classify(f, b.bits)) {
      case Class::NotANumber:
        return nan(f);
      case Class::Zero:
        return {field::kPoisonId};
      case Class::Infinite:
      case Class::NegativeInfinite:
        return {w.lift(f, 0)};
      case Class::Finite:
        break;
    }
    const double value = to_double(f, b.bits);
    if (value == 1) return w.finish(f, a.id, mode, false);
  } else if (a.is_concrete()) {
    if (is_broken(w, b)) return b;
    switch (w.classify(f, a.bits)) {
      case Class::NotANumber:
        return nan(f);
      case Class::Infinite:
        return infinite_product(w, f, b.id, false);
      case Class::NegativeInfinite:
        return infinite_product(w, f, b.id, true);
      case Class::Zero:
      case Class::Finite:
        break;
    }
  }
  return w.finish(f, w.div_by(f, w.operand(f, a), w.operand(f, b), mode), mode);
}

Real Field::neg(Format f, Real a, FloatMode mode) {
  Inner& w = *inner_;
  w.fresh = kNoValue;
  if (a.is_concrete()) return {kNoValue, w.ieee.neg(f, a.bits, mode)};
  const auto known = field::negated(field::fixed_of(w, f, a));
  return field::finish_fixed(w, f, w.neg(f, a.id), mode, known, false);
}

Real Field::abs(Format f, Real a, FloatMode mode) {
  Inner& w = *inner_;
  w.fresh = kNoValue;
  if (a.is_concrete()) return {kNoValue, w.ieee.abs(f, a.bits, mode)};
  return w.finish(f, w.absolute(f, a.id), mode, false);
}

namespace {

Real extremum(Worker& w, Format f, Real a, Real b, FloatMode mode, bool is_minimum) {
  w.fresh = kNoValue;
  if (both_concrete(a, b)) {
    return {kNoValue, is_minimum ? w.ieee.min(f, a.bits, b.bits, mode) : w.ieee.max(f, a.bits, b.bits, mode)};
  }
  if (a.is_concrete() || b.is_concrete()) {
    const Real abstract = a.is_concrete() ? b : a, concrete = a.is_concrete() ? a : b;
    if (is_broken(w, abstract)) return abstract;
    const Class c = w.classify(f, concrete.bits);
    if (c == Class::NotANumber) return mode.nan ? nan(f) : w.finish(f, abstract.id, mode, false);
    if (c == Class::Infinite || c == Class::NegativeInfinite) {
      const bool is_identity = (c == Class::Infinite) == is_minimum;
      return is_identity ? w.finish(f, abstract.id, mode, false) : infinity(f, c == Class::NegativeInfinite);
    }
  }
  const ValueId x = w.operand(f, a), y = w.operand(f, b);
  const ValueId result = w.maximum(f, x, y, is_minimum);
  if (a.is_concrete() && result == x) return a;
  if (b.is_concrete() && result == y) return b;
  return w.finish(f, result, mode, false);
}

}  // namespace

Real Field::min(Format f, Real a, Real b, FloatMode mode) { return extremum(*inner_, f, a, b, mode, true); }
Real Field::max(Format f, Real a, Real b, FloatMode mode) { return extremum(*inner_, f, a, b, mode, false); }

Real Field::sum(Format f, const Real* values, std::size_t count) {
  Inner& w = *inner_;
  const field::Modulus& m = w.shared.modulus;
  // Plain values are added without making the partial sums; the rest goes through `add`.
  Real rest{kNoValue, 0};
  bool has_rest = false;
  const field::Value* first = nullptr;
  ValueId only = kNoValue;
  ValueId id = kNoValue;
  field::Value* r = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    const Real& value = values[i];
    if (value.is_concrete() || w.peek(value.id).raw_kind() > field::Kind::Exponential) {
      rest = has_rest ? add(f, rest, value, {}) : value;
      has_rest = true;
      continue;
    }
    const field::Value& x = w.peek(value.id);
    if (first == nullptr) {
      first = &x;
      only = value.id;
      continue;
    }
    if (r == nullptr) {
      r = &w.allocate(id);
      *r = *first;
      r->kind = 0;
      r->key_of_denominator = field::denominator_key(*first);
      r->set(f);
    }
    const field::Residues total = field::add(m, r->residues, x.residues);
    field::Value next;
    field::derive_sum(next, *r, x, f, field::sign_of_sum(r->sign(), x.sign()));
    next.residues = total;
    *r = next;
  }
  if (r == nullptr) {
    if (first == nullptr) return has_rest ? rest : Real{kNoValue, 0};
    return has_rest ? add(f, rest, {only}, {}) : Real{only};
  }
  if (const auto rounding = field::rounding_class(f)) {
    // As a block's threads add: a share each, then a tree.
    const auto depth = static_cast<unsigned>(std::bit_width(count) + count / 128);
    std::uint16_t& n = r->counts[static_cast<unsigned>(*rounding)];
    n = static_cast<std::uint16_t>(std::min<unsigned>(n + depth, 0x7fff));
  }
  return has_rest ? add(f, rest, {id}, {}) : Real{id};
}

}  // namespace plumb::domain
