// SPDX-License-Identifier: Apache-2.0
// Meanings of operators and functions on small blocks, against values worked out by hand or by <cmath>.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "triton/lab_test.h"

namespace plumb::triton {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Runs `body` with blocks x, y (f32), h (f16), b (bf16), i, j (int32), u (uint32), k (int8), each of eight elements,
// the index block `r`, and stores what it leaves in `z` as `out`; eight elements unless `count` says otherwise.
struct Eight {
  std::vector<double> x = {0.5, -1.5, 2, 3.25, -4, 0, 7, 100}, y = {1, 2, -3, 4, 0.5, -0.25, 8, 3};
  std::vector<double> i = {7, -7, 8, -8, 0, 1, 2147483647, -2147483648.0}, j = {2, 2, -3, 3, 5, 7, 1, 2};
  std::vector<double> u = {1, 2, 4294967295.0, 7, 0, 5, 6, 31}, k = {127, -128, 1, -1, 0, 5, 100, -100};

  Lab lab(const std::string& body, DType out, std::size_t count) const {
    std::string text =
        "@triton.jit\ndef kernel(xp, yp, hp, bp, ip, jp, up, kp, zp, n, one, COUNT: tl.constexpr, F: tl.constexpr = "
        "2):\n"
        "    r = tl.arange(0, 8)\n    x = tl.load(xp + r)\n    y = tl.load(yp + r)\n    h = tl.load(hp + r)\n"
        "    b = tl.load(bp + r)\n    i = tl.load(ip + r)\n    j = tl.load(jp + r)\n    u = tl.load(up + r)\n"
        "    k = tl.load(kp + r)\n";
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t end = std::min(body.find('\n', at), body.size());
      text += "    " + body.substr(at, end - at) + "\n";
      at = end + 1;
    }
    text += count == 1 ? "    tl.store(zp, z)\n" : "    tl.store(zp + tl.arange(0, COUNT), z)\n";
    Lab lab(text);
    lab.in("xp", DType::Fp32, x), lab.in("yp", DType::Fp32, y), lab.in("hp", DType::Fp16, x),
        lab.in("bp", DType::BF16, x);
    lab.in("ip", DType::Int32, i), lab.in("jp", DType::Int32, j), lab.in("up", DType::UInt32, u),
        lab.in("kp", DType::Int8, k);
    lab.out("zp", out, count);
    lab.integers({{"n", 10}, {"one", 1}});
    lab.constants({{"COUNT", static_cast<std::int64_t>(count)}});
    return lab;
  }
  std::vector<double> operator()(const std::string& body, DType out = DType::Fp32, std::size_t count = 8) const {
    Lab made = lab(body, out, count);
    EXPECT_TRUE(made.kernel) << render(made.findings, false);
    if (!made.kernel) return {};
    const Result result = made.run();
    EXPECT_FALSE(result.stop) << render(result.stop->finding, false);
    return made["zp"];
  }
  // The message of the stop.
  std::string stop(const std::string& body, DType out = DType::Fp32, std::size_t count = 8) const {
    Lab made = lab(body, out, count);
    if (!made.kernel) return render(made.findings, false);
    const Result result = made.run();
    return result.stop ? render(result.stop->finding, false) : "no stop";
  }
};

using V = std::vector<double>;

TEST(Arithmetic, FloatsRoundPerOperation) {
  Eight e;
  EXPECT_EQ(e("z = x * y + x"), (V{1, -4.5, -4, 16.25, -6, 0, 63, 400}));
  EXPECT_EQ(e("z = x / y"),
            (V{0.5, -0.75, static_cast<float>(2 / -3.0), 0.8125, -8, -0.0, 0.875, static_cast<float>(100 / 3.0)}));
  EXPECT_EQ(e("z = -x"), (V{-0.5, 1.5, -2, -3.25, 4, 0, -7, -100}));
  EXPECT_FALSE(std::signbit(e("z = -(x * 0.0)")[1])) << "Triton's -x is 0 - x";
}

