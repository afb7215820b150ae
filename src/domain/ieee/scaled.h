// SPDX-License-Identifier: Apache-2.0
// Products of the narrowest formats with block scales, term by term: mma of sm_120, and tcgen05. The numbers follow the
// models of docs/numbers.md for these targets, which are not measured: every product with its scales is exact, and one
// step adds them as the wider formats' does, or with a wider window.
#pragma once

#include <cstdint>
#include <span>

#include "domain/format.h"

namespace plumb::domain::ieee {

enum class Narrow : std::uint8_t { E4M3, E5M2, E3M2, E2M3, E2M1, UE8M0, UE4M3 };

// sign * significand * 2^(exponent - fraction); `exponent` is the format's own, the least one for subnormals.
struct Term {
  enum class Kind : std::uint8_t { Finite, Infinite, NaN } kind = Kind::Finite;
  bool is_negative = false;
  int exponent = 0, fraction = 0;
  std::uint64_t significand = 0;

  double value() const;  // of a finite one
};

Term decode(Narrow format, std::uint32_t bits);
Term product(const Term& a, const Term& b);
// products + c in one step; `acc` is F32 or F16.
std::uint64_t fused_sum(std::span<const Term> products, Format acc, std::uint64_t c);
// The same for elements of 4 bits with block scales (tcgen05), f32 accumulator: products in the order of K, and the
// largest exponent of a pair of scales. `has_ue4m3`: the format of the scales.
std::uint64_t four_bit_sum(std::span<const Term> products, int largest_scale, bool has_ue4m3, std::uint64_t c);

}  // namespace plumb::domain::ieee
