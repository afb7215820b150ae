// SPDX-License-Identifier: Apache-2.0
// Advice: each kind is given where it is due, with its place, and withheld from the nearest text that deserves none.
#include "ptx/lint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "ptx/codes.h"

namespace plumb::ptx {
namespace {

std::string kernel(const std::string& body, const std::string& directives = "") {
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)" + directives +
         "\n{\n.reg .b32 %r<300>;\n.reg .b64 %d<4>;\n.reg .pred %p<4>;\n.reg .f32 %f<8>;\nld.param.u64 %d0, [p];\n" +
         body + "\n}\n";
}

Advice advice(const std::string& text) {
  Findings findings;
  const auto module = load(std::make_shared<Source>("t.ptx", text), findings);
  EXPECT_TRUE(module) << render(findings, false);
  return module ? lint(*module) : Advice{};
}

// "line code" of all advice, but for unused names of the surroundings: lines count from the body's first.
std::string lines(const std::string& body, const std::string& directives = "") {
  std::string out;
  const Advice all = advice(kernel(body, directives));
  for (const Finding& finding : all.findings.list()) {
    const std::uint32_t line = finding.place.source->locate(finding.place.span.begin).line;
    if (line <= 10) continue;
    out += (out.empty() ? "" : ", ") + std::to_string(line - 10) + " " + std::string(finding.code->id.substr(4));
  }
  return out;
}

constexpr const char* kUse = "st.global.b32 [%d0], %r0;\nret;";

TEST(Lint, ARegisterThatNothingWritesIsTold) {
  EXPECT_EQ(lines(std::string("add.s32 %r0, %r1, 1;\n") + kUse), "1 unwritten");
  EXPECT_EQ(lines(std::string("mov.b32 %r1, 7;\nadd.s32 %r0, %r1, 1;\n") + kUse), "");
  EXPECT_EQ(lines("st.global.b32 [%d1], 1;\nret;"), "1 unwritten");  // an address is read, too
  EXPECT_EQ(lines(std::string("@%p0 mov.b32 %r0, 1;\n") + kUse), "1 unwritten");
  EXPECT_EQ(lines(std::string("add.s32 %r0, %r0, 1;\nadd.s32 %r0, %r0, 1;\n") + kUse), "1 unwritten");  // told once
}

TEST(Lint, AWriteUnderAGuardIsAWrite) {
  EXPECT_EQ(lines(std::string("setp.eq.u64 %p0, %d0, 0;\n@%p0 mov.b32 %r0, 1;\n") + kUse), "");
}

TEST(Lint, AWriteOnOneWayOnlyIsANote) {
  const std::string begin = "setp.eq.u64 %p0, %d0, 0;\n@%p0 bra L;\nmov.b32 %r0, 1;\n";
  EXPECT_EQ(lines(begin + "L:\n" + kUse), "5 maybe-unwritten");
  EXPECT_EQ(lines(begin + "bra M;\nL:\nmov.b32 %r0, 2;\nM:\n" + kUse), "");
}

TEST(Lint, ALoopCarriesItsValuesAround) {
  EXPECT_EQ(lines("mov.b32 %r0, 0;\nL:\nadd.s32 %r0, %r0, 1;\nsetp.lt.s32 %p0, %r0, 9;\n@%p0 bra L;\n"
                  "st.global.b32 [%d0], %r0;\nret;"),
            "");
  EXPECT_EQ(
      lines("mov.b32 %r0, 0;\nL:\nmov.b32 %r1, %r0;\nadd.s32 %r0, %r0, 1;\nsetp.lt.s32 %p0, %r0, 9;\n@%p0 bra L;\n"
            "st.global.b32 [%d0], %r0;\nret;"),
      "3 unused-result");
}

TEST(Lint, AccumulatorsOfAProductMayBeginUnwritten) {
  std::string d;
  for (int i = 0; i < 4; ++i) d += (i == 0 ? "%f" : ", %f") + std::to_string(i);
  EXPECT_EQ(lines("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {" + d +
                  "}, %d0, %d0, 0, 1, 1, 0, 0;\nst.global.f32 [%d0], %f0;\nret;"),
            "");
}

TEST(Lint, AnUnusedResultIsToldWhereNothingElseIsDone) {
  EXPECT_EQ(lines("mov.b32 %r0, %tid.x;\nret;"), "1 unused-result");
  EXPECT_EQ(lines(std::string("mov.b32 %r0, %tid.x;\nmov.b32 %r0, 2;\n") + kUse), "1 unused-result");
  EXPECT_EQ(lines(std::string("mov.b32 %r0, 0;\nld.global.b32 %r0, [%d0];\n") + kUse), "");  // cleared before a load
  EXPECT_EQ(lines("atom.global.add.u32 %r0, [%d0], 1;\nret;"), "");
  EXPECT_EQ(lines("ld.volatile.global.b32 %r0, [%d0];\nret;"), "");
  EXPECT_EQ(lines("ld.global.b32 %r0, [%d0];\nret;"), "1 unused-result");
  EXPECT_EQ(lines("ld.global.v2.b32 {%r1, %r0}, [%d0];\n" + std::string(kUse)), "");  // one of two is read
  EXPECT_EQ(lines("mov.u32 %r0, %clock;\nret;"), "");
}

TEST(Lint, CodeThatNoWayLeadsToIsToldOnce) {
  EXPECT_EQ(lines("bra L;\nmov.b32 %r0, 1;\nst.global.b32 [%d0], %r0;\nL:\nret;"), "2 unreachable");
  EXPECT_EQ(lines("ret;\nmov.b32 %r5, %r6;\nret;"), "2 unreachable");  // and nothing more about it
  EXPECT_EQ(lines("trap;\nret;"), "");
  EXPECT_EQ(lines("mov.b32 %r0, 0;\nT: .branchtargets A, B;\nbrx.idx %r0, T;\nA:\nst.global.b32 [%d0], 1;\nret;\n"
                  "B:\nst.global.b32 [%d0], 2;\nret;"),
            "");
}

TEST(Lint, ABodyWithoutAnEndIsTold) {
  EXPECT_EQ(lines("st.global.u64 [%d0], 1;"), "1 no-end");
  EXPECT_EQ(lines("setp.eq.u64 %p0, %d0, 0;\n@%p0 ret;"), "2 no-end");
}

TEST(Lint, NamesThatAreDeclaredForNothingAreNotes) {
  EXPECT_EQ(lines(".reg .b32 %lone;\n.shared .b32 s;\nUNUSED:\nret;"), "1 unused-name, 2 unused-name, 3 unused-name");
  EXPECT_EQ(lines(".reg .b32 %used;\n.shared .b32 s;\nmov.b32 %used, s;\nst.global.b32 [%d0], %used;\nret;"), "");
  const Advice all = advice(kernel("NOWHERE:\nret;"));
  for (const Finding& finding : all.findings.list()) {
    const bool is_name = finding.code->id == "ptx.unused-name";
    EXPECT_EQ(finding.severity, is_name ? Severity::Note : Severity::Warning) << finding.message;
  }
}

TEST(Lint, LiveRegistersAreCounted) {
  const Advice all =
      advice(kernel("ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%d0];\nadd.s32 %r0, %r0, %r1;\nadd.s32 %r2, %r2, %r3;\n"
                    "setp.eq.s32 %p0, %r0, %r2;\n@%p0 st.global.b32 [%d0], %r0;\nret;"));
  ASSERT_EQ(all.functions.size(), 1u);
  EXPECT_EQ(all.functions[0].registers, 6u);  // the address, 64 bits wide, and four
  EXPECT_EQ(all.functions[0].predicates, 1u);
  EXPECT_EQ(all.functions[0].instructions, 7u);
}

TEST(Lint, MoreLiveRegistersThanAThreadHasAreTold) {
  const auto body = [](int count) {
    std::string load, store;
    for (int i = 0; i < count; ++i) {
      load += "ld.global.b32 %r" + std::to_string(i) + ", [%d0+" + std::to_string(4 * i) + "];\n";
      store += "st.global.b32 [%d0], %r" + std::to_string(i) + ";\n";
    }
    return load + store + "ret;";
  };
  EXPECT_EQ(lines(body(280)), "281 register-pressure");
  EXPECT_EQ(lines(body(23), " .maxnreg 24"), "24 register-pressure");
  EXPECT_EQ(lines(body(22), " .maxnreg 5"), "");  // ptxas gives no thread fewer than 24
}

TEST(Lint, SharedMemoryIsAddedUpWithThatOfCallees) {
  const Advice all = advice(
      ".version 8.7\n.target sm_90\n.address_size 64\n.shared .b8 a[3];\n.shared .align 16 .b8 b[16];\n"
      ".extern .shared .align 16 .b8 dyn[];\n.shared .b8 other[64];\n"
      ".func f()\n{\n.reg .b32 %r<2>;\nld.shared.b32 %r0, [b];\nst.shared.b32 [dyn], %r0;\nret;\n}\n"
      ".visible .entry k()\n{\nst.shared.b8 [a], 1;\ncall f, ();\nret;\n}\n");
  ASSERT_EQ(all.functions.size(), 2u);
  EXPECT_EQ(all.functions[1].shared_bytes, 19u);
  EXPECT_TRUE(all.functions[1].has_dynamic_shared);
}

TEST(Lint, StaticSharedMemoryBeyondItsLimitIsAnError) {
  const auto with = [](const char* target, const char* size) {
    return advice(std::string(".version 8.8\n.target ") + target + "\n.address_size 64\n.shared .align 16 .b8 s[" +
                  size + "];\n.visible .entry k()\n{\nst.shared.b8 [s], 1;\nret;\n}\n");
  };
  EXPECT_TRUE(with("sm_90", "49153").findings.has_error());
  EXPECT_FALSE(with("sm_90", "49152").findings.has_error());
  EXPECT_FALSE(with("sm_90a", "232448").findings.has_error());
  EXPECT_TRUE(with("sm_90a", "232449").findings.has_error());
  EXPECT_TRUE(with("sm_120a", "101377").findings.has_error());
}

TEST(Lint, StaticSharedMemoryThatTheAssemblerTakesAndTheDriverRefusesIsAWarning) {
  const auto shared_size = [](const char* target, const char* size) {
    const Advice all = advice(std::string(".version 8.8\n.target ") + target +
                              "\n.address_size 64\n.extern .shared .b8 dyn[];\n" + ".shared .align 16 .b8 s[" + size +
                              "];\n.visible .entry k()\n{\nst.shared.b8 [s], 1;\nst.shared.b8 [dyn], 1;\nret;\n}\n");
    std::vector<std::pair<Severity, std::uint32_t>> out;
    for (const Finding& one : all.findings.list()) {
      if (one.code == &kSharedSize) out.emplace_back(one.severity, one.place.source->locate(one.place.span.begin).line);
    }
    return out;
  };
  using Said = std::vector<std::pair<Severity, std::uint32_t>>;
  for (const char* target : {"sm_90a", "sm_100a", "sm_120a"}) {
    EXPECT_EQ(shared_size(target, "49152"), Said{}) << target;
    EXPECT_EQ(shared_size(target, "49153"), (Said{{Severity::Warning, 6}})) << target;
  }
  EXPECT_EQ(shared_size("sm_90", "49153"), (Said{{Severity::Error, 6}}));
}

TEST(Lint, CorpusFilesGiveNoErrorAndNameOnlyRegistersThatAreUnwritten) {
  // Triton packs sums for sm_120 in pairs and leaves the upper half of the last pair as it was, four times.
  const std::filesystem::path packs_unwritten = std::filesystem::path("rmsnorm") / "sm_120" / "rmsnorm.ptx";
  unsigned count = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(PLUMB_SOURCE_DIR) / "tests" / "corpus")) {
    if (entry.path().extension() != ".ptx") continue;
    ++count;
    Findings findings;
    const auto module = load(read_source(entry.path(), findings), findings);
    ASSERT_TRUE(module) << entry.path();
    const Advice all = lint(*module);
    unsigned unwritten = 0;
    for (const Finding& finding : all.findings.list()) {
      EXPECT_NE(finding.severity, Severity::Error) << render(finding, false);
      unwritten += finding.code->id == "ptx.unwritten" ? 1 : 0;
    }
    EXPECT_EQ(unwritten, entry.path().string().ends_with(packs_unwritten.string()) ? 4U : 0U)
        << render(all.findings, false);
  }
  EXPECT_GT(count, 40u);
}

}  // namespace
}  // namespace plumb::ptx
