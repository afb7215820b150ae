// SPDX-License-Identifier: Apache-2.0
// The numbers of ptxas 13.0's own message ("Insufficient registers (L) ... register target of N or higher"); where
// there is a ptxas, tests/ptxas/agree_registers asks it about many more.
#include "ptx/register_limit.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace plumb::ptx {
namespace {

std::string list(char letter, unsigned count) {
  std::string out = "{";
  for (unsigned i = 0; i < count; ++i) out += (i == 0 ? "%" : ", %") + (letter + std::to_string(i));
  return out + "}";
}

std::string kernel(const std::string& target, const std::string& directives, const std::string& instr) {
  return ".version 9.0\n.target " + target + "\n.address_size 64\n.visible .entry k() " + directives +
         " {\n.reg .f32 %f<128>;\n.reg .b32 %r<128>, %a<4>;\n.reg .b64 %d<2>;\n" + instr + "\nret;\n}\n";
}

// The code of the only finding, or nothing.
std::string code_of(const std::string& text) {
  Findings findings;
  load(std::make_shared<Source>("t.ptx", text), findings);
  EXPECT_LE(findings.list().size(), 1u) << render(findings, false);
  return findings.empty() ? "" : std::string(findings.list()[0].code->id);
}

struct Row {
  const char* target;
  std::string instr;
  unsigned least;
};

const std::string kSums =
    "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 " + list('f', 128) + ", %d0, %d1, 1, 1, 1, 0, 0;";

TEST(RegisterLimit, AnInstructionIsRefusedWithOneRegisterTooFew) {
  const Row rows[] = {
      {"sm_90a", kSums, 154},
      {"sm_90a",
       "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 " + list('f', 128) + ", " + list('a', 4) +
           ", %d1, 1, 1, 1, 0;",
       158},
      {"sm_90a", "wgmma.mma_async.sync.aligned.m64n64k16.f16.f16.f16 " + list('r', 16) + ", %d0, %d1, 1, 1, 1, 0, 0;",
       42},
      {"sm_90a", "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 " + list('r', 32) + ", %d0, %d1, 1;", 58},
      {"sm_90a",
       "wgmma.mma_async.sp.sync.aligned.m64n64k64.s32.s8.s8 " + list('r', 32) + ", " + list('a', 4) +
           ", %d1, %a0, 0, 1;",
       63},
      {"sm_100a", "tcgen05.ld.sync.aligned.32x32b.x128.b32 " + list('r', 128) + ", [%a0];", 146},
      {"sm_100a", "tcgen05.st.sync.aligned.16x256b.x8.b32 [%a0], " + list('r', 32) + ";", 50},
      {"sm_103a", "tcgen05.ld.red.sync.aligned.32x32b.x32.min.u32 " + list('r', 32) + ", %a1, [%a0];", 51},
  };
  for (const Row& row : rows) {
    const std::string few = ".maxnreg " + std::to_string(row.least - 1),
                      enough = ".maxnreg " + std::to_string(row.least);
    EXPECT_EQ(code_of(kernel(row.target, few, row.instr)), "ptx.too-few-registers") << row.instr;
    EXPECT_EQ(code_of(kernel(row.target, enough, row.instr)), "") << row.instr;
    EXPECT_EQ(code_of(kernel(row.target, "", row.instr)), "") << row.instr;
  }
}

TEST(RegisterLimit, DirectivesLeaveWhatPtxasSays) {
  const struct {
    const char* directives;
    unsigned limit;
  } rows[] = {
      {"", 255},
      {".maxnreg 1", 24},
      {".maxnreg 100", 100},
      {".maxnreg 256", 255},
      {".maxntid 385", 128},
      {".maxntid 512", 128},
      {".maxntid 513", 96},
      {".maxntid 16, 32, 2", 64},
      {".maxntid 2048", 32},
      {".maxntid 2049", 255},
      {".maxntid 65536, 65536, 65536", 255},
      {".reqntid 1025", 56},
      {".minnctapersm 4", 255},
      {".maxntid 128 .minnctapersm 5", 96},
      {".maxntid 96 .minnctapersm 5", 128},
      {".maxntid 33 .minnctapersm 32", 32},
      {".maxntid 65 .minnctapersm 22", 255},
      {".maxntid 512 .minnctapersm 33", 128},
      {".maxntid 1024 .minnctapersm 3", 64},
      {".maxntid 512 .maxnreg 200", 200},
      {".maxnreg 256 .maxntid 1024", 255},
      {".maxntid 512 .minnctapersm 1 .maxnreg 200", 128},
      {".maxntid 128 .minnctapersm 4 .maxnreg 100", 100},
  };
  for (const auto& row : rows) {
    Findings findings;
    const auto module = parse(std::make_shared<Source>("t.ptx", kernel("sm_90a", row.directives, "")), findings);
    ASSERT_TRUE(module) << render(findings, false);
    EXPECT_EQ(register_limit(module->functions[0]).count, row.limit) << row.directives;
  }
}

TEST(RegisterLimit, AFunctionIsNotHeldToIt) {
  const std::string text = kernel("sm_90a", "", kSums);
  const std::string function = std::string(text).replace(text.find(".entry"), 6, ".func ");
  EXPECT_EQ(code_of(function), "");
}

}  // namespace
}  // namespace plumb::ptx
