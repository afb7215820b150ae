// SPDX-License-Identifier: Apache-2.0
// mma.sync against plain matrix products of small integers, which every format holds exactly. The fragment positions
// are the manual's tables, one formula per shape, written here apart from the one rule that the meaning uses.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "machine/exec/lane_kernel.h"

namespace plumb::machine {
namespace {

using test::Inputs;
using test::Result;
using test::run_lanes;

using Encode = std::uint32_t (*)(int);

std::uint32_t as_f32(int x) {
  const auto value = static_cast<float>(x);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  return bits;
}
std::uint32_t as_bf16(int x) { return as_f32(x) >> 16; }
// A small integer in a format with `mantissa` bits and `bias`.
std::uint32_t as_small(int x, unsigned mantissa, int bias, unsigned width) {
  if (x == 0) return 0;
  const std::uint32_t sign = x < 0 ? 1u << (width - 1) : 0;
  const int magnitude = std::abs(x);
  int exponent = 0;
  while (magnitude >> (exponent + 1) != 0) ++exponent;
  const auto fraction = static_cast<std::uint32_t>(magnitude - (1 << exponent)) << (mantissa - exponent);
  return sign | static_cast<std::uint32_t>(exponent + bias) << mantissa | fraction;
}
std::uint32_t as_f16(int x) { return as_small(x, 10, 15, 16); }
std::uint32_t as_e4m3(int x) { return as_small(x, 3, 7, 8); }
std::uint32_t as_e5m2(int x) { return as_small(x, 2, 15, 8); }
std::uint32_t as_s8(int x) { return static_cast<std::uint8_t>(x); }

struct At {
  unsigned row, k;
};
using Place = std::function<At(unsigned g, unsigned t, unsigned i)>;

struct Case {
  const char* name;
  const char* types;  // d, a, b, c words
  unsigned k, per, a_regs, b_regs;
  Encode encode_a, encode_b;
  bool is_integer;
  Place a;
  std::function<unsigned(unsigned t, unsigned i)> b;  // k of element i; the column is g
};

const Case kCases[] = {
    {"m16n8k8", "f32.f16.f16.f32", 8, 2, 2, 1, as_f16, as_f16, false,
     [](unsigned g, unsigned t, unsigned i) {
       return At{g + 8 * (i >> 1), 2 * t + (i & 1)};
     },
     [](unsigned t, unsigned i) { return 2 * t + i; }},
    {"m16n8k16", "f32.f16.f16.f32", 16, 2, 4, 2, as_f16, as_f16, false,
     [](unsigned g, unsigned t, unsigned i) {
       return At{g + 8 * ((i >> 1) & 1), 2 * t + (i & 1) + 8 * (i >> 2)};
     },
     [](unsigned t, unsigned i) { return 2 * t + (i & 1) + 8 * (i >> 1); }},
    {"m16n8k16", "f32.bf16.bf16.f32", 16, 2, 4, 2, as_bf16, as_bf16, false,
     [](unsigned g, unsigned t, unsigned i) {
       return At{g + 8 * ((i >> 1) & 1), 2 * t + (i & 1) + 8 * (i >> 2)};
     },
     [](unsigned t, unsigned i) { return 2 * t + (i & 1) + 8 * (i >> 1); }},
    {"m16n8k4", "f32.tf32.tf32.f32", 4, 1, 2, 1, as_f32, as_f32, false,
     [](unsigned g, unsigned t, unsigned i) {
       return At{g + 8 * i, t};
     },
     [](unsigned t, unsigned) { return t; }},
    {"m16n8k8", "f32.tf32.tf32.f32", 8, 1, 4, 2, as_f32, as_f32, false,
     [](unsigned g, unsigned t, unsigned i) {
       return At{g + 8 * (i & 1), t + 4 * (i >> 1)};
     },
     [](unsigned t, unsigned i) { return t + 4 * i; }},
    {"m16n8k16", "s32.s8.s8.s32", 16, 4, 2, 1, as_s8, as_s8, true,
     [](unsigned g, unsigned t, unsigned i) {
       return At{g + 8 * (i >> 2), 4 * t + (i & 3)};
     },
     [](unsigned t, unsigned i) { return 4 * t + i; }},
    {"m16n8k32", "s32.s8.s8.s32", 32, 4, 4, 2, as_s8, as_s8, true,
     [](unsigned g, unsigned t, unsigned i) {
       return At{g + 8 * ((i >> 2) & 1), 4 * t + (i & 3) + 16 * (i >> 3)};
     },
     [](unsigned t, unsigned i) { return 4 * t + (i & 3) + 16 * (i >> 2); }},
    {"m16n8k32", "f32.e4m3.e5m2.f32", 32, 4, 4, 2, as_e4m3, as_e5m2, false,
     [](unsigned g, unsigned t, unsigned i) {
       return At{g + 8 * ((i >> 2) & 1), 4 * t + (i & 3) + 16 * (i >> 3)};
     },
     [](unsigned t, unsigned i) { return 4 * t + (i & 3) + 16 * (i >> 2); }},
};

std::string regs(const char* prefix, unsigned count) {
  std::string out = "{";
  for (unsigned i = 0; i < count; ++i) out += (i != 0 ? ", " : "") + std::string(prefix) + std::to_string(i);
  return out + "}";
}

TEST(Mma, EveryShapeIsTheMatrixProductAtTheManualsPositions) {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> small(-3, 3);
  for (const Case& c : kCases) {
    std::vector<int> a(16 * c.k), b(c.k * 8);
    for (int& x : a) x = small(random);
    for (int& x : b) x = small(random);
    const unsigned bits = 32 / c.per;
    std::vector<Inputs> inputs(32);
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned g = lane / 4, t = lane % 4;
      std::uint32_t words[6]{};
      for (unsigned i = 0; i < c.a_regs * c.per; ++i) {
        const At at = c.a(g, t, i);
        words[i / c.per] |= c.encode_a(a[at.row * c.k + at.k]) << (bits * (i % c.per));
      }
      for (unsigned i = 0; i < c.b_regs * c.per; ++i) {
        words[4 + i / c.per] |= c.encode_b(b[c.b(t, i) * 8 + g]) << (bits * (i % c.per));
      }
      for (unsigned i = 0; i < 3; ++i) inputs[lane][i] = std::uint64_t{words[2 * i + 1]} << 32 | words[2 * i];
    }
    for (unsigned half = 0; half < 2; ++half) {
      std::string body = ".reg .b32 %a<4>, %b<2>, %c<4>, %o<4>;\n";
      body += "mov.b64 {%a0, %a1}, %x1; mov.b64 {%a2, %a3}, %x2; mov.b64 {%b0, %b1}, %x3;\n";
      for (unsigned i = 0; i < 4; ++i) {
        body += "mov.b32 %c" + std::to_string(i) + ", " + (c.is_integer ? "7" : "0f40E00000") + ";\n";
      }
      body += std::string("mma.sync.aligned.") + c.name + ".row.col." + c.types + " " + regs("%o", 4) + ", " +
              regs("%a", c.a_regs) + ", " + regs("%b", c.b_regs) + ", " + regs("%c", 4) + ";\n";
      body += half == 0 ? "mov.b64 %d, {%o0, %o1};" : "mov.b64 %d, {%o2, %o3};";
      const std::vector<std::uint64_t> got = run_lanes(body, inputs, Result::B64);
      ASSERT_EQ(got.size(), 32u) << c.name << c.types;
      for (unsigned lane = 0; lane < 32; ++lane) {
        for (unsigned i = 0; i < 2; ++i) {
          const unsigned row = lane / 4 + 8 * half, column = 2 * (lane % 4) + i;
          int expected = 7;
          for (unsigned k = 0; k < c.k; ++k) expected += a[row * c.k + k] * b[k * 8 + column];
          const auto bits32 = static_cast<std::uint32_t>(got[lane] >> (32 * i));
          ASSERT_EQ(bits32, c.is_integer ? static_cast<std::uint32_t>(expected) : as_f32(expected))
              << c.name << "." << c.types << " row " << row << " column " << column;
        }
      }
    }
  }
}

TEST(Mma, IntegerAccumulatorsWrapOrSaturateOnce) {
  const std::string head =
      ".reg .b32 %o<4>;\nmov.b32 %r1, 0x7f7f7f7f; mov.b32 %r2, 0x7fffff00;\n"
      "mma.sync.aligned.m16n8k16.row.col";
  const std::string tail = ".s32.s8.s8.s32 {%o0,%o1,%o2,%o3}, {%r1,%r1}, {%r1}, {%r2,%r2,%r2,%r2}; mov.b32 %e, %o0;";
  const std::vector<Inputs> lanes(32);
  const std::uint32_t sum = 0x7fffff00u + 16u * 127u * 127u;
  EXPECT_EQ(run_lanes(head + tail, lanes)[0], sum);
  EXPECT_EQ(run_lanes(head + ".satfinite" + tail, lanes)[31], 0x7fffffffu);
}

}  // namespace
}  // namespace plumb::machine
