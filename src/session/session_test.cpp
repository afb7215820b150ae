// SPDX-License-Identifier: Apache-2.0
#include "session/session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <set>

#include "session/codes.h"
#include "session/process.h"
#include "session/schema.h"
#include "session/tool.h"
#include "session/value.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;

TEST(Schema, NamesTheFieldThatDoesNotConform) {
  const Json schema = Json::parse(R"({"type": "object", "required": ["a"], "properties": {
      "a": {"type": "string", "enum": ["x", "y"]}, "n": {"type": "integer", "minimum": 1},
      "list": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}}}})");
  for (const char* good : {R"({"a": "x"})", R"({"a": "y", "n": 1, "list": [{"k": -3}, {}]})"}) {
    Findings findings;
    EXPECT_TRUE(conforms(Json::parse(good), schema, findings)) << render(findings, false);
  }
  const std::pair<const char*, const char*> cases[] = {
      {"[]", "`/`"},
      {"{}", "`a` is missing"},
      {R"({"a": "z"})", "`/a`"},
      {R"({"a": 1})", "`/a`"},
      {R"({"a": "x", "n": 0})", "`/n`"},
      {R"({"a": "x", "n": 1.5})", "`/n`"},
      {R"({"a": "x", "b": 1})", "`/b`"},
      {R"({"a": "x", "list": [{"k": 1}, {"k": "1"}]})", "`/list/1/k`"}};
  for (const auto& [bad, words] : cases) {
    Findings findings;
    EXPECT_FALSE(conforms(Json::parse(bad), schema, findings)) << bad;
    ASSERT_EQ(findings.list().size(), 1u) << bad;
    EXPECT_NE(findings.list()[0].message.find(words), std::string::npos) << findings.list()[0].message;
  }
}

TEST(Tools, AreDescribedWithSchemasThatParse) {
  std::set<std::string_view> names;
  for (const Tool& tool : tools()) {
    EXPECT_TRUE(names.insert(tool.name).second) << tool.name;
    EXPECT_FALSE(tool.help.empty());
    const Json schema = Json::parse(tool.schema, nullptr, false);
    ASSERT_FALSE(schema.is_discarded()) << tool.name;
    EXPECT_EQ(schema["type"], "object") << tool.name;
  }
  EXPECT_EQ(tools_sha256().size(), 64u);
}

TEST(Codes, AreUniqueAndExplained) {
  std::set<std::string_view> ids;
  for (const Code* code : all_codes()) {
    EXPECT_TRUE(ids.insert(code->id).second) << code->id;
    EXPECT_FALSE(code->summary.empty()) << code->id;
    EXPECT_FALSE(code->explanation.empty()) << code->id;
  }
  EXPECT_GT(ids.size(), 50u);
}

TEST(Target, OnlyEarlierPlainTargetsRunOnALaterOne) {
  const auto have = [](int sm, char suffix, std::string text) { return ptx::Target{sm, suffix, std::move(text), {}}; };
  EXPECT_TRUE(runs_on(have(80, 0, "sm_80"), "sm_89"));
  EXPECT_TRUE(runs_on(have(89, 0, "sm_89"), "sm_89"));
  EXPECT_FALSE(runs_on(have(90, 0, "sm_90"), "sm_89"));
  EXPECT_TRUE(runs_on(have(90, 'a', "sm_90a"), "sm_90a"));
  EXPECT_FALSE(runs_on(have(90, 'a', "sm_90a"), "sm_100"));
  EXPECT_FALSE(runs_on(have(80, 0, "sm_80"), "gfx942"));
}

TEST(Value, ReadsElementsOfEveryKind) {
  const auto value = [](const char* type, std::string bytes) { return element_value(type, bytes.data()); };
  EXPECT_EQ(value("*bf16", std::string("\x80\xbf", 2)), -1.0);
  EXPECT_EQ(value("*fp16", std::string("\x00\x3c", 2)), 1.0);
  EXPECT_EQ(value("*fp8e5", std::string("\x3c", 1)), 1.0);
  EXPECT_EQ(value("*fp8e4nv", std::string("\x38", 1)), 1.0);
  EXPECT_EQ(value("*i8", std::string("\xff", 1)), -1.0);
  EXPECT_EQ(value("*u8", std::string("\xff", 1)), 255.0);
  EXPECT_EQ(value("*i32", std::string("\xfe\xff\xff\xff", 4)), -2.0);
}

TEST(Process, ReportsOutputExitCodeTimeoutAndAbsence) {
  const ProcessResult good = run_process({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, 10);
  EXPECT_TRUE(good.has_started);
  EXPECT_EQ(good.exit_code, 3);
  EXPECT_NE(good.output.find("out"), std::string::npos);
  EXPECT_NE(good.output.find("err"), std::string::npos);
  const auto begin = std::chrono::steady_clock::now();
  const ProcessResult slow = run_process({"/bin/sh", "-c", "sleep 60 & sleep 60"}, 0.2);
  EXPECT_TRUE(slow.is_timeout);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_FALSE(run_process({"/nowhere/at/all"}, 10).has_started);
  EXPECT_FALSE(run_process({}, 10).has_started);
  EXPECT_EQ(find_program("sh", "/nowhere:/bin"), "/bin/sh");
  EXPECT_TRUE(find_program("no-such-program", "/bin:/usr/bin").empty());
}

}  // namespace
}  // namespace plumb::session
