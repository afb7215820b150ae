// SPDX-License-Identifier: Apache-2.0
// Control flow, names, calls and how an evaluation ends; then what the field domain makes of a kernel.
#include <gtest/gtest.h>

#include "triton/codes.h"
#include "triton/lab_test.h"

namespace plumb::triton {
namespace {

using V = std::vector<double>;

// A kernel with parameters zp (f32, four elements), n = 5 and s = 1, whose body is `body`; module-level text before it.
Lab kernel(const std::string& body, const std::string& before = "", const char* decorator = "@triton.jit") {
  std::string text = "import triton\nimport triton.language as tl\n" + before + decorator + "\ndef kernel(zp, n, s):\n";
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = std::min(body.find('\n', at), body.size());
    text += "    " + body.substr(at, end - at) + "\n";
    at = end + 1;
  }
  Lab lab(text);
  lab.out("zp", DType::Fp32, 4);
  lab.integers({{"n", 5}, {"s", 1}});
  return lab;
}

double first(const std::string& body, const std::string& before = "", const char* decorator = "@triton.jit") {
  Lab lab = kernel(body, before, decorator);
  EXPECT_TRUE(lab.kernel) << render(lab.findings, false);
  if (!lab.kernel) return -1;
  const Result result = lab.run();
  EXPECT_FALSE(result.stop) << render(result.stop->finding, false);
  return lab["zp"][0];
}

std::string message(const std::string& body, const std::string& before = "") {
  Lab lab = kernel(body, before);
  EXPECT_TRUE(lab.kernel) << render(lab.findings, false);
  if (!lab.kernel) return "";
  const Result result = lab.run();
  return result.stop ? render(result.stop->finding, false) : "no stop";
}

TEST(Control, LoopsAndBranchesRunAsWritten) {
  EXPECT_EQ(first("t = 0\nfor i in range(n):\n    for j in range(i, 0, -1):\n        t += j\ntl.store(zp, t)"), 20);
  EXPECT_EQ(first("t = 0\nwhile t * t < 30:\n    t += 1\ntl.store(zp, t)"), 6);
  EXPECT_EQ(first("t = 1\nfor i in tl.static_range(3, 0, -1):\n    t = t * 10 + i\ntl.store(zp, t)"), 1321);
  EXPECT_EQ(first("t = 1.0\nif n > 3:\n    t = 2.0\nelif n > 2:\n    t = 3.0\nelse:\n    t = 4.0\ntl.store(zp, t)"), 2);
  EXPECT_EQ(first("tl.store(zp, 1.0)\nif n == 5:\n    return\ntl.store(zp, 2.0)"), 1);
  EXPECT_EQ(first("for i in tl.range(0, n, num_stages=3, flatten=True, warp_specialize=True):\n    tl.store(zp, i)"),
            4);
  EXPECT_EQ(
      first("a = (n > 3) and (n < 4)\nb = (n > 3) or (n < 4)\ntl.store(zp, (not a).to(tl.int32) + b.to(tl.int32))"), 2);
}

TEST(Control, CompileTimeConditionsHideTheOtherBranch) {
  EXPECT_EQ(first("if s == 1:\n    tl.store(zp, 1)\nelse:\n    tl.static_assert(False)"), 1)
      << "an argument of 1 is compile time";
  EXPECT_EQ(first("A: tl.constexpr = None\nif A is None:\n    tl.store(zp, 7)\nelse:\n    tl.store(zp, A)"), 7);
  EXPECT_EQ(first("tl.store(zp, 3 if MODE == 'three' else 4)", "MODE = tl.constexpr('three')\n"), 3);
  EXPECT_EQ(first("t = s // -2\ntl.store(zp, t)", "", "@triton.jit(do_not_specialize=['s'])"), 0)
      << "not specialised: truncates";
  EXPECT_EQ(first("t = s // -2\ntl.store(zp, t)"), -1) << "specialised: floors";
}

TEST(Names, AreAsVisibleAsInTritonsCompiler) {
  EXPECT_NE(message("for i in range(n):\n    t = i\ntl.store(zp, t)").find("`t` has no value here"), std::string::npos);
  EXPECT_NE(message("if n > 3:\n    t = 1\ntl.store(zp, t)").find("`t` has no value here"), std::string::npos);
  EXPECT_NE(message("for i in range(n):\n    pass\ntl.store(zp, i)").find("`i` has no value here"), std::string::npos);
  EXPECT_NE(message("t = 0\nfor i in range(n):\n    t = t + 0.5\ntl.store(zp, t)")
                .find("`t` is int32 before the loop and float32 after it"),
            std::string::npos);
  EXPECT_NE(
      message("t = tl.zeros((4,), tl.float32)\nif n > 3:\n    t = 0.0\ntl.store(zp, t)").find("its type must stay"),
      std::string::npos);
  EXPECT_EQ(first("t = G\nG = 2\ntl.store(zp, t + G)", "G = 4\n"), 6) << "a local without a value is the module's name";
}

TEST(Calls, BindPositionsKeywordsDefaultsAndFunctions) {
  const char* helpers =
      "@triton.jit\ndef scale(x, by=3, *, plus: tl.constexpr = 0):\n    return x * by + plus, x\n"
      "@triton.jit\ndef twice(f, x):\n    a, b = f(x)\n    c, d = f(a, by=2)\n    return c\n"
      "@triton.jit\ndef quiet(x):\n    if x > 0:\n        return\n";
  EXPECT_EQ(first("a, b = scale(n, plus=1)\ntl.store(zp, a + b)", helpers), 21);
  EXPECT_EQ(first("tl.store(zp, twice(scale, n))", helpers), 30);
  EXPECT_EQ(first("t = (n, 10)\na, b = scale(*t)\ntl.store(zp, a)", helpers), 50);
  EXPECT_EQ(first("quiet(n)\ntl.store(zp, 1)", helpers), 1);
  EXPECT_NE(message("a = scale(n, 1, by=2)", helpers).find("`scale` is given `by` twice"), std::string::npos);
  EXPECT_NE(message("a = scale()", helpers).find("the argument `x` is missing"), std::string::npos);
  EXPECT_NE(message("a = loop(n)", "@triton.jit\ndef loop(x):\n    return loop(x)\n").find("recursion"),
            std::string::npos);
}

TEST(Calls, MessagesNameThePlaceAndWhoCalled) {
  const std::string text = message("bad(zp + 100)", "@triton.jit\ndef bad(p):\n    tl.store(p, 1.0)\n");
  EXPECT_NE(text.find("kernel.py:5:5: error: the store is outside every tensor: 4 bytes at 384 past the end of `zp`"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("kernel.py:8:5: note: called from here"), std::string::npos) << text;
  EXPECT_NE(text.find("in program (0, 0, 0)"), std::string::npos) << text;
}

TEST(Arguments, MustFitTheParameters) {
  const auto stop = [](auto change) {
    Lab lab("@triton.jit\ndef kernel(zp, n, B: tl.constexpr):\n    tl.store(zp + tl.arange(0, B), n)\n");
    lab.out("zp", DType::Fp32, 4);
    lab.integers({{"n", 5}});
    lab.constants({{"B", 4}});
    change(lab);
    const Result result = lab.run();
    return result.stop ? render(result.stop->finding, false) : "no stop";
  };
  EXPECT_EQ(stop([](Lab&) {}), "no stop");
  EXPECT_NE(stop([](Lab& lab) { lab.call.arguments.erase("n"); }).find("the argument `n` is missing"),
            std::string::npos);
  EXPECT_NE(stop([](Lab& lab) { lab.constants({{"C", 4}}); }).find("no parameter `C`"), std::string::npos);
  EXPECT_NE(stop([](Lab& lab) { lab.integers({{"B", 4}}); }).find("constexpr parameter"), std::string::npos);
  EXPECT_NE(stop([](Lab& lab) { lab.call.arguments["n"].type = "fp7"; }).find("`fp7`"), std::string::npos);
}

TEST(Run, ReportsTheLowestProgramThatStops) {
  Lab lab = kernel("p = tl.program_id(0)\nif p % 7 == 5:\n    tl.store(zp - 1, 1.0)\nelse:\n    tl.store(zp, 0.0)");
  lab.grid(400);
  for (int i = 0; i < 5; ++i) {
    const Result result = lab.run({.workers = 2});
    ASSERT_TRUE(result.stop);
    EXPECT_NE(render(result.stop->finding, false).find("in program (5, 0, 0)"), std::string::npos);
  }
}

TEST(Run, CoversTheProgramsAskedFor) {
  Lab lab = kernel("tl.store(zp + tl.program_id(0) + 2 * tl.program_id(1), 1.0)");
  lab.grid(2, 2);
  const Result result = lab.run({.first_program = 1, .last_program = 3});
  ASSERT_FALSE(result.stop);
  EXPECT_EQ(result.programs, 2U);
  EXPECT_TRUE(std::isnan(lab["zp"][0]));
  EXPECT_EQ(lab["zp"][1], 1);
  EXPECT_EQ(lab["zp"][2], 1);
  EXPECT_TRUE(std::isnan(lab["zp"][3]));
}

TEST(Run, EndsAtItsBudgetAndWhenCancelled) {
  Lab lab = kernel("t = 0\nwhile t < 2:\n    t = t * 0");
  Result result = lab.run({.step_budget = 1 << 21});
  ASSERT_TRUE(result.stop);
  EXPECT_EQ(result.stop->kind, Stop::Kind::Budget);
  result = lab.run({.progress = [](std::uint64_t, std::uint64_t) { return false; }});
  ASSERT_TRUE(result.stop);
  EXPECT_EQ(result.stop->kind, Stop::Kind::Cancelled);
}

// --- the field domain ------------------------------------------------------------------------------------------------

struct Abstract {
  explicit Abstract(const std::string& body) : field(context) {
    std::string text = "@triton.jit\ndef kernel(xp, yp, ip, op, zp):\n    r = tl.arange(0, 8)\n";
    text += "    x = tl.load(xp + r)\n    y = tl.load(yp + r)\n";
    for (std::size_t at = 0; at < body.size();) {
      const std::size_t end = std::min(body.find('\n', at), body.size());
      text += "    " + body.substr(at, end - at) + "\n";
      at = end + 1;
    }
    Lab lab(text);
    lab.in("xp", DType::Fp32, V(8)), lab.in("yp", DType::Fp32, V(8));
    lab.in("ip", DType::Int32, {7, 6, 5, 4, 3, 2, 1, 0});
    lab.out("op", DType::Int32, 8), lab.out("zp", DType::Fp32, 8);
    EXPECT_TRUE(lab.kernel) << render(lab.findings, false);
    result = lab.run(memory, field);
  }
  domain::Field::Real element(std::uint64_t index) {
    return field.read(*memory.find("zp"), index * 4, domain::Format::F32);
  }

  domain::FieldContext context{{.seed = 3}};
  domain::Field field;
  domain::Memory memory{true};
  Result result;
};

// The stores of two elements of one run compared: first half against second half.
domain::Comparison halves(const std::string& first_half, const std::string& second_half) {
  Abstract run("h = tl.reshape(r, 2, 4)\na = " + first_half + "\nb = " + second_half +
               "\nm = tl.where((r < 4), a, tl.flip(b))\ntl.store(zp + r, m)");
  EXPECT_FALSE(run.result.stop) << render(run.result.stop->finding, false);
  // Element 0 of `a` and element 0 of `b`, which the flip moved to the end.
  return run.field.compare_outputs(domain::Format::F32, run.element(0), run.element(7));
}

TEST(Field, EqualFormulasAreEqualAndOthersAreNot) {
  using domain::Comparison;
  EXPECT_EQ(halves("(x + y) * (x - y)", "x * x - y * y"), Comparison::Equal);
  EXPECT_EQ(halves("tl.exp(x) / tl.exp(y)", "tl.exp(x - y)"), Comparison::Equal);
  EXPECT_EQ(halves("tl.sum(x, 0) + y * 0", "tl.sum(tl.flip(x), 0) + y * 0"), Comparison::Equal);
  EXPECT_EQ(halves("tl.sigmoid(x)", "tl.exp(x) / (tl.exp(x) + 1)"), Comparison::Equal);
  EXPECT_EQ(halves("tl.maximum(x, y)", "tl.where(x > y, x, y)"), Comparison::Equal);
  EXPECT_EQ(halves("x * y", "x * y + x"), Comparison::Different);
  EXPECT_EQ(halves("tl.max(x, 0) + y * 0", "tl.max(y, 0) + x * 0"), Comparison::Different);
}

TEST(Field, WorkersShareAContext) {
  const auto build = [] {
    Lab lab(
        "@triton.jit\ndef kernel(xp, zp):\n    r = tl.program_id(0) * 8 + tl.arange(0, 8)\n    x = tl.load(xp + r)\n"
        "    tl.store(zp + r, tl.exp(x) * tl.max(x, 0) / (1 + x * x))\n");
    lab.in("xp", DType::Fp32, V(512));
    lab.out("zp", DType::Fp32, 512);
    lab.grid(64);
    return lab;
  };
  Lab lab = build();
  ASSERT_TRUE(lab.kernel) << render(lab.findings, false);
  domain::FieldContext context({.seed = 3});
  domain::Field alone(context), first(context), second(context);
  domain::Memory one(true), two(true);
  ASSERT_FALSE(lab.run(one, alone).stop);
  Lab other = build();
  other.add_buffers(two);
  const Result result = other.kernel->evaluate<domain::Field>(other.call, {&first, &second}, two, {.workers = 2});
  ASSERT_FALSE(result.stop) << render(result.stop->finding, false);
  EXPECT_EQ(result.programs, 64U);
  for (std::uint64_t i = 0; i < 512; ++i) {
    const auto a = alone.read(*one.find("zp"), 4 * i, domain::Format::F32);
    const auto b = alone.read(*two.find("zp"), 4 * i, domain::Format::F32);
    ASSERT_EQ(alone.compare_outputs(domain::Format::F32, a, b), domain::Comparison::Equal) << i;
  }
}

TEST(Field, IntegersStayConcrete) {
  Abstract run("i = tl.load(ip + r)\ntl.store(zp + i, x * i)\ntl.store(op + r, i * i)");
  ASSERT_FALSE(run.result.stop) << render(run.result.stop->finding, false);
  std::int32_t square = 0;
  std::memcpy(&square, run.memory.find("op")->bytes.get(), 4);
  EXPECT_EQ(square, 49);
}

TEST(Field, ConditionsOnDataMayBecomeIntegers) {
  const auto leaves_zero = [](const std::string& expected) {
    // Three, two or one, as integers and as floats.
    Abstract run(
        "c = tl.where(x > y, 3, 2) - (y > x).to(tl.int32)\n"
        "tl.store(zp + r, (c * 2 + 1).to(tl.float32) - (" +
        expected + "))");
    EXPECT_FALSE(run.result.stop) << render(run.result.stop->finding, false);
    return run.field.compare_outputs(domain::Format::F32, run.element(3), {domain::kNoValue, 0}) ==
           domain::Comparison::Equal;
  };
  EXPECT_TRUE(leaves_zero("tl.where(x > y, 7.0, 5.0) - tl.where(y > x, 2.0, 0.0)"));
  EXPECT_FALSE(leaves_zero("tl.where(x > y, 7.0, 5.0) - tl.where(y >= x, 2.0, 0.0)"));
  EXPECT_FALSE(Abstract("tl.store(op + r, (x > y).to(tl.int32))").result.stop);
}

TEST(Field, WhatDependsOnDataIsNamed) {
  const auto stop = [](const std::string& body) {
    Abstract run(body);
    EXPECT_TRUE(run.result.stop) << body;
    return run.result.stop ? *run.result.stop : Stop{};
  };
  for (const char* body : {"tl.store(zp + r, x, mask=x > y)", "if tl.max(x, 0) > 0:\n    tl.store(zp + r, x)",
                           "tl.store(op + r, tl.argmax(x, 0))"}) {
    const Stop found = stop(body);
    EXPECT_EQ(found.kind, Stop::Kind::Unmodelled) << body;
    EXPECT_EQ(found.finding.code, &kData) << body << render(found.finding, false);
  }
  EXPECT_EQ(stop("tl.store(op + r, tl.load(xp.to(tl.pointer_type(tl.int32)) + r))").finding.code, &kMetadata);
  EXPECT_EQ(stop("tl.store(zp + r, tl.load(zp + r))").finding.code, &kUndefined) << "never written";
  EXPECT_EQ(stop("tl.store(op + r, x.to(tl.int32))").kind, Stop::Kind::Unmodelled);
}

}  // namespace
}  // namespace plumb::triton
