// SPDX-License-Identifier: Apache-2.0
// Numbers as the concrete runs hold them, against the arithmetic of the IEEE domain.
#include "prove/setup.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "domain/ieee/ieee.h"

namespace plumb::prove {
namespace {

using domain::Format;

std::vector<double> numbers() {
  using Limits = std::numeric_limits<double>;
  std::vector<double> all = {0.0, -0.0, Limits::infinity(), -Limits::infinity(), Limits::max(), Limits::denorm_min()};
  std::mt19937_64 random(11);
  for (unsigned i = 0; i < 20000; ++i) {
    // Any exponent, those of float subnormals and overflow among them; every fourth number a tie of bf16 or f32.
    std::uint64_t bits = random() >> 12 | (random() % 2) << 63 | (1023 - 160 + random() % 300) << 52;
    if (i % 4 == 0) bits = bits >> 44 << 44 | std::uint64_t{1} << 44;
    if (i % 4 == 1) bits = bits >> 28 << 28 | std::uint64_t{1} << 28;
    all.push_back(std::bit_cast<double>(bits));
  }
  return all;
}

TEST(Encode, RoundsAsTheIeeeDomainDoes) {
  const domain::Ieee ieee;
  for (const double value : numbers()) {
    const std::uint64_t single = ieee.convert(Format::F32, Format::F64, std::bit_cast<std::uint64_t>(value), {});
    ASSERT_EQ(encode(Format::F32, value), single) << value;
    ASSERT_EQ(encode(Format::BF16, value), ieee.convert(Format::BF16, Format::F32, single, {})) << value;
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(domain::ieee::is_nan(Format::BF16, encode(Format::BF16, nan)));
  EXPECT_TRUE(domain::ieee::is_nan(Format::F32, encode(Format::F32, nan)));
}

TEST(Decode, ReadsEveryBF16AsTheIeeeDomainDoes) {
  const domain::Ieee ieee;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    std::byte bytes[2];
    std::memcpy(bytes, &bits, sizeof bytes);
    const double expected = std::bit_cast<double>(ieee.convert(Format::F64, Format::BF16, bits, {}));
    const double decoded = decode(Format::BF16, bytes);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(decoded)) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(decoded), std::bit_cast<std::uint64_t>(expected)) << bits;
    }
  }
}

}  // namespace
}  // namespace plumb::prove
