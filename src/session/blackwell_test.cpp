// SPDX-License-Identifier: Apache-2.0
// Triton's own sm_100 and sm_103 code, with tensor memory, tcgen05 products and tensor copies, against the evaluator of
// its source: in IEEE arithmetic, in turn and under a drawn schedule, and over abstract data.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

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

TEST_P(Blackwell, IsTheSameFunction) {
  const std::vector<task::Shape> shapes = shapes_of(*task_, GetParam().variant[0] == 0);
  prove::Options options;
  options.shapes = {shapes[shapes.size() / 2]};
  const prove::Outcome outcome = prove::prove(*task_, *candidate_, options);
  EXPECT_NE(outcome.verdict, prove::Verdict::Different) << prove::to_text(outcome, false);
  EXPECT_EQ(outcome.contract, prove::Contract::Kept) << prove::to_text(outcome, false);
  EXPECT_EQ(outcome.shapes.size(), 1u) << prove::to_text(outcome, false);
  for (const Finding& finding : outcome.findings.list()) {
    if (finding.severity != Severity::Error) continue;
    EXPECT_TRUE(finding.code->id.starts_with("schedule.")) << render(finding, false);
  }
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
          {"flash_attention", "sm_103", ""}};
}

INSTANTIATE_TEST_SUITE_P(Triton, Blackwell, testing::ValuesIn(files()), [](const auto& row) {
  return std::string(row.param.kernel) + row.param.variant + "_" + row.param.target;
});

}  // namespace
}  // namespace plumb::session
