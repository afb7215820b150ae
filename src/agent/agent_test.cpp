// SPDX-License-Identifier: Apache-2.0
// The loop and the logs without a model: scripted providers, a folder of the test's own. Whole replays of real kernels
// are in tests/cli.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/codes.h"
#include "agent/lower.h"
#include "agent/replay.h"
#include "agent/run_log.h"
#include "base/file.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class AgentTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "plumb_agent_test" /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  LowerOptions options() {
    LowerOptions out;
    Findings findings;
    out.out = folder_ / "out";
    out.session.task = task::load_task(PLUMB_SOURCE_DIR "/suite/vector_add", findings);
    out.session.target = "sm_89";
    out.session.workers = 1;
    return out;
  }

  fs::path folder_;
};

// Says what it is told to say, and keeps the answers.
class Scripted final : public Provider {
 public:
  explicit Scripted(std::vector<Turn> turns) : turns_(std::move(turns)) {}
  std::optional<std::uint64_t> seed() const override { return 5; }
  std::optional<Turn> next(Findings&) override {
    if (at_ == turns_.size()) return std::nullopt;
    return turns_[at_++];
  }
  void answered(const Call&, const session::Reply& reply, Findings&) override { replies.push_back(reply); }

  std::vector<session::Reply> replies;

 private:
  std::vector<Turn> turns_;
  std::size_t at_ = 0;
};

TEST(FirstDifference, LooksPastVolatileKeysOnly) {
  const Json then = Json::parse(R"({"a": 1, "seconds": 3, "list": [{"b": "x", "ptxas": {"is_here": true}}, 2]})");
  EXPECT_EQ(first_difference(then, then), "");
  Json now = then;
  now["seconds"] = 4;
  now["list"][0]["ptxas"] = false;
  EXPECT_EQ(first_difference(now, then), "");
  now.erase("seconds");
  EXPECT_EQ(first_difference(now, then), "");
  const std::pair<const char*, const char*> cases[] = {{R"({"a": 2, "list": [{"b": "x"}, 2]})", "`/a`"},
                                                       {R"({"list": [{"b": "x"}, 2]})", "`/a`"},
                                                       {R"({"a": 1, "list": [{"b": "y"}, 2]})", "`/list/0/b`"},
                                                       {R"({"a": 1, "list": [{"b": "x"}]})", "`/list`"},
                                                       {R"({"a": 1, "list": [{"b": "x"}, 2], "c": 0})", "`/c`"},
                                                       {R"({"a": "1", "list": [{"b": "x"}, 2]})", "`/a`"},
                                                       {"[]", "`/`"}};
  for (const auto& [text, pointer] : cases) {
    const std::string found = first_difference(Json::parse(text), then);
    EXPECT_NE(found.find(pointer), std::string::npos) << text << " " << found;
  }
}

TEST_F(AgentTest, ALogReadsBackAsItWasWritten) {
  const fs::path log = folder_ / "run.jsonl";
  Findings findings;
  ASSERT_TRUE(begin_log(log, {"softmax", "aa", "bb", "sm_89", 0xfedcba9876543210}, findings));
  ASSERT_TRUE(log_message(log, "two\nlines, \"quoted\", \xff", findings));
  session::Config config;
  config.folder = folder_;
  const Logged logged =
      call_and_log(log, session::Session(config), "write_candidate", {{"file", "a.ptx"}, {"text", "x\n"}}, findings);
  EXPECT_TRUE(logged.reply.is_answer) << logged.reply.output;
  const auto back = read_log(log, findings);
  ASSERT_TRUE(back) << render(findings, false);
  EXPECT_EQ(back->start.task, "softmax");
  EXPECT_EQ(back->start.seed, 0xfedcba9876543210);
  ASSERT_EQ(back->events.size(), 2u);
  EXPECT_EQ(back->events[1].value["output"]["lines"], 1);
  EXPECT_EQ(back->events[1].place.source->locate(back->events[1].place.span.begin).line, 3u);
}

TEST_F(AgentTest, ABrokenLogIsReportedAtItsLine) {
  Findings ignored;
  const fs::path log = folder_ / "run.jsonl";
  ASSERT_TRUE(begin_log(log, {"softmax", "aa", "bb", "sm_89", 1}, ignored));
  const std::string start = *read_file(log, ignored);
  const std::pair<std::string, std::uint32_t> cases[] = {{"", 1},
                                                         {"{}\n", 1},
                                                         {"no json\n", 1},
                                                         {start + "no json\n", 2},
                                                         {start + "{\"event\": \"frob\"}\n", 2},
                                                         {start + "\n{\"event\": \"call\", \"tool\": \"isa\"}\n", 3},
                                                         {start + "[1]\n", 2},
                                                         {start + "{\"event\": \"message\", \"text\": 3}\n", 2}};
  for (const auto& [text, line] : cases) {
    std::ofstream(log, std::ios::trunc) << text;
    Findings findings;
    EXPECT_FALSE(read_log(log, findings)) << text;
    ASSERT_EQ(findings.list().size(), 1u) << text;
    const Place& place = findings.list()[0].place;
    EXPECT_EQ(place.source->locate(place.span.begin).line, line) << text;
  }
}

TEST_F(AgentTest, ARunWithoutACandidateIsNoLowering) {
  Scripted provider({{{"thinking"}, {{"isa", {{"query", "add"}}}, {"no-such-tool", Json::object()}}}, {{"done"}, {}}});
  const LowerOutcome outcome = lower(provider, options());
  EXPECT_FALSE(outcome.holds());
  ASSERT_EQ(outcome.findings.list().size(), 1u);
  EXPECT_EQ(outcome.findings.list()[0].code->id, kNoCandidate.id);
  ASSERT_EQ(provider.replies.size(), 2u);
  EXPECT_TRUE(provider.replies[0].is_answer);
  EXPECT_FALSE(provider.replies[1].is_answer) << "a wrong call is an answer to the model, not the end of the run";
  Findings findings;
  const auto log = read_log(folder_ / "out" / "run.jsonl", findings);
  ASSERT_TRUE(log) << render(findings, false);
  EXPECT_EQ(log->events.size(), 4u);
}

TEST_F(AgentTest, ACandidateThatDoesNotReadIsNoLowering) {
  Scripted provider({{{}, {{"write_candidate", {{"text", "//! block = [128]\n.version 8.0\n"}}}}}});
  const LowerOutcome outcome = lower(provider, options());
  EXPECT_FALSE(outcome.holds());
  EXPECT_TRUE(outcome.findings.has_error());
  EXPECT_FALSE(fs::exists(folder_ / "out" / "vector_add.ptx"));
}

TEST_F(AgentTest, UnknownAndUnbuiltProvidersAreNamed) {
  for (const auto& [name, code] : {std::pair("anthropic", &kProviderNotBuilt), std::pair("openai", &kProviderNotBuilt),
                                   std::pair("gpt", &kProviderUnknown)}) {
    Findings findings;
    EXPECT_EQ(make_provider(name, {}, findings), nullptr);
    ASSERT_EQ(findings.list().size(), 1u);
    EXPECT_EQ(findings.list()[0].code->id, code->id);
  }
}

}  // namespace
}  // namespace plumb::agent
