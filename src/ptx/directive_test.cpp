// SPDX-License-Identifier: Apache-2.0
// Directives: what stays of them in the tree, and what they mean for the rest of a module. What is legal is held to
// ptxas in tests/ptxas/directives.txt.
#include <gtest/gtest.h>

#include <string>

#include "ptx/module.h"

namespace plumb::ptx {
namespace {

constexpr const char* kHead = ".version 9.0\n.target sm_90a\n.address_size 64\n";

std::optional<CheckedModule> take(const std::string& items) {
  Findings findings;
  const auto out = load(std::make_shared<Source>("t.ptx", kHead + items), findings);
  EXPECT_TRUE(out) << items << render(findings, false);
  if (!out) return out;
  const auto again = load(std::make_shared<Source>("p.ptx", print(**out)), findings);
  EXPECT_TRUE(again && equal(**out, **again)) << print(**out);
  return out;
}

std::string code_of(const std::string& items) {
  Findings findings;
  load(std::make_shared<Source>("t.ptx", kHead + items), findings);
  return findings.empty() ? "" : std::string(findings.list()[0].code->id);
}

TEST(Directives, AnExternalVariableMeansItsDefinitionBeforeAndAfterIt) {
  const auto module = take(
      ".extern .global .u32 g[];\n.global .u64 at = g+4;\n"
      ".entry k() { .reg .u32 r; ld.global.u32 r, [g]; ret; }\n"
      ".visible .global .u32 g[4] = {1, 2};\n"
      ".entry l() { .reg .u32 r; ld.global.u32 r, [g]; ret; }\n");
  ASSERT_TRUE(module);
  const Module& m = **module;
  const VarId before = m.functions[0].instrs[0].operands[1].variable;
  EXPECT_EQ(m.variables[before].size, 16u);
  EXPECT_EQ(m.functions[1].instrs[0].operands[1].variable, before);
}

TEST(Directives, ACallThroughARegisterIsHeldToItsPrototype) {
  const std::string before =
      ".func (.param .u32 r) f(.param .u32 p) { ret; }\n.entry k() { .reg .u64 to; .param .u32 a, b; .param .u64 w;\n"
      "mov.u64 to, f;\nt: .callprototype (.param .u32 _) _ (.param .u32 _);\nu: .calltargets f;\n";
  EXPECT_EQ(code_of(before + "call (a), to, (b), t; ret; }"), "");
  EXPECT_EQ(code_of(before + "call (a), to, (b), u; ret; }"), "");
  EXPECT_EQ(code_of(before + "call to, (b), t; ret; }"), "ptx.operand-count");
  EXPECT_EQ(code_of(before + "call (a), to, u; ret; }"), "ptx.operand-count");
  EXPECT_EQ(code_of(before + "call (a), to, (w), t; ret; }"), "ptx.operand-type");
  EXPECT_EQ(code_of(before + "call (a), to, (b), f; ret; }"), "ptx.operand-kind");
}

TEST(Directives, WhatAFunctionPreservesAndHowAGridIsReadStays) {
  const auto module = take(
      ".func f() .noreturn .abi_preserve 8 .abi_preserve_control 2 { exit; }\n"
      ".entry k() .reqntid 32 .reqnctapercluster 2 .blocksareclusters .pragma \"a\", \"b\"; { ret; }\n"
      ".global .attribute(.managed) .u32 g;\n.extern .func .attribute(.unified(1, 2)) h();\n"
      ".global .texref t = { width = 2, filter_mode = linear };\n");
  ASSERT_TRUE(module);
  const Module& m = **module;
  using Texts = std::vector<std::string>;
  EXPECT_EQ(m.functions[0].pragmas, (Texts{".abi_preserve 8", ".abi_preserve_control 2"}));
  EXPECT_TRUE(m.functions[0].noreturn);
  EXPECT_EQ(m.functions[1].pragmas, (Texts{".blocksareclusters", "\"a\"", "\"b\""}));
}

TEST(Directives, ASectionAndItsLabelsAreKept) {
  const auto module = take(
      ".section .debug_str\n{\nname:\n.b8 97, 0\n.b32 name+1\n.b64 name-name\n.b32 .debug_info\n}\n"
      ".file 1 \"a.cu\"\n.entry k() { .loc 1 2 3\n.loc 1 4 5, function_name name + 1, inlined_at 1 2 3\nret; }\n");
  ASSERT_TRUE(module);
  EXPECT_EQ((*module)->functions[0].locs.size(), 2u);
  EXPECT_EQ(code_of(".entry k() { .loc 1 4 5, function_name name, inlined_at 1 2 3\nret; }"), "ptx.operand-range");
}

TEST(Directives, ANameWithACountDeclaresSoManyVariables) {
  const auto module = take(".global .u32 g<3>, h;\n.entry k() { .reg .u32 r; ld.global.u32 r, [g2]; ret; }\n");
  ASSERT_TRUE(module);
  EXPECT_EQ((*module)->variables.size(), 4u);
  EXPECT_EQ((*module)->variables[2].name, "g2");
  EXPECT_EQ(code_of(".global .u32 g<3>, g1;"), "ptx.redeclared");
}

TEST(Directives, EachErrorOfAModuleIsToldOfOnce) {
  Findings findings;
  load(std::make_shared<Source>("t.ptx", std::string(kHead) +
                                             ".visible .weak .global .u32 a;\n.func f() .maxntid 3 { ret; }\n"
                                             ".file 1 \"a\"\n.file 1 \"b\"\n.entry k() { .pragma nounroll; ret; }\n"),
       findings);
  EXPECT_EQ(findings.list().size(), 4u) << render(findings, false);
}

}  // namespace
}  // namespace plumb::ptx