TEST(Arithmetic, IntegersWrapAtTheirWidth) {
  Eight e;
  EXPECT_EQ(e("z = i + 1", DType::Int32)[6], -2147483648.0);
  EXPECT_EQ(e("z = k + k", DType::Int8), (V{-2, 0, 2, -2, 0, 10, -56, 56}));
  EXPECT_EQ(e("z = u + u", DType::UInt32)[2], 4294967294.0);
  EXPECT_EQ(e("z = (i.to(tl.int64) + 1).to(tl.float64)", DType::Fp64)[6], 2147483648.0);
}

TEST(Arithmetic, RunTimeDivisionTruncatesAndCompileTimeFloors) {
  Eight e;
  EXPECT_EQ(e("z = i // j", DType::Int32), (V{3, -3, -2, -2, 0, 0, 2147483647, -1073741824}));
  EXPECT_EQ(e("z = i % j", DType::Int32), (V{1, -1, 2, -2, 0, 1, 0, 0}));
  EXPECT_EQ(e("z = r * 0 + (-7 // 2)", DType::Int32)[0], -4);
  EXPECT_EQ(e("z = r * 0 + (-7 % 4)", DType::Int32)[0], 1);
  EXPECT_EQ(e("s = -7\nz = r * 0 + s // 2", DType::Int32)[0], -3) << "an assigned number is a run-time scalar";
  EXPECT_EQ(e("s: tl.constexpr = -7\nz = r * 0 + s // 2", DType::Int32)[0], -4);
}

TEST(Arithmetic, ShiftsAndBitsFollowSignedness) {
  Eight e;
  EXPECT_EQ(e("z = i >> 1", DType::Int32)[1], -4);
  EXPECT_EQ(e("z = u >> 28", DType::UInt32)[2], 15);
  EXPECT_EQ(e("z = (i & 0xF) | (j ^ 1)", DType::Int32)[0], 7);
  EXPECT_EQ(e("z = ~i", DType::Int32)[0], -8);
  EXPECT_EQ(e("z = (x > 0) & ~(y > 0)", DType::Int8), (V{0, 0, 1, 0, 0, 0, 0, 0}));
}

