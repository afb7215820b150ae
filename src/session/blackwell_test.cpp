// SPDX-License-Identifier: Apache-2.0
// Triton's own sm_100 and sm_103 code, with tensor memory, tcgen05 products and tensor copies, against the evaluator of
// its source: in IEEE arithmetic, in turn and under a drawn schedule, and over abstract data.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "prove/prove.h"
#include "session/run.h"
#include "task/task.h"

namespace plumb::session {
namespace {

const std::filesystem::path kCorpus = std::filesystem::path(PLUMB_SOURCE_DIR) / "tests" / "corpus";

struct Compiled {
  const char* kernel;
  const char* target;
  const char* variant;
};

class Blackwell : public testing::TestWithParam<Compiled> {
 protected:
  void SetUp() override {
    const Compiled& file = GetParam();
    Findings findings;
    task_ = task::load_task(kCorpus / file.kernel, findings);
    candidate_ = prove::load_candidate(
        kCorpus / file.kernel / file.target / (std::string(file.kernel) + file.variant + ".ptx"), findings);
    ASSERT_TRUE(task_ && candidate_) << render(findings, false);
  }

  std::optional<task::Task> task_;
  std::optional<prove::Candidate> candidate_;
};

// The shapes at which the file keeps its promises: the aligned ones say that sizes are multiples of 16.
std::vector<task::Shape> shapes_of(const task::Task& task, bool is_aligned) {
  std::vector<task::Shape> out;
  for (const task::Shape& shape : task.prove_shapes) {
    const bool is_multiple = std::all_of(shape.sizes.begin(), shape.sizes.end(), [](const auto& size) {
      return (size.first != "M" && size.first != "N" && size.first != "K") || size.second % 16 == 0;
    });
    if (!is_aligned || is_multiple) out.push_back(shape);
  }
  return out;
}

TEST_P(Blackwell, LeavesTheNumbersOfItsSource) {
  const std::vector<task::Shape> shapes = shapes_of(*task_, GetParam().variant[0] == 0);
  ASSERT_FALSE(shapes.empty());
  for (const task::Shape& shape : shapes) {
    RunOptions options;
    options.shape = shape;
    options.has_spec = true;
    if (&shape == &shapes.back()) options.schedule = 3;
    const RunOutcome outcome = run(*task_, *candidate_, options);
    EXPECT_TRUE(outcome.holds()) << to_text(outcome, false);
    ASSERT_FALSE(outcome.outputs.empty());
    EXPECT_GT(outcome.mma_macs, 0u);
  }
}

TEST_P(Blackwell, IsProved) {
  const std::vector<task::Shape> shapes = shapes_of(*task_, GetParam().variant[0] == 0);
  prove::Options options;
  options.shapes = {shapes[shapes.size() / 2]};
  const prove::Outcome outcome = prove::prove(*task_, *candidate_, options);
  EXPECT_TRUE(outcome.holds()) << prove::to_text(outcome, false);
  EXPECT_GE(outcome.shapes.size(), 1u) << prove::to_text(outcome, false);
}

std::vector<Compiled> files() {
  return {{"matmul_bf16", "sm_100", ""},
          {"matmul_bf16", "sm_100", "_unaligned"},
          {"matmul_bf16_large", "sm_100", ""},
          {"matmul_bf16_strided", "sm_100", ""},
          {"matmul_f16_small", "sm_100", "_unaligned"},
          {"matmul_f32_tf32", "sm_100", ""},
          {"matmul_fp8", "sm_100", ""},
          {"matmul_desc", "sm_100", ""},
          {"matmul_desc_large", "sm_100", ""},
          {"flash_attention", "sm_100", ""},
          {"flash_attention_causal", "sm_100", "_unaligned"},
          {"flash_attention_w8", "sm_100", ""},
          {"flash_attention", "sm_103", ""}};
}

INSTANTIATE_TEST_SUITE_P(Triton, Blackwell, testing::ValuesIn(files()), [](const auto& row) {
  return std::string(row.param.kernel) + row.param.variant + "_" + row.param.target;
});

// -- Warp-specialised code. -------------------------------------------------------------------------------------------
// Triton 3.6 makes two faults there. The mbarriers of the ring end before the products that a commit to them tracks are
// known to have ended; and the copies of tiles write where the tensor maps were made, without the proxy fence that the
// same compiler puts there in `matmul_desc`. With both mended, and nothing else, the code is proved.
class WarpSpecialised : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Findings findings;
    const std::filesystem::path folder = kCorpus / "matmul_desc_ws";
    path_ = folder / GetParam() / "matmul_desc_ws.ptx";
    task_ = task::load_task(folder, findings);
    std::optional<std::string> text = read_file(path_, findings);
    ASSERT_TRUE(task_ && text) << render(findings, false);
    text_ = *std::move(text);
  }

