// SPDX-License-Identifier: Apache-2.0
// Block pointers, descriptors, ordering, random numbers, libdevice, scaled products, and functions and tuples as
// values, against values worked out by hand or by <cmath>.
#include <gtest/gtest.h>

#include <algorithm>

#include "triton/lab_test.h"

namespace plumb::triton {
namespace {

using V = std::vector<double>;

// Sixteen values x (f32) and i (int32), an output of `count` values; `body` is the kernel's.
struct Sixteen {
  V x = {3, -1, 4, 1, -5, 9, 2, 6, 5, 3.5, -8, 9.5, 7, 0, -2.5, 8};
  V i = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

  Lab lab(const std::string& body, DType out, std::size_t count, const std::string& before) const {
    std::string text = before +
                       "@triton.jit\ndef kernel(xp, ip, zp, n, B: tl.constexpr):\n    r = tl.arange(0, 16)\n"
                       "    x = tl.load(xp + r)\n    i = tl.load(ip + r)\n";
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t end = std::min(body.find('\n', at), body.size());
      text += "    " + body.substr(at, end - at) + "\n";
      at = end + 1;
    }
    Lab lab(text);
    lab.in("xp", DType::Fp32, x), lab.in("ip", DType::Int32, i);
    lab.out("zp", out, count);
    lab.integers({{"n", 7}});
    lab.constants({{"B", 16}});
    return lab;
  }
  V operator()(const std::string& body, DType out = DType::Fp32, std::size_t count = 16,
               const std::string& before = "") const {
    Lab made = lab(body + "\ntl.store(zp + tl.arange(0, " + std::to_string(count) + "), z)", out, count, before);
    EXPECT_TRUE(made.kernel) << render(made.findings, false);
    if (!made.kernel) return {};
    const Result result = made.run();
    EXPECT_FALSE(result.stop) << render(result.stop->finding, false);
    return made["zp"];
  }
  std::string stop(const std::string& body, const std::string& before = "") const {
    Lab made = lab(body, DType::Fp32, 16, before);
    if (!made.kernel) return render(made.findings, false);
    const Result result = made.run();
    return result.stop ? render(result.stop->finding, false) : "no stop";
  }
};

constexpr const char* kBlock = "p = tl.make_block_ptr(xp, (3, 5), (5, 1), (1, 2), (2, 4), (1, 0))\n";

TEST(BlockPointer, PadsWhatIsOutsideAndDropsIt) {
  Sixteen s;
  EXPECT_EQ(s(std::string(kBlock) + "z = tl.reshape(tl.load(p, boundary_check=(0, 1), padding_option='zero'), (8,))",
              DType::Fp32, 8),
            (V{6, 5, 3.5, 0, 7, 0, -2.5, 0}));
  EXPECT_EQ(s(std::string(kBlock) + "p = tl.advance(p, (1, -3))\n"
                                    "z = tl.reshape(tl.load(p, boundary_check=(0, 1), padding_option='zero'), (8,))",
              DType::Fp32, 8),
            (V{0, -8, 9.5, 7, 0, 0, 0, 0}));
  EXPECT_TRUE(std::isnan(s(std::string(kBlock) + "z = tl.load(p, boundary_check=(1,), padding_option='nan').reshape(8)",
                           DType::Fp32, 8)[3]));
  const V stored =
      s("q = tl.make_block_ptr(zp, (3, 5), (5, 1), (2, 3), (2, 4), (1, 0))\ntl.store(zp + r, 0.0)\n"
        "tl.store(q, tl.full((2, 4), 7, tl.float32), boundary_check=(0, 1))\nz = tl.load(zp + r)");
  EXPECT_EQ(stored, (V{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 0}));
}

TEST(BlockPointer, LeavesPaddingOpenUnlessItIsAsked) {
  Sixteen s;
  EXPECT_NE(s.stop(std::string(kBlock) + "tl.store(zp + tl.arange(0, 8), tl.load(p, boundary_check=(0, 1)).reshape(8))")
                .find("an unspecified value is stored"),
            std::string::npos);
  EXPECT_NE(s.stop(std::string(kBlock) + "a = tl.load(tl.advance(p, (9, 9)))").find("is outside every tensor"),
            std::string::npos);
  EXPECT_NE(s.stop(std::string(kBlock) + "a = tl.load(p, mask=r > 0)").find("takes no `mask`"), std::string::npos);
}

TEST(Descriptor, ComesFromTheHostToo) {
  Lab lab(
      "@triton.jit\ndef kernel(d, zp):\n    x = d.load([1, 4])\n    tl.static_assert(d.block_shape[1] == 8)\n"
      "    tl.store(zp + tl.arange(0, 16), tl.reshape(x, (16,)) + d.shape[0])\n");
  ASSERT_TRUE(lab.kernel) << render(lab.findings, false);
  V values(24);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  lab.in("d", DType::Fp32, values);
  lab.out("zp", DType::Fp32, 16);
  domain::Memory memory(false);
  lab.add_buffers(memory);
  lab.call.arguments["d"] = {"tensordesc<fp32[2, 8]>", lab.call.arguments["d"].bits, {}, {3, 8}, {8, 1}, {}};
  domain::Ieee ieee;
  const Result result = lab.kernel->evaluate<domain::Ieee>(lab.call, {&ieee}, memory, {});
  ASSERT_FALSE(result.stop) << render(result.stop->finding, false);
  std::vector<float> out(16);
  std::memcpy(out.data(), memory.find("zp")->bytes.get(), 64);
  EXPECT_EQ(out, (std::vector<float>{15, 16, 17, 18, 3, 3, 3, 3, 23, 24, 25, 26, 3, 3, 3, 3}));
}

TEST(Order, SortsSelectsCountsAndGathers) {
  Sixteen s;
  V sorted = s.x;
  std::ranges::sort(sorted);
  EXPECT_EQ(s("z = tl.sort(x)"), sorted);
  EXPECT_EQ(s("z = tl.sort(x, descending=True)"), V(sorted.rbegin(), sorted.rend()));
  EXPECT_EQ(s("z = tl.topk(x, 4)", DType::Fp32, 4), (V{9.5, 9, 8, 7}));
  EXPECT_EQ(s("z = tl.histogram(i, 16)", DType::Int32), (V{0, 2, 1, 3, 1, 3, 1, 1, 1, 3, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(s("z = tl.gather(x, 15 - r, 0)"), V(s.x.rbegin(), s.x.rend()));
  EXPECT_EQ(s("z = tl.cat(x, -x, dim=0).reshape(2, 16).sum(0)"), V(16));
  EXPECT_NE(s.stop("tl.store(zp + r, tl.sort(tl.where(r == 3, float('nan'), x)))").find("unspecified"),
            std::string::npos);
  EXPECT_NE(s.stop("tl.store(zp + r, tl.gather(x, r + 1, 0))").find("unspecified value is stored of element [15]"),
            std::string::npos);
  EXPECT_NE(s.stop("h = tl.histogram(i, 8)\ntl.store(zp + tl.arange(0, 8), h)").find("unspecified"), std::string::npos);
}

TEST(Random, MatchesPublishedVectorsOfPhilox) {
  Sixteen s;
  const std::string zero = "o = tl.zeros((4,), tl.uint32)\na, b, c, d = tl.philox(0, o, o, o, o)\n";
  EXPECT_EQ(s(zero + "z = tl.join(tl.join(a, c), tl.join(b, d)).reshape(16)", DType::UInt32),
            (V{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,
               0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const V uniform = s("z = tl.rand(n, r)");
  EXPECT_TRUE(std::ranges::all_of(uniform, [](double u) { return u >= 0 && u < 1; }));
  EXPECT_EQ(s("z = tl.uint_to_uniform_float(tl.randint(n, r))"), uniform);
}

TEST(Libdevice, FollowsTheFunctionsOfTheirNames) {
  Sixteen s;
  const std::string import =
      "import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n";
  const auto check = [&](const char* body, double (*f)(double)) {
    V expected;
    for (const double x : s.x) expected.push_back(static_cast<float>(f(static_cast<float>(x))));
    EXPECT_EQ(s(body, DType::Fp32, 16, import), expected) << body;
  };
  check("z = libdevice.log1p(tl.abs(x))", [](double x) { return std::log1p(std::fabs(x)); });
  check("z = libdevice.expm1(x)", [](double x) { return std::expm1(x); });
  check("z = libdevice.round(x)", [](double x) { return std::round(x); });
  check("z = libdevice.pow(tl.abs(x), 2.5)", [](double x) { return std::pow(std::fabs(x), 2.5); });
  check("z = libdevice.trunc(x)", [](double x) { return std::trunc(x); });
  check("z = tl.where(libdevice.isnan(x / 0.0 * 0.0), 1.0, 0.0)", [](double) { return 1.0; });
  check("z = tl.where(libdevice.isinf(x / 0.0), 1.0, 0.0)", [](double x) { return x != 0 ? 1.0 : 0.0; });
  EXPECT_EQ(s("z = libdevice.clz(i)", DType::Int32, 16, import)[0], 30);
  EXPECT_EQ(s("z = libdevice.llrint(x)", DType::Int64, 16, import)[11], 10);
  EXPECT_EQ(s("z = libdevice.float_as_int(x)", DType::Int32, 16, import)[3], 0x3f800000);
}

TEST(ScaledProduct, UnpacksFourBitsAndScalesGroups) {
  Sixteen s;
  // 16 x 32 of e2m1: 0.5 in low nibbles, 1 in high ones; scales 2 on the left, 4 on the right.
  const std::string body =
      "a = tl.full((16, 16), 0x21, tl.uint8)\nb = tl.full((16, 16), 0x21, tl.uint8)\n"
      "sa = tl.full((16, 1), 128, tl.uint8)\nsb = tl.full((16, 1), 129, tl.uint8)\n"
      "d = tl.dot_scaled(a, sa, 'e2m1', b, sb, 'e2m1')\nz = tl.sum(d, 1)";
  EXPECT_EQ(s(body), V(16, 16 * 2 * 4 * (16 * 0.25 + 16 * 1.0)));
  EXPECT_NE(s.stop("a = tl.full((16, 16), 0x21, tl.uint8)\nd = tl.dot_scaled(a, None, 'e9', a, None, 'e2m1')")
                .find("is no format"),
            std::string::npos);
}

TEST(Values, FunctionsAndTuplesArePassedAround) {
  Sixteen s;
  const std::string before =
      "@triton.constexpr_function\ndef halves(n):\n    count = 0\n    while n > 1:\n        n = n // 2\n"
      "        count += 1\n    return count\n\n\n"
      "@triton.jit\ndef apply(f: tl.constexpr, *parts):\n    total = parts[0]\n"
      "    for k in tl.static_range(1, len(parts)):\n        total = f(total, parts[k])\n    return total\n\n\n"
      "@triton.jit\ndef pick(a, b):\n    if a > b:\n        return a, b\n    else:\n        return b, a\n\n\n";
  EXPECT_EQ(s("H: tl.constexpr = halves(B)\nz = x * 0 + H", DType::Fp32, 16, before), V(16, 4));
  EXPECT_EQ(s("z = apply(tl.maximum, i, 4, n)", DType::Int32, 16, before),
            (V{7, 7, 7, 7, 7, 9, 7, 7, 7, 7, 7, 8, 9, 7, 9, 7}));
  EXPECT_EQ(s("z = tl.reduce(i, 0, tl.maximum) + r * 0", DType::Int32), V(16, 9));
  EXPECT_EQ(s("a, b = tl.map_elementwise(pick, i, 5)\nz = a - b", DType::Int32, 16, before),
            (V{2, 4, 1, 4, 0, 4, 3, 1, 0, 2, 0, 3, 4, 2, 4, 2}));
  EXPECT_EQ(s("parts = (i, i * 2, i * 3)\nz = parts[1:][-1] + [v + k for v, k in ((i, 1), (i, 2)) if k > 1][0]",
              DType::Int32)[0],
            14);
  EXPECT_EQ(s("z = i + (m := 3) * m", DType::Int32)[0], 12);
  EXPECT_EQ(s("z = tl.where(i == 3, 1, 0) if isinstance(i, tl.tensor) and 0 < B < 99 else i", DType::Int32)[0], 1);
}

TEST(InlineAssembly, OfOneInstructionHasItsMeaning) {
  Sixteen s;
  const auto assembly = [](const std::string& text, const std::string& operands) {
    return "z = tl.inline_asm_elementwise('" + text + "', '=f,f', [" + operands + "], tl.float32, True, 1)";
  };
  EXPECT_EQ(s(assembly("fma.rn.f32 $0, $1, $2, $3;", "x, x, x"))[0], 12);
  EXPECT_EQ(s(assembly("ex2.approx.ftz.f32 $0, $1;", "x"))[0], 8);
  EXPECT_NE(s.stop(assembly("mul.wide.s32 $0, $1, $2;", "x, x")).find("the inline assembly `mul.wide.s32"),
            std::string::npos);
  EXPECT_NE(s.stop(assembly("ex2.approx.ftz.f32 $0, $2;", "x")).find("is not supported"), std::string::npos);
}

TEST(Arithmetic, TakesRemaindersOfFloatsAndShiftsSignedByUnsigned) {
  Sixteen s;
  V expected;
  for (const double x : s.x) expected.push_back(std::fmod(x, 2.5));
  EXPECT_EQ(s("z = x % 2.5"), expected);
  EXPECT_EQ(s("z = (-i).to(tl.int8) >> (i * 0 + 1).to(tl.uint32)", DType::UInt32)[0], 0xfffffffe);
  EXPECT_EQ(s("z = ((-i) >> (i * 0 + 1).to(tl.uint32)).to(tl.int32)", DType::Int32)[0], -2);
}

TEST(Atomics, OrderFloatsAndCompareTheirBits) {
  Sixteen s;
  EXPECT_EQ(s("tl.store(zp + r, -1.0)\ntl.atomic_max(zp + r, x)\nz = tl.load(zp + r)")[4], -1);
  EXPECT_EQ(s("tl.store(zp + r, -1.0)\ntl.atomic_min(zp + r, x)\nz = tl.load(zp + r)")[4], -5);
  EXPECT_EQ(s("tl.store(zp + r, 3.0)\ntl.atomic_cas(zp + r, x, x * 2)\nz = tl.load(zp + r)")[0], 6);
  EXPECT_NE(s.stop("tl.atomic_add(zp + r, x, sem='odd')").find("is no memory order"), std::string::npos);
}

}  // namespace
}  // namespace plumb::triton
