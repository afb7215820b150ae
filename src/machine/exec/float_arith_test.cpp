// SPDX-License-Identifier: Apache-2.0
// f32 and f64 instructions against the host's arithmetic and long double, on edge values and random ones.
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

std::vector<Inputs> singles() {
  const std::uint64_t edges[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000,
                                 0x3F800000, 0xBF800000, 0x3F800001, 0x3F7FFFFF, 0x40490FDB, 0x4B800000, 0x7F7FFFFF,
                                 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00123, 0x7F800001, 0x7E800001};
  std::vector<Inputs> out;
  for (const std::uint64_t a : edges) {
    for (const std::uint64_t b : edges) out.push_back({a, b, edges[(a ^ b) % std::size(edges)]});
  }
  std::mt19937 random(1);
  const auto near_one = [&] { return (random() & 0x807FFFFF) | (0x74 + (random() & 15)) << 23; };
  for (int i = 0; i < 1500; ++i) out.push_back({near_one(), near_one(), near_one()});
  for (int i = 0; i < 500; ++i) out.push_back({random(), random(), random()});
  return out;
}

using Expected = std::function<std::uint64_t(const Inputs&)>;

void expect(const std::string& line, const std::vector<Inputs>& inputs, const Expected& expected,
            test::Result result = test::Result::B32, const std::string& target = "sm_90a") {
  const std::vector<std::uint64_t> got = run_lanes(line, inputs, result, target);
  ASSERT_EQ(got.size(), inputs.size()) << line;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(got[i], expected(inputs[i]))
        << line << std::hex << " a=" << inputs[i][0] << " b=" << inputs[i][1] << " c=" << inputs[i][2];
  }
}

TEST(FloatArith, SumsProductsAndQuotientsAreRoundedToNearest) {
  const std::vector<Inputs> inputs = singles();
  const auto binary = [&](const std::string& opcode, float (*op)(float, float)) {
    expect(opcode + ".f32 %e, %r1, %r2;", inputs,
           [=](const Inputs& x) { return bits_of(op(as_float(x[0]), as_float(x[1]))); });
  };
  binary("add", [](float a, float b) { return a + b; });
  binary("sub.rn", [](float a, float b) { return a - b; });
  binary("mul", [](float a, float b) { return a * b; });
  binary("div.rn", [](float a, float b) { return a / b; });
  for (const char* opcode : {"fma.rn.f32", "mad.rn.f32"}) {
    expect(std::string(opcode) + " %e, %r1, %r2, %r3;", inputs,
           [](const Inputs& x) { return bits_of(std::fma(as_float(x[0]), as_float(x[1]), as_float(x[2]))); });
  }
}

TEST(FloatArith, FlushingClearsSubnormalInputsAndResults) {
  std::vector<Inputs> inputs = singles();
  inputs.push_back({0x3F7FFFFF, 0x00800000, 0});  // rounds up to a normal number only as a subnormal: flushed
  inputs.push_back({0x3F7FFFFF, 0x80800001, 0});
  // A result is flushed by its size when rounded to 24 bits with an unbounded exponent.
  const auto result = [](long double exact) {
    return std::fabs(exact) < 0x1.ffffffp-127L ? std::copysign(0.0F, static_cast<float>(exact))
                                               : static_cast<float>(exact);
  };
  const auto flushing = [&](const std::string& line, const std::function<float(float, float, float)>& op) {
    expect(line, inputs, [=](const Inputs& x) {
      return bits_of(op(flushed(as_float(x[0])), flushed(as_float(x[1])), flushed(as_float(x[2]))));
    });
  };
  flushing("add.ftz.f32 %e, %r1, %r2;", [](float a, float b, float) { return flushed(a + b); });
  flushing("mul.rn.ftz.f32 %e, %r1, %r2;",
           [=](float a, float b, float) { return result(static_cast<long double>(a) * b); });
  flushing("fma.rn.ftz.f32 %e, %r1, %r2, %r3;", [=](float a, float b, float c) {
    const long double near = static_cast<long double>(a) * b + c;  // exact where it is small
    return std::fabs(near) < 0x1p-100L ? result(near) : std::fma(a, b, c);
  });
  flushing("div.rn.ftz.f32 %e, %r1, %r2;", [=](float a, float b, float) {
    const float quotient = a / b;
    return std::fabs(quotient) < 0x1p-100F ? result(static_cast<long double>(a) / b) : quotient;
  });
  flushing("abs.ftz.f32 %e, %r1;", [](float a, float, float) { return std::fabs(a); });
  flushing("sqrt.rn.ftz.f32 %e, %r1;", [](float a, float, float) { return std::sqrt(a); });
}

