// SPDX-License-Identifier: Apache-2.0
// Reading, printing and validating: every corpus file round-trips, every kind of bad text is one clear finding at its
// place, and no damaged text brings the reader down.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>

#include "base/file.h"
#include "ptx/format.h"
#include "ptx/module.h"

namespace plumb::ptx {
namespace {

SourcePtr text(std::string body) { return std::make_shared<Source>("t.ptx", std::move(body)); }

std::string kernel(const std::string& body) {
  return ".version 8.7\n.target sm_89\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>;\n"
         ".reg .f32 %f<4>;\n.reg .b64 %d<4>;\n.reg .pred %p<2>;\n" +
         body + "\nret;\n}\n";
}

std::string code_of(const std::string& body, std::uint32_t* line = nullptr) {
  Findings findings;
  const bool is_good = load(text(body), findings).has_value();
  EXPECT_EQ(is_good, findings.empty());
  if (findings.empty()) return "";
  const Finding& first = findings.list().front();
  if (line != nullptr) *line = first.place.source->locate(first.place.span.begin).line;
  return std::string(first.code->id);
}

template <class Fn>
void for_corpus(Fn&& fn) {
  const std::filesystem::path root = std::filesystem::path(PLUMB_SOURCE_DIR) / "tests" / "corpus";
  unsigned count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".ptx") continue;
    ++count;
    fn(entry.path());
  }
  EXPECT_GT(count, 40u);
}

TEST(Ptx, CorpusFilesPrintToTextThatReadsToTheSameTree) {
  for_corpus([](const std::filesystem::path& path) {
    Findings findings;
    const std::optional<Module> module = parse(read_source(path, findings), findings);
    ASSERT_TRUE(module) << path << render(findings, false);
    const std::optional<Module> again = parse(text(print(*module)), findings);
    ASSERT_TRUE(again) << path << render(findings, false);
    EXPECT_TRUE(equal(*module, *again)) << path;
    EXPECT_TRUE(check(*module, findings)) << path << render(findings, false);
  });
}

TEST(Ptx, OpcodesThatShareARowStayThemselves) {
  Findings findings;
  const std::string body =
      "add.cc.u32 %r1, %r2, %r3;\naddc.u32 %r1, %r2, %r3;\nmadc.lo.u32 %r1, %r2, %r3, %r1;\n"
      "barrier.sync 0;\nprefetchu.L1 [%d1];\n";
  const std::optional<CheckedModule> module = load(text(kernel(body)), findings);
  ASSERT_TRUE(module) << render(findings, false);
  const std::vector<Instr>& instrs = (*module)->functions[0].instrs;
  EXPECT_EQ(instrs[1].form, Form::AddCarry);
  EXPECT_EQ(instrs[1].opcode, "addc");
  EXPECT_EQ(instrs[2].form, Form::MadCarry);
  const std::string printed = print(**module);
  for (const char* opcode : {"addc.u32", "madc.lo.u32", "barrier.sync", "prefetchu.L1"}) {
    EXPECT_NE(printed.find(opcode), std::string::npos) << opcode;
  }
}

TEST(Ptx, FormattingIsIdempotentAndKeepsComments) {
  Findings findings;
  const std::string body = kernel("  add.s32   %r1,%r2 ,  3; // why\n/* a\n   b */\n\n\n\nbra L;\nL:");
  const std::optional<std::string> once = format(text(body), findings);
  ASSERT_TRUE(once) << render(findings, false);
  EXPECT_NE(once->find("// why"), std::string::npos);
  EXPECT_NE(once->find("/* a\n   b */"), std::string::npos);
  EXPECT_EQ(format(text(*once), findings), once);
}

TEST(Ptx, BadTextsAreNamedAtTheirPlace) {
  struct Case {
    std::string body, code;
    std::uint32_t line;
  };
  const Case cases[] = {
      {"", "ptx.empty", 1},
      {std::string("\x7f"
                   "ELF\0\1",
                   6),
       "ptx.not-text", 1},
      {".target sm_89\n", "ptx.header", 1},
      {".version 7.8\n.target sm_89\n.section\"\n{}", "ptx.syntax", 3},
      {kernel("frobnicate.s32 %r1, %r2;"), "ptx.unknown-instruction", 10},
      {kernel("add.v9 %r1, %r2, %r3;"), "ptx.modifier", 10},
      {kernel("add.s32.sat.wide %r1, %r2, %r3;"), "ptx.modifier", 10},
      {kernel("add.s32 %r1, %r2, %f1;"), "ptx.operand-type", 10},
      {kernel("add.s32 %r1, %r2;"), "ptx.operand-count", 10},
      {kernel("add.s32 %r1, %r2, %r9;"), "ptx.undeclared", 10},
      {kernel("bra NOWHERE;"), "ptx.undeclared", 10},
      {kernel("@%r1 bra L;\nL:"), "ptx.guard", 10},
      {kernel("ld.global.v4.b32 {%r0, %r1}, [%d0];"), "ptx.vector-length", 10},
      {kernel("mov.u32 %r0, %r1"), "ptx.syntax", 10},
      {kernel("wgmma.fence.sync.aligned;"), "ptx.target", 10},
  };
  for (const Case& one : cases) {
    std::uint32_t line = 0;
    EXPECT_EQ(code_of(one.body, &line), one.code) << one.body;
    EXPECT_EQ(line, one.line) << one.body;
  }
  const std::string whole = kernel("");
  EXPECT_EQ(code_of(whole.substr(0, whole.size() - 3)), "ptx.truncated");
}

