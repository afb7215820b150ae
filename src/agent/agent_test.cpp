// SPDX-License-Identifier: Apache-2.0
// The loop and the logs without a model: scripted providers, a folder of the test's own. Whole replays of real kernels
// are in tests/cli.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "agent/codes.h"
#include "agent/lower.h"
#include "agent/replay.h"
#include "agent/run_log.h"
#include "base/file.h"
#include "base/scratch.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

class AgentTest : public testing::Test {
 protected:
  LowerOptions options() {
    LowerOptions out;
    Findings findings;
    out.out = folder_ / "out";
    out.session.task = task::load_task(PLUMB_SOURCE_DIR "/suite/vector_add", findings);
    out.session.target = "sm_89";
    out.session.workers = 1;
    return out;
  }

  const Scratch scratch_;
  const fs::path& folder_ = scratch_.path();
  Findings ignored_;
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

TEST(FirstDifference, NamesTheFieldAndBothValues) {
  const Json then = Json::parse(R"({"a": 1, "list": [{"b": "x"}, 2], "verdict": "proved"})");
  EXPECT_EQ(first_difference(then, then), "");
  const std::pair<const char*, const char*> cases[] = {
      {R"({"a": 2, "list": [{"b": "x"}, 2], "verdict": "proved"})", "`/a` is 2, the log has 1"},
      {R"({"list": [{"b": "x"}, 2], "verdict": "proved"})", "`/a` is absent, the log has 1"},
      {R"({"a": 1, "list": [{"b": "y"}, 2], "verdict": "proved"})", R"(`/list/0/b` is "y", the log has "x")"},
      {R"({"a": 1, "list": [{"b": "x"}], "verdict": "proved"})", "`/list/1` is absent, the log has 2"},
      {R"({"a": 1, "list": [{"b": "x"}, 2, 3], "verdict": "proved"})", "`/list/2` is 3, the log has none"},
      {R"({"a": 1, "list": [{"b": "x"}, 2], "verdict": "proved", "c": 0})", "`/c` is 0, the log has none"},
      {R"({"a": 2, "list": [], "verdict": "unknown"})", R"(`/verdict` is "unknown", the log has "proved")"},
      {"[]", "`/` is [], the log has {"}};
  for (const auto& [text, words] : cases) {
    const std::string found = first_difference(Json::parse(text), then);
    EXPECT_TRUE(found.starts_with(words)) << text << " " << found;
  }
}

// What tools answer, with everything in it that an answer can have.
Json sample_answer(std::string_view tool) {
  const Json findings = Json::parse(R"([
      {"code": "race.shared", "severity": "error", "message": "two writes", "file": "a.ptx", "line": 7, "column": 3,
       "notes": [{"text": "the other one", "file": "a.ptx", "line": 9, "column": 1}, {"text": "at n=5"}], "hint": "wait"},
      {"code": "prove.remark", "severity": "note", "message": "odd"}])");
  Json out;
  if (tool == "prove") {
    out = Json::parse(R"({"file": "a.ptx", "verdict": "proved", "contract": "kept", "assumptions": ["one", "two"],
        "log2_failure_probability": -59, "failure_probability": 1e-18, "seconds": 1, "shapes": [
        {"shape": "m=3, n=5", "verdict": "proved", "ctas": 2, "programs": 2, "elements": 15, "seconds": 1},
        {"shape": "m=3, n=5, one element off", "verdict": "proved", "ctas": 2, "programs": 2, "elements": 15}],
        "coverage": {"instructions": 9, "instructions_executed": 8, "lines_not_executed": [4]}})");
  } else if (tool == "run") {
    out = Json::parse(R"({"holds": true, "shape": "n=5", "seconds": 1, "counts": {"ctas": 1, "mma_macs": 4,
        "warp_instructions": 3}, "outputs": [{"name": "y", "type": "*fp32", "shape": [5], "sha256": "ab", "nan": 0,
        "infinite": 0, "first": [1], "against_triton": {"outside_tolerance": 0, "first_outside": "no",
        "largest_absolute_error": 0.5}}]})");
  } else if (tool == "assemble") {
    out = Json::parse(R"({"file": "a.ptx", "accepts": true, "ptxas": {"is_here": true, "output": "V12"}})");
  } else {
    return Json::parse(R"({"file": "a.ptx", "sha256": "ab", "bytes": 3, "lines": 1, "text": "x\n"})");
  }
  out["findings"] = findings;
  return out;
}