TEST(Promotion, WeakScalarsFollowTheTensorAndAssignedOnesDoNot) {
  Eight e;
  // 2049 is no f16: the product of two f16 rounds, the product with a run-time f32 scalar does not.
  e.x = {2047, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_EQ(e("z = h * 3.0")[0], 6140);
  EXPECT_EQ(e("s = 3.0\nz = h * s")[0], 6141);
  // A type that is not as claimed stops the run with the line of its assertion.
  EXPECT_EQ(e("tl.static_assert((h * 3.0).dtype == tl.float16)\n"
              "tl.static_assert((b * 2).dtype == tl.bfloat16)\n"
              "tl.static_assert((b / b).dtype == tl.float32)\n"
              "tl.static_assert((b * i).dtype == tl.float32)\n"
              "tl.static_assert((h * i).dtype == tl.float16)\n"
              "tl.static_assert((h + b).dtype == tl.float16)\n"
              "tl.static_assert((i / i).dtype == tl.float32)\n"
              "tl.static_assert((i + u).dtype == tl.uint32)\n"
              "tl.static_assert((k + u).dtype == tl.uint32)\n"
              "tl.static_assert(tl.maximum(h, 0.0).dtype == tl.float32)\n"
              "tl.static_assert(tl.where(x > 0, h, 0.0).dtype == tl.float16)\n"
              "tl.static_assert(tl.sum(x > 0, 0).dtype == tl.uint32)\n"
              "tl.static_assert(tl.max(h, 0).dtype == tl.float32)\n"
              "z = x")[1],
            1);
}

TEST(Promotion, ComparisonsAreNotWeak) {
  Eight e;
  e.x = {0.1, 0, 0, 0, 0, 0, 0, 0};  // as f16 it is below 0.1 in f32
  EXPECT_EQ(e("z = h < 0.1", DType::Int8)[0], 1);
}

TEST(Promotion, RefusesWhatTritonRefuses) {
  Eight e;
  EXPECT_NE(e.stop("z = i // u").find("signedness"), std::string::npos);
  EXPECT_NE(e.stop("z = u + (-1)").find("negative"), std::string::npos);
  EXPECT_NE(e.stop("z = k + 300").find("out of range"), std::string::npos);
  EXPECT_NE(e.stop("z = x & 1").find("needs integers"), std::string::npos);
  EXPECT_NE(e.stop("z = tl.exp(h)").find("float32 or float64"), std::string::npos);
  EXPECT_NE(e.stop("z = xp + x").find("triton.type"), std::string::npos);
}

TEST(Comparison, IsFalseForNaNButForNotEqual) {
  Eight e;
  e.x[0] = std::nan("");
  EXPECT_EQ(e("z = (x == x) + 2 * (x != x).to(tl.int8)", DType::Int8)[0], 2);
  EXPECT_EQ(e("z = (x < y) | (x >= y)", DType::Int8)[0], 0);
}

TEST(Cast, IntegersTruncateAndFloatsRound) {
  Eight e;
  EXPECT_EQ(e("z = i.to(tl.int8)", DType::Int8), (V{7, -7, 8, -8, 0, 1, -1, 0}));
  EXPECT_EQ(e("z = (k.to(tl.uint8)).to(tl.int32)", DType::Int32)[1], 128);
  EXPECT_EQ(e("z = x.to(tl.int32)", DType::Int32), (V{0, -1, 2, 3, -4, 0, 7, 100}));
  EXPECT_EQ(e("z = (x > 1).to(tl.float32)"), (V{0, 0, 1, 1, 0, 0, 1, 1}));
  e.x[0] = 1 + 0x1p-9;
  EXPECT_EQ(e("z = x.to(tl.bfloat16)")[0], 1);
  EXPECT_EQ(e("z = (x + 0.00390625).to(tl.bfloat16, fp_downcast_rounding='rtz')")[0], 1);
  e.x[1] = 1000;
  EXPECT_EQ(e("z = x.to(tl.float8e4nv).to(tl.float32)")[1], 448) << "fp8 saturates";
  EXPECT_EQ(e("z = x.to(tl.int32, bitcast=True)", DType::Int32)[5], 0);
  EXPECT_EQ(e("z = tl.cast(i, tl.float32)")[6], 2147483648.0);
}

TEST(Math, FunctionsAreThoseOfTheirNames) {
  Eight e;
  e.x = {0.5, 1.5, 2, 3.25, 4, 0.125, 7, 10};
  const std::vector<std::pair<const char*, double (*)(double)>> rows = {
      {"tl.exp(x)", [](double v) { return std::exp(v); }},
      {"tl.math.exp2(x)", [](double v) { return std::exp2(v); }},
      {"tl.log(x)", [](double v) { return std::log(v); }},
      {"tl.log2(x)", [](double v) { return std::log2(v); }},
      {"tl.sqrt(x)", [](double v) { return std::sqrt(v); }},
      {"tl.rsqrt(x)", [](double v) { return 1 / std::sqrt(v); }},
      {"x.sin()", [](double v) { return std::sin(v); }},
      {"tl.cos(x)", [](double v) { return std::cos(v); }},
      {"tl.erf(x)", [](double v) { return std::erf(v); }},
      {"tl.sigmoid(x)", [](double v) { return 1 / (1 + std::exp(-v)); }},
      {"tl.floor(x) + 2 * tl.ceil(x)", [](double v) { return std::floor(v) + 2 * std::ceil(v); }},
      {"tl.extra.libdevice.tanh(x)", [](double v) { return std::tanh(v); }},
      {"tl.fma(x, x, 1.0)", [](double v) { return v * v + 1; }},
      {"tl.clamp(x, 1.0, 3.0)", [](double v) { return std::clamp(v, 1.0, 3.0); }},
      {"tl.abs(-x)", [](double v) { return v; }},
      {"tl.fdiv(x, 3.0)", [](double v) { return v / 3; }},
  };
  // Row i of the store is function i.
  std::string body = "q = tl.arange(0, 16)\nm = tl.zeros((16, 8), tl.float32)\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    body += "m = tl.where(q[:, None] == " + std::to_string(i) + ", (" + rows[i].first + ")[None, :], m)\n";
  }
  ASSERT_EQ(rows.size(), 16U);
  const V got = e(body + "z = tl.reshape(m, 128)", DType::Fp32, 128);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double expected = rows[i / 8].second(e.x[i % 8]);
    EXPECT_NEAR(got[i], expected, std::fabs(expected) * 0x1p-22) << rows[i / 8].first << " of " << e.x[i % 8];
  }
}

