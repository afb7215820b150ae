// SPDX-License-Identifier: Apache-2.0
// cvt and cvt.pack against 128-bit integers and long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "machine/exec/lane_kernel.h"
#include "machine/exec/small_float.h"

namespace plumb::machine {
namespace {

using namespace test;  // NOLINT: a test file
using Int = __int128;

using Expected = std::function<std::uint64_t(const Inputs&)>;

void expect(const std::string& line, const std::vector<Inputs>& inputs, test::Result result, const Expected& expected) {
  const std::vector<std::uint64_t> got = run_lanes(line, inputs, result);
  ASSERT_EQ(got.size(), inputs.size()) << line;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(got[i], expected(inputs[i]))
        << line << std::hex << " a=" << inputs[i][0] << " b=" << inputs[i][1] << " c=" << inputs[i][2];
  }
}

struct IntType {
  const char* name;
  unsigned bits;
  bool is_signed;
};
constexpr IntType kInts[] = {{"u8", 8, false},   {"s8", 8, true},   {"u16", 16, false}, {"s16", 16, true},
                             {"u32", 32, false}, {"s32", 32, true}, {"u64", 64, false}, {"s64", 64, true}};

Int value(std::uint64_t word, const IntType& type) {
  Int out = word;
  if (type.bits < 64) out &= (Int{1} << type.bits) - 1;
  if (type.is_signed && (out >> (type.bits - 1) & 1) != 0) out -= Int{1} << type.bits;
  return out;
}
Int lowest(const IntType& type) { return type.is_signed ? -(Int{1} << (type.bits - 1)) : 0; }
Int highest(const IntType& type) { return (Int{1} << (type.is_signed ? type.bits - 1 : type.bits)) - 1; }
// A value of the type in a register of `width` bits.
std::uint64_t laid_down(Int x, const IntType& type, unsigned width) {
  const auto word = static_cast<std::uint64_t>(value(static_cast<std::uint64_t>(x), type));
  return width == 64 ? word : word & ((1ULL << width) - 1);
}

const char* kSources[] = {"%h1", "%r1", "%x1"};
const char* kDests[] = {"%s", "%e", "%d"};
unsigned register_index(unsigned bits) { return bits <= 16 ? 0 : bits == 32 ? 1 : 2; }
test::Result result_of(unsigned index) {
  return index == 0 ? test::Result::B16 : index == 1 ? test::Result::B32 : test::Result::B64;
}

std::vector<Inputs> integers() {
  std::vector<Inputs> out;
  for (const std::uint64_t edge :
       {0ULL, 1ULL, 0x7FULL, 0x80ULL, 0xFFULL, 0x100ULL, 0x7FFFULL, 0x8000ULL, 0xFFFFULL, 0x7FFFFFFFULL, 0x80000000ULL,
        0xFFFFFFFFULL, 0x7FFFFFFFFFFFFFFFULL, 1ULL << 63, ~0ULL, 0xFFFFFFFFFFFFFF80ULL, 0xFFFFFFFFFFFF7FFFULL}) {
    out.push_back({edge, edge + 1, 0});
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) out.push_back({random() >> (random() & 63), random(), random()});
  return out;
}

TEST(Convert, IntegersAreCutExtendedOrClamped) {
  const std::vector<Inputs> inputs = integers();
  for (const IntType& to : kInts) {
    for (const IntType& from : kInts) {
      const std::string types = std::string(to.name) + "." + from.name;
      // Registers as wide as the types, and wider ones.
      for (unsigned d = register_index(to.bits); d <= 2; ++d) {
        for (unsigned a = register_index(from.bits); a <= 2; ++a) {
          const unsigned width = 16U << d;
          const std::string operands = std::string(" ") + kDests[d] + ", " + kSources[a] + ";";
          expect("cvt." + types + operands, inputs, result_of(d),
                 [=](const Inputs& x) { return laid_down(value(x[0], from), to, width); });
          if (lowest(from) >= lowest(to) && highest(from) <= highest(to)) continue;  // nothing to clamp: not legal
          expect("cvt.sat." + types + operands, inputs, result_of(d), [=](const Inputs& x) {
            return laid_down(std::clamp(value(x[0], from), lowest(to), highest(to)), to, width);
          });
        }
      }
    }
  }
}

long double rounded_to_integer(long double x, const std::string& mode) {
  if (mode == "rzi") return std::trunc(x);
  if (mode == "rmi") return std::floor(x);
  if (mode == "rpi") return std::ceil(x);
  return std::nearbyint(x);
}

struct FloatType {
  const char* name;
  const char* source;
  std::function<long double(std::uint64_t)> value;
};
std::vector<FloatType> float_types() {
  return {{"f32", "%r1", [](std::uint64_t x) { return static_cast<long double>(as_float(x)); }},
          {"f64", "%x1", [](std::uint64_t x) { return static_cast<long double>(as_double(x)); }},
          {"f16", "%h1", [](std::uint64_t x) { return value_of(kHalf, x & 0xFFFF); }},
          {"bf16", "%h1", [](std::uint64_t x) { return value_of(kBfloat, x & 0xFFFF); }}};
}

// Bit patterns whose f32, f64, f16 and bf16 views are numbers of many sizes, and special values.
std::vector<Inputs> floats(const std::string& type) {
  std::vector<Inputs> out;
  std::mt19937_64 random(4);
  const auto push = [&](double x) {
    std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    if (type == "f32") bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
    if (type == "f16") bits = nearest(kHalf, x);
    if (type == "bf16") bits = nearest(kBfloat, x);
    out.push_back({bits, 0, 0});
  };
  for (const double x : {0.0,          -0.0,         0.5,           -0.5,         1.5,          2.5,      -2.5,
                         127.5,        128.0,        -128.5,        255.5,        256.0,        32767.5,  65535.5,
                         2147483647.0, 2147483648.0, -2147483649.0, 4294967295.0, 4294967296.0, 0x1p63,   -0x1p63,
                         0x1p64,       1e30,         -1e30,         1e-30,        -1e-30,       HUGE_VAL, -HUGE_VAL}) {
    push(x);
  }
  for (int i = 0; i < 300; ++i) {
    push(std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())), -40 - static_cast<int>(random() % 24)));
  }
  return out;
}