  // A proxy fence before the barrier by which the producers learn that the tensor maps are made.
  void add_fence() {
    const std::size_t made = text_.rfind("tensormap.replace.tile.fill_mode");
    text_.insert(text_.find("bar.sync", made), "fence.proxy.async.shared::cta;\n\t");
  }
  // The mbarriers of the ring end after the wait for all products.
  void end_mbarriers_later() {
    std::string moved;
    const std::string_view end = "@%p24 mbarrier.inval";
    for (std::size_t at = text_.find(end); at < text_.find("tcgen05.wait::ld"); at = text_.find(end)) {
      const std::size_t length = text_.find('\n', at) - at;
      moved += "\n\t" + text_.substr(at, length);
      text_.erase(at, length);
    }
    const std::string_view read = "tcgen05.wait::ld.sync.aligned;";
    text_.insert(text_.find(read) + read.size(), moved);
  }

  prove::Outcome prove_text(const std::vector<task::Shape>& shapes) {
    Findings findings;
    const auto candidate = prove::make_candidate(std::make_shared<Source>(path_.string(), text_), path_, findings);
    EXPECT_TRUE(candidate) << render(findings, false);
    prove::Options options;
    options.shapes = shapes;
    options.witness_seconds = 0.1;
    return candidate ? prove::prove(*task_, *candidate, options) : prove::Outcome{};
  }

  // The codes of errors, with what stands where they point up to the first blank or dot of its own.
  static std::vector<std::string> errors_of(const prove::Outcome& outcome) {
    std::vector<std::string> out;
    for (const Finding& finding : outcome.findings.list()) {
      if (finding.severity != Severity::Error || !finding.place.source) continue;
      const std::string_view here = finding.place.source->slice(finding.place.span);
      const std::size_t dot = here.find('.');
      const std::size_t name = here.rfind(' ', dot) + 1;
      out.push_back(std::string(finding.code->id) + " " +
                    std::string(here.substr(name, here.find_first_of(". ", dot + 1) - name)));
    }
    return out;
  }

  std::filesystem::path path_;
  std::optional<task::Task> task_;
  std::string text_;
};

using Errors = std::vector<std::string>;

TEST_P(WarpSpecialised, EndsItsMbarriersTooEarlyAndCrossesProxiesWithoutAFence) {
  EXPECT_EQ(errors_of(prove_text({task_->prove_shapes.front()})),
            (Errors{"machine.mbarrier mbarrier.inval", "proxy.missing-fence cp.async"}));
}

TEST_P(WarpSpecialised, HasTheOtherFaultWhenOneIsMended) {
  const std::string text = text_;
  add_fence();
  EXPECT_EQ(errors_of(prove_text({task_->prove_shapes.front()})), Errors{"machine.mbarrier mbarrier.inval"});
  text_ = text;
  end_mbarriers_later();
  EXPECT_EQ(errors_of(prove_text({task_->prove_shapes.front()})), Errors{"proxy.missing-fence cp.async"});
}

TEST_P(WarpSpecialised, IsProvedWhenBothAreMended) {
  add_fence(), end_mbarriers_later();
  const prove::Outcome outcome = prove_text(shapes_of(*task_, true));
  EXPECT_TRUE(outcome.holds()) << prove::to_text(outcome, false);
}