TEST(Math, MaximumTakesTheNumberUnlessNaNPropagates) {
  Eight e;
  e.x[0] = std::nan("");
  EXPECT_EQ(e("z = tl.maximum(x, y)")[0], 1);
  EXPECT_TRUE(std::isnan(e("z = tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)")[0]));
  EXPECT_EQ(e("z = min(i, j)", DType::Int32), (V{2, -7, -3, -8, 0, 1, 1, -2147483648.0}));
}

TEST(Math, CdivRoundsUp) {
  Eight e;
  EXPECT_EQ(e("z = r * 0 + tl.cdiv(n, 4) + tl.cdiv(9, 4) * 100", DType::Int32)[0], 303);
  EXPECT_EQ(e("z = r + triton.next_power_of_2(9)", DType::Int32)[1], 17);
}

TEST(Where, SelectsWithoutEvaluatingLess) {
  Eight e;
  EXPECT_EQ(e("z = tl.where(x > 1, x, -1.0)"), (V{-1, -1, 2, 3.25, -1, -1, 7, 100}));
  EXPECT_EQ(e("z = tl.where(n > 5, i, 0)", DType::Int32)[0], 7);
}

TEST(Reduction, SumsMaximaAndIndices) {
  Eight e;
  EXPECT_EQ(e("z = tl.sum(x, 0)", DType::Fp32, 1)[0], 107.25);
  EXPECT_EQ(e("z = tl.max(x, axis=0)", DType::Fp32, 1)[0], 100);
  EXPECT_EQ(e("z = x.min(0)", DType::Fp32, 1)[0], -4);
  EXPECT_EQ(e("z = tl.argmax(x, 0) * 10 + tl.argmin(x, 0)", DType::Int32, 1)[0], 74);
  EXPECT_EQ(e("v, at = tl.max(y, 0, return_indices=True)\nz = v * 10 + at", DType::Fp32, 1)[0], 86);
  EXPECT_EQ(e("z = tl.sum(k)", DType::Int32, 1)[0], 4);
  EXPECT_EQ(e("z = tl.xor_sum(u, 0)", DType::UInt32, 1)[0], 1 ^ 2 ^ 4294967295U ^ 7 ^ 5 ^ 6 ^ 31);
  EXPECT_EQ(e("m = tl.reshape(x, 2, 4)\nz = tl.sum(m, 1)", DType::Fp32, 2), (V{4.25, 103}));
  EXPECT_EQ(e("m = tl.reshape(x, (2, 4))\nz = tl.max(m, 0)", DType::Fp32, 4), (V{0.5, 0, 7, 100}));
  EXPECT_EQ(e("m = tl.reshape(x, (2, 4))\nz = tl.reshape(tl.sum(m, 0, keep_dims=True), 4)", DType::Fp32, 4),
            (V{-3.5, -1.5, 9, 103.25}));
}