TEST(Convert, FloatsAreRoundedThenClampedToIntegers) {
  for (const FloatType& from : float_types()) {
    const std::vector<Inputs> inputs = floats(from.name);
    for (const IntType& to : kInts) {
      const unsigned d = register_index(to.bits);
      for (const std::string mode : {"rni", "rzi", "rmi", "rpi"}) {
        const std::string head = "cvt." + mode + "." + to.name + "." + from.name + " ";
        std::string line = head + kDests[d] + ", " + from.source + ";";
        if (to.bits == 8 && std::string(from.name) == "bf16") {  // takes a register of eight bits only
          const std::string widen = to.is_signed ? "cvt.s16.s8" : "cvt.u16.u8";
          line = "{ .reg .b8 %q; " + head + "%q, " + from.source + "; " + widen + " %s, %q; }";
        }
        expect(line, inputs, result_of(d), [&](const Inputs& x) {
          const long double whole = rounded_to_integer(from.value(x[0]), mode);
          const auto low = static_cast<long double>(lowest(to)), high = static_cast<long double>(highest(to));
          const Int clamped = whole <= low ? lowest(to) : whole >= high ? highest(to) : static_cast<Int>(whole);
          return laid_down(clamped, to, 16U << d);
        });
      }
    }
  }
  // NaNs: zero up to 32 bits, the top bit from f64 and to 64 bits.
  const std::vector<Inputs> nan = {{0x7FC00000, 0, 0}}, wide_nan = {{0x7FF8000000000000, 0, 0}};
  const auto one = [](const std::string& line, const std::vector<Inputs>& inputs, test::Result result) {
    const auto got = run_lanes(line, inputs, result);
    return got.empty() ? ~std::uint64_t{1} : got[0];
  };
  EXPECT_EQ(one("cvt.rni.s32.f32 %e, %r1;", nan, test::Result::B32), 0U);
  EXPECT_EQ(one("cvt.rni.s64.f32 %d, %r1;", nan, test::Result::B64), 1ULL << 63);
  EXPECT_EQ(one("cvt.rzi.u32.f64 %e, %x1;", wide_nan, test::Result::B32), 0x80000000U);
  EXPECT_EQ(one("cvt.rzi.u8.f64 %s, %x1;", wide_nan, test::Result::B16), 0x80U);
  EXPECT_EQ(one("cvt.rzi.s8.f64 %s, %x1;", wide_nan, test::Result::B16), 0xFF80U);
  // .ftz clears a subnormal input before it is rounded.
  EXPECT_EQ(one("cvt.rpi.s32.f32 %e, %r1;", {{1, 0, 0}}, test::Result::B32), 1U);
  EXPECT_EQ(one("cvt.rpi.ftz.s32.f32 %e, %r1;", {{1, 0, 0}}, test::Result::B32), 0U);
}

