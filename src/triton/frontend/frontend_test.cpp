// SPDX-License-Identifier: Apache-2.0
// What the front end accepts and how it refuses the rest: every message with its place.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "base/scratch.h"
#include "domain/ieee/ieee.h"
#include "triton/codes.h"
#include "triton/frontend/child.h"
#include "triton/kernel.h"

namespace plumb::triton {
namespace {

constexpr const char* kImports = "import triton\nimport triton.language as tl\n";

SourcePtr text(std::string body) { return std::make_shared<Source>("k.py", std::move(body)); }

struct Loaded {
  std::optional<Kernel> kernel;
  Findings findings;
  std::string message() const { return render(findings, false); }
};

Loaded load(std::string body, std::string_view function = "kernel", const PythonConfig& python = {}) {
  Loaded loaded;
  loaded.kernel = Kernel::load(text(std::move(body)), function, python, loaded.findings);
  return loaded;
}
Loaded load_body(const std::string& statements) {
  return load(std::string(kImports) + "@triton.jit\ndef kernel(x, n, B: tl.constexpr):\n" + statements);
}

TEST(Load, GivesTheParametersInOrder) {
  const Loaded loaded = load(
      "from triton import jit, language as L\n@jit\ndef kernel(a, n, B: L.constexpr, C: 'tl.constexpr' = 4, s=-0.5, "
      "f=None):\n    pass\n");
  ASSERT_TRUE(loaded.kernel) << loaded.message();
  const std::vector<Kernel::Parameter>& parameters = loaded.kernel->parameters();
  ASSERT_EQ(parameters.size(), 6U);
  EXPECT_EQ(parameters[0].name, "a");
  EXPECT_FALSE(parameters[1].is_constexpr);
  EXPECT_TRUE(parameters[2].is_constexpr);
  EXPECT_TRUE(parameters[3].is_constexpr);
  EXPECT_EQ(*parameters[3].default_value, Constexpr(std::int64_t{4}));
  EXPECT_EQ(*parameters[4].default_value, Constexpr(-0.5));
  EXPECT_EQ(*parameters[5].default_value, Constexpr(None{}));
}

TEST(Load, NeverRunsTheSource) {
  const Scratch folder;
  const std::filesystem::path mark = folder.path() / "ran";
  const Loaded loaded =
      load("open('" + mark.string() + "', 'w')\nimport triton\n@triton.jit\ndef kernel(x):\n    pass\n");
  EXPECT_TRUE(loaded.kernel) << loaded.message();
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST(Load, ReportsPythonThatDoesNotParseWithItsPlace) {
  const Loaded loaded = load("import triton\n\ndef kernel(x):\n    y = = 2\n");
  EXPECT_FALSE(loaded.kernel);
  ASSERT_EQ(loaded.findings.list().size(), 1U);
  EXPECT_EQ(loaded.findings.list()[0].code, &kSyntax);
  EXPECT_NE(loaded.message().find("k.py:4:9: error: Python does not parse: invalid syntax"), std::string::npos)
      << loaded.message();
}

TEST(Load, CountsColumnsInBytesAfterWideCharacters) {
  const Loaded loaded = load(std::string(kImports) + "@triton.jit\ndef kernel(x):\n    s = 'äöü'; y = tl.nothing(x)\n");
  EXPECT_FALSE(loaded.kernel);
  EXPECT_NE(loaded.message().find("`tl.nothing` is not supported"), std::string::npos) << loaded.message();
  EXPECT_NE(loaded.message().find("k.py:5:23"), std::string::npos) << loaded.message();
}

TEST(Load, ReportsAFunctionThatIsNotThere) {
  EXPECT_NE(load("import triton\n", "gone").message().find("`k.py` has no function `gone`"), std::string::npos);
  EXPECT_NE(load("", "gone").message().find("triton.no-function"), std::string::npos);
  EXPECT_NE(load("def kernel(x):\n    pass\n").message().find("is not decorated with `@triton.jit`"),
            std::string::npos);
  EXPECT_NE(load("import other\n@other.jit\ndef kernel(x):\n    pass\n").message().find("the decorator `other.jit`"),
            std::string::npos);
}

TEST(Load, RefusesWhatIsNoText) {
  EXPECT_NE(load(std::string("\x7f"
                             "ELF\0\1",
                             6))
                .message()
                .find("is not UTF-8 text: byte 4"),
            std::string::npos);
  EXPECT_NE(load("x = '\xff'").message().find("byte 5 is 0xff"), std::string::npos);
  EXPECT_NE(load(std::string(5 << 20, '#')).message().find("larger than 4 MiB"), std::string::npos);
  EXPECT_NE(load(std::string(4000, '(')).message().find("triton.syntax"), std::string::npos);
  std::string deep = "x = 1";
  for (int i = 0; i < 400; ++i) deep += " + 1";
  EXPECT_NE(load(deep).message().find("nested too deeply"), std::string::npos);
}

TEST(Load, ReportsEveryUnsupportedConstructBeforeAnythingRuns) {
  const Loaded loaded = load_body(
      "    y = tl.nothing(x, 4)\n    for i in [1, 2]:\n        break\n    z = {a: 1 for a in (1, 2)}\n"
      "    w = tl.load(x, foo=1)\n    v = x.frobnicate()\n    u = n in (1, 3)\n    a = b = 2\n    return q\n");
  EXPECT_FALSE(loaded.kernel);
  const std::string message = loaded.message();
  for (const char* part : {"k.py:5:9: error: `tl.nothing` is not supported", "k.py:6:14: error: a loop other than",
                           "a dictionary comprehension", "the argument `foo`", "the method `.frobnicate`",
                           "the operator `in`", "assignment to several targets", "`q` is not defined"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
  }
}

TEST(Load, LooksIntoCalledFunctionsAndNotElsewhere) {
  const std::string helper = "@triton.jit\ndef helper(x):\n    return tl.nothing(x)\n";
  const std::string kernel = "@triton.jit\ndef kernel(x):\n    ";
  EXPECT_NE(load(kImports + helper + kernel + "y = helper(x)\n").message().find("`tl.nothing` is not supported"),
            std::string::npos);
  EXPECT_TRUE(load(kImports + helper + kernel + "pass\n").kernel);
  EXPECT_NE(load(std::string(kImports) + "def plain(x):\n    return x\n" + kernel + "y = plain(x)\n")
                .message()
                .find("a call of `plain`, which is not a @triton.jit function"),
            std::string::npos);
}

TEST(Load, LeavesToEvaluationWhatACompileTimeConditionMayTakeAway) {
  const std::string helper = "@triton.jit\ndef helper(x):\n    return tl.nothing(x)\n";
  const std::string head = kImports + helper + "@triton.jit\ndef kernel(B: tl.constexpr):\n";
  const auto outcome = [&](const std::string& body, std::int64_t b) {
    const Loaded loaded = load(head + body);
    EXPECT_TRUE(loaded.kernel) << loaded.message();
    Call call;
    call.arguments["B"] = {"constexpr", 0, Constexpr(b)};
    domain::Memory memory(false);
    domain::Ieee ieee;
    const Result result = loaded.kernel->evaluate<domain::Ieee>(call, {&ieee}, memory, {});
    return result.stop ? render(result.stop->finding, false) : std::string("evaluated");
  };
  const std::string branch =
      "    if B > 4:\n        y = tl.nothing(B)\n    else:\n        y = helper(B) if B > 2 else 1\n";
  EXPECT_EQ(outcome(branch, 1), "evaluated");
  EXPECT_NE(outcome(branch, 8).find("k.py:9:13: error: `tl.nothing` is not supported"), std::string::npos)
      << outcome(branch, 8);
  EXPECT_NE(outcome(branch, 3).find("k.py:5:12: error: `tl.nothing` is not supported"), std::string::npos)
      << outcome(branch, 3);
  const std::string after = "    if B > 4:\n        return\n    y = tl.nothing(B)\n";
  EXPECT_EQ(outcome(after, 8), "evaluated");
  EXPECT_NE(outcome(after, 2).find("`tl.nothing`"), std::string::npos);
  EXPECT_EQ(outcome("    if B > 4:\n        raise ValueError(B)\n", 2), "evaluated");
}

TEST(Load, ReadsModuleLevelNamesAsPythonLeavesThem) {
  const std::string kernel = "@triton.jit\ndef kernel(x):\n    y = A + 1\n";
  const auto taken = [&](const std::string& module) { return load(kImports + module + kernel).message(); };
  for (const char* module :
       {"A = 4 * 2\n", "A: tl.constexpr = tl.constexpr(3)\n", "A = 1\nA = 2\n", "if 1:\n    A = 1\n",
        "import os\nif os.environ.get('X', '0') == '1':\n    A = 1\nelse:\n    A = 2\n",
        "HAS = hasattr(tl, 'dot')\nif not HAS:\n    A = 1\nelse:\n    A = 2\n", "import math\nA = 1 / math.log(2)\n",
        "try:\n    A = 1\nexcept ImportError:\n    pass\n"}) {
    EXPECT_EQ(taken(module), "") << module;
  }
  for (const char* module : {"import os\nif os.getpid():\n    A = 1\nelse:\n    A = 2\n", "A = 1\nA += 1\n",
                             "A = open('x').read()\n", "import torch\nA = torch.tensor(1)\n"}) {
    EXPECT_NE(taken(module).find("is not supported"), std::string::npos) << module << taken(module);
  }
  EXPECT_NE(taken("A = A + 1\n").find("defined by itself"), std::string::npos);
}

TEST(Modules, AreReadFromBesideTheSourceAndFromItsPackage) {
  const Scratch folder;
  Findings findings;
  const auto write = [&](const char* name, const std::string& text) {
    std::filesystem::create_directories((folder.path() / name).parent_path());
    ASSERT_TRUE(write_file(folder.path() / name, text, findings));
  };
  write("pack/__init__.py", "from .langs import triton, tl\n");
  write("pack/langs.py",
        "try:\n    import triton\n    import triton.language as tl\nexcept ImportError:\n    triton = None\n"
        "    tl = Absent()\n");
  write("pack/ops/__init__.py", "");
  write("pack/ops/helpers.py",
        "from pack import tl, triton\nfrom ..constants import *\nimport math\n\n\n@triton.jit\n"
        "def twice(x):\n    return x * TWO\n\n\n@triton.jit\ndef bad(x):\n    return tl.nothing(x)\n");
  write("pack/constants.py", "from pack import tl\nTWO = tl.constexpr(2)\n");
  const std::string head =
      "from pack import tl, triton\nfrom .helpers import twice\nfrom pack.ops import helpers as h\n"
      "@triton.autotune(configs=[], key=[])\n@triton.jit\ndef kernel(x, n, B: tl.constexpr):\n";
  const auto load_file = [&](const std::string& body) {
    write("pack/ops/kernel.py", head + body);
    Loaded loaded;
    loaded.kernel =
        Kernel::load(read_source(folder.path() / "pack/ops/kernel.py", findings), "kernel", {}, loaded.findings);
    return loaded;
  };
  const Loaded good = load_file("    tl.store(x, twice(n) + h.twice(n))\n");
  ASSERT_TRUE(good.kernel) << good.message();
  EXPECT_GE(good.kernel->sources().size(), 4U);
  const Loaded bad = load_file("    tl.store(x, h.bad(n))\n");
  EXPECT_NE(bad.message().find("helpers.py:13:12: error: `tl.nothing` is not supported"), std::string::npos)
      << bad.message();
  EXPECT_NE(load_file("    tl.store(x, h.gone(n))\n").message().find("is not supported"), std::string::npos);
}

TEST(Python, IsNamedWhenItIsMissing) {
  const Loaded loaded = load("x = 1", "kernel", {.interpreter = "python-that-is-not-there"});
  ASSERT_EQ(loaded.findings.list().size(), 1U);
  EXPECT_EQ(loaded.findings.list()[0].code, &kPythonMissing);
}

TEST(Python, ThatAnswersNonsenseIsAFinding) {
  EXPECT_EQ(load("x = 1", "kernel", {.interpreter = "true"}).findings.list().at(0).code, &kPythonFailed);
  EXPECT_EQ(load("x = 1", "kernel", {.interpreter = "false"}).findings.list().at(0).code, &kPythonFailed);
}

TEST(Cache, ServesTheSameContentWithoutPython) {
  const Scratch folder;
  const std::string source = std::string(kImports) + "@triton.jit\ndef kernel(x):\n    pass\n";
  ASSERT_TRUE(load(source, "kernel", {.cache = folder.path()}).kernel);
  EXPECT_TRUE(load(source, "kernel", {.interpreter = "missing-python", .cache = folder.path()}).kernel);
  EXPECT_FALSE(load(source + "\n", "kernel", {.interpreter = "missing-python", .cache = folder.path()}).kernel);
}

TEST(Cache, IgnoresADamagedEntryAndRebuildsIt) {
  const Scratch folder;
  const std::string source = std::string(kImports) + "@triton.jit\ndef kernel(x):\n    pass\n";
  const PythonConfig python{.cache = folder.path()};
  ASSERT_TRUE(load(source, "kernel", python).kernel);
  const std::filesystem::path entry = std::filesystem::directory_iterator(folder.path())->path();
  Findings findings;
  std::string damaged = *read_file(entry, findings);
  damaged[damaged.size() / 2] ^= 1;
  for (const std::string& content : {damaged, std::string(), std::string(65, 'a')}) {
    ASSERT_TRUE(write_file(entry, content, findings));
    EXPECT_TRUE(load(source, "kernel", python).kernel);
    EXPECT_TRUE(load(source, "kernel", {.interpreter = "missing-python", .cache = folder.path()}).kernel) << "rebuilt";
  }
  EXPECT_TRUE(load(source, "kernel", {.cache = "/proc/no/such/folder"}).kernel) << "a cache is no condition";
}

TEST(Child, IsStoppedAtItsLimits) {
  using End = ChildResult::End;
  EXPECT_EQ(run_child({"sleep", "20"}, "", {.time = std::chrono::milliseconds(50)}).end, End::TimedOut);
  EXPECT_EQ(run_child({"sh", "-c", "exec >&- 2>&-; sleep 20"}, "", {.time = std::chrono::milliseconds(50)}).end,
            End::TimedOut);
  EXPECT_EQ(run_child({"yes"}, "", {.output = 1 << 20}).end, End::TooMuchOutput);
  EXPECT_EQ(run_child({"sh", "-c", "kill -SEGV $$"}, "", {}).end, End::Signalled);
  const ChildResult unread = run_child({"true"}, std::string(4 << 20, 'x'), {});
  EXPECT_EQ(unread.end, End::Exited) << "a child that does not read its input ends as it likes";
  EXPECT_EQ(run_child({"cat"}, std::string(1 << 20, 'x'), {}).output.size(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace plumb::triton
