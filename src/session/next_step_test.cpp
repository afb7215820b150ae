// SPDX-License-Identifier: Apache-2.0
#include "session/next_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "session/codes.h"
#include "session/tool.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;

Json finding(const char* code, const char* severity = "error") { return {{"code", code}, {"severity", severity}}; }

TEST(NextStep, EveryRowIsOfACodeThatThereIs) {
  const auto codes = all_codes();
  for (const NextStep& row : next_steps()) {
    EXPECT_TRUE(std::any_of(codes.begin(), codes.end(), [&](const Code* code) {
      return row.code.ends_with('.') ? code->id.starts_with(row.code) : code->id == row.code;
    })) << row.code;
  }
}

TEST(NextStep, EveryCodeHasOne) {
  for (const Code* code : all_codes()) {
    EXPECT_FALSE(next_step({{"findings", Json::array({finding(std::string(code->id).c_str())})}}).empty()) << code->id;
  }
}

TEST(NextStep, TheFirstErrorDecidesAndItsHintGoesFirst) {
  const std::string race = next_step({{"findings", Json::array({finding("race.shared")})}});
  EXPECT_EQ(next_step({{"findings", Json::array({finding("ptx.syntax", "warning"), finding("race.shared"),
                                                 finding("ptx.syntax")})}}),
            race);
  Json hinted = finding("race.shared");
  hinted["hint"] = "do this";
  EXPECT_EQ(next_step({{"findings", Json::array({hinted})}}), "do this");
  EXPECT_EQ(next_step({{"findings", Json::array({finding("ptx.syntax", "note")})}}), "");
  EXPECT_EQ(next_step({{"verdict", "proved"}}), "");
  EXPECT_EQ(next_step(Json::array()), "");
}

TEST(NextStep, AnswersOfToolsHaveIt) {
  const Session session{Config{}};
  const Reply reply = call(session, "read_candidate", Json::object());
  EXPECT_FALSE(reply.is_answer);
  EXPECT_EQ(reply.output["next"], next_step(reply.output));
  EXPECT_FALSE(call(session, "isa", {{"query", "add"}}).output.contains("next"));
  EXPECT_TRUE(call(session, "no-such", Json::object()).output.contains("next"));
  EXPECT_TRUE(call(session, "isa", Json::object()).output.contains("next")) << "what the schema refuses";
}

}  // namespace
}  // namespace plumb::session