TEST(Convert, IntegersAreRoundedOnceToFloats) {
  const std::vector<Inputs> inputs = integers();
  for (const IntType& from : kInts) {
    const unsigned a = register_index(from.bits);
    const std::string tail = std::string(".") + from.name;
    const auto source = std::string(", ") + kSources[a] + ";";
    const auto exact = [=](const Inputs& x) { return static_cast<long double>(value(x[0], from)); };
    const std::pair<const char*, Direction> directions[] = {
        {"rn", Direction::Nearest}, {"rz", Direction::Zero}, {"rm", Direction::Down}, {"rp", Direction::Up}};
    for (const auto& [word, direction] : directions) {
      expect("cvt." + std::string(word) + ".f32" + tail + " %e" + source, inputs, test::Result::B32,
             [&, to = direction](const Inputs& x) { return bits_of(rounded(exact(x), to)); });
    }
    expect("cvt.rn.f64" + tail + " %d" + source, inputs, test::Result::B64,
           [=](const Inputs& x) { return std::bit_cast<std::uint64_t>(static_cast<double>(value(x[0], from))); });
    expect("cvt.rn.f16" + tail + " %s" + source, inputs, test::Result::B16,
           [=](const Inputs& x) { return nearest(kHalf, exact(x)); });
    std::string line = "cvt.rn.bf16" + tail + " %s" + source;
    if (from.bits == 8) line = "{ .reg .b8 %q; cvt.u8.u16 %q, %h1; cvt.rn.bf16" + tail + " %s, %q; }";
    expect(line, inputs, test::Result::B16, [=](const Inputs& x) { return nearest(kBfloat, exact(x)); });
  }
}

std::vector<Inputs> single_patterns() {
  std::vector<Inputs> out;
  std::mt19937 random(5);
  for (const std::uint64_t x :
       {0x0ULL,        0x80000000ULL, 0x1ULL,        0x807FFFFFULL, 0x00800000ULL, 0x3F800000ULL, 0x477FE000ULL,
        0x477FEFFFULL, 0x477FF000ULL, 0xC77FF000ULL, 0x38800000ULL, 0x33000000ULL, 0x33000001ULL, 0x7F7FFFFFULL,
        0x7F800000ULL, 0xFF800000ULL, 0x7FC00000ULL, 0xFFC00123ULL, 0x3F801000ULL, 0x3F803000ULL}) {
    out.push_back({x, 0x40000000, 0});
  }
  for (int i = 0; i < 1500; ++i) {
    const std::uint32_t size = (random() & 0x807FFFFF) | (0x70 + (random() & 31)) << 23;
    out.push_back({i % 3 == 0 ? size & 0xFFFFE000 : size, random(), random()});
    if (i % 4 == 0) out.back()[0] = random();
  }
  return out;
}

TEST(Convert, FloatsAreNarrowedWithOneRounding) {
  const std::vector<Inputs> inputs = single_patterns();
  const auto x0 = [](const Inputs& x) { return static_cast<long double>(as_float(x[0])); };
  expect("cvt.rn.f16.f32 %s, %r1;", inputs, test::Result::B16, [=](const Inputs& x) { return nearest(kHalf, x0(x)); });
  expect("cvt.rn.bf16.f32 %s, %r1;", inputs, test::Result::B16,
         [=](const Inputs& x) { return nearest(kBfloat, x0(x)); });
  const auto toward_zero = [](const Small& f, long double x) -> std::uint64_t {
    std::uint64_t bits = nearest(f, x);
    if (std::isfinite(x) && std::fabs(value_of(f, bits)) > std::fabs(x)) --bits;
    return bits;
  };
  expect("cvt.rz.f16.f32 %s, %r1;", inputs, test::Result::B16,
         [=](const Inputs& x) { return toward_zero(kHalf, x0(x)); });
  expect("cvt.rz.bf16.f32 %s, %r1;", inputs, test::Result::B16,
         [=](const Inputs& x) { return toward_zero(kBfloat, x0(x)); });
  const auto relu = [](std::uint64_t bits) { return bits != 0x7FFF && (bits & 0x8000) != 0 ? 0 : bits; };
  expect("cvt.rn.relu.f16.f32 %s, %r1;", inputs, test::Result::B16,
         [=](const Inputs& x) { return relu(nearest(kHalf, x0(x))); });
  expect("cvt.rn.satfinite.f16.f32 %s, %r1;", inputs, test::Result::B16, [=](const Inputs& x) {
    const std::uint64_t bits = nearest(kHalf, x0(x));
    return (bits & 0x7FFF) == 0x7C00 ? bits - 1 : bits;
  });
  expect("cvt.rn.ftz.f16.f32 %s, %r1;", {{0x33800000, 0, 0}}, test::Result::B16, [](const Inputs&) { return 1; });
}

