// SPDX-License-Identifier: Apache-2.0
#include "session/mutation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "prove/prove.h"
#include "task/task.h"

namespace plumb::session {
namespace {

using End = JudgedMutant::End;

const std::filesystem::path kRoot = PLUMB_SOURCE_DIR;

class Mutation : public testing::Test {
 protected:
  void SetUp() override {
    Findings findings;
    task_ = task::load_task(kRoot / "suite/softmax", findings);
    candidate_ = prove::load_candidate(path_, findings);
    ASSERT_TRUE(task_ && candidate_) << render(findings, false);
    options_.workers = 2;
    options_.shapes = {task_->prove_shapes.front()};
  }

  MutationOutcome judge() const { return judge_mutants(*task_, *candidate_, path_, options_); }

  const std::filesystem::path path_ = kRoot / "suite/softmax/sm_89/softmax.ptx";
  std::optional<task::Task> task_;
  std::optional<prove::Candidate> candidate_;
  MutationOptions options_;
};

TEST_F(Mutation, LostBarriersStoresAndLanesAreCaught) {
  for (const char* name : {"barrier-drop", "member-mask", "store-drop", "operand-swap"}) {
    options_.draw.operators.push_back(mutate::find_operator(name));
  }
  options_.draw.most = 15;
  const MutationOutcome outcome = judge();
  ASSERT_FALSE(outcome.is_bad_input) << render(outcome.findings, false);
  EXPECT_EQ(outcome.count(End::Survived) + outcome.count(End::Broken), 0U)
      << to_text(outcome, *candidate_->module->source, false);
  EXPECT_GE(outcome.count(End::Caught), 9U);
  for (const JudgedMutant& one : outcome.mutants) EXPECT_FALSE(one.code.empty());
}

TEST_F(Mutation, ASurvivorIsRunAndLeavesTheSameBits) {
  // The only barrier under another name is the same barrier.
  options_.draw.operators = {mutate::find_operator("barrier-name")};
  const MutationOutcome outcome = judge();
  ASSERT_EQ(outcome.mutants.size(), 1U);
  EXPECT_EQ(outcome.mutants[0].end, End::Survived);
  EXPECT_TRUE(outcome.mutants[0].has_same_bits);
  const nlohmann::json told = to_json(outcome, *candidate_->module->source);
  EXPECT_EQ(told["counts"]["survived"], 1);
  EXPECT_EQ(told["mutants"][0]["same_bits"], true);
}

TEST_F(Mutation, ACandidateThatIsNotProvedHasNoMutants) {
  const SourcePtr source = candidate_->module->source;
  std::string text(source->text());
  const std::size_t at = text.find("bar.sync 0;");
  ASSERT_NE(at, std::string::npos);
  text.erase(at, 11);
  Findings findings;
  candidate_ = prove::make_candidate(std::make_shared<const Source>(source->name(), text), path_, findings);
  ASSERT_TRUE(candidate_);
  const MutationOutcome outcome = judge();
  EXPECT_TRUE(outcome.is_bad_input);
  EXPECT_NE(render(outcome.findings, false).find("session.mutation-of-unproved"), std::string::npos);
  EXPECT_TRUE(outcome.mutants.empty());
}

TEST_F(Mutation, TheTimeOfAMutantIsLimited) {
  options_.draw.operators = {mutate::find_operator("barrier-name")};
  options_.seconds = 0;
  const MutationOutcome outcome = judge();
  ASSERT_EQ(outcome.mutants.size(), 1U);
  EXPECT_EQ(outcome.mutants[0].end, End::Unfinished);
}

}  // namespace
}  // namespace plumb::session