INSTANTIATE_TEST_SUITE_P(Triton, WarpSpecialised, testing::Values("sm_100", "sm_103"),
                         [](const auto& row) { return std::string(row.param); });

// -- One line of the matmul changed. ----------------------------------------------------------------------------------
struct Fault {
  const char* name;
  const char* from;
  const char* to;
  unsigned nth;      // of the places where `from` stands
  const char* code;  // of one finding
};

class BlackwellFault : public testing::TestWithParam<Fault> {};

TEST_P(BlackwellFault, IsFound) {
  const Fault& fault = GetParam();
  const std::filesystem::path path = kCorpus / "matmul_bf16" / "sm_100" / "matmul_bf16.ptx";
  Findings findings;
  const std::optional<task::Task> task = task::load_task(kCorpus / "matmul_bf16", findings);
  std::optional<std::string> text = read_file(path, findings);
  const std::optional<task::Shape> shape = task::parse_shape("M=208,N=144,K=144", findings);
  ASSERT_TRUE(task && text && shape) << render(findings, false);
  std::size_t at = text->find(fault.from);
  for (unsigned i = 0; i < fault.nth && at != std::string::npos; ++i) at = text->find(fault.from, at + 1);
  ASSERT_NE(at, std::string::npos);
  text->replace(at, std::string_view(fault.from).size(), fault.to);
  const std::optional<prove::Candidate> candidate =
      prove::make_candidate(std::make_shared<Source>(path.string(), *text), path, findings);
  ASSERT_TRUE(candidate) << render(findings, false);
  prove::Options options;
  options.shapes = {*shape};
  options.witness_seconds = 0.5;
  const prove::Outcome outcome = prove::prove(*task, *candidate, options);
  EXPECT_FALSE(outcome.holds());
  const auto& list = outcome.findings.list();
  EXPECT_TRUE(std::any_of(list.begin(), list.end(), [&](const Finding& finding) {
    return finding.severity == Severity::Error && finding.code->id == fault.code;
  })) << prove::to_text(outcome, false);
}

constexpr const char* kCommit = "@%p18 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%rd97];";
constexpr const char* kLastProduct =
    "@%p18 tcgen05.mma.cta_group::1.kind::f16 [ %r430 + 0 ], %rd95, %rd96, %r160, %p19;";

INSTANTIATE_TEST_SUITE_P(
    Triton, BlackwellFault,
    testing::Values(Fault{"no_wait_for_loads", "tcgen05.wait::ld.sync.aligned;", "", 0, "machine.tensor-in-flight"},
                    Fault{"no_wait_for_stores", "tcgen05.wait::st.sync.aligned;", "", 0, "tensor.unwaited-read"},
                    Fault{"no_commit", kCommit, "", 0, "machine.deadlock"},
                    Fault{"lost_product", kLastProduct, "", 0, "prove.element-differs"},
                    Fault{"few_columns", "[%r29], 128", "[%r29], 64", 0, "machine.tensor-memory"},
                    Fault{"other_size_given_back", ".b32 %r430, 128", ".b32 %r430, 64", 0, "machine.tensor-alloc"},
                    Fault{"columns_kept", "@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r430, 128;", "", 0,
                          "machine.tensor-alloc"},
                    Fault{"other_swizzle", "4611756662049472512", "9223442680477122560", 0, "prove.element-differs"},
                    Fault{"half_a_step_of_k", "%rd98, 4611756662049472514", "%rd98, 4611756662049472513", 0,
                          "prove.element-differs"},
                    Fault{"every_thread_issues", "elect.sync \t%r161|%p18, -1;", "setp.eq.u32 %p18, %r1, %r1;", 0,
                          "machine.tensor-issue"},
                    Fault{"unrepeated_poll", "@!complete bra.uni waitLoop;", "", 1, "schedule.value"},
                    Fault{"no_barrier_after_alloc", "bar.sync \t0;", "", 0, "race.shared"}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace plumb::session