TEST(Reduction, TakesACombiningFunction) {
  const char* text =
      "@triton.jit\ndef both(a, p, b, q):\n    take = a > b\n    return tl.where(take, a, b), tl.where(take, p, q)\n"
      "@triton.jit\ndef add(a, b):\n    return a + b\n"
      "@triton.jit\ndef kernel(xp, zp):\n    r = tl.arange(0, 8)\n    x = tl.load(xp + r)\n"
      "    v, at = tl.reduce((x, r), 0, both)\n    tl.store(zp, v)\n    tl.store(zp + 1, at)\n"
      "    tl.store(zp + 2 + r, tl.associative_scan(x, 0, add))\n"
      "    tl.store(zp + 10 + r, tl.associative_scan(x, 0, add, reverse=True))\n";
  Lab lab(text);
  lab.in("xp", DType::Fp32, {1, 5, -2, 9, 3, 3, 0, 2});
  lab.out("zp", DType::Fp32, 18);
  ASSERT_TRUE(lab.kernel) << render(lab.findings, false);
  const Result result = lab.run();
  ASSERT_FALSE(result.stop) << render(result.stop->finding, false);
  EXPECT_EQ(lab["zp"], (V{9, 3, 1, 6, 4, 13, 16, 19, 19, 21, 21, 20, 15, 17, 8, 5, 2, 2}));
}

TEST(Scan, RunsFromEitherEnd) {
  Eight e;
  EXPECT_EQ(e("z = tl.cumsum(y, 0)"), (V{1, 3, 0, 4, 4.5, 4.25, 12.25, 15.25}));
  EXPECT_EQ(e("z = tl.cumsum(y, 0, reverse=True)"), (V{15.25, 14.25, 12.25, 15.25, 11.25, 10.75, 11, 3}));
  EXPECT_EQ(e("z = tl.cumprod(y, 0)"), (V{1, 2, -6, -24, -12, 3, 24, 72}));
  EXPECT_EQ(e("z = tl.cumsum(k, 0)", DType::Int32)[1], -1);
}

