// SPDX-License-Identifier: Apache-2.0
// Triton's own code for sm_80, sm_89, sm_90, sm_100 and sm_120, which nothing of plumb went into, is proved against its
// Triton source at every shape of the task; and the same code broken on purpose is not, with the finding and the line
// that the defect has.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "prove/prove.h"

namespace plumb::prove {
namespace {

const std::filesystem::path kCorpus = std::filesystem::path(PLUMB_SOURCE_DIR) / "tests" / "corpus";

std::optional<task::Task> load(const std::string& name) {
  Findings findings;
  std::optional<task::Task> task = task::load_task(kCorpus / name, findings);
  EXPECT_TRUE(task.has_value()) << render(findings, false);
  return task;
}

void expect_proved(const task::Task& task, const std::filesystem::path& ptx) {
  Findings findings;
  const std::optional<Candidate> candidate = load_candidate(ptx, findings);
  ASSERT_TRUE(candidate) << render(findings, false);
  const Outcome outcome = prove(task, *candidate, {});
  EXPECT_TRUE(outcome.holds()) << ptx << "\n" << to_text(outcome, false);
  EXPECT_GE(outcome.shapes.size(), 3u) << ptx;
  EXPECT_LE(outcome.log2_failure, -40) << ptx;
}

class Corpus : public ::testing::TestWithParam<const char*> {};

TEST_P(Corpus, TritonsCodeIsProvedAtThreeShapesOrMore) {
  const std::string name = GetParam();
  const std::optional<task::Task> task = load(name);
  ASSERT_TRUE(task);
  for (const std::string target : {"sm_80", "sm_89"}) {
    for (const std::string suffix : {"", "_unaligned"}) {
      expect_proved(*task, kCorpus / name / target / (name + suffix + ".ptx"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Corpus,
                         ::testing::Values("vector_add", "swiglu", "softmax", "softmax_wide", "rmsnorm", "layernorm",
                                           "matmul_bf16", "matmul_bf16_strided", "matmul_f16_small", "rope",
                                           "conv1d_causal", "cross_entropy", "w4a16", "bitdelta", "matmul_i8"),
                         [](const auto& row) { return std::string(row.param); });

class Sm120 : public ::testing::TestWithParam<const char*> {};

// Code that promises nothing differs from the other by the widths of its copies: some kernels stand for all.
TEST_P(Sm120, TritonsCodeIsProvedAtThreeShapesOrMore) {
  const std::string name = GetParam();
  const std::optional<task::Task> task = load(name);
  ASSERT_TRUE(task);
  expect_proved(*task, kCorpus / name / "sm_120" / (name + ".ptx"));
  if (name == "softmax" || name == "rmsnorm" || name == "cumsum" || name == "matmul_i8" || name == "matmul_f16_small") {
    expect_proved(*task, kCorpus / name / "sm_120" / (name + "_unaligned.ptx"));
  }
}

// matmul_desc_large and matmul_desc_ws are not here: the one takes 160 KiB of shared memory and the target has 99, and
// in the other a tensor copy lands where a tensor map was made, without a proxy fence between.
INSTANTIATE_TEST_SUITE_P(Kernels, Sm120,
                         ::testing::Values("vector_add", "swiglu", "softmax", "softmax_wide", "rmsnorm", "layernorm",
                                           "rope", "cumsum", "conv1d_causal", "cross_entropy", "matmul_bf16",
                                           "matmul_bf16_large", "matmul_bf16_strided", "matmul_f16_small",
                                           "matmul_f32_tf32", "matmul_fp8", "matmul_i8", "matmul_desc",
                                           "flash_attention", "flash_attention_causal", "flash_attention_w8", "w4a16",
                                           "bitdelta"),
                         [](const auto& row) { return std::string(row.param); });

class Hopper : public ::testing::TestWithParam<const char*> {};

// wgmma, fed by cp.async and by tensor copies. A tensor map takes no tensor at an odd address, and the source says so.
TEST_P(Hopper, TritonsCodeIsProvedAtThreeShapesOrMore) {
  const std::string name = GetParam();
  const std::optional<task::Task> task = load(name);
  ASSERT_TRUE(task);
  expect_proved(*task, kCorpus / name / "sm_90" / (name + ".ptx"));
  expect_proved(*task, kCorpus / name / "sm_90" / (name + "_unaligned.ptx"));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Hopper,
                         ::testing::Values("matmul_bf16", "matmul_bf16_large", "matmul_f16_small", "matmul_f32_tf32",
                                           "matmul_fp8", "matmul_desc", "matmul_desc_large", "matmul_desc_ws",
                                           "flash_attention", "flash_attention_causal", "flash_attention_w8", "w4a16",
                                           "bitdelta", "matmul_i8", "cross_entropy"),
                         [](const auto& row) { return std::string(row.param); });

class Blackwell : public ::testing::TestWithParam<const char*> {};

// tcgen05 and tensor memory, which no card here runs: Triton's code is right without anything of plumb in it.
TEST_P(Blackwell, TritonsCodeIsProvedAtThreeShapesOrMore) {
  const std::string name = GetParam();
  const std::optional<task::Task> task = load(name);
  ASSERT_TRUE(task);
  expect_proved(*task, kCorpus / name / "sm_100" / (name + ".ptx"));
}

INSTANTIATE_TEST_SUITE_P(Kernels, Blackwell,
                         ::testing::Values("matmul_bf16", "matmul_bf16_large", "matmul_bf16_strided",
                                           "matmul_f16_small", "matmul_f32_tf32", "matmul_fp8", "matmul_desc",
                                           "matmul_desc_large", "flash_attention_causal", "flash_attention_w8"),
                         [](const auto& row) { return std::string(row.param); });

// An online log-sum-exp to base two.
TEST(Log2, TritonsCodeIsProvedAtThreeShapesOrMore) {
  const std::optional<task::Task> task = load("logsumexp2");
  ASSERT_TRUE(task);
  for (const char* target : {"sm_89", "sm_90", "sm_120"}) {
    expect_proved(*task, kCorpus / "logsumexp2" / target / "logsumexp2_unaligned.ptx");
  }
}

TEST(Rounds, MultiplyTheirBoundsUntilTheLimitOrTheLastOfThem) {
  const std::optional<task::Task> task = load("vector_add");
  ASSERT_TRUE(task);
  Findings findings;
  const auto candidate = load_candidate(kCorpus / "vector_add" / "sm_89" / "vector_add.ptx", findings);
  ASSERT_TRUE(candidate);
  Options options;
  options.shapes = {task->prove_shapes[0]};
  const double once = prove(*task, *candidate, options).log2_failure;
  options.log2_failure_limit = 2.5 * once;
  const Outcome thrice = prove(*task, *candidate, options);
  EXPECT_TRUE(thrice.holds()) << to_text(thrice, false);
  EXPECT_NEAR(thrice.log2_failure, 3 * once, 0.2 * std::abs(once));
  options.log2_failure_limit = 4 * once;
  const Outcome too_weak = prove(*task, *candidate, options);
  EXPECT_EQ(too_weak.verdict, Verdict::Unknown);
  EXPECT_EQ(too_weak.findings.list().front().code->id, "prove.probability");
}

// With this seed and inputs around 1000 most outputs are infinite in f16, and one that is not has cancelled.
TEST(Numbers, RoundingIsNotHeldAgainstACandidateWhereTheSourceOverflows) {
  const std::optional<task::Task> task = load("w4a16");
  ASSERT_TRUE(task);
  Findings findings;
  const auto candidate = load_candidate(kCorpus / "w4a16" / "sm_80" / "w4a16.ptx", findings);
  const auto shape = task::parse_shape("K=256,M=80,N=128", findings);
  ASSERT_TRUE(candidate && shape) << render(findings, false);
  Options options;
  options.seed = 1849525048178117745;
  options.shapes = {*shape};
  const Outcome outcome = prove(*task, *candidate, options);
  EXPECT_TRUE(outcome.holds()) << to_text(outcome, false);
}

// Replaces the `nth` place (from 0) where `from` stands.
std::string edited(std::string text, const std::string& from, const std::string& to, unsigned nth = 0) {
  std::size_t at = text.find(from);
  while (nth-- > 0 && at != std::string::npos) at = text.find(from, at + 1);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

struct Mutant {
  const char* name;
  const char* kernel;
  const char* from;
  const char* to;
  unsigned nth;
  const char* code;  // of one finding, where the kind is certain
  const char* target = "sm_89";
  const char* shape = nullptr;  // where the task's own are too small for the fault
};

class Mutants : public ::testing::TestWithParam<Mutant> {};

TEST_P(Mutants, AreCaught) {
  const Mutant& mutant = GetParam();
  const std::string kernel = mutant.kernel;
  const std::optional<task::Task> task = load(kernel);
  ASSERT_TRUE(task);
  const std::string file = kernel == "logsumexp2" ? kernel + "_unaligned.ptx" : kernel + ".ptx";
  const std::filesystem::path path = kCorpus / kernel / mutant.target / file;
  Findings findings;
  const std::optional<std::string> text = read_file(path, findings);
  ASSERT_TRUE(text);
  const std::string broken = edited(*text, mutant.from, mutant.to, mutant.nth);
  const std::optional<Candidate> candidate =
      make_candidate(std::make_shared<Source>(path.string(), broken), path, findings);
  ASSERT_TRUE(candidate) << render(findings, false);
  Options options;
  options.witness_seconds = 1;
  if (mutant.shape != nullptr) {
    const std::optional<task::Shape> shape = task::parse_shape(mutant.shape, findings);
    ASSERT_TRUE(shape) << render(findings, false);
    options.shapes = {*shape};
  }
  const Outcome outcome = prove(*task, *candidate, options);
  EXPECT_FALSE(outcome.holds()) << to_text(outcome, false);
  EXPECT_NE(outcome.verdict == Verdict::Proved && outcome.contract == Contract::Kept, true);
  if (mutant.code != nullptr) {
    bool is_found = false;
    for (const Finding& finding : outcome.findings.list()) is_found = is_found || finding.code->id == mutant.code;
    EXPECT_TRUE(is_found) << to_text(outcome, false);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Triton, Mutants,
    ::testing::Values(
        Mutant{"swapped_operation", "vector_add", "add.f32", "sub.f32", 0, "prove.element-differs"},
        Mutant{"lost_mask", "vector_add", "@%p1 st.global", "st.global", 0, "machine.out-of-bounds"},
        Mutant{"wrong_offset", "vector_add", "add.s64 \t%rd6, %rd5, 2048", "add.s64 \t%rd6, %rd5, 2052", 0, nullptr},
        Mutant{"dropped_barrier", "softmax", "bar.sync", "// bar.sync", 0, "race.shared"},
        Mutant{"dropped_second_barrier", "softmax", "bar.sync", "// bar.sync", 1, "race.shared"},
        Mutant{"wrong_shuffle", "softmax", "%r88, 16, 31, -1", "%r88, 8, 31, -1", 0, "prove.element-differs"},
        Mutant{"sum_for_max", "softmax", "max.f32", "add.f32", 0, nullptr},
        Mutant{"dropped_norm_barrier", "rmsnorm", "bar.sync", "// bar.sync", 0, "race.shared"},
        Mutant{"square_for_root", "rmsnorm", "rsqrt.approx.ftz.f32", "sqrt.approx.ftz.f32", 0, "prove.element-differs"},
        Mutant{"weak_wait", "matmul_bf16", "cp.async.wait_group \t2", "cp.async.wait_group \t4", 0, nullptr},
        Mutant{"early_wait_zero", "matmul_f16_small", "cp.async.wait_group", "// cp.async.wait_group", 0, nullptr},
        Mutant{"dropped_tile_barrier", "matmul_f16_small", "bar.sync", "// bar.sync", 0, nullptr},
        Mutant{"unrepeated_poll", "matmul_desc", "@!complete bra.uni waitLoop;", "", 0, "schedule.value", "sm_90"},
        Mutant{"too_few_bytes", "matmul_desc", "[%r94], 32768", "[%r94], 16384", 0, nullptr, "sm_90"},
        Mutant{"weak_product_wait", "matmul_desc", "wgmma.wait_group.sync.aligned 1", "wgmma.wait_group.sync.aligned 2",
               0, "async.source-written", "sm_90", "K=512,M=128,N=128"},
        Mutant{"unacquired_map", "matmul_desc", "@%p2 fence.proxy.tensormap", "// fence.proxy.tensormap", 0,
               "proxy.tensor-map", "sm_90"},
        Mutant{"unfenced_store", "matmul_desc", "fence.proxy.async", "// fence.proxy.async", 2, "proxy.missing-fence",
               "sm_90"},
        Mutant{"early_release", "matmul_desc_ws", "wgmma.wait_group.sync.aligned 0", "wgmma.wait_group.sync.aligned 1",
               0, nullptr, "sm_90", "K=512,M=128,N=128"},
        Mutant{"no_release", "matmul_desc_ws", "@%p6 mbarrier.arrive.shared::cta.b64 _, [%r34], 128;", "", 0,
               "machine.deadlock", "sm_90", "K=512,M=128,N=128"},
        Mutant{"map_before_its_owner", "matmul_desc_ws", "barrier.sync \t1;", "", 1, nullptr, "sm_90"},
        Mutant{"no_tensor_store_wait", "flash_attention_causal", "tcgen05.wait::st", "// tcgen05.wait::st", 2,
               "tensor.unwaited-read", "sm_100"},
        Mutant{"no_tensor_load_wait", "matmul_bf16", "tcgen05.wait::ld", "// tcgen05.wait::ld", 0,
               "machine.tensor-in-flight", "sm_100"},
        Mutant{"no_tensor_release", "matmul_bf16", "@%p1 tcgen05.dealloc", "// tcgen05.dealloc", 0,
               "machine.tensor-alloc", "sm_100"},
        Mutant{"no_commit", "matmul_f16_small", "@%p11 tcgen05.commit", "// tcgen05.commit", 0, nullptr, "sm_100"},
        Mutant{"unfenced_operand", "flash_attention_causal", "fence.proxy.async", "// fence.proxy.async", 0,
               "proxy.missing-fence", "sm_100"},
        Mutant{"other_accumulator", "matmul_bf16", "tcgen05.mma.cta_group::1.kind::f16 [ %r430 + 0 ]",
               "tcgen05.mma.cta_group::1.kind::f16 [ %r430 + 8 ]", 1, nullptr, "sm_100"},
        Mutant{"binary_coefficient", "logsumexp2", "0f3DC6B27F", "0f3DC6B280", 0, nullptr},
        Mutant{"binary_binade", "logsumexp2", "0fC1B80000", "0fC1B00000", 0, nullptr},
        Mutant{"binary_no_rescale", "logsumexp2", "fma.rn.f32 \t%r97, %r97, %r40, %r58", "add.f32 \t%r97, %r97, %r58",
               0, "prove.element-differs"},
        Mutant{"binary_slope", "logsumexp2", "0f3FB8AA3B", "0f3FB8AEF5", 0, nullptr},
        Mutant{"rescale_off_by_a_hair", "cross_entropy", "0f3FB8AA3B", "0f3FB8AEF5", 0, "prove.no-witness"},
        Mutant{"exponent_off_by_a_hair", "cross_entropy", "0f3FB8AA3B", "0f3FB8AEF5", 1, "prove.no-witness"},
        Mutant{"no_rescale", "cross_entropy", "fma.rn.f32 \t%r144, %r144, %r60, %r106", "add.f32 \t%r144, %r144, %r106",
               0, "prove.element-differs"},
        Mutant{"other_coefficient", "cross_entropy", "0fBE055027", "0fBE055028", 0, nullptr},
        Mutant{"other_binade", "cross_entropy", "0fC1B80000", "0fC1B00000", 0, nullptr},
        Mutant{"logarithm_off_by_a_hair", "softmax", "0f3FB8AA3B", "0f3FB8AEF5", 0, "prove.no-witness"},
        Mutant{
            "one_code_flipped", "w4a16", "add.s32 \t%r192, %r191, -8;",
            "add.s32 \t%r192, %r191, -8;\n{ .reg .pred %is_five; .reg .b32 %flipped;\nsetp.eq.s32 %is_five, %r192, 5;\n"
            "neg.s32 %flipped, %r192;\nselp.b32 %r192, %flipped, %r192, %is_five; }",
            0, "prove.element-differs"},
        Mutant{"codes_swapped", "w4a16", "and.b32 \t%r34, %r69, 28;",
               "and.b32 \t%r34, %r69, 28;\nxor.b32 \t%r34, %r34, 4;", 0, "prove.element-differs"},
        Mutant{"wrong_zero_point", "w4a16", "%r191, -8", "%r191, -7", 0, "prove.element-differs"},
        Mutant{"wrong_scale_group", "w4a16", "shr.s32 \t%r387, %r386, 7", "shr.s32 \t%r387, %r386, 8", 0,
               "prove.element-differs"},
        Mutant{"weak_wgmma_wait", "flash_attention", "wgmma.wait_group.sync.aligned", "// wgmma.wait_group", 0, nullptr,
               "sm_90"}),
    [](const auto& row) { return std::string(row.param.name); });

// A lowering that moves groups of four where all three pointers allow it; and with one of them not looked at.
TEST(Alignments, ATestThatForgetsOnePointerIsCaughtWhicheverItIs) {
  const std::filesystem::path folder = std::filesystem::path(PLUMB_SOURCE_DIR) / "suite" / "vector_add";
  const std::filesystem::path path = folder / "sm_89" / "vector_add.ptx";
  Findings findings;
  const std::optional<task::Task> task = task::load_task(folder, findings);
  const std::optional<std::string> text = read_file(path, findings);
  ASSERT_TRUE(task && text) << render(findings, false);
  struct Forgotten {
    const char* from;
    const char* to;
  };
  for (const Forgotten& forgotten :
       {Forgotten{"or.b64 or, x, y;", "or.b64 or, x, x;"}, Forgotten{"or.b64 or, x, y;", "or.b64 or, y, y;"},
        Forgotten{"or.b64 or, or, out;", "or.b64 or, or, or;"}, Forgotten{"or.b64 or, x, y;", "or.b64 or, y, x;"}}) {
    const std::string changed = edited(*text, forgotten.from, forgotten.to);
    const auto candidate = make_candidate(std::make_shared<Source>(path.string(), changed), path, findings);
    ASSERT_TRUE(candidate) << render(findings, false);
    const bool is_whole = std::string(forgotten.to) == "or.b64 or, y, x;";
    for (const std::uint64_t seed : {1, 2, 3}) {
      Options options;
      options.seed = seed;
      options.shapes = {task->prove_shapes[0]};
      const Outcome outcome = prove(*task, *candidate, options);
      EXPECT_EQ(outcome.holds(), is_whole) << forgotten.to << "\n" << to_text(outcome, false);
    }
  }
}

TEST(Certificate, RechecksAndRefusesOtherFiles) {
  const std::optional<task::Task> task = load("vector_add");
  ASSERT_TRUE(task);
  Findings findings;
  const auto candidate = load_candidate(kCorpus / "vector_add" / "sm_89" / "vector_add.ptx", findings);
  const auto other = load_candidate(kCorpus / "vector_add" / "sm_80" / "vector_add.ptx", findings);
  ASSERT_TRUE(candidate && other);
  const nlohmann::json paper = certificate(*task, *candidate, prove(*task, *candidate, {}), {});
  EXPECT_TRUE(recheck(paper, *task, *candidate, {}).holds());
  EXPECT_FALSE(recheck(paper, *task, *other, {}).holds());
  EXPECT_TRUE(recheck(nlohmann::json::object(), *task, *candidate, {}).is_bad_input);
}

}  // namespace
}  // namespace plumb::prove
