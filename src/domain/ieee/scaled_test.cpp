// SPDX-License-Identifier: Apache-2.0
#include "domain/ieee/scaled.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "domain/ieee/bits.h"

namespace plumb::domain::ieee {
namespace {

double value(Narrow format, std::uint32_t bits) { return decode(format, bits).value(); }

TEST(Narrow, DecodesItsEdges) {
  EXPECT_EQ(value(Narrow::E2M1, 0b0111), 6.0);
  EXPECT_EQ(value(Narrow::E2M1, 0b1001), -0.5);  // the one subnormal
  EXPECT_EQ(value(Narrow::E3M2, 0b011111), 28.0);
  EXPECT_EQ(value(Narrow::E3M2, 0b000001), 0.0625);
  EXPECT_EQ(value(Narrow::E2M3, 0b111111), -7.5);
  EXPECT_EQ(value(Narrow::E2M3, 0b000001), 0.125);
  EXPECT_EQ(value(Narrow::E4M3, 0x7e), 448.0);
  EXPECT_EQ(value(Narrow::E5M2, 0x7b), 57344.0);
  EXPECT_EQ(value(Narrow::UE8M0, 127), 1.0);
  EXPECT_EQ(value(Narrow::UE8M0, 0), 0x1p-127);
  EXPECT_EQ(value(Narrow::UE4M3, 0xf8), 256.0);  // has no sign
  EXPECT_EQ(decode(Narrow::UE8M0, 0xff).kind, Term::Kind::NaN);
  EXPECT_EQ(decode(Narrow::E4M3, 0xff).kind, Term::Kind::NaN);
  EXPECT_EQ(decode(Narrow::E5M2, 0xfc).kind, Term::Kind::Infinite);
}

// Small numbers leave nothing to cut: the step is the exact sum.
TEST(FusedSum, IsExactWhereNothingIsCut) {
  std::vector<Term> terms;
  double expected = 1.5;
  for (std::uint32_t i = 0; i < 16; ++i) {
    const Term t = product(product(decode(Narrow::E2M1, i), decode(Narrow::E2M3, 3 * i)), decode(Narrow::UE8M0, 126));
    terms.push_back(t);
    expected += t.value();
  }
  EXPECT_EQ(f32(fused_sum(terms, Format::F32, bits_of(1.5F))), static_cast<float>(expected));
  EXPECT_EQ(float_from_f16(fused_sum(terms, Format::F16, 0x3E00)), static_cast<float>(expected));
}

// Bits more than 25 places below the largest exponent are dropped before anything is added.
TEST(FusedSum, CutsEachTermBeforeItAdds) {
  const Term one = product(decode(Narrow::UE8M0, 127), decode(Narrow::UE8M0, 127));
  const auto small = [](std::uint32_t e) {
    return product(decode(Narrow::UE8M0, 127 - e), decode(Narrow::UE8M0, 127));
  };
  Term minus = one;
  minus.is_negative = true;
  EXPECT_EQ(fused_sum(std::vector{one, small(25), minus}, Format::F32, 0), bits_of(0x1p-25F));
  EXPECT_EQ(fused_sum(std::vector{one, small(26), small(26), minus}, Format::F32, 0), 0U);
  // The result is cut, not rounded.
  EXPECT_EQ(fused_sum(std::vector{one, small(24)}, Format::F32, 0), bits_of(1.0F));
}

// One product a group of 16: 2^exponent, the sign with it.
std::vector<Term> groups(std::initializer_list<std::pair<int, bool>> powers) {
  std::vector<Term> out;
  for (const auto& [exponent, is_negative] : powers) {
    out.push_back(
        product(decode(Narrow::UE8M0, static_cast<std::uint32_t>(127 + exponent)), decode(Narrow::UE8M0, 127)));
    out.back().is_negative = is_negative;
    out.resize((out.size() + 15) / 16 * 16, Term{});
  }
  return out;
}

TEST(FourBitSum, IsExactWhereNothingIsCut) {
  for (const bool has_ue4m3 : {false, true}) {
    std::vector<Term> terms;
    double expected = 2.25;
    for (std::uint32_t i = 0; i < 64; ++i) {
      const Term t = product(decode(Narrow::E2M1, i % 16), decode(Narrow::E2M1, 7 * i % 16));
      terms.push_back(t);
      expected += t.value();
    }
    EXPECT_EQ(f32(four_bit_sum(terms, 0, has_ue4m3, bits_of(2.25F))), static_cast<float>(expected));
  }
}

// Bits more than 39 places below the largest product, or 35 below the largest scales, are dropped.
TEST(FourBitSum, KeepsAWiderWindow) {
  EXPECT_EQ(four_bit_sum(groups({{0, false}, {-39, false}, {0, true}}), -9, false, 0), bits_of(0x1p-39F));
  EXPECT_EQ(four_bit_sum(groups({{0, false}, {-40, false}, {0, true}}), -9, false, 0), 0U);
  EXPECT_EQ(four_bit_sum(groups({{0, false}, {-36, false}, {0, true}}), 0, false, 0), 0U);
  EXPECT_EQ(four_bit_sum(groups({{-36, false}, {0, true}}), -9, true, bits_of(1.0F)), 0U);
  EXPECT_EQ(four_bit_sum(groups({{-35, false}, {0, true}}), -9, true, bits_of(1.0F)), bits_of(0x1p-35F));
}

TEST(FusedSum, SpreadsWhatIsNoNumber) {
  const Term one = decode(Narrow::UE8M0, 127);
  const Term infinity = product(decode(Narrow::E5M2, 0x7c), one), zero = product(decode(Narrow::E2M1, 0), one);
  EXPECT_EQ(fused_sum(std::vector{infinity, one}, Format::F32, 0), 0x7F800000U);
  EXPECT_EQ(fused_sum(std::vector{infinity}, Format::F32, bits_of(-INFINITY)), 0x7FFFFFFFU);
  EXPECT_EQ(fused_sum(std::vector{product(infinity, zero)}, Format::F16, 0), 0x7FFFU);
  EXPECT_EQ(fused_sum(std::vector{decode(Narrow::UE8M0, 0xff)}, Format::F32, 0), 0x7FFFFFFFU);
  // Past the largest number a truncating step still gives an infinity.
  EXPECT_EQ(fused_sum(std::vector{decode(Narrow::UE8M0, 254), decode(Narrow::UE8M0, 254)}, Format::F32, 0),
            0x7F800000U);
}

}  // namespace
}  // namespace plumb::domain::ieee