TEST(Ptx, OperandsAreHeldToTheAssemblersRules) {
  struct Case {
    std::string line, code;
  };
  const Case cases[] = {
      {"cp.async.ca.shared.global [%d0], [%d1], 8;", ""},
      {"cp.async.ca.shared.global [%d0], [%d1], 12;", "ptx.operand-range"},
      {"bar.sync 15;", ""},
      {"bar.sync 16;", "ptx.operand-range"},
      {"add.s32 %r0, %r1, %tid.x;", "ptx.operand-kind"},
      {"mov.u32 %r0, %tid.x;", ""},
      {"add.f32 %f0, %f1, 3;", "ptx.operand-kind"},
      {"and.b32 %r0, %r1, 0f3F800000;", ""},
      {"ld.local.b32 %r0, [16];", ""},
      {"ld.global.b32 %r0, [16];", "ptx.operand-kind"},
      {"ld.global.b32 %r0, [p];", "ptx.operand-kind"},
      {"st.global.v2.b32 [%d0], {%f0, 7};", "ptx.operand-type"},
      {"ld.local.L2::cache_hint.b32 %r0, [%d0], %d1;", "ptx.modifier"},
      {"cvt.sat.u32.u16 %r0, %r1;", "ptx.modifier"},
      {"vadd.u32.u32.u32 %r0, %r1.b0, %r2.h1;", ""},
      {"add.u32 %r0, %r1, %r2;", ""},
      {"tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f0, %f1}];", ""},
      {"tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f0, %f1, %f2}];", "ptx.vector-length"},
  };
  for (const Case& one : cases) EXPECT_EQ(code_of(kernel(one.line)), one.code) << one.line;
}

TEST(Ptx, NumberedRegistersAreDeclaredOnce) {
  EXPECT_EQ(code_of(kernel(".reg .b32 %r<2>;")), "ptx.redeclared");
  EXPECT_EQ(code_of(kernel(".reg .b32 %r3;")), "ptx.redeclared");
  EXPECT_EQ(code_of(kernel(".reg .b32 %r4;\nmov.b32 %r4, %r3;")), "");
  EXPECT_EQ(code_of(kernel(".reg .b32 %r1<3>;")), "");
  EXPECT_EQ(code_of(kernel("mov.b32 %r04, 1;")), "ptx.undeclared");
  EXPECT_EQ(code_of(kernel("{\n.reg .f32 %r<2>;\nadd.f32 %r0, %r1, %r1;\n}\nadd.u32 %r0, %r1, %r1;")), "");
}

TEST(Ptx, LabelsOfStatementsThatFailedAreDropped) {
  EXPECT_EQ(code_of(kernel("bra L, ;\nL:\nret;\nbra L %r1;")), "ptx.syntax");
}

TEST(Ptx, DamagedTextsAreReadOrDiagnosed) {
  std::mt19937 random(3);
  Findings ignored;
  const std::filesystem::path root = std::filesystem::path(PLUMB_SOURCE_DIR) / "tests" / "corpus";
  const std::optional<std::string> whole = read_file(root / "softmax" / "sm_89" / "softmax.ptx", ignored);
  ASSERT_TRUE(whole);
  const std::string bytes = ";,{}[]()@!%.:|+-<>0x9 \n\"/*r";
  for (unsigned round = 0; round < 400; ++round) {
    std::string body = *whole;
    for (unsigned edit = 0; edit < 1 + round % 5; ++edit) {
      const std::size_t at = random() % body.size();
      switch (random() % 3) {
        case 0:
          body[at] = bytes[random() % bytes.size()];
          break;
        case 1:
          body.erase(at, random() % 40);
          break;
        default:
          body.insert(at, 1, bytes[random() % bytes.size()]);
          break;
      }
    }
    Findings findings;
    const bool is_good = load(text(body), findings).has_value();
    EXPECT_EQ(is_good, !findings.has_error());
  }
}

}  // namespace
}  // namespace plumb::ptx
