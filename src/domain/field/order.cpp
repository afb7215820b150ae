// SPDX-License-Identifier: Apache-2.0
// Maxima and minima as sets, absolute values by sign indicators.
#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "domain/field/arithmetic.h"
#include "domain/field/worker.h"

namespace plumb::domain::field {
namespace {

constexpr unsigned kTopLanes = 0x0f;
constexpr std::size_t kMostPieces = 256;
// Larger sets have no normal form up to shift and scale: a running maximum would pay for all its elements at every
// step.
constexpr std::uint32_t kMostNormal = 2048;

bool is_order(const Value& v) { return v.is(Kind::Maximum) || v.is(Kind::Minimum) || v.is(Kind::Scaled); }

// Of constants, whose approximations may be a little off.
bool is_certainly_less(const Value& a, const Value& b) {
  const double x = a.approximation(), y = b.approximation();
  return y - x > 1e-9 * (std::abs(x) + std::abs(y));
}

Sign sign_of_maximum(Sign a, Sign b) {
  if (a == Sign::AtLeastOne || b == Sign::AtLeastOne) return Sign::AtLeastOne;
  if (is_positive(a) || is_positive(b)) return Sign::Positive;
  if (is_at_least_zero(a) || is_at_least_zero(b)) return Sign::NonNegative;
  if (a == Sign::Negative && b == Sign::Negative) return Sign::Negative;
  return is_at_most_zero(a) && is_at_most_zero(b) ? Sign::NonPositive : Sign::Unknown;
}

}  // namespace

std::optional<int> Worker::known_sign(ValueId difference) {
  const Value& d = get(difference);
  if ((zero_lanes(d.residues) & kTopLanes) == kTopLanes) return 0;
  if (is_positive(d.sign())) return 1;
  if (d.sign() == Sign::Negative) return -1;
  return std::nullopt;
}

ValueId Worker::maximum(Format f, ValueId a, ValueId b, bool is_minimum) {
  if (peek(a).is_broken()) return a;
  if (peek(b).is_broken()) return b;
  if (a == b) return a;
  if (peek(a).is(Kind::Constant) && peek(b).is(Kind::Constant)) {
    if (is_certainly_less(peek(b), peek(a))) return is_minimum ? b : a;
    if (is_certainly_less(peek(a), peek(b))) return is_minimum ? a : b;
  }
  // Against zero the sign of the other decides.
  for (const auto& [zero, other] : {std::pair{a, b}, std::pair{b, a}}) {
    if (!peek(zero).is(Kind::Constant) || zero_lanes(peek(zero).residues) != 0xff) continue;
    if (is_at_least_zero(peek(other).sign())) return is_minimum ? zero : other;
    if (is_at_most_zero(peek(other).sign())) return is_minimum ? other : zero;
  }
  if (const ValueId clamped = clamp(f, a, b, is_minimum); clamped != kNoValue) return clamped;
  if (b < a) std::swap(a, b);
  PairMemo& memo = pair_memo[mix64(std::uint64_t{a} << 32 | b) % pair_memo.size()];
  if (memo.left == a && memo.right == b && memo.is_minimum == is_minimum && peek(memo.result).format() == f) {
    return memo.result;
  }
  const Value &x = peek(a), &y = peek(b);
  ValueId id;
  Value& r = allocate(id);
  const Sign s =
      is_minimum ? negated(sign_of_maximum(negated(x.sign()), negated(y.sign()))) : sign_of_maximum(x.sign(), y.sign());
  derive_sum(r, x, y, f, s);
  r.numerator = std::max(r.numerator, 1.0F);
  r.kind = static_cast<std::uint8_t>(is_minimum ? Kind::Minimum : Kind::Maximum) | kLazy;
  r.aux = static_cast<std::uint32_t>(pairs.size());
  pairs.push_back({a, b, kNoSet});
  memo = {a, b, id, is_minimum};
  return id;
}

// min(max(x, low), high) and max(min(x, high), low) are low + relu(x - low) - relu(x - high) for constants low <= high.
ValueId Worker::clamp(Format f, ValueId a, ValueId b, bool is_minimum) {
  if (peek(a).is(Kind::Constant)) std::swap(a, b);
  if (!peek(b).is(Kind::Constant) || !peek(a).is(is_minimum ? Kind::Maximum : Kind::Minimum)) return kNoValue;
  Pair inner = pairs[peek(a).aux];
  if (peek(inner.left).is(Kind::Constant)) std::swap(inner.left, inner.right);
  if (!peek(inner.right).is(Kind::Constant) || peek(inner.left).is(Kind::Constant)) return kNoValue;
  const ValueId x = inner.left, low = is_minimum ? inner.right : b, high = is_minimum ? b : inner.right;
  if (!is_certainly_less(peek(low), peek(high))) return kNoValue;
  const ValueId zero = lift(f, 0);
  const ValueId above_low = maximum(f, sub(f, x, low), zero, false);
  const ValueId above_high = maximum(f, sub(f, x, high), zero, false);
  const ValueId id = inherit(f, sub(f, add(f, low, above_low), above_high), a, b);
  Value& r = peek(id);
  r.kind = static_cast<std::uint8_t>(Kind::Plain);
  if (peek(low).approximation() >= 0) r.set(Sign::NonNegative);
  if (peek(high).approximation() <= 0) r.set(Sign::NonPositive);
  return id;
}

ValueId Worker::absolute(Format f, ValueId a) {
  const Value& x = get(a);
  if (x.is_broken() || is_at_least_zero(x.sign())) return a;
  if (is_at_most_zero(x.sign())) return neg(f, a);
  if ((zero_lanes(x.residues) & kTopLanes) == kTopLanes) return a;
  const ScaleClass scale = *shared.classify(x, true);
  note_atom(x);
  // |d| = d (2 [d > 0] - 1); the indicator is its class's, so |k d| = |k| |d| and |-d| = |d|.
  const Modulus& m = shared.modulus;
  const Residues above = shared.random(shared.class_identity(scale.index), Purpose::Positive);
  const Residues sign_number = field::sub(m, field::add(m, above, above), m.one);
  ValueId id;
  Value& r = allocate(id);
  r = x;
  r.residues = field::mul(m, x.residues, scale.is_negative ? field::neg(m, sign_number) : sign_number);
  r.numerator = x.numerator + 1;
  r.kind = static_cast<std::uint8_t>(Kind::Absolute);
  r.aux = a;
  if (x.is(Kind::Constant)) r.key_of_denominator = 1;
  r.set(f, Sign::NonNegative);
  return id;
}

// The elements of the maximum (minimum) that `id` stands for: leaves are appended, sets already made are merged.
void Worker::collect(ValueId id, bool is_minimum, ElementSet& set, std::vector<Element>& leaves) {
  std::vector<ValueId> stack = {id};
  while (!stack.empty()) {
    const ValueId at = stack.back();
    stack.pop_back();
    const Value& v = peek(at);
    if (v.is(is_minimum ? Kind::Minimum : Kind::Maximum)) {
      const Pair& pair = pairs[v.aux];
      if (pair.set != kNoSet) {
        elements.add(set, elements.at(pair.set));
      } else {
        stack.push_back(pair.left);
        stack.push_back(pair.right);
      }
      continue;
    }
    if (v.is(Kind::Scaled)) {
      const Scaling scaling = scalings[v.aux];
      const bool is_inner_minimum = (peek(scaling.factor).sign() == Sign::Negative) != is_minimum;
      if (peek(scaling.base).is(is_inner_minimum ? Kind::Minimum : Kind::Maximum)) {
        ElementSet inner;
        std::vector<Element> inner_leaves;
        collect(scaling.base, is_inner_minimum, inner, inner_leaves);
        elements.add(inner, inner_leaves);
        set.valid &= inner.valid & get(scaling.factor).valid;
        set.has_exponential = set.has_exponential || inner.has_exponential;
        const Residues factor = get(scaling.factor).residues;
        elements.for_each(inner, [&](const Element& a) {
          const Residues scaled = field::mul(shared.modulus, a.residues, factor);
          leaves.push_back({scaled, shared.identity(scaled, inner.has_exponential)});
        });
        continue;
      }
    }
    const Value& leaf = get(at);
    leaves.push_back({leaf.residues, identity(leaf)});
    set.has_exponential = set.has_exponential || (leaf.flags & kHasExponential) != 0;
    set.valid &= leaf.valid;
  }
}

std::uint32_t Worker::flatten(std::uint32_t pair, bool is_minimum) {
  if (pairs[pair].set != kNoSet) return pairs[pair].set;
  ElementSet set;
  std::vector<Element> leaves;
  collect(pairs[pair].left, is_minimum, set, leaves);
  collect(pairs[pair].right, is_minimum, set, leaves);
  elements.add(set, leaves);
  if (set.pieces.size() > kMostPieces) elements.consolidate(set);
  return pairs[pair].set = elements.keep(std::move(set));
}

// The value of a set of three elements or more: c + s X, with X a variable of the set up to shift and scale.
Residues Worker::maximum_of_set(const ElementSet& set, bool is_minimum, unsigned& zeros) {
  if (set.count > kMostNormal) {
    zeros = 0;
    return shared.random(elements.identity(set), is_minimum ? Purpose::MinimumOf : Purpose::MaximumOf);
  }
  const Modulus& m = shared.modulus;
  Residues sums[3];
  elements.power_sums(set, sums);
  const Residues count = from_integer(m, set.count);
  const Residues centre = field::mul(m, sums[0], inverse(m, count));
  const Residues square = field::mul(m, centre, centre);
  // Second and third moments about the centre, times the count.
  const Residues second = field::sub(m, sums[1], field::mul(m, count, square));
  const Residues twice = field::mul(m, field::mul(m, count, field::add(m, centre, centre)), square);
  const Residues thrice = field::add(m, field::add(m, centre, centre), centre);
  const Residues third = field::add(m, field::sub(m, sums[2], field::mul(m, thrice, sums[1])), twice);
  Residues scale = field::mul(m, third, inverse(m, second));
  zeros = zero_lanes(second);
  // A set symmetric about its centre has no scale of this kind: it keeps its own.
  if ((zero_lanes(scale) & kTopLanes) == kTopLanes) scale = m.one;
  zeros |= zero_lanes(scale);
  const Residues reciprocal = inverse(m, scale);
  Key form{set.count, 0};
  elements.for_each(set, [&](const Element& element) {
    const Residues normal = field::mul(m, field::sub(m, element.residues, centre), reciprocal);
    const Key k = shared.identity(normal, set.has_exponential);
    form.low += k.low;
    form.high += k.high;
  });
  const Residues first = shared.max_form(form, scale).scale;
  const int ratio = shared.known_ratio(field::mul(m, scale, inverse(m, first)));
  if (ratio == 0) {
    const Key k = shared.identity(scale, set.has_exponential);
    form.low += k.low;
    form.high += k.high;
  }
  const bool is_lower = is_minimum != (ratio < 0);
  const Residues x = shared.random(form, is_lower ? Purpose::MinimumOf : Purpose::MaximumOf);
  return field::add(m, centre, field::mul(m, scale, x));
}

void Worker::force_order(Value& v) {
  const Modulus& m = shared.modulus;
  if (v.is(Kind::Scaled)) {
    const Scaling scaling = scalings[v.aux];
    const Value& base = get(scaling.base);
    const Value& factor = get(scaling.factor);
    v.residues = field::mul(m, base.residues, factor.residues);
    v.valid = base.valid & factor.valid;
    return;
  }
  const bool is_minimum = v.is(Kind::Minimum);
  const Pair pair = pairs[v.aux];
  const auto is_leaf = [&](ValueId id) { return !is_order(peek(id)); };
  if (pair.set == kNoSet && is_leaf(pair.left) && is_leaf(pair.right)) {
    const Value &a = get(pair.left), &b = get(pair.right);
    v.valid = a.valid & b.valid;
    v.residues = maximum_of_two(a.residues, b.residues, v, is_minimum);
    return;
  }
  const ElementSet& set = elements.at(flatten(v.aux, is_minimum));
  v.valid = set.valid;
  if (set.count >= 3) {
    unsigned zeros = 0;
    note_atom(v);
    v.residues = maximum_of_set(set, is_minimum, zeros);
    v.valid = static_cast<std::uint8_t>(v.valid & ~zeros);
    return;
  }
  std::vector<Residues> both;
  elements.for_each(set, [&](const Element& element) { both.push_back(element.residues); });
  v.residues = maximum_of_two(both.front(), both.back(), v, is_minimum);
}

// (a + b) / 2 + |a - b| / 2
Residues Worker::maximum_of_two(const Residues& a, const Residues& b, const Value& bounds, bool is_minimum) {
  const Modulus& m = shared.modulus;
  if (key(a) == key(b)) return a;
  const ValueId saved = fresh;
  ValueId difference;
  Value& d = allocate(difference);
  d = Value{};
  d.residues = field::sub(m, a, b);
  d.flags = bounds.flags;
  d.numerator = bounds.numerator;
  d.denominator = bounds.denominator;
  const Residues magnitude = get(absolute(bounds.format(), difference)).residues;
  fresh = saved;
  const Residues sum = field::add(m, a, b);
  return field::mul(m, is_minimum ? field::sub(m, sum, magnitude) : field::add(m, sum, magnitude), shared.half);
}

Sign Worker::sign_against_maximum(ValueId a, ValueId b) {
  for (const auto& [id, other] : {std::pair{a, b}, std::pair{b, a}}) {
    const Value& v = get(id);
    if (!is_order(v)) continue;
    // v = factor * max(S); the other is -factor * x with x in S.
    const Scaling scaling = v.is(Kind::Scaled) ? scalings[v.aux] : Scaling{id, kOneId};
    const Value& base = peek(scaling.base);
    if (!base.is(Kind::Maximum) && !base.is(Kind::Minimum)) continue;
    const bool is_minimum = base.is(Kind::Minimum);
    const Value& x = get(other);
    const Residues element =
        field::neg(shared.modulus, field::mul(shared.modulus, x.residues, reciprocal(scaling.factor)));
    const Pair pair = pairs[base.aux];
    bool is_member = false;
    if (pair.set == kNoSet && !is_order(peek(pair.left)) && !is_order(peek(pair.right))) {
      is_member = key(element) == key(get(pair.left).residues) || key(element) == key(get(pair.right).residues);
    } else {
      const ElementSet& set = elements.at(flatten(base.aux, is_minimum));
      is_member = elements.contains(set, shared.identity(element, (x.flags & kHasExponential) != 0)) ||
                  (is_order(x) && is_subset(other, scaling.factor, set, is_minimum));
    }
    if (!is_member) continue;
    // factor * (max - x): the sign of the factor, turned for a minimum.
    const bool is_above = is_positive(peek(scaling.factor).sign()) != is_minimum;
    return is_above ? Sign::NonNegative : Sign::NonPositive;
  }
  return Sign::Unknown;
}

// Whether `other` is -factor times the maximum (minimum) of a subset of `set`.
bool Worker::is_subset(ValueId other, ValueId factor, const ElementSet& set, bool is_minimum) {
  const Value& v = peek(other);
  const Scaling scaling = v.is(Kind::Scaled) ? scalings[v.aux] : Scaling{other, kOneId};
  const Value& base = peek(scaling.base);
  const bool is_opposite = is_positive(peek(scaling.factor).sign()) != is_positive(peek(factor).sign());
  if (!is_opposite || !base.is(is_minimum ? Kind::Minimum : Kind::Maximum)) return false;
  const Modulus& m = shared.modulus;
  const Residues ratio = field::neg(m, field::mul(m, get(scaling.factor).residues, reciprocal(factor)));
  const std::uint32_t inner = flatten(base.aux, is_minimum);
  if (key(ratio) == key(m.one)) return elements.contains(set, elements.at(inner));
  bool is_inside = true;
  const bool has_exponential = elements.at(inner).has_exponential;
  elements.for_each(elements.at(inner), [&](const Element& element) {
    const Residues scaled = field::mul(m, element.residues, ratio);
    is_inside = is_inside && elements.contains(set, shared.identity(scaled, has_exponential));
  });
  return is_inside;
}

}  // namespace plumb::domain::field