TEST(Convert, WideningIsExact) {
  std::vector<Inputs> inputs;
  for (std::uint64_t bits = 0; bits < 65536; bits += 5) inputs.push_back({bits, 0, 0});
  expect("cvt.f32.f16 %e, %h1;", inputs, test::Result::B32,
         [](const Inputs& x) { return bits_of(static_cast<float>(value_of(kHalf, x[0]))); });
  expect("cvt.f32.bf16 %e, %h1;", inputs, test::Result::B32, [](const Inputs& x) { return x[0] << 16; });
  expect("cvt.f64.f16 %d, %h1;", inputs, test::Result::B64, [](const Inputs& x) -> std::uint64_t {
    if ((x[0] & 0x7FFF) > 0x7C00) return (x[0] & 0x8000) << 48 | 0x7FF8000000000000 | (x[0] & 0x3FF) << 42;
    return std::bit_cast<std::uint64_t>(static_cast<double>(value_of(kHalf, x[0])));
  });
}

TEST(Convert, SameFormatRoundsToIntegralFlushesOrCopies) {
  const std::vector<Inputs> inputs = single_patterns();
  expect("cvt.f32.f32 %e, %r1;", inputs, test::Result::B32, [](const Inputs& x) { return x[0]; });
  expect("cvt.ftz.f32.f32 %e, %r1;", inputs, test::Result::B32,
         [](const Inputs& x) { return bits_of(flushed(as_float(x[0]))); });
  expect("cvt.sat.f32.f32 %e, %r1;", inputs, test::Result::B32, [](const Inputs& x) {
    const float a = as_float(x[0]);
    return std::isnan(a) || a <= 0 ? 0 : bits_of(std::min(a, 1.0F));
  });
  for (const std::string mode : {"rni", "rzi", "rmi", "rpi"}) {
    expect("cvt." + mode + ".f32.f32 %e, %r1;", inputs, test::Result::B32,
           [=](const Inputs& x) { return bits_of(static_cast<float>(rounded_to_integer(as_float(x[0]), mode))); });
    expect("cvt." + mode + ".ftz.f32.f32 %e, %r1;", inputs, test::Result::B32, [=](const Inputs& x) {
      return bits_of(static_cast<float>(rounded_to_integer(flushed(as_float(x[0])), mode)));
    });
  }
}

TEST(Convert, DoublesNarrowAndWiden) {
  std::vector<Inputs> inputs;
  std::mt19937_64 random(6);
  for (int i = 0; i < 1000; ++i) {
    inputs.push_back({(random() & 0x800FFFFFFFFFFFFF) | (0x3F0 + (random() & 31)) << 52, 0, 0});
    if (i % 2 == 0) inputs.back()[0] &= ~0ULL << 29 | 1ULL << 28;  // ties
  }
  expect("cvt.rn.f32.f64 %e, %x1;", inputs, test::Result::B32,
         [](const Inputs& x) { return bits_of(static_cast<float>(as_double(x[0]))); });
  expect("cvt.rm.f32.f64 %e, %x1;", inputs, test::Result::B32,
         [](const Inputs& x) { return bits_of(rounded(as_double(x[0]), Direction::Down)); });
  expect("cvt.rn.f16.f64 %s, %x1;", inputs, test::Result::B16,
         [](const Inputs& x) { return nearest(kHalf, as_double(x[0])); });
  expect("cvt.f64.f32 %d, %r1;", {{0x3FC00000, 0, 0}}, test::Result::B64,
         [](const Inputs&) { return std::bit_cast<std::uint64_t>(1.5); });
}