TEST(FloatArith, DirectedRoundingTakesTheNeighbourOnItsSide) {
  std::vector<Inputs> inputs;
  for (const Inputs& x : singles()) {
    if (std::isfinite(as_float(x[0])) && std::isfinite(as_float(x[1]))) inputs.push_back(x);
  }
  const std::pair<const char*, Direction> directions[] = {
      {"rz", Direction::Zero}, {"rm", Direction::Down}, {"rp", Direction::Up}};
  for (const auto& [word, direction] : directions) {
    const std::string name = word;
    const Direction to = direction;
    expect("mul." + name + ".f32 %e, %r1, %r2;", inputs, [=](const Inputs& x) {
      return bits_of(rounded(static_cast<long double>(as_float(x[0])) * as_float(x[1]), to));
    });
    std::vector<Inputs> close;  // sums that long double holds exactly
    for (const Inputs& x : inputs) {
      const float a = as_float(x[0]), b = as_float(x[1]);
      if (a == 0 || b == 0 || a == -b || std::abs(std::ilogb(a) - std::ilogb(b)) > 38) continue;
      close.push_back(x);
    }
    expect("add." + name + ".f32 %e, %r1, %r2;", close, [=](const Inputs& x) {
      return bits_of(rounded(static_cast<long double>(as_float(x[0])) + as_float(x[1]), to));
    });
  }
  // An exact zero sum is negative when rounding down.
  const std::vector<Inputs> one = {{0x3F800000, 0xBF800000, 0}};
  expect("add.rm.f32 %e, %r1, %r2;", one, [](const Inputs&) { return 0x80000000; });
  expect("add.rz.f32 %e, %r1, %r2;", one, [](const Inputs&) { return 0; });
}

TEST(FloatArith, SaturationClampsToTheUnitIntervalAndNanToZero) {
  const std::vector<Inputs> inputs = singles();
  const auto clamped = [](float x) { return std::isnan(x) || x <= 0 ? std::uint64_t{0} : bits_of(x > 1 ? 1.0F : x); };
  expect("add.sat.f32 %e, %r1, %r2;", inputs,
         [=](const Inputs& x) { return clamped(as_float(x[0]) + as_float(x[1])); });
  expect("fma.rn.sat.f32 %e, %r1, %r2, %r3;", inputs,
         [=](const Inputs& x) { return clamped(std::fma(as_float(x[0]), as_float(x[1]), as_float(x[2]))); });
}

TEST(FloatArith, MinAndMaxOrderZerosAndPassNumbersOverNans) {
  const std::vector<Inputs> inputs = singles();
  const auto extreme = [](bool is_max, bool nan_wins, std::uint64_t a, std::uint64_t b) -> std::uint64_t {
    const float x = as_float(a), y = as_float(b);
    if (std::isnan(x) || std::isnan(y)) {
      if (nan_wins || (std::isnan(x) && std::isnan(y))) return 0x7FFFFFFF;
      return std::isnan(x) ? b : a;
    }
    if (x == y) return is_max == std::signbit(x) ? b : a;  // equal, or zeros of two signs
    return (x > y) == is_max ? a : b;
  };
  expect("min.f32 %e, %r1, %r2;", inputs, [=](const Inputs& x) { return extreme(false, false, x[0], x[1]); });
  expect("max.f32 %e, %r1, %r2;", inputs, [=](const Inputs& x) { return extreme(true, false, x[0], x[1]); });
  expect("max.NaN.f32 %e, %r1, %r2;", inputs, [=](const Inputs& x) { return extreme(true, true, x[0], x[1]); });
  expect(
      "max.f32 %e, %r1, %r2, %r3;", inputs,
      [=](const Inputs& x) { return extreme(true, false, extreme(true, false, x[0], x[1]), x[2]); }, test::Result::B32,
      "sm_100a");
  expect("min.xorsign.abs.f32 %e, %r1, %r2;", inputs, [=](const Inputs& x) {
    const std::uint64_t size = extreme(false, false, x[0] & 0x7FFFFFFF, x[1] & 0x7FFFFFFF);
    return std::isnan(as_float(size)) ? 0x7FFFFFFF : size | ((x[0] ^ x[1]) & 0x80000000);
  });
  expect("max.xorsign.abs.f32 %e, %r1, %r2;", {{0xFFC00456, 0x3F800000, 0}, {0xC0000000, 0x3F800000, 0}},
         [](const Inputs& x) { return x[0] == 0xC0000000 ? 0xC0000000 : 0xBF800000; });
}

