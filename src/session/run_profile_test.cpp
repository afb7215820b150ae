// SPDX-License-Identifier: Apache-2.0
// Profiles of whole kernels, against what their shapes say.
#include "session/run_profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "ptx/form.h"
#include "ptx/isa.h"
#include "session/run.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

const fs::path kSource = PLUMB_SOURCE_DIR;

TEST(InstrClass, EveryOpcodeHasOneButTexturesAndVideo) {
  std::set<std::string> without;
#define PLUMB_FORM(name, ...)                                                             \
  for (const std::string& words : ptx::summarise(ptx::Form::name).opcodes) {              \
    ptx::Instr instr;                                                                     \
    const std::string opcode = words.substr(0, words.find('.'));                          \
    instr.opcode = opcode;                                                                \
    if (class_of(instr) == InstrClass::Other && opcode[0] != 'v') without.insert(opcode); \
  }
#include "ptx/isa/forms.def"
#undef PLUMB_FORM
  const std::set<std::string> textures = {"istypep", "suld", "suq", "sured", "sust", "tex", "tld4", "txq"};
  EXPECT_EQ(without, textures);
}

struct ClassCase {
  const char* instruction;
  const char* name;
};

TEST(InstrClass, GoesByTypeAndWords) {
  const ClassCase cases[] = {
      {"fma.rn.f32 %f1, %f1, %f1, %f1;", "float"},
      {"fma.rn.f64 %d1, %d1, %d1, %d1;", "double"},
      {"add.rn.bf16x2 %r1, %r1, %r1;", "half"},
      {"add.s32 %r1, %r1, 1;", "integer"},
      {"min.f32 %f1, %f1, %f1;", "float"},
      {"ex2.approx.f32 %f1, %f1;", "special function"},
      {"cp.async.ca.shared.global [%r1], [%rd1], 4;", "asynchronous copy"},
      {"cp.async.wait_group 0;", "synchronise"},
      {"cp.async.bulk.commit_group;", "synchronise"},
      {"wgmma.fence.sync.aligned;", "synchronise"},
      {"tcgen05.wait::ld.sync.aligned;", "synchronise"},
      {"tcgen05.fence::after_thread_sync;", "synchronise"},
      {"tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r2];", "tensor memory"},
      {"bar.sync 0;", "synchronise"},
      {"shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;", "exchange in the warp"},
  };
  for (const ClassCase& each : cases) {
    const char* target = std::string_view(each.instruction).starts_with("wgmma") ? "sm_90a" : "sm_100a";
    const std::string text = std::string(".version 8.7\n.target ") + target + "\n.address_size 64\n.entry k() {\n" +
                             ".reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .f64 %d<4>;\n" +
                             each.instruction + "\nret;\n}\n";
    Findings findings;
    const auto module = ptx::load(std::make_shared<Source>("k.ptx", text), findings);
    ASSERT_TRUE(module) << render(findings, false);
    EXPECT_EQ(session::text(class_of((*module)->functions[0].instrs[0])), each.name) << each.instruction;
  }
}

Json profiled(const fs::path& folder, const fs::path& file, RunOutcome* out = nullptr) {
  Findings findings;
  const auto task = task::load_task(folder, findings);
  const auto candidate = prove::load_candidate(file, findings);
  if (!task || !candidate) {
    ADD_FAILURE() << render(findings, false);
    return {};
  }
  RunOptions options;
  options.shape = task->prove_shapes.front();
  options.has_profile = options.has_lines = true;
  RunOutcome outcome = run(*task, *candidate, options);
  EXPECT_TRUE(outcome.holds()) << to_text(outcome, false);
  Json json = to_json(outcome);
  if (out != nullptr) *out = std::move(outcome);
  return json;
}

std::uint64_t bytes(const Json& profile, std::string_view space, std::string_view access) {
  std::uint64_t out = 0;
  for (const Json& row : profile["memory"]) {
    if (row["space"] == space && row["access"] == access) out += row["bytes"].get<std::uint64_t>();
  }
  return out;
}

// One tile: C is 128 x 128, K is 64.
constexpr std::uint64_t kM = 128, kN = 128, kK = 64;

// A line more for each way to the same product: mma.sync, wgmma with tensor maps, tcgen05.
TEST(RunProfile, OfOneTileOfAMatmulCountsItsProductsAndItsBytes) {
  const fs::path suite = kSource / "suite" / "matmul_bf16", tensor = kSource / "tests" / "tensor" / "matmul";
  for (const auto& [folder, file] : {std::pair{suite, suite / "sm_89" / "matmul_bf16.ptx"},
                                     {suite, suite / "sm_90a" / "matmul_bf16.ptx"},
                                     {suite, suite / "sm_100a" / "matmul_bf16.ptx"},
                                     {tensor, tensor / "matmul.ptx"}}) {
    RunOutcome outcome;
    const Json json = profiled(folder, file, &outcome);
    ASSERT_TRUE(json.contains("profile")) << file;
    const Json& profile = json["profile"];
    EXPECT_EQ(profile["warp_instructions"], json["counts"]["warp_instructions"]);
    EXPECT_EQ(profile["tensor_cores"]["macs"], json["counts"]["mma_macs"]);
    // Tiles may be larger than the product; it is never less.
    EXPECT_GE(profile["tensor_cores"]["macs"].get<std::uint64_t>(), kM * kN * kK) << file;
    EXPECT_EQ(bytes(profile, "global", "write"), kM * kN * 2) << file;
    EXPECT_GE(bytes(profile, "global", "read"), (kM + kN) * kK * 2) << file;
    for (const char* key : {"by_class", "by_instruction", "lines"}) {
      std::uint64_t warps = 0;
      for (const Json& row : profile[key]) warps += row["warp_instructions"].get<std::uint64_t>();
      EXPECT_EQ(warps, profile["warp_instructions"]) << key;
    }
    const std::string text = to_text(outcome, false);
    for (const char* part : {"by class", "by instruction", "memory", "tensor cores", "line"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part;
    }
  }
}

TEST(RunProfile, OfTensorMemoryIsExact) {
  const fs::path folder = kSource / "tests" / "tensor" / "matmul";
  const Json profile = profiled(folder, folder / "matmul.ptx")["profile"];
  EXPECT_EQ(profile["tensor_cores"]["macs"], kM * kN * kK);
  // The accumulator, 32 bits an element, is read by lanes once.
  std::uint64_t read_by_lanes = 0;
  for (const Json& row : profile["memory"]) {
    if (row["space"] == "tensor" && row["access"] == "read" && row["by"] == "lanes") read_by_lanes = row["bytes"];
  }
  EXPECT_EQ(read_by_lanes, kM * kN * 4);
  // Each of the four products (K = 16) reads its parts of A and B.
  std::uint64_t read_by_tensor_cores = 0;
  for (const Json& row : profile["memory"]) {
    if (row["space"] == "shared" && row["by"] == "tensor cores") read_by_tensor_cores = row["bytes"];
  }
  EXPECT_EQ(read_by_tensor_cores, (kM + kN) * kK * 2);
}

TEST(RunProfile, IsNotThereUnlessAskedFor) {
  Findings findings;
  const fs::path folder = kSource / "tests" / "corpus" / "vector_add";
  const auto task = task::load_task(folder, findings);
  const auto candidate = prove::load_candidate(folder / "sm_89" / "vector_add.ptx", findings);
  ASSERT_TRUE(task && candidate);
  EXPECT_FALSE(to_json(run(*task, *candidate, {})).contains("profile"));
}

}  // namespace
}  // namespace plumb::session
