// SPDX-License-Identifier: Apache-2.0
// Reports and exports of runs that were made up for the purpose: each number in them can be counted by hand.
#include "agent/story.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agent/export.h"
#include "agent/report.h"
#include "agent/run_log.h"
#include "base/hash.h"
#include "base/scratch.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

Json call(const char* tool, Json input, Json output, double seconds = 1, bool is_answer = true) {
  return {{"event", "call"},    {"tool", tool},          {"input", std::move(input)}, {"output", std::move(output)},
          {"seconds", seconds}, {"is_answer", is_answer}};
}
Json say(const char* text) { return {{"event", "message"}, {"role", "model"}, {"text", text}}; }
Json wrote(const char* sha256) {
  return call("write_candidate", {{"text", "x"}}, {{"file", "k.ptx"}, {"sha256", sha256}, {"lines", 3}});
}
Json proved(const char* verdict, const char* contract, Json findings = Json::array()) {
  return call("prove", Json::object(),
              {{"file", "k.ptx"}, {"verdict", verdict}, {"contract", contract}, {"findings", std::move(findings)}}, 2);
}
Json timed(double ns, double speedup) {
  return call("bench", {{"file", "k.ptx"}},
              {{"holds", true},
               {"shapes",
                Json::array({{{"cold", {{"candidate_ns", {{"value", ns}}}, {"speedup", {{"value", speedup}}}}},
                              {"share_of_copy_bandwidth", 0.5}},
                             {{"cold", {{"candidate_ns", {{"value", ns * 4}}}, {"speedup", {{"value", speedup * 4}}}}},
                              {"share_of_copy_bandwidth", 0.25}}})}});
}
Json ended(const char* sha256, const char* verdict) {
  return {{"event", "end"}, {"file", "k.ptx"}, {"sha256", sha256}, {"verdict", verdict}, {"contract", "kept"}};
}

class StoryTest : public testing::Test {
 protected:
  RunLog log(const std::vector<Json>& events, const char* from = "source") {
    const Scratch scratch;
    const fs::path path = scratch.path() / "run.jsonl";
    Findings findings;
    EXPECT_TRUE(begin_log(path, {"k", "aa", "bb", "sm_89", 1, from}, findings));
    for (const Json& event : events) EXPECT_TRUE(append_event(path, event, findings));
    auto read = read_log(path, findings);
    EXPECT_TRUE(read) << render(findings, false);
    return std::move(*read);
  }
};

const Json kRace = Json::array(
    {{{"code", "race.shared"}, {"severity", "error"}, {"message", "two <writes>"}, {"file", "k.ptx"}, {"line", 7}}});

TEST_F(StoryTest, TurnsCandidatesAndTimesAreCounted) {
  const Story story = read_story(
      log({say("first"), wrote("s1"), proved("different", "kept", kRace), say("more"), say("and more"), wrote("s2"),
           proved("proved", "weaker"), proved("proved", "kept"), timed(100, 1), ended("s2", "proved")}));
  EXPECT_TRUE(story.is_accepted());
  EXPECT_EQ(story.turns, 2u);
  EXPECT_DOUBLE_EQ(story.seconds, 9);
  ASSERT_EQ(story.candidates.size(), 2u);
  EXPECT_EQ(story.candidates[0].reached, Reached::Assembles);
  EXPECT_EQ(story.candidates[1].reached, Reached::Accepted);
  EXPECT_EQ(story.candidates[1].turn, 2u);
  EXPECT_DOUBLE_EQ(*story.candidates[1].nanoseconds, 200) << "the geometric mean of 100 and 400";
  EXPECT_DOUBLE_EQ(*story.candidates[1].speedup, 2);
  ASSERT_EQ(story.steps[2].findings.size(), 1u);
  EXPECT_EQ(story.steps[2].findings[0].place, "k.ptx:7");
  EXPECT_EQ(story.steps[2].line, 4u);
}

TEST_F(StoryTest, ALaterProofTakesBackAnEarlierOne) {
  Story story = read_story(log({wrote("s1"), proved("proved", "kept"), proved("different", "kept")}));
  EXPECT_LT(story.candidates[0].reached, Reached::Weaker);
  story = read_story(log({wrote("s1"), proved("proved", "kept"), ended("s1", "different")}));
  EXPECT_FALSE(story.is_accepted());
  EXPECT_LT(story.candidates[0].reached, Reached::Weaker);
  story = read_story(log({wrote("s1"), wrote("s2"), proved("proved", "kept")}));
  EXPECT_EQ(story.candidates[0].reached, Reached::Written) << "the proof is of what stands in the file";
}

TEST_F(StoryTest, APageNeedsNothingAndExecutesNothing) {
  const Story story = read_story(log({say("<script>alert('x')</script> & \"y\""), wrote("s1"),
                                      proved("different", "kept", kRace), timed(100, 1), ended("s1", "different")}));
  const std::string page = report_html(story);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;y&quot;"), std::string::npos);
  EXPECT_NE(page.find("two &lt;writes&gt;"), std::string::npos);
  for (const char* outside : {"src=", "href=", "url(", "@import", "http://", "https://"}) {
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  }
  EXPECT_NE(page.find("no lowering"), std::string::npos);
}