TEST(FloatArith, SignOperationsAndCopiesAreTheMeasuredOnes) {
  const std::vector<Inputs> inputs = singles();
  expect("neg.f32 %e, %r1;", inputs, [](const Inputs& x) { return bits_of(-as_float(x[0])); });
  expect("abs.f32 %e, %r1;", inputs, [](const Inputs& x) { return bits_of(std::fabs(as_float(x[0]))); });
  expect("copysign.f32 %e, %r1, %r2;", inputs,
         [](const Inputs& x) { return (x[0] & 0x80000000) | (x[1] & 0x7FFFFFFF); });
  const std::pair<const char*, std::function<bool(float)>> classes[] = {
      {"finite", [](float x) { return std::isfinite(x); }},
      {"infinite", [](float x) { return std::isinf(x); }},
      {"number", [](float x) { return !std::isnan(x); }},
      {"notanumber", [](float x) { return std::isnan(x); }},
      {"normal", [](float x) { return std::isnormal(x) || x == 0; }},
      {"subnormal", [](float x) { return std::fpclassify(x) == FP_SUBNORMAL; }}};
  for (const auto& [word, holds] : classes) {
    expect("testp." + std::string(word) + ".f32 %p1, %r1; selp.u32 %e, 1, 0, %p1;", inputs,
           [&, test = holds](const Inputs& x) { return test(as_float(x[0])) ? 1 : 0; });
  }
}

TEST(FloatArith, ApproximationsAreCorrectlyRounded) {
  std::vector<Inputs> inputs;
  for (const Inputs& x : singles()) {
    const float a = as_float(x[0]);
    if (std::isfinite(a) && std::fabs(a) > 1e-3F && std::fabs(a) < 100) inputs.push_back(x);
  }
  const auto unary = [&](const std::string& opcode, const std::function<long double(long double)>& f) {
    expect(opcode + " %e, %r1;", inputs,
           [=](const Inputs& x) { return bits_of(static_cast<float>(f(as_float(x[0])))); });
  };
  unary("rcp.approx.ftz.f32", [](long double x) { return 1 / x; });
  unary("rcp.rn.f32", [](long double x) { return 1 / x; });
  unary("sqrt.approx.f32", [](long double x) { return std::sqrt(x); });
  unary("rsqrt.approx.f32", [](long double x) { return 1 / std::sqrt(x); });
  unary("sin.approx.f32", [](long double x) { return std::sin(x); });
  unary("cos.approx.ftz.f32", [](long double x) { return std::cos(x); });
  unary("ex2.approx.ftz.f32", [](long double x) { return std::exp2(x); });
  unary("lg2.approx.f32", [](long double x) { return std::log2(x); });
  unary("tanh.approx.f32", [](long double x) { return std::tanh(x); });
  expect("div.full.f32 %e, %r1, %r2;", {{0x40400000, 0x40000000, 0}}, [](const Inputs&) { return 0x3FC00000; });
}