TEST(FactsOf, EveryKindOfStructureCounts) {
  const struct {
    const char *tool, *pointer, *value, *field;
  } cases[] = {
      {"prove", "/verdict", R"("different")", "/verdict"},
      {"prove", "/contract", R"("weaker")", "/contract"},
      {"prove", "/file", R"("b.ptx")", "/file"},
      {"prove", "/assumptions/2", R"("three")", "/assumptions"},
      {"prove", "/shapes/0/shape", R"("m=3, n=6")", "/shapes/0/sizes/n"},
      {"prove", "/shapes/1/verdict", R"("unknown")", "/shapes/1"},
      {"prove", "/shapes/0/elements", "14", "/shapes/0/elements"},
      {"prove", "/shapes/0/ctas", "3", "/shapes/0/ctas"},
      {"prove", "/shapes/0/programs", "3", "/shapes/0/programs"},
      {"prove", "/coverage/instructions", "10", "/coverage/instructions"},
      {"prove", "/coverage/instructions_executed", "9", ""},
      {"prove", "/coverage/lines_not_executed/0", "5", ""},
      {"prove", "/findings/0/code", R"("race.global")", "/findings/0/code"},
      {"prove", "/findings/0/severity", R"("warning")", "/findings/0/severity"},
      {"prove", "/findings/0/line", "8", "/findings/0/line"},
      {"prove", "/findings/0/column", "4", "/findings/0/column"},
      {"prove", "/findings/0/file", R"("b.ptx")", "/findings/0/file"},
      {"prove", "/findings/0/notes/0/line", "10", "/findings/0/note_places/0/line"},
      {"prove", "/findings/2", R"({"code": "x", "severity": "error"})", "/findings/2"},
      {"run", "/holds", "false", "/holds"},
      {"run", "/shape", R"("n=6")", "/sizes/n"},
      {"run", "/counts/ctas", "2", "/counts/ctas"},
      {"run", "/counts/mma_macs", "5", "/counts/mma_macs"},
      {"run", "/outputs/0/sha256", R"("ac")", "/outputs/0/sha256"},
      {"run", "/outputs/0/shape/0", "6", "/outputs/0/shape/0"},
      {"run", "/outputs/0/nan", "1", "/outputs/0/nan"},
      {"run", "/outputs/0/against_triton/outside_tolerance", "1", "/outputs/0/outside_tolerance"},
      {"assemble", "/accepts", "false", "/accepts"},
      {"assemble", "/findings/0/code", R"("ptx.syntax")", "/findings/0/code"},
      {"write_candidate", "/sha256", R"("ac")", "/sha256"},
      {"write_candidate", "/lines", "2", "/lines"},
      {"read_candidate", "/text", R"("y\n")", "/text"},
      {"no-such-tool", "/file", R"("b")", ""},
  };
  for (const auto& each : cases) {
    const Json then = sample_answer(each.tool);
    Json now = then;
    now[Json::json_pointer(each.pointer)] = Json::parse(each.value);
    const std::string found =
        first_difference(session::facts_of(each.tool, true, now), session::facts_of(each.tool, true, then));
    if (*each.field == 0) {
      EXPECT_EQ(found, "");
      continue;
    }
    EXPECT_TRUE(found.starts_with(std::string("`") + each.field + "` is ")) << each.pointer << ": " << found;
  }
  const Json answer = sample_answer("prove");
  const std::string found =
      first_difference(session::facts_of("prove", false, answer), session::facts_of("prove", true, answer));
  EXPECT_EQ(found, "`/is_answer` is false, the log has true");
}