TEST_F(StoryTest, AReportOfAnEmptyRunSaysSo) {
  const Story story = read_story(log({}));
  EXPECT_NE(report_text(story, false).find("not judged"), std::string::npos);
  EXPECT_NE(report_html(story).find("No candidate was written"), std::string::npos);
  EXPECT_TRUE(report_json(story)["steps"].empty());
}

TEST_F(StoryTest, RewardsAreWhatTheToolsSaid) {
  const auto lines = trajectories(log({say("first"), wrote("s1"), proved("different", "kept", kRace), say("again"),
                                       wrote("s2"), proved("proved", "kept"), timed(100, 1), ended("s2", "proved")}));
  ASSERT_EQ(lines.size(), 1u);
  const Json& line = lines[0];
  ASSERT_EQ(line["turns"].size(), 2u);
  EXPECT_DOUBLE_EQ(line["turns"][0]["reward"], 0.1);
  EXPECT_EQ(line["turns"][0]["proved"], false);
  EXPECT_TRUE(line["turns"][0]["speedup"].is_null());
  EXPECT_DOUBLE_EQ(line["turns"][1]["reward"], 0.9);
  EXPECT_DOUBLE_EQ(line["turns"][1]["share_of_bound"], 0.25);
  EXPECT_DOUBLE_EQ(line["reward"], 2) << "accepted, and twice as fast";
  EXPECT_EQ(line["outcome"]["is_accepted"], true);
  const Json& messages = line["messages"];
  ASSERT_EQ(messages.size(), 7u);
  for (const Json& message : messages) EXPECT_EQ(message["learn"], message["role"] == "assistant") << message;
  EXPECT_EQ(messages[0]["tool_calls"].size(), 2u);
  EXPECT_EQ(messages[0]["tool_calls"][0]["id"], messages[1]["tool_call_id"]);
  EXPECT_EQ(Json::parse(messages[1]["content"].get<std::string>())["sha256"], "s1");
}

TEST_F(StoryTest, WhatARunStartsFromEarnsNothing) {
  const Json given = {
      {"event", "given"}, {"from", "seed"}, {"file", "k.ptx"}, {"text", "a\nb\n"}, {"sha256", sha256("a\nb\n")}};
  const std::string sum = given["sha256"];
  const RunLog untouched = log({given, proved("proved", "kept"), timed(100, 4), ended(sum.c_str(), "proved")}, "seed");
  const Story story = read_story(untouched);
  EXPECT_EQ(story.from, "seed");
  ASSERT_EQ(story.candidates.size(), 1u);
  EXPECT_TRUE(story.candidates[0].is_given);
  EXPECT_EQ(story.candidates[0].lines, 2u);
  EXPECT_EQ(story.candidates[0].reached, Reached::Accepted);
  EXPECT_NE(report_text(story, false).find("accepted, given at the start"), std::string::npos);
  EXPECT_NE(report_html(story).find("accepted, given at the start"), std::string::npos);
  EXPECT_EQ(report_json(story)["candidates"][0]["is_given"], true);
  const Json line = trajectories(untouched)[0];
  EXPECT_EQ(line["from"], "seed");
  EXPECT_DOUBLE_EQ(line["reward"], 0) << "neither for what was given nor for its speed";
  EXPECT_DOUBLE_EQ(line["turns"][0]["reward"], 0);
  const Json own = trajectories(log(
      {given, proved("proved", "weaker"), wrote("s2"), proved("proved", "kept"), timed(100, 1), ended("s2", "proved")},
      "seed"))[0];
  EXPECT_DOUBLE_EQ(own["reward"], 1.5) << "from a weaker contract to an accepted one, and twice as fast";
}

TEST_F(StoryTest, WhatALaneTakesOverIsTheCandidateThatItWas) {
  Json share = {{"event", "share"}, {"file", "best.ptx"}, {"sha256", "s1"}, {"from", 0}, {"lane", 1}};
  Json bench = timed(100, 1);
  bench["input"] = {{"file", "best.ptx"}};
  bench["output"]["file"] = "best.ptx";
  bench["lane"] = 1;
  const Story story = read_story(log({wrote("s1"), proved("proved", "kept"), share, bench}));
  ASSERT_EQ(story.candidates.size(), 1u);
  EXPECT_TRUE(story.candidates[0].nanoseconds);
}

TEST_F(StoryTest, WhatTheLastProofTakesBackCountsAgainstIt) {
  EXPECT_DOUBLE_EQ(trajectories(log({wrote("s1"), proved("proved", "kept"), ended("s1", "unknown")}))[0]["reward"], -1);
  const Json unjudged = trajectories(log({wrote("s1"), proved("proved", "weaker")}))[0];
  EXPECT_DOUBLE_EQ(unjudged["reward"], 0.5);
  EXPECT_EQ(unjudged["outcome"]["is_judged"], false);
}

TEST_F(StoryTest, CallsWithoutWordsAreTheModelsToo) {
  const Json line = trajectories(log({wrote("s1"), proved("proved", "kept"), ended("s1", "proved")}))[0];
  ASSERT_EQ(line["messages"].size(), 3u);
  EXPECT_TRUE(line["messages"][0]["content"].is_null());
  EXPECT_EQ(line["messages"][0]["tool_calls"].size(), 2u);
}

}  // namespace
}  // namespace plumb::agent
