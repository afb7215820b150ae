// SPDX-License-Identifier: Apache-2.0
// Declarations and constant expressions: what they mean, and that they print to text that means the same.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "ptx/module.h"

namespace plumb::ptx {
namespace {

std::optional<Module> read(const std::string& module_items, const std::string& body) {
  Findings findings;
  std::optional<Module> out =
      parse(std::make_shared<Source>("t.ptx", ".version 8.7\n.target sm_90a\n.address_size 64\n" + module_items +
                                                  "\n.visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<4>;\n"
                                                  ".reg .f64 %d<2>;\n.reg .b64 %a<2>;\n" +
                                                  body + "\nret;\n}\n"),
            findings);
  EXPECT_TRUE(out) << body << render(findings, false);
  if (!out) return out;
  const std::optional<Module> again = parse(std::make_shared<Source>("p.ptx", print(*out)), findings);
  EXPECT_TRUE(again && equal(*out, *again)) << print(*out);
  EXPECT_TRUE(check(*out, findings)) << render(findings, false);
  return out;
}

std::string code_of(const std::string& body) {
  Findings findings;
  load(std::make_shared<Source>("t.ptx",
                                ".version 8.7\n.target sm_90a\n.address_size 64\n.entry k()\n{\n"
                                ".reg .b32 %r<4>;\n.reg .f32 %f<4>;\n.reg .b64 %a<4>;\n" +
                                    body + "\nret;\n}\n"),
       findings);
  return findings.empty() ? "" : std::string(findings.list()[0].code->id);
}

std::int64_t integer(const std::string& expression) {
  const auto module = read("", "mov.b64 %a0, " + expression + ";");
  return module ? module->functions[0].instrs[0].operands[1].integer : -99;
}

TEST(Declarations, IntegerExpressionsAreComputedInSixtyFourBits) {
  EXPECT_EQ(integer("1+2*3"), 7);
  EXPECT_EQ(integer("(1+2)*3"), 9);
  EXPECT_EQ(integer("10-4-3"), 3);
  EXPECT_EQ(integer("1<<4|3"), 19);
  EXPECT_EQ(integer("7 % 4 + 7/2"), 6);
  EXPECT_EQ(integer("-7/2"), -3);
  EXPECT_EQ(integer("-(1+2)"), -3);
  EXPECT_EQ(integer("~0"), -1);
  EXPECT_EQ(integer("!5 + !0"), 1);
  EXPECT_EQ(integer("3 > 2 ? 10 : 20"), 10);
  EXPECT_EQ(integer("0 ? 1 : 0 ? 2 : 3"), 3);
  EXPECT_EQ(integer("1 == 1 && 2 != 3 || 0"), 1);
  EXPECT_EQ(integer("6 & 3 ^ 1"), 3);
  EXPECT_EQ(integer("-8 >> 1"), -4);
  EXPECT_EQ(integer("0xFFFFFFFFFFFFFFF8U >> 1"), 0x7FFFFFFFFFFFFFFC);
  EXPECT_EQ(integer("-1 < 0U"), 0);  // compared without signs
  EXPECT_EQ(integer("-1 < 0"), 1);
  EXPECT_EQ(integer("(.u64) -1 > (.u64) 1"), 1);
  EXPECT_EQ(integer("WARP_SZ*2"), 64);
  EXPECT_EQ(integer("2*WARP_SZ-1"), 63);
  EXPECT_EQ(integer("1.5 < 2.0"), 1);
}

TEST(Declarations, RealExpressionsAreOfDoublePrecision) {
  const auto module = read("", "mov.f64 %d0, 1.5*2.0-0.25;");
  ASSERT_TRUE(module);
  double value = 0;
  std::memcpy(&value, &module->functions[0].instrs[0].operands[1].integer, sizeof value);
  EXPECT_EQ(value, 2.75);
  read("", "mov.f64 %d0, 1.0/0.0;");  // infinity prints and reads, too
}

TEST(Declarations, OffsetsOfAddressesAreExpressions) {
  const auto module = read("", "ld.global.b32 %r0, [%a0+4*2-3+(1<<4)];");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->functions[0].instrs[0].operands[1].integer, 21);
}

TEST(Declarations, ExpressionsWithoutAMeaningAreRefused) {
  EXPECT_EQ(code_of("mov.u32 %r0, 1/0;"), "ptx.syntax");
  EXPECT_EQ(code_of("mov.u32 %r0, 1+1.5;"), "ptx.syntax");
  EXPECT_EQ(code_of("mov.u32 %r0, 1<<64;"), "ptx.syntax");
  EXPECT_EQ(code_of("mov.f32 %f0, 0f3F800000+1.0;"), "ptx.syntax");
  EXPECT_EQ(code_of("mov.u32 %r0, (1+2;"), "ptx.syntax");
  EXPECT_EQ(code_of("mov.u32 %r0, " + std::string(5000, '(') + "1;"), "ptx.limit");
  EXPECT_EQ(code_of("mov.u32 %r0, " + std::string(5000, '-') + "1;"), "ptx.limit");
}

TEST(Declarations, AVectorRegisterIsItsElements) {
  const auto module = read("",
                           ".reg .v4 .b32 a;\n.reg .v2 .b64 b<3>;\nld.global.v4.b32 a, [b1.y];\n"
                           "add.s32 %r0, a.x, a.w;\nmov.b32 a.g, %r0;\nst.global.v4.b32 [%a0], {a.x, a.y, %r1, a.w};");
  ASSERT_TRUE(module);
  const std::vector<Instr>& instrs = module->functions[0].instrs;
  ASSERT_EQ(instrs[0].operands[0].elements.size(), 4u);
  const RegId x = instrs[0].operands[0].elements[0].reg;
  EXPECT_EQ(instrs[1].operands[1].reg, x);
  EXPECT_EQ(instrs[1].operands[2].reg, x + 3);
  EXPECT_EQ(instrs[2].operands[0].reg, x + 1);
  EXPECT_EQ(instrs[0].operands[1].reg, x + 4 + 3);  // b1.y: after a, b0 and b1.x
  EXPECT_EQ(code_of(".reg .v2 .b32 v;\nmov.b32 %r0, v.z;"), "ptx.syntax");
  EXPECT_EQ(code_of(".reg .v4 .b64 v;"), "ptx.syntax");
  EXPECT_EQ(code_of(".reg .v2 .b32 v;\nadd.s32 %r0, v, 1;"), "ptx.operand-kind");
}

TEST(Declarations, AVectorVariableIsAnAlignedArray) {
  const auto module = read(".global .v4 .f32 v = {1.0, 2.0, 3.0, 4.0};\n.const .v2 .u16 w[3];\n.global .b32 x;", "");
  ASSERT_TRUE(module);
  EXPECT_EQ(module->variables[0].size, 16u);
  EXPECT_EQ(module->variables[0].alignment, 16u);
  EXPECT_EQ(module->variables[1].size, 12u);
  EXPECT_EQ(module->variables[1].alignment, 4u);
}

TEST(Declarations, InitialisersAreExpressionsAndRowsAreFilledUp) {
  const auto module = read(
      ".global .u32 g = 3*4;\n.global .u32 rows[2][3] = {{1}, {2, 1+2}};\n.global .u32 open[][2] = {{1}, {2}, {3}};\n"
      ".global .u64 there[2] = {g+2*2, generic(rows)+8};",
      "");
  ASSERT_TRUE(module);
  const auto word = [&](std::size_t variable, std::size_t index) {
    std::uint32_t out = 0;
    std::memcpy(&out, module->variables[variable].initial.data() + 4 * index, 4);
    return out;
  };
  EXPECT_EQ(word(0, 0), 12u);
  EXPECT_EQ(word(1, 0), 1u);
  EXPECT_EQ(word(1, 1), 0u);
  EXPECT_EQ(word(1, 3), 2u);
  EXPECT_EQ(word(1, 4), 3u);
  EXPECT_EQ(module->variables[2].dimensions[0], 3u);
  EXPECT_EQ(word(2, 4), 3u);
  EXPECT_EQ(module->variables[3].relocations[0].addend, 4);
  EXPECT_EQ(module->variables[3].relocations[1].addend, 8);
}

TEST(Declarations, LeadingZerosOfANumberedRegisterCountForNothing) {
  const auto module = read("", "mov.b32 %r01, %r003;");
  ASSERT_TRUE(module);
  const Instr& instr = module->functions[0].instrs[0];
  EXPECT_EQ(module->functions[0].registers[instr.operands[0].reg].name, "%r1");
  EXPECT_EQ(module->functions[0].registers[instr.operands[1].reg].name, "%r3");
}

}  // namespace
}  // namespace plumb::ptx