TEST(FactsOf, WordingTimesAndVersionsDoNot) {
  const std::pair<const char*, const char*> cases[] = {
      {"prove", R"({"/findings/0/message": "a write and a write", "/findings/0/hint": "put a barrier",
                    "/findings/0/notes/0/text": "here", "/findings/0/notes/1/text": "there", "/assumptions/1": "2",
                    "/seconds": 9, "/shapes/0/seconds": 9, "/shapes/1/shape": "m=3, n=5, all pointers shifted",
                    "/shapes/2": {"shape": "m=3, n=5, two elements off", "verdict": "proved", "ctas": 2, "programs": 2,
                                  "elements": 15}, "/log2_failure_probability": -61, "/workers": 2})"},
      {"run", R"({"/seconds": 9, "/counts/warp_instructions": 5, "/outputs/0/against_triton/first_outside": "none",
                  "/outputs/0/against_triton/largest_absolute_error": 0.25, "/findings/1/message": "even"})"},
      {"assemble", R"({"/ptxas": {"is_here": false}, "/findings/0/message": "a write and a write"})"},
      {"isa", R"({"/forms": []})"},
      {"explain", R"({"/explanation": "otherwise"})"}};
  for (const auto& [tool, changes] : cases) {
    const Json then = sample_answer(tool);
    Json now = then;
    const Json table = Json::parse(changes);
    for (const auto& [pointer, value] : table.items()) now[Json::json_pointer(pointer)] = value;
    ASSERT_NE(now, then) << tool;
    EXPECT_EQ(first_difference(session::facts_of(tool, true, now), session::facts_of(tool, true, then)), "") << tool;
    EXPECT_EQ(first_difference(session::facts_of(tool, false, now), session::facts_of(tool, false, then)), "") << tool;
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
                                                         {start + "{\"event\": \"cancelled\"}\n", 2},
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

TEST_F(AgentTest, AKillInTheMiddleOfALineCostsThatEventAlone) {
  Findings findings;
  const fs::path log = folder_ / "run.jsonl";
  ASSERT_TRUE(begin_log(log, {"softmax", "aa", "bb", "sm_89", 1}, findings));
  ASSERT_TRUE(log_message(log, "one", findings));
  const std::string whole = *read_file(log, findings);
  EXPECT_TRUE(is_begun(log));
  const std::string first = whole.substr(0, whole.find('\n'));
  for (std::size_t length = 0; length < first.size(); ++length) {
    std::ofstream(log, std::ios::trunc) << first.substr(0, length);
    Findings own;
    EXPECT_FALSE(is_begun(log)) << length;
    EXPECT_FALSE(read_log(log, own)) << length;
    ASSERT_TRUE(begin_log(log, {"softmax", "aa", "bb", "sm_89", 2}, own));
    const auto anew = read_log(log, own);
    ASSERT_TRUE(anew) << length << render(own, false);
    EXPECT_EQ(anew->start.seed, 2u);
  }
  std::ofstream(log, std::ios::trunc) << "{\"other\": 1";
  EXPECT_TRUE(is_begun(log)) << "a file that is no log is not taken for one";
  std::ofstream(log, std::ios::trunc) << whole;
  ASSERT_TRUE(log_message(log, "two", findings));
  const std::string both = *read_file(log, findings);
  ASSERT_TRUE(findings.empty());
  for (std::size_t length = whole.size() + 1; length < both.size(); ++length) {
    const bool is_cut = length + 1 < both.size();  // without its line feed alone an event is whole
    std::ofstream(log, std::ios::trunc) << both.substr(0, length);
    Findings own;
    const auto killed = read_log(log, own);
    ASSERT_TRUE(killed) << length << render(own, false);
    EXPECT_EQ(killed->events.size(), is_cut ? 1u : 2u) << length;
    EXPECT_EQ(own.list().size(), is_cut ? 1u : 0u) << length;
    ASSERT_TRUE(log_message(log, "three", own));
    const auto resumed = read_log(log, own);
    ASSERT_TRUE(resumed) << length << render(own, false);
    EXPECT_EQ(resumed->events.back().value["text"], "three") << length;
    EXPECT_TRUE(read_file(log, own)->starts_with(both.substr(0, length))) << "what was written stays as it was";
    EXPECT_FALSE(own.has_error());
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

TEST_F(AgentTest, ARunThatWasInterruptedComesBackFromItsLogAlone) {
  const std::string good = *read_file(PLUMB_SOURCE_DIR "/suite/vector_add/sm_89/vector_add.ptx", ignored_);
  const std::vector<Turn> turns = {{{"a plan"}, {{"write_candidate", {{"text", good}}}}},
                                   {{}, {{"assemble", Json::object()}, {"prove", Json::object()}}}};
  Scripted whole(turns);
  ASSERT_TRUE(lower(whole, options()).holds());
  const std::string log = *read_file(folder_ / "out" / "run.jsonl", ignored_);
  const std::string ptx = *read_file(folder_ / "out" / "vector_add.ptx", ignored_);
  std::size_t lines = 0;
  for (std::size_t cut = 0; cut <= log.size(); cut += 1 + log.size() / 12) {
    fs::remove_all(folder_ / "out");
    fs::create_directories(folder_ / "out");
    std::ofstream(folder_ / "out" / "run.jsonl") << log.substr(0, cut);
    std::ofstream(folder_ / "whole.jsonl") << log;
    Findings findings;
    auto stored = read_log(folder_ / "whole.jsonl", findings);
    ASSERT_TRUE(stored);
    Replay replay(std::move(*stored));
    LowerOptions again = options();
    again.is_resume = true;
    const LowerOutcome outcome = lower(replay, again);
    EXPECT_TRUE(outcome.holds()) << cut << render(outcome.findings, false);
    EXPECT_EQ(*read_file(folder_ / "out" / "vector_add.ptx", ignored_), ptx) << cut;
    const auto kept = read_log(folder_ / "out" / "run.jsonl", findings);
    ASSERT_TRUE(kept) << cut << render(findings, false);
    const auto count = std::count_if(kept->events.begin(), kept->events.end(),
                                     [](const Event& event) { return is_of_course(event.value); });
    EXPECT_EQ(count, 4) << cut;
    ++lines;
  }
  EXPECT_GT(lines, 10u);
}

TEST_F(AgentTest, AnEarlierLogIsKept) {
  for (int i = 0; i < 2; ++i) {
    Scripted provider({{{"nothing"}, {}}});
    lower(provider, options());
  }
  EXPECT_TRUE(fs::exists(folder_ / "out" / "run.jsonl"));
  EXPECT_TRUE(fs::exists(folder_ / "out" / "run-1.jsonl"));
  EXPECT_FALSE(fs::exists(folder_ / "out" / ".plumb-run"));
}

}  // namespace
}  // namespace plumb::agent
