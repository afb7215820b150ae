// SPDX-License-Identifier: Apache-2.0
// Mistakes that models make when they write PTX: each gives one error, at its line, that says what is wrong and what
// would be right. ptxas 13.0 refuses every one of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ptx/module.h"

namespace plumb::ptx {
namespace {

constexpr const char* kHead =
    ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 128 .b8 smem[];\n"
    ".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<8>;\n.reg .f32 %f<8>;\n.reg .b64 %d<4>;\n.reg .b16 %h<4>;\n"
    ".reg .pred %p<2>;\n";
constexpr std::uint32_t kFirstLine = 12;

Findings findings_of(const std::string& body) {
  Findings findings;
  load(std::make_shared<Source>("t.ptx", kHead + body + "\nDONE:\nret;\n}\n"), findings);
  return findings;
}

struct Mistake {
  const char* body;
  const char* code;
  const char* says;  // in the rendered finding: its message, its notes or its hint
};

constexpr Mistake kMistakes[] = {
    // words: one too few, one too many, the wrong one
    {"fma.f32 %f0, %f1, %f2, %f3;", "ptx.modifier", "`.rnd` is missing: `.rn`, `.rz`, `.rm` or `.rp`"},
    {"fma.f32 %f0, %f1, %f2, %f3;", "ptx.modifier", "did you mean `fma.rn.f32`?"},
    {"mul.s32 %r0, %r1, %r2;", "ptx.modifier", "did you mean `mul.lo.s32`?"},
    {"cvt.f32.s32 %f0, %r1;", "ptx.modifier", "did you mean `cvt.rn.f32.s32`?"},
    {"cvt.bf16.f32 %h0, %f0;", "ptx.modifier", "did you mean `cvt.rn.bf16.f32`?"},
    {"cvt.rn.f32.f16 %f0, %h0;", "ptx.modifier", "it takes no `.rn` here"},
    {"ex2.f32 %f0, %f1;", "ptx.modifier", "did you mean `ex2.approx.f32`?"},
    {"setp.lt %p0, %r0, %r1;", "ptx.modifier", "`.type` is missing"},
    {"shfl.bfly.b32 %r0, %r1, 1, 31;", "ptx.modifier", "did you mean `shfl.sync.bfly.b32`?"},
    {"vote.ballot.b32 %r0, %p0;", "ptx.modifier", "did you mean `vote.sync.ballot.b32`?"},
    {"wgmma.fence;", "ptx.modifier", "did you mean `wgmma.fence.sync`?"},
    {"mma.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
     "ptx.modifier", "did you mean `mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32`?"},
    {"ldmatrix.aligned.m8n8.x4.shared.b16 {%r0,%r1,%r2,%r3}, [%r4];", "ptx.modifier", "`.sync` is missing"},
    {"max.f32x2 %d0, %d1, %d2;", "ptx.modifier", "it takes no `.f32x2` here"},
    {"cp.async.ca.shared.global.cg [%r0], [%d0], 16;", "ptx.modifier", "it takes no `.cg` here"},
    {"fence.proxy.async.shared;", "ptx.modifier", ".shared::cta"},
    {"ld.global.v3.f32 {%f0, %f1, %f2}, [%d0];", "ptx.modifier", "there is no modifier `.v3`"},
    {"ld.globl.f32 %f0, [%d0];", "ptx.modifier", "did you mean `.global`?"},
    {"mma.sync.aligned.m16n8k16.col.row.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, "
     "{%f0,%f1,%f2,%f3};",
     "ptx.modifier", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"},
    // instructions of other languages, and typing errors
    {"addd.s32 %r0, %r1, %r2;", "ptx.unknown-instruction", "did you mean `add`?"},
    {"exp.f32 %f0, %f1;", "ptx.unknown-instruction", "ex2.approx.f32"},
    {"return;", "ptx.unknown-instruction", "`ret`"},
    {"if (%p0) bra DONE;", "ptx.unknown-instruction", "@%p bra LABEL;"},
    // operands: too few, the wrong kind, type, length or value
    {"add.f32 %f0, %f1;", "ptx.operand-count", "`b` is missing"},
    {"selp.f32 %f0, %f1, %f2;", "ptx.operand-count", "`c` is missing"},
    {"shfl.sync.bfly.b32 %r0, %r1, 1, 31;", "ptx.operand-count", "`mask` is missing"},
    {"bar.sync;", "ptx.operand-count", "bar{.cta}.sync a"},
    {"lop3.b32 %r0, %r1, %r2, %r3;", "ptx.operand-count", "`lut` is missing"},
    {"add.s32 %r0, %r1, %r2, %r3;", "ptx.operand-count", "has 4 operands and takes 3"},
    {"lop3.b32 %r0, %r1, %r2, %r3, %r4;", "ptx.operand-kind", "an integer constant, not the register `%r4`"},
    {"cp.async.wait_group %r0;", "ptx.operand-kind", "an integer constant"},
    {"ld.global.f32 %f0, %d0;", "ptx.operand-kind", "an address `[a]`, not the register `%d0`"},
    {"st.global.f32 %f0, [%d0];", "ptx.operand-kind", "an address `[a]`, not the register `%f0`"},
    {"st.global.f32 [%d0], 1;", "ptx.operand-kind", "a real number is needed"},
    {"add.s32 %r0, %r1, 1.0;", "ptx.operand-kind", "a real constant"},
    {"ld.param.u64 %d0, p;", "ptx.operand-kind", "an address `[a]`, not the variable `p`"},
    {"ld.global.b32 %r0, [p];", "ptx.operand-kind", "`p` is a .param variable"},
    {"add.u32 %r0, %tid.x, 1;", "ptx.operand-kind", "special registers are read with `mov`"},
    {"mbarrier.try_wait.parity.shared.b64 [%r0], 0;", "ptx.operand-count", "`p` is missing"},
    {"ld.global.f32 %f0, [%d0, 4];", "ptx.operand-kind", "an offset is added to the register"},
    {"mul.wide.s32 %r0, %r1, %r2;", "ptx.operand-type", "`%r0` of type `.b32`, which does not go with `.s64`"},
    {"add.s64 %d0, %d1, %r0;", "ptx.operand-type", "does not go with `.s64`"},
    {"shl.b32 %r0, %r1, %d0;", "ptx.operand-type", "does not go with `.u32`"},
    {"ld.global.v4.f32 {%f0, %f1}, [%d0];", "ptx.vector-length", "has 2 registers and takes 4"},
    {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1}, [%r4];", "ptx.vector-length", "has 2 registers and takes 4"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r4,%r5}, {%f0,%f1,%f2,%f3};",
     "ptx.vector-length", "operand `a`"},
    {"cp.async.cg.shared.global [%r0], [%d0], 8;", "ptx.operand-range", "is 8, and may be 16"},
    {"@%r0 bra DONE;", "ptx.guard", "no `.pred` register"},
    // names
    {"mov.u32 %r9, 1;", "ptx.undeclared", "`%r<8>` declares `%r0` to `%r7`"},
    {"mov.u32 %r0, r1;", "ptx.undeclared", "did you mean `%r1`?"},
    {"mov.u32 %ro, 1;", "ptx.undeclared", "`%ro` is not declared"},
    {"mov.u64 %d0, sme;", "ptx.undeclared", "did you mean `smem`?"},
    {"@p0 bra DONE;", "ptx.undeclared", "did you mean `%p0`?"},
    {"bra DOEN;", "ptx.undeclared", "did you mean `DONE`?"},
    {"mov.u32 %r0, %threadIdx.x;", "ptx.undeclared", "that is `%tid.x`"},
    {"call foo, (%r0);", "ptx.undeclared", "`foo` is not declared"},
    {".reg .b32 %r<4>;", "ptx.redeclared", "declared twice"},
    {"{ .reg .b32 %tid; mov.u32 %r0, %tid.x; }", "ptx.syntax", "hides the special register"},
    {".reg .b32 WARP_SZ;", "ptx.redeclared", "is a special register's name"},
    {".reg .b32 WARP_SZ<4>;", "ptx.redeclared", "is a special register's name"},
    // punctuation and grammar
    {"bra DONE", "ptx.syntax", "`;` is missing at the end of the instruction"},
    {".reg .b32 %q\nmov.b32 %q, 1;", "ptx.syntax", "`;` is missing at the end of the declaration"},
    {"mov.u32 %r0 %r1;", "ptx.syntax", "`%r1` where `;`"},
    {"mov.u32 %r0, 0x1G;", "ptx.syntax", "`0x1G` is no integer"},
    {"mov.u32 %r0, %tid;", "ptx.syntax", "write `%tid.x`"},
    {"@%p0: bra DONE;", "ptx.syntax", "`:` where an instruction was expected"},
    {"ld.global.f32 %f0, [%d0+%r1];", "ptx.syntax", "add the two before, with `add.s64`"},
    {"add.f32 %f0, %f1, -%f2;", "ptx.syntax", "negate it before with `neg`"},
    {".reg b32 %q;\nmov.b32 %q, 1;", "ptx.syntax", "a type such as `.b32`"},
    {".shared .b32 s[4;\nst.shared.b32 [s], 1;", "ptx.syntax", "`]` after the array extent"},
    {"tcgen05.wait::ld.sync.aligned;", "ptx.target", "needs sm_100f or sm_110f, and the target is sm_90a"},
    {"ld.global.b32 {%r0, %f1, [%d0];", "ptx.syntax", ""},
};

TEST(Messages, AMistakeIsOneErrorThatSaysWhatIsRight) {
  for (const Mistake& mistake : kMistakes) {
    const Findings findings = findings_of(mistake.body);
    ASSERT_EQ(findings.list().size(), 1u) << mistake.body << "\n" << render(findings, false);
    const Finding& first = findings.list()[0];
    const std::string shown = render(first, false);
    EXPECT_EQ(first.code->id, mistake.code) << shown;
    EXPECT_NE(shown.find(mistake.says), std::string::npos) << mistake.says << "\n" << shown;
    EXPECT_EQ(first.place.source->locate(first.place.span.begin).line, kFirstLine) << shown;
  }
}

// Of one function, which ptxas refuses as a whole.
TEST(Messages, AFunctionUsesTensorMemoryByBlocksOrByPairs) {
  const auto findings_with = [](const char* second) {
    Findings findings;
    const std::string text = std::string(
                                 ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k()\n{\n"
                                 "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;\n") +
                             second + "\nret;\n}\n.visible .entry other()\n{\n" +
                             "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\nret;\n}\n";
    load(std::make_shared<Source>("t.ptx", text), findings);
    return findings;
  };
  EXPECT_TRUE(findings_with("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;").empty());
  const Findings mixed = findings_with("tcgen05.dealloc.cta_group::1.sync.aligned.b32 0, 32;");
  ASSERT_EQ(mixed.list().size(), 1u);
  EXPECT_EQ(mixed.list()[0].code->id, "ptx.modifier");
  EXPECT_EQ(mixed.list()[0].place.source->locate(mixed.list()[0].place.span.begin).line, 7U);
  EXPECT_EQ(mixed.list()[0].hint, "write `.cta_group::2`");
}

TEST(Messages, ErrorsOfGrammarAndOfMeaningAreToldTogetherInTheOrderOfTheText) {
  const Findings findings = findings_of(
      "add.s64 %d0, %d1, %r0;\nmov.u32 %r0 %r1;\nmul.s32 %r0, %r1, %r2;\nmov.u32 %rx, 1;\nmov.u32 %r0, %rx;\n"
      "ld.global.v3.f32 {%f0, %f1, %f2}, [%d0];\nadd.f32 %f0, %f1;");
  std::vector<std::string> codes;
  for (const Finding& finding : findings.list()) codes.emplace_back(finding.code->id);
  EXPECT_EQ(codes, (std::vector<std::string>{"ptx.operand-type", "ptx.syntax", "ptx.modifier", "ptx.undeclared",
                                             "ptx.modifier", "ptx.operand-count"}));
}

TEST(Messages, AnErrorAboutAnInstructionNamesItsSectionOfTheManual) {
  EXPECT_NE(render(findings_of("fma.f32 %f0, %f1, %f2, %f3;"), false).find("floating-point-instructions-fma"),
            std::string::npos);
  EXPECT_NE(render(findings_of("add.f32 %f0, %f1;"), false).find("instructions-add"), std::string::npos);
  EXPECT_NE(render(findings_of("tcgen05.wait::ld.sync.aligned;"), false).find("tcgen05-wait"), std::string::npos);
}

}  // namespace
}  // namespace plumb::ptx
