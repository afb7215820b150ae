// SPDX-License-Identifier: Apache-2.0
#include "domain/ieee/scaled.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "domain/ieee/bits.h"

namespace plumb::domain::ieee {

namespace {

constexpr int kAligned = 25;  // fraction bits kept below the largest exponent

struct Shape {
  int width, fraction, bias;
};
constexpr Shape shape_of(Narrow format) {
  switch (format) {
    case Narrow::E4M3:
    case Narrow::UE4M3:
      return {8, 3, 7};
    case Narrow::E5M2:
      return {8, 2, 15};
    case Narrow::E3M2:
      return {6, 2, 3};
    case Narrow::E2M3:
      return {6, 3, 1};
    case Narrow::E2M1:
      return {4, 1, 1};
    case Narrow::UE8M0:
      return {8, 0, 127};
  }
  return {};
}

Term accumulator(Format format, std::uint64_t bits) {
  const Layout l = layout(format);
  Term out;
  out.is_negative = is_negative(format, bits);
  if (is_nan(format, bits)) out.kind = Term::Kind::NaN;
  if (is_infinite(format, bits)) out.kind = Term::Kind::Infinite;
  const auto field = static_cast<int>(magnitude(format, bits) >> l.fraction);
  out.significand = bits & ((1ULL << l.fraction) - 1);
  if (field != 0) out.significand |= 1ULL << l.fraction;
  out.exponent = std::max(field, 1) - l.bias, out.fraction = l.fraction;
  return out;
}

// What is found among the terms of a sum.
struct Look {
  bool has_nan = false, has_positive = false, has_negative = false;
  std::optional<int> top;  // the largest exponent of those that are not zero