TEST(FloatArith, ApproximateDivisionByALargeNumberIsZeroOrNan) {
  const std::vector<Inputs> inputs = {{0x7F7FFFFF, 0x7F000000, 0},
                                      {0xBF800000, 0x7E800001, 0},
                                      {0x7F800000, 0x7F7FFFFF, 0},
                                      {0x3F800000, 0x7E800000, 0}};
  const std::uint64_t expected[] = {0, 0x80000000, 0x7FFFFFFF, 0x00800000};
  std::size_t next = 0;
  expect("div.approx.f32 %e, %r1, %r2;", inputs, [&](const Inputs&) { return expected[next++]; });
}

TEST(FloatArith, DoublesAreTheHosts) {
  std::vector<Inputs> inputs;
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    Inputs x;
    for (std::uint64_t& bits : x) bits = (random() & 0x800FFFFFFFFFFFFF) | (0x3F8 + (random() & 15)) << 52;
    inputs.push_back(x);
  }
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  const auto binary = [&](const std::string& line, const std::function<double(double, double, double)>& op) {
    expect(
        line, inputs, [=](const Inputs& x) { return bits(op(as_double(x[0]), as_double(x[1]), as_double(x[2]))); },
        test::Result::B64);
  };
  binary("add.f64 %d, %x1, %x2;", [](double a, double b, double) { return a + b; });
  binary("sub.f64 %d, %x1, %x2;", [](double a, double b, double) { return a - b; });
  binary("mul.f64 %d, %x1, %x2;", [](double a, double b, double) { return a * b; });
  binary("div.rn.f64 %d, %x1, %x2;", [](double a, double b, double) { return a / b; });
  binary("fma.rn.f64 %d, %x1, %x2, %x3;", [](double a, double b, double c) { return std::fma(a, b, c); });
  binary("min.f64 %d, %x1, %x2;", [](double a, double b, double) { return std::fmin(a, b); });
  binary("neg.f64 %d, %x1;", [](double a, double, double) { return -a; });
  binary("rcp.rn.f64 %d, %x1;", [](double a, double, double) { return 1 / a; });
  expect(
      "rcp.approx.ftz.f64 %d, %x1;", {{bits(3.0) | 0xFFFF, 0, 0}},
      [&](const Inputs&) { return bits(1 / 3.0) & 0xFFFFFFFF00000000; }, test::Result::B64);
}

TEST(FloatArith, BlackwellPairsAndMixedFormsFollowTheSingles) {
  const std::vector<Inputs> inputs = singles();
  expect(
      "mov.b64 %wide0, {%r1, %r2}; mov.b64 %wide1, {%r2, %r3}; add.rn.f32x2 %d, %wide0, %wide1;", inputs,
      [](const Inputs& x) {
        return bits_of(as_float(x[0]) + as_float(x[1])) | bits_of(as_float(x[1]) + as_float(x[2])) << 32;
      },
      test::Result::B64, "sm_100a");
  expect(
      "add.f32.f16 %e, %h1, %r2;", inputs,
      [](const Inputs& x) { return bits_of(static_cast<float>(value_of(kHalf, x[0] & 0xFFFF)) + as_float(x[1])); },
      test::Result::B32, "sm_100a");
  expect(
      "fma.rn.f32.bf16 %e, %h1, %h2, %r3;", inputs,
      [](const Inputs& x) {
        return bits_of(std::fma(static_cast<float>(value_of(kBfloat, x[0] & 0xFFFF)),
                                static_cast<float>(value_of(kBfloat, x[1] & 0xFFFF)), as_float(x[2])));
      },
      test::Result::B32, "sm_100a");
}

TEST(FloatArith, LanesThatDoNotExecuteKeepTheirValues) {
  std::size_t next = 0;  // %n2 is the thread's number in its block of 64
  expect("mov.b32 %e, %r1; setp.lt.u32 %p1, %n2, 5; @%p1 add.f32 %e, %r1, %r2;",
         std::vector<Inputs>(64, {0x3F800000, 0x40000000, 0}),
         [&](const Inputs&) { return next++ < 5 ? 0x40400000 : 0x3F800000; });
}

}  // namespace
}  // namespace plumb::machine
