// SPDX-License-Identifier: Apache-2.0
// How degree bounds, signs and rounding counts of a result follow from those of its operands.
#pragma once

#include <emmintrin.h>

#include <algorithm>

#include "base/hash.h"
#include "domain/field/value.h"

namespace plumb::domain::field {

constexpr bool is_positive(Sign s) { return s == Sign::Positive || s == Sign::AtLeastOne; }
constexpr bool is_at_least_zero(Sign s) { return s == Sign::NonNegative || is_positive(s) || s == Sign::Zero; }
constexpr bool is_at_most_zero(Sign s) { return s == Sign::NonPositive || s == Sign::Negative || s == Sign::Zero; }
constexpr bool is_strict(Sign s) { return is_positive(s) || s == Sign::Negative; }
// Of a constant; its approximation may be a little off.
constexpr Sign sign_of(double constant) {
  return constant >= 1.0001 || constant == 1 ? Sign::AtLeastOne
         : constant > 0                      ? Sign::Positive
         : constant < 0                      ? Sign::Negative
                                             : Sign::Zero;
}

constexpr Sign negated(Sign s) {
  constexpr Sign kTable[] = {Sign::Unknown,  Sign::NonPositive, Sign::Negative, Sign::NonNegative,
                             Sign::Positive, Sign::Zero,        Sign::Negative};
  return kTable[static_cast<unsigned>(s)];
}
constexpr Sign sign_of_sum(Sign a, Sign b) {
  if (a == Sign::Zero) return b;
  if (b == Sign::Zero) return a;
  if (is_at_least_zero(a) && is_at_least_zero(b)) {
    if (a == Sign::AtLeastOne || b == Sign::AtLeastOne) return Sign::AtLeastOne;
    return is_positive(a) || is_positive(b) ? Sign::Positive : Sign::NonNegative;
  }
  if (is_at_most_zero(a) && is_at_most_zero(b)) {
    return a == Sign::Negative || b == Sign::Negative ? Sign::Negative : Sign::NonPositive;
  }
  return Sign::Unknown;
}
constexpr Sign sign_of_product(Sign a, Sign b) {
  if (a == Sign::Zero || b == Sign::Zero) return Sign::Zero;
  if (a == Sign::Unknown || b == Sign::Unknown) return Sign::Unknown;
  if (a == Sign::AtLeastOne && b == Sign::AtLeastOne) return Sign::AtLeastOne;
  const bool is_negative = is_at_most_zero(a) != is_at_most_zero(b);
  if (is_strict(a) && is_strict(b)) return is_negative ? Sign::Negative : Sign::Positive;
  return is_negative ? Sign::NonPositive : Sign::NonNegative;
}

constexpr Sign sign_of_quotient(Sign a, Sign b) {
  const Sign s = sign_of_product(a, b);
  return s == Sign::AtLeastOne ? Sign::Positive : s;
}

// Denominators of constants have no key: their key's place holds the approximation. Nor have fixed numbers'.
inline std::uint32_t denominator_key(const Value& v) {
  return v.is(Kind::Constant) || v.is(Kind::Log) || v.is(Kind::Fixed) ? 1 : v.key_of_denominator;
}
// Odd, so that keys multiply.
inline std::uint32_t denominator_key_of(const Residues& divisor) {
  const Key k = key(divisor);
  return static_cast<std::uint32_t>(mix64(k.low + mix64(k.high))) | 1;
}

namespace detail {

// The rounding counts and, in the top four bytes, garbage that the caller overwrites.
inline __m128i load_tail(const Value& v) { return _mm_load_si128(reinterpret_cast<const __m128i*>(v.counts)); }
inline void store_tail(Value& v, __m128i tail) { _mm_store_si128(reinterpret_cast<__m128i*>(v.counts), tail); }

inline void finish_tail(Value& r, const Value& x, const Value& y, Format f, Sign s) {
  r.flags = x.flags | y.flags;
  r.kind = 0;
  r.set(f, s);
  r.valid = x.valid & y.valid;
}

}  // namespace detail

// Everything but the residues of x + y. `r` may not be x or y.
inline void derive_sum(Value& r, const Value& x, const Value& y, Format f, Sign s) {
  const std::uint32_t a = denominator_key(x), b = denominator_key(y);
  if (x.denominator == y.denominator && a == b) {
    r.numerator = std::max(x.numerator, y.numerator);
    r.denominator = x.denominator;
    r.key_of_denominator = a;
  } else {
    r.numerator = std::max(x.numerator + y.denominator, y.numerator + x.denominator);
    r.denominator = x.denominator + y.denominator;
    r.key_of_denominator = a * b;
  }
  r.aux = 0;
  detail::store_tail(r, _mm_max_epi16(detail::load_tail(x), detail::load_tail(y)));
  detail::finish_tail(r, x, y, f, s);
}

// Everything but the residues of x * y.
inline void derive_product(Value& r, const Value& x, const Value& y, Format f, Sign s) {
  r.numerator = x.numerator + y.numerator;
  r.denominator = x.denominator + y.denominator;
  r.key_of_denominator = denominator_key(x) * denominator_key(y);
  r.aux = 0;
  detail::store_tail(r, _mm_adds_epi16(detail::load_tail(x), detail::load_tail(y)));
  detail::finish_tail(r, x, y, f, s);
}

}  // namespace plumb::domain::field