  void at(const Term& t) {
    has_nan |= t.kind == Term::Kind::NaN;
    has_positive |= t.kind == Term::Kind::Infinite && !t.is_negative;
    has_negative |= t.kind == Term::Kind::Infinite && t.is_negative;
    if (t.kind == Term::Kind::Finite && t.significand != 0) top = std::max(top.value_or(t.exponent), t.exponent);
  }
  std::optional<std::uint64_t> special(Format acc) const {
    const Layout l = layout(acc);
    if (has_nan || (has_positive && has_negative)) return l.canonical;
    if (has_positive) return l.infinity;
    if (has_negative) return l.infinity | sign_bit(acc);
    return std::nullopt;
  }
};

// value / 2^unit, cut towards zero.
__int128 in_units(const Term& t, int unit) {
  const int shift = t.exponent - t.fraction - unit;
  if (t.significand == 0 || shift <= -64) return 0;
  const unsigned __int128 wide = t.significand;
  const auto cut = static_cast<__int128>(shift >= 0 ? wide << shift : wide >> -shift);
  return t.is_negative ? -cut : cut;
}
__int128 truncated(__int128 value, int drop) {
  const auto size = static_cast<unsigned __int128>(value < 0 ? -value : value) >> drop;
  return value < 0 ? -static_cast<__int128>(size) : static_cast<__int128>(size);
}

std::uint64_t finish(Format acc, __int128 sum, int unit) {
  if (sum == 0) return 0;
  Exact exact;
  exact.is_negative = sum < 0;
  exact.significand = static_cast<unsigned __int128>(sum < 0 ? -sum : sum);
  exact.exponent = unit;
  const std::uint64_t bits = round_exact(acc, exact, FloatMode{.round = acc == Format::F16 ? Round::Rn : Round::Rz});
  if (magnitude(acc, bits) == 0) return 0;
  // Truncation stops at the largest number elsewhere; here the excess becomes an infinity.
  if (acc == Format::F32 && std::abs(std::ldexp(static_cast<double>(exact.significand), exact.exponent)) >= 0x1p128) {
    return layout(acc).infinity | (exact.is_negative ? sign_bit(acc) : 0);
  }
  return bits;
}

}  // namespace

double Term::value() const {
  const double size = std::ldexp(static_cast<double>(significand), exponent - fraction);
  return is_negative ? -size : size;
}

Term decode(Narrow format, std::uint32_t bits) {
  const Shape s = shape_of(format);
  Term out;
  bits &= (1u << s.width) - 1;
  if (format == Narrow::UE8M0) {
    if (bits == 0xff) out.kind = Term::Kind::NaN;
    out.exponent = static_cast<int>(bits) - s.bias, out.significand = 1;
    return out;
  }
  const std::uint32_t size = bits & ((1u << (s.width - 1)) - 1);
  out.is_negative = format != Narrow::UE4M3 && size != bits;
  if ((format == Narrow::E4M3 || format == Narrow::UE4M3) && size == 0x7f) out.kind = Term::Kind::NaN;
  if (format == Narrow::E5M2 && size >= 0x7c) out.kind = size == 0x7c ? Term::Kind::Infinite : Term::Kind::NaN;
  const auto field = static_cast<int>(size >> s.fraction);
  out.significand = size & ((1u << s.fraction) - 1);
  if (field != 0) out.significand |= 1u << s.fraction;
  out.exponent = std::max(field, 1) - s.bias, out.fraction = s.fraction;
  return out;
}

Term product(const Term& a, const Term& b) {
  Term out;
  out.is_negative = a.is_negative != b.is_negative;
  out.exponent = a.exponent + b.exponent, out.fraction = a.fraction + b.fraction;
  out.significand = a.significand * b.significand;
  const auto is_zero = [](const Term& t) { return t.kind == Term::Kind::Finite && t.significand == 0; };
  if (a.kind == Term::Kind::NaN || b.kind == Term::Kind::NaN) {
    out.kind = Term::Kind::NaN;
  } else if (a.kind == Term::Kind::Infinite || b.kind == Term::Kind::Infinite) {
    out.kind = is_zero(a) || is_zero(b) ? Term::Kind::NaN : Term::Kind::Infinite;
  }
  return out;
}

std::uint64_t fused_sum(std::span<const Term> products, Format acc, std::uint64_t c) {
  const Term last = accumulator(acc, c);
  Look look;
  for (const Term& t : products) look.at(t);
  look.at(last);
  if (const std::optional<std::uint64_t> special = look.special(acc)) return *special;
  if (!look.top) return 0;
  const int unit = *look.top - kAligned;
  __int128 sum = in_units(last, unit);
  for (const Term& t : products) sum += in_units(t, unit);
  return finish(acc, sum, unit);
}

std::uint64_t four_bit_sum(std::span<const Term> products, int largest_scale, bool has_ue4m3, std::uint64_t c) {
  constexpr int kWindow = 39, kNarrowWindow = 35;
  const Term last = accumulator(Format::F32, c);
  Look look;
  for (const Term& t : products) look.at(t);
  const std::optional<int> top = look.top;
  look.at(last);
  if (const std::optional<std::uint64_t> special = look.special(Format::F32)) return *special;
  if (!look.top) return 0;
  const bool adds = last.significand != 0;
  int unit = std::max(*look.top - kWindow, largest_scale - kNarrowWindow);
  const bool is_outranked = adds && (!top || last.exponent >= *top);
  std::size_t group = 16;
  if (has_ue4m3) {
    if (is_outranked) {
      unit = last.exponent - kNarrowWindow;
    } else {
      group = 4;
    }
  }
  __int128 sum = in_units(last, unit);
  for (std::size_t first = 0; first < products.size(); first += group) {
    const std::span<const Term> part = products.subspan(first, std::min(group, products.size() - first));
    int least = unit;
    Look highest;
    for (const Term& t : part) {
      highest.at(t);
      if (t.significand != 0) least = std::min(least, t.exponent - t.fraction);
    }
    if (!highest.top) continue;
    int cut = unit;
    if (!has_ue4m3 && adds && last.exponent > *highest.top) cut = std::max(cut, last.exponent - kNarrowWindow);
    // Far below the unit nothing is left of the group.
    if (cut - *highest.top > 16) continue;
    __int128 exact = 0;
    for (const Term& t : part) exact += in_units(t, least);
    sum += truncated(exact, cut - least) << (cut - unit);
  }
  return finish(Format::F32, sum, unit);
}

}  // namespace plumb::domain::ieee
