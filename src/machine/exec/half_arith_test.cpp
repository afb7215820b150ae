// SPDX-License-Identifier: Apache-2.0
// f16 and bf16 instructions against long double rounded once, the halves of a pair apart.
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "machine/exec/lane_kernel.h"
#include "machine/exec/small_float.h"

namespace plumb::machine {
namespace {

using namespace test;  // NOLINT: a test file

std::vector<Inputs> halves(std::uint64_t one) {
  const std::uint64_t edges[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, one,    one | 0x8000, one + 1,
                                 0x7BFF, 0x7F7F, 0x7C00, 0xFC00, 0x7F80, 0xFF80, 0x7FFF, 0xFE01};
  std::vector<Inputs> out;
  std::mt19937 random(1);
  for (const std::uint64_t a : edges) {
    for (const std::uint64_t b : edges) {
      out.push_back({a | random() << 16, b | random() << 16, (random() & 0xFFFF) | a << 16});
    }
  }
  const auto number = [&] { return ((random() & 0x83FF83FFU) + one * 0x10001U); };
  for (int i = 0; i < 1500; ++i) out.push_back({number(), number(), number()});
  return out;
}

using Op = std::function<std::uint64_t(std::uint64_t, std::uint64_t, std::uint64_t)>;

// `opcode` in the scalar and the packed form of a type.
void expect_both(const std::string& opcode, const std::string& type, unsigned sources, const Op& op) {
  const std::vector<Inputs> inputs = halves(type == "f16" ? 0x3C00 : 0x3F80);
  const char* scalar[] = {"%s, %h1;", "%s, %h1, %h2;", "%s, %h1, %h2, %h3;"};
  const char* packed[] = {"%e, %r1;", "%e, %r1, %r2;", "%e, %r1, %r2, %r3;"};
  const auto alone = run_lanes(opcode + "." + type + " " + scalar[sources - 1], inputs, test::Result::B16);
  const auto pairs = run_lanes(opcode + "." + type + "x2 " + packed[sources - 1], inputs, test::Result::B32);
  ASSERT_EQ(alone.size(), inputs.size());
  ASSERT_EQ(pairs.size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto half = [&](int which, unsigned part) { return inputs[i][which] >> (16 * part) & 0xFFFF; };
    const std::uint64_t low = op(half(0, 0), half(1, 0), half(2, 0)), high = op(half(0, 1), half(1, 1), half(2, 1));
    ASSERT_EQ(alone[i], low) << opcode << '.' << type << std::hex << ' ' << half(0, 0) << ' ' << half(1, 0) << ' '
                             << half(2, 0);
    ASSERT_EQ(pairs[i], low | high << 16)
        << opcode << '.' << type << "x2" << std::hex << ' ' << inputs[i][0] << ' ' << inputs[i][1];
  }
}

struct Type {
  const char* name;
  Small format;
};
const Type kTypes[] = {{"f16", kHalf}, {"bf16", kBfloat}};

TEST(HalfArith, ResultsAreRoundedOnce) {
  for (const Type& type : kTypes) {
    const Small f = type.format;
    const auto v = [f](std::uint64_t bits) { return value_of(f, bits); };
    expect_both("add", type.name, 2, [=](auto a, auto b, auto) { return nearest(f, v(a) + v(b)); });
    expect_both("sub.rn", type.name, 2, [=](auto a, auto b, auto) { return nearest(f, v(a) - v(b)); });
    expect_both("mul", type.name, 2, [=](auto a, auto b, auto) { return nearest(f, v(a) * v(b)); });
    expect_both("fma.rn", type.name, 3, [=](auto a, auto b, auto c) -> std::uint64_t {
      // Far apart the sum is no long double: the smaller one then only breaks ties, which a nudge does as well.
      const long double product = v(a) * v(b), addend = v(c);
      if (!std::isfinite(product) || !std::isfinite(addend) || product == 0 || addend == 0) {
        return nearest(f, product + addend);
      }
      const int distance = std::ilogb(product) - std::ilogb(addend);
      if (distance > 40) return nearest(f, product + std::copysign(std::ldexp(std::fabs(product), -45), addend));
      if (distance < -40) return nearest(f, addend + std::copysign(std::ldexp(std::fabs(addend), -45), product));
      return nearest(f, product + addend);
    });
  }
}

TEST(HalfArith, ModifiersActOnTheRoundedResult) {
  const auto v = [](std::uint64_t bits) { return value_of(kHalf, bits); };
  const auto clamp = [](std::uint64_t bits) -> std::uint64_t {
    const long double x = value_of(kHalf, bits);
    return std::isnan(x) || x <= 0 ? 0 : x > 1 ? 0x3C00 : bits;
  };
  const auto relu = [](const Small& f, std::uint64_t bits) -> std::uint64_t {
    return std::isnan(value_of(f, bits)) ? 0x7FFF : (bits & 0x8000) != 0 ? 0 : bits;
  };
  const auto flush = [](std::uint64_t bits) { return (bits & 0x7C00) == 0 ? bits & 0x8000 : bits; };
  expect_both("add.sat", "f16", 2, [=](auto a, auto b, auto) { return clamp(nearest(kHalf, v(a) + v(b))); });
  expect_both("mul.ftz", "f16", 2,
              [=](auto a, auto b, auto) { return flush(nearest(kHalf, v(flush(a)) * v(flush(b)))); });
  expect_both("fma.rn.relu", "f16", 3,
              [=](auto a, auto b, auto c) { return relu(kHalf, nearest(kHalf, v(a) * v(b) + v(c))); });
  expect_both("fma.rn.oob", "f16", 3, [=](auto a, auto b, auto c) -> std::uint64_t {
    if ((a & 0x7FFF) == 0x7FF7 || (b & 0x7FFF) == 0x7FF7) return 0;
    return nearest(kHalf, v(a) * v(b) + v(c));
  });
  const std::vector<Inputs> fill = {{0x7FF7, 0x3C00, 0x3C00}, {0x3C00, 0xFFF7, 0x3C00}, {0x3C00, 0x3C00, 0x7FF7}};
  EXPECT_EQ(run_lanes("fma.rn.oob.f16 %s, %h1, %h2, %h3;", fill, test::Result::B16),
            (std::vector<std::uint64_t>{0, 0, 0x7FFF}));
}

TEST(HalfArith, MinMaxAndSignsAreTheMeasuredOnes) {
  for (const Type& type : kTypes) {
    const Small f = type.format;
    const auto extreme = [f](bool is_max, bool nan_wins, std::uint64_t a, std::uint64_t b) -> std::uint64_t {
      const long double x = value_of(f, a), y = value_of(f, b);
      if (std::isnan(x) || std::isnan(y)) {
        if (nan_wins || (std::isnan(x) && std::isnan(y))) return 0x7FFF;
        return std::isnan(x) ? b : a;
      }
      if (x == y) return is_max == std::signbit(x) ? b : a;
      return (x > y) == is_max ? a : b;
    };
    expect_both("min", type.name, 2, [=](auto a, auto b, auto) { return extreme(false, false, a, b); });
    expect_both("max", type.name, 2, [=](auto a, auto b, auto) { return extreme(true, false, a, b); });
    expect_both("max.NaN", type.name, 2, [=](auto a, auto b, auto) { return extreme(true, true, a, b); });
    expect_both("max.xorsign.abs", type.name, 2, [=](auto a, auto b, auto) -> std::uint64_t {
      const std::uint64_t size = extreme(true, false, a & 0x7FFF, b & 0x7FFF);
      return std::isnan(value_of(f, size)) ? 0x7FFF : size | ((a ^ b) & 0x8000);
    });
    expect_both("neg", type.name, 1,
                [=](auto a, auto, auto) -> std::uint64_t { return std::isnan(value_of(f, a)) ? 0x7FFF : a ^ 0x8000; });
    expect_both("abs", type.name, 1,
                [=](auto a, auto, auto) -> std::uint64_t { return std::isnan(value_of(f, a)) ? 0x7FFF : a & 0x7FFF; });
  }
}

TEST(HalfArith, ApproximationsStayWithinOneUnit) {
  std::vector<Inputs> inputs;
  for (std::uint64_t bits = 0; bits < 65536; bits += 3) inputs.push_back({bits, 0, 0});
  const auto near = [&](const std::string& opcode, const Small& f, const std::function<long double(long double)>& g) {
    const auto got = run_lanes(opcode + " %s, %h1;", inputs, test::Result::B16);
    ASSERT_EQ(got.size(), inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const long double exact = g(value_of(f, inputs[i][0]));
      const std::uint64_t best = nearest(f, exact);
      if (std::isnan(exact)) {
        ASSERT_EQ(got[i], 0x7FFF);
      } else if (best != 0x0000) {
        ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(best), 1) << opcode << ' ' << inputs[i][0];
      }
    }
  };
  near("tanh.approx.f16", kHalf, [](long double x) { return std::tanh(x); });
  near("tanh.approx.bf16", kBfloat, [](long double x) { return std::tanh(x); });
  near("ex2.approx.f16", kHalf, [](long double x) { return std::exp2(x); });
}

}  // namespace
}  // namespace plumb::machine
