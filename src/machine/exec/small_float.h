// SPDX-License-Identifier: Apache-2.0
// For tests of meanings: values of the small formats as long double and back, by scaling; f32 results rounded in a
// direction from an exact long double. Nothing here is shared with the domains.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace plumb::machine::test {

struct Small {
  int exponent_bits, fraction_bits;
  bool has_infinity = true;
};
inline constexpr Small kHalf{5, 10}, kBfloat{8, 7}, kE5{5, 2}, kE4{4, 3, false};

inline long double value_of(const Small& f, std::uint64_t bits) {
  const int top = (1 << f.exponent_bits) - 1, bias = top >> 1;
  const int field = static_cast<int>(bits >> f.fraction_bits) & top;
  const int fraction = static_cast<int>(bits & ((1ULL << f.fraction_bits) - 1));
  const bool is_negative = (bits >> (f.exponent_bits + f.fraction_bits) & 1) != 0;
  long double size = field == 0 ? std::ldexp(static_cast<long double>(fraction), 1 - bias - f.fraction_bits)
                                : std::ldexp(static_cast<long double>(fraction + (1 << f.fraction_bits)),
                                             field - bias - f.fraction_bits);
  if (f.has_infinity && field == top) size = fraction == 0 ? HUGE_VALL : std::nanl("");
  if (!f.has_infinity && field == top && fraction == (1 << f.fraction_bits) - 1) size = std::nanl("");
  return is_negative ? -size : size;
}

// To nearest even; a NaN becomes 0x7FFF, an overflow infinity.
inline std::uint64_t nearest(const Small& f, long double x) {
  if (std::isnan(x)) return 0x7FFF;
  const int bias = ((1 << f.exponent_bits) - 1) >> 1;
  const std::uint64_t sign = std::signbit(x) ? 1ULL << (f.exponent_bits + f.fraction_bits) : 0;
  const std::uint64_t infinity = ((1ULL << f.exponent_bits) - 1) << f.fraction_bits;
  const long double size = std::fabs(x);
  if (size == 0) return sign;
  if (std::isinf(size)) return sign | infinity;
  const int exponent = std::ilogb(size) < 1 - bias ? 1 - bias : std::ilogb(size);
  const long double scaled = std::ldexp(size, f.fraction_bits - exponent), whole = std::floor(scaled);
  const long double rest = scaled - whole;
  const bool is_up = rest > 0.5L || (rest == 0.5L && std::fmod(whole, 2.0L) == 1.0L);
  const std::uint64_t bits = (static_cast<std::uint64_t>(exponent + bias - 1) << f.fraction_bits) +
                             static_cast<std::uint64_t>(whole) + (is_up ? 1 : 0);
  return sign | (f.has_infinity && bits > infinity ? infinity : bits);
}

inline float as_float(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
inline double as_double(std::uint64_t bits) { return std::bit_cast<double>(bits); }
inline std::uint64_t bits_of(float x) { return std::isnan(x) ? 0x7FFFFFFF : std::bit_cast<std::uint32_t>(x); }
inline float flushed(float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }

enum class Direction { Nearest, Zero, Down, Up };

// The f32 next to an exact value in a direction.
inline float rounded(long double exact, Direction direction) {
  const auto near = static_cast<float>(exact);
  if (std::isnan(exact) || std::isinf(exact) || static_cast<long double>(near) == exact) return near;
  const bool is_above = static_cast<long double>(near) > exact;
  const float below = is_above ? std::nextafter(near, -HUGE_VALF) : near;
  const float above = is_above ? near : std::nextafter(near, HUGE_VALF);
  switch (direction) {
    case Direction::Nearest:
      return near;
    case Direction::Zero:
      return exact > 0 ? below : above;
    case Direction::Down:
      return below;
    case Direction::Up:
      return above;
  }
  return near;
}

}  // namespace plumb::machine::test