TEST(Shape, BroadcastsTransposesAndJoins) {
  Eight e;
  e.x = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(e("m = tl.reshape(x, 2, 4)\nz = tl.reshape(m.T, 8)"), (V{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(e("m = tl.reshape(x, 2, 2, 2)\nz = tl.permute(m, 2, 0, 1).reshape(8)"), (V{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(e("m = tl.reshape(x, 2, 2, 2)\nz = tl.ravel(tl.trans(m))"), (V{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(
      e("s = tl.arange(0, 2)\nt = tl.arange(0, 4)\nz = tl.reshape(s[:, None] * 10 + t[None, :], 8)", DType::Int32),
      (V{0, 1, 2, 3, 10, 11, 12, 13}));
  EXPECT_EQ(e("s = tl.arange(0, 2)\nz = tl.reshape(tl.broadcast_to(s[:, None], 2, 4), 8)", DType::Int32),
            (V{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(e("t = tl.arange(0, 4)\nz = tl.interleave(t, t + 10)", DType::Int32), (V{0, 10, 1, 11, 2, 12, 3, 13}));
  EXPECT_EQ(e("p, q = tl.split(tl.reshape(x, 4, 2))\nz = tl.join(q, p).reshape(8)"), (V{1, 0, 3, 2, 5, 4, 7, 6}));
  EXPECT_EQ(e("z = tl.flip(x)"), (V{7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(e("z = tl.expand_dims(x, 0).shape[1] + r", DType::Int32)[0], 8);
  EXPECT_EQ(e("z = tl.zeros_like(x) + tl.full((8,), 2, tl.float32) + x.numel"), (V(8, 10)));
  EXPECT_NE(e.stop("z = x + tl.arange(0, 4)").find("[8] and [4]"), std::string::npos);
  EXPECT_NE(e.stop("z = tl.arange(0, 6)").find("power of two"), std::string::npos);
}

TEST(Dot, MultipliesAndAccumulates) {
  Eight e;
  e.x = {1, 2, 3, 4, 5, 6, 7, 8};
  const char* body = "m = tl.reshape(x, 2, 4)\nd = tl.dot(m, m.T, input_precision='ieee')\nz = tl.reshape(d, 4)";
  EXPECT_EQ(e(body, DType::Fp32, 4), (V{30, 70, 70, 174}));
  EXPECT_EQ(e("m = tl.reshape(h, 2, 4)\nz = tl.reshape(tl.dot(m, m.T, acc=tl.full((2, 2), 1.0, tl.float32)), 4)",
              DType::Fp32, 4),
            (V{31, 71, 71, 175}));
  e.k = {1, 2, 3, 4, -5, 6, 7, 127};
  EXPECT_EQ(e("m = tl.reshape(k, 2, 4)\nz = tl.reshape(tl.dot(m, m.T), 4)", DType::Int32, 4), (V{30, 536, 536, 16239}));
  e.x = {1 + 0x1p-12, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(e("m = tl.reshape(x, 2, 4)\nz = tl.reshape(tl.dot(m, m.T), 4)", DType::Fp32, 4)[0], 1)
      << "f32 operands are cut to tf32";
  EXPECT_GT(e("m = tl.reshape(x, 2, 4)\nz = tl.reshape(tl.dot(m, m.T, allow_tf32=False), 4)", DType::Fp32, 4)[0], 1);
  EXPECT_NE(e.stop("m = tl.reshape(x, 2, 4)\nz = tl.dot(m, m)").find("do not match"), std::string::npos);
}

TEST(Memory, MasksLeaveOutLanes) {
  Eight e;
  EXPECT_EQ(e("z = tl.load(xp + r, mask=r < 3, other=-1.0)"), (V{0.5, -1.5, 2, -1, -1, -1, -1, -1}));
  EXPECT_EQ(e("z = tl.load(xp + r + 5, mask=r < 3, other=9)")[2], 100) << "masked lanes touch no memory";
  EXPECT_NE(e.stop("z = tl.load(xp + r + 5)")
                .find("of element [3] is outside every tensor: 4 bytes at 0 past the end of `xp`"),
            std::string::npos);
  EXPECT_NE(e.stop("z = tl.load(xp + r - 2)").find("8 before the start of `xp`"), std::string::npos);
}

TEST(Memory, UnspecifiedLanesMayBeComputedWithButNotStored) {
  Eight e;
  const std::string message = e.stop("z = tl.load(xp + r, mask=r < 3) + x");
  EXPECT_NE(message.find("an unspecified value is stored of element [3]"), std::string::npos) << message;
  EXPECT_EQ(e("v = tl.load(xp + r, mask=r < 3) + x\nz = tl.where(r < 3, v, 0.0)")[0], 1);
  EXPECT_NE(e.stop("q = tl.load(ip + r, mask=r < 3)\nz = tl.load(xp + q * 0)").find("address of element [3]"),
            std::string::npos);
  EXPECT_NE(e.stop("q = tl.load(ip + r, mask=r < 3)\nz = tl.sum(q, 0) + r").find("unspecified"), std::string::npos);
  EXPECT_NE(e.stop("q = tl.load(ip, mask=n < 3)\nif q > 0:\n    n = n + 1\nz = x")
                .find("condition of `if` is an unspecified"),
            std::string::npos);
}

TEST(Memory, UndefinedArithmeticIsFoundWhereItMatters) {
  Eight e;
  EXPECT_NE(e.stop("z = n // (n - 10) + r").find("no defined result"), std::string::npos);
  EXPECT_NE(e.stop("z = (i // r).to(tl.float32)").find("an unspecified value is stored of element [0]"),
            std::string::npos);
  EXPECT_EQ(e("z = tl.where(r > 0, i // r, 0)", DType::Int32)[1], -7);
  EXPECT_NE(e.stop("z = (r << 32).to(tl.float32)").find("unspecified"), std::string::npos);
}

TEST(Memory, AtomicsReturnTheOldValueAndApplyDuplicates) {
  const char* text =
      "@triton.jit\ndef kernel(cp, fp, op):\n    r = tl.arange(0, 8)\n    old = tl.atomic_add(cp + r % 2, 1)\n"
      "    tl.store(op + r, old)\n    tl.atomic_max(cp + 2 + r * 0, r)\n    tl.atomic_add(fp, 0.5)\n"
      "    tl.atomic_xchg(cp + 3, 42)\n    tl.atomic_cas(cp + 3, 42, 43)\n";
  Lab lab(text);
  domain::Memory memory(false);
  domain::Ieee domain;
  for (const char* name : {"cp", "fp", "op"}) {
    domain::Buffer& buffer = memory.add(name, 64, domain::Init::Concrete, domain::Format::F32);
    lab.call.arguments[name] = {std::string(name) == "fp" ? "*fp32" : "*i32", buffer.address, {}};
  }
  lab.grid(3);
  ASSERT_TRUE(lab.kernel) << render(lab.findings, false);
  const Result result = lab.kernel->evaluate<domain::Ieee>(lab.call, {&domain}, memory, {});
  ASSERT_FALSE(result.stop) << render(result.stop->finding, false);
  const auto word = [&](const char* name, int at) {
    std::int32_t value = 0;
    std::memcpy(&value, memory.find(name)->bytes.get() + 4 * at, 4);
    return value;
  };
  EXPECT_EQ(word("cp", 0), 12);
  EXPECT_EQ(word("cp", 2), 7);
  EXPECT_EQ(word("cp", 3), 43);
  EXPECT_EQ(word("op", 7), 8 + 3) << "the last program's last odd lane";
  EXPECT_EQ(word("fp", 0), 0x3fc00000);
}

TEST(Descriptor, ClipsStoresAndFillsLoads) {
  const char* text =
      "@triton.jit\ndef kernel(ap, zp, M, N):\n"
      "    a = tl.make_tensor_descriptor(ap, shape=[M, N], strides=[N, 1], block_shape=[4, 4])\n"
      "    z = tl.make_tensor_descriptor(zp, [M, N], [N, 1], [4, 4])\n"
      "    v = a.load([-1, 2])\n    tl.static_assert(v.dtype == tl.float32)\n    z.store([1, tl.program_id(0) * 2], v "
      "+ 1)\n";
  Lab lab(text);
  V values(12);
  for (int i = 0; i < 12; ++i) values[static_cast<std::size_t>(i)] = i + 1;
  lab.in("ap", DType::Fp32, values);
  lab.out("zp", DType::Fp32, 12);
  lab.integers({{"M", 3}, {"N", 4}});
  ASSERT_TRUE(lab.kernel) << render(lab.findings, false);
  ASSERT_FALSE(lab.run().stop);
  const V& z = lab["zp"];
  EXPECT_TRUE(std::isnan(z[0])) << "the first row is not written";
  EXPECT_EQ((V{z.begin() + 4, z.end()}), (V{1, 1, 1, 1, 4, 5, 1, 1}));
  lab.integers({{"N", 3}});
  const Result result = lab.run();
  ASSERT_TRUE(result.stop);
  EXPECT_NE(render(result.stop->finding, false).find("no multiple of 16"), std::string::npos);
}

TEST(Infinity, IsSpelledAsPythonDoes) {
  Eight e;
  EXPECT_EQ(e("z = x * 0 + float('-inf')")[1], -kInf);
  EXPECT_EQ(e("z = tl.full((8,), -float(\"inf\"), tl.float32)")[1], -kInf);
}

}  // namespace
}  // namespace plumb::triton
