// SPDX-License-Identifier: Apache-2.0
#include "domain/field/fixed.h"

#include <algorithm>
#include <cmath>

#include "domain/field/number.h"

namespace plumb::domain::field {
namespace {

constexpr unsigned kBits = 28;  // of k with its sign, in a value's record
constexpr std::int64_t kMost = (std::int64_t{1} << (kBits - 1)) - 1;

std::optional<Fixed> kept(const Fixed& a) {
  if (a.low < -kMost || a.high > kMost || a.exponent < -127 || a.exponent > 127) return std::nullopt;
  return a;
}

// The packed record stands where other values have the key of their denominator, which is one here.
void mark(Value& v, const Fixed& a) {
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
  const std::uint64_t packed = (static_cast<std::uint64_t>(a.low) & kMask) |
                               (static_cast<std::uint64_t>(a.high) & kMask) << kBits |
                               static_cast<std::uint64_t>(a.exponent & 0xff) << (2 * kBits);
  v.key_of_denominator = static_cast<std::uint32_t>(packed);
  v.aux = static_cast<std::uint32_t>(packed >> 32);
  v.kind = static_cast<std::uint8_t>(Kind::Fixed);
}

void unmark(Value& v) {
  v.key_of_denominator = 1;
  v.aux = 0;
  v.kind = static_cast<std::uint8_t>(Kind::Plain);
}

std::optional<Fixed> aligned(Fixed a, int exponent) {
  const int by = a.exponent - exponent;
  if (a.low == 0 && a.high == 0) return Fixed{0, 0, exponent};
  if (by > static_cast<int>(kBits)) return std::nullopt;
  return Fixed{a.low * (std::int64_t{1} << by), a.high * (std::int64_t{1} << by), exponent};
}

int common_exponent(const Fixed& a, const Fixed& b) {
  if (a.low == 0 && a.high == 0) return b.exponent;
  if (b.low == 0 && b.high == 0) return a.exponent;
  return std::min(a.exponent, b.exponent);
}

}  // namespace

std::optional<Fixed> exactly(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  if (value == 0) return Fixed{};
  int exponent = 0;
  auto k = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  exponent -= 53;
  while (k % 2 == 0) k /= 2, ++exponent;
  return kept({k, k, exponent});
}

std::optional<Fixed> fixed_of(Worker& w, Format f, Real a) {
  if (a.is_concrete()) return exactly(to_double(f, a.bits));
  const Value& v = w.peek(a.id);
  if (!v.is(Kind::Fixed)) return std::nullopt;
  const std::uint64_t packed = std::uint64_t{v.aux} << 32 | v.key_of_denominator;
  const auto field = [&](unsigned at) {
    return static_cast<std::int64_t>(packed << (64 - kBits - at)) >> (64 - kBits);
  };
  return Fixed{field(0), field(kBits), static_cast<std::int8_t>(packed >> (2 * kBits))};
}

std::optional<Fixed> sum(const std::optional<Fixed>& a, const std::optional<Fixed>& b) {
  if (!a || !b) return std::nullopt;
  const int exponent = common_exponent(*a, *b);
  const auto x = aligned(*a, exponent), y = aligned(*b, exponent);
  if (!x || !y) return std::nullopt;
  return kept({x->low + y->low, x->high + y->high, exponent});
}

std::optional<Fixed> product(const std::optional<Fixed>& a, const std::optional<Fixed>& b) {
  if (!a || !b) return std::nullopt;
  const auto [low, high] = std::minmax({a->low * b->low, a->low * b->high, a->high * b->low, a->high * b->high});
  return kept({low, high, a->exponent + b->exponent});
}

std::optional<Fixed> negated(const std::optional<Fixed>& a) {
  if (!a) return std::nullopt;
  return Fixed{-a->high, -a->low, a->exponent};
}

std::optional<Fixed> either(const std::optional<Fixed>& a, const std::optional<Fixed>& b) {
  if (!a || !b) return std::nullopt;
  const int exponent = common_exponent(*a, *b);
  const auto x = aligned(*a, exponent), y = aligned(*b, exponent);
  if (!x || !y) return std::nullopt;
  return kept({std::min(x->low, y->low), std::max(x->high, y->high), exponent});
}

std::optional<Fixed> between(double low, double high, int exponent) {
  const double first = std::ldexp(low, -exponent), last = std::ldexp(high, -exponent);
  if (!(std::abs(first) <= static_cast<double>(kMost)) || !(std::abs(last) <= static_cast<double>(kMost))) {
    return std::nullopt;
  }
  return kept({static_cast<std::int64_t>(first), static_cast<std::int64_t>(last), exponent});
}

bool is_held(Format f, const Fixed& a) {
  struct Limits {
    int precision, least_exponent;  // 2^least_exponent: the smallest normal or subnormal step that is relied on
    double largest;
  };
  // By format; subnormals of f32, which may be flushed, are not relied on.
  static constexpr Limits kLimits[] = {
      {11, -24, 65504},      {8, -126, 0x1.fep127}, {11, -126, 0x1.ffcp127}, {24, -126, 0x1.fffffep127},
      {53, -1000, 0x1p1000}, {4, -9, 448},          {3, -16, 57344}};
  const Limits& limits = kLimits[static_cast<unsigned>(f)];
  const std::int64_t most = std::max(-a.low, a.high);
  return most <= std::int64_t{1} << std::min(limits.precision, 30) && a.exponent >= limits.least_exponent &&
         std::ldexp(static_cast<double>(most), a.exponent) <= limits.largest;
}

Real finish_fixed(Worker& w, Format f, ValueId id, FloatMode mode, const std::optional<Fixed>& known,
                  bool is_rounding) {
  if (!known || !is_held(f, *known)) return w.finish(f, id, mode, is_rounding);
  const bool is_marked = id == w.fresh && w.peek(id).is(Kind::Plain) && !mode.relu && !mode.sat;
  const Real result = w.finish(f, id, mode, false);
  if (is_marked) mark(w.peek(id), *known);
  return result;
}

Real converted(Worker& w, Format to, Format from, ValueId id, FloatMode mode, bool is_rounding) {
  const std::optional<Fixed> known = fixed_of(w, from, {id});
  const ValueId copy = w.copy(to, id);
  if (known && is_held(to, *known)) return w.finish(to, copy, mode, false);
  if (copy == w.fresh && w.peek(copy).is(Kind::Fixed)) unmark(w.peek(copy));
  return w.finish(to, copy, mode, is_rounding);
}

}  // namespace plumb::domain::field