TEST(Convert, PairsPutTheFirstSourceInTheUpperHalf) {
  const std::vector<Inputs> inputs = single_patterns();
  for (const auto& [name, f] : {std::pair<const char*, Small>{"f16x2", kHalf}, {"bf16x2", kBfloat}}) {
    expect("cvt.rn." + std::string(name) + ".f32 %e, %r1, %r2;", inputs, test::Result::B32,
           [&, format = f](const Inputs& x) {
             return nearest(format, as_float(x[0])) << 16 | nearest(format, as_float(x[1]));
           });
  }
  const auto fp8 = [](const Small& f, float largest, float x) -> std::uint64_t {
    return std::isnan(x) ? 0x7F : nearest(f, std::clamp(x, -largest, largest));
  };
  const auto e4 = [=](float x) { return fp8(kE4, 448, x); };
  const auto e5 = [=](float x) { return fp8(kE5, 57344, x); };
  expect("cvt.rn.satfinite.e4m3x2.f32 %s, %r1, %r2;", inputs, test::Result::B16,
         [=](const Inputs& x) { return e4(as_float(x[0])) << 8 | e4(as_float(x[1])); });
  expect("cvt.rn.satfinite.e5m2x2.f32 %s, %r1, %r2;", inputs, test::Result::B16,
         [=](const Inputs& x) { return e5(as_float(x[0])) << 8 | e5(as_float(x[1])); });
  expect("cvt.rn.satfinite.relu.e5m2x2.f32 %s, %r1, %r2;", inputs, test::Result::B16, [=](const Inputs& x) {
    const auto clamp = [](std::uint64_t bits) { return (bits & 0x80) != 0 ? 0 : bits; };
    return clamp(e5(as_float(x[0]))) << 8 | clamp(e5(as_float(x[1])));
  });
  std::vector<Inputs> halves;
  for (std::uint64_t bits = 0; bits < 65536; ++bits) halves.push_back({bits | (bits * 40503 & 0xFFFF) << 16, 0, 0});
  expect("cvt.rn.satfinite.e4m3x2.f16x2 %s, %r1;", halves, test::Result::B16, [=](const Inputs& x) {
    return e4(static_cast<float>(value_of(kHalf, x[0] >> 16))) << 8 |
           e4(static_cast<float>(value_of(kHalf, x[0] & 0xFFFF)));
  });
  expect("cvt.rn.f16x2.e4m3x2 %e, %h1;", halves, test::Result::B32, [](const Inputs& x) {
    return nearest(kHalf, value_of(kE4, x[0] >> 8 & 0xFF)) << 16 | nearest(kHalf, value_of(kE4, x[0] & 0xFF));
  });
  expect("cvt.rn.f16x2.e5m2x2 %e, %h1;", halves, test::Result::B32, [](const Inputs& x) {
    return nearest(kHalf, value_of(kE5, x[0] >> 8 & 0xFF)) << 16 | nearest(kHalf, value_of(kE5, x[0] & 0xFF));
  });
}

TEST(Convert, Tf32KeepsTenFractionBits) {
  std::vector<Inputs> inputs;
  for (const Inputs& x : single_patterns()) {
    if (!std::isnan(as_float(x[0]))) inputs.push_back(x);
  }
  expect("cvt.rna.tf32.f32 %e, %r1;", inputs, test::Result::B32,
         [](const Inputs& x) { return std::isinf(as_float(x[0])) ? x[0] : (x[0] + 0x1000) & 0xFFFFE000; });
  expect("cvt.rz.tf32.f32 %e, %r1;", inputs, test::Result::B32, [](const Inputs& x) { return x[0] & 0xFFFFE000; });
  expect("cvt.rn.tf32.f32 %e, %r1;", inputs, test::Result::B32,
         [](const Inputs& x) { return (x[0] + 0xFFF + (x[0] >> 13 & 1)) & 0xFFFFE000; });
}

TEST(Convert, CvtPackClampsBothAndShiftsTheThirdUp) {
  const std::vector<Inputs> inputs = integers();
  const auto clamp = [](std::uint64_t word, const IntType& type) {
    const Int x = std::clamp(value(word, kInts[5]), lowest(type), highest(type));
    return static_cast<std::uint64_t>(x) & ((1ULL << type.bits) - 1);
  };
  for (const IntType& type : {IntType{"u16", 16, false}, IntType{"s16", 16, true}}) {
    expect("cvt.pack.sat." + std::string(type.name) + ".s32 %e, %r1, %r2;", inputs, test::Result::B32,
           [=](const Inputs& x) { return clamp(x[0], type) << 16 | clamp(x[1], type); });
  }
  for (const IntType& type : {IntType{"u8", 8, false}, IntType{"s8", 8, true}, IntType{"u4", 4, false},
                              IntType{"s4", 4, true}, IntType{"u2", 2, false}, IntType{"s2", 2, true}}) {
    expect("cvt.pack.sat." + std::string(type.name) + ".s32.b32 %e, %r1, %r2, %r3;", inputs, test::Result::B32,
           [=](const Inputs& x) {
             const std::uint64_t upper = (x[2] << (2 * type.bits)) & 0xFFFFFFFF;
             return upper | clamp(x[0], type) << type.bits | clamp(x[1], type);
           });
  }
}

}  // namespace
}  // namespace plumb::machine
