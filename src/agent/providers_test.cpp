// SPDX-License-Identifier: Apache-2.0
// The pieces of live providers without a server; whole conversations are in tests/providers.
#include "agent/providers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "agent/budget.h"
#include "agent/chat.h"
#include "agent/codes.h"
#include "agent/http.h"
#include "agent/retry.h"
#include "agent/sse.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

std::vector<std::pair<std::string, std::string>> read_stream(std::string_view bytes, std::size_t piece) {
  std::vector<std::pair<std::string, std::string>> out;
  EventStream stream([&](const ServerEvent& event) { out.emplace_back(event.name, event.data); });
  for (std::size_t at = 0; at < bytes.size(); at += piece) stream.feed(bytes.substr(at, piece));
  return out;
}

TEST(EventStream, GivesTheSameEventsWhateverThePieces) {
  const std::string lines[] = {": comment", "event: a", "data: one", "data:two",    "", "id: 3",    "data",
                               "",          "",         "retry: 9",  "event: lost", "", "data:  x", ""};
  for (const char* end : {"\n", "\r\n", "\r"}) {
    std::string text;
    for (const std::string& line : lines) text += line + end;
    const std::vector<std::pair<std::string, std::string>> wanted = {{"a", "one\ntwo"}, {"", ""}, {"", " x"}};
    for (std::size_t piece = 1; piece <= text.size(); ++piece) EXPECT_EQ(read_stream(text, piece), wanted) << piece;
  }
  EXPECT_TRUE(read_stream("data: no end\n", 4).empty());
}

TEST(Retry, TakesTheServersWordFirst) {
  const auto response = [](int status, std::map<std::string, std::string> headers = {}) {
    return HttpResponse{HttpEnd::Whole, "", status, std::move(headers)};
  };
  for (const int status : {408, 409, 429, 500, 503, 529}) EXPECT_TRUE(may_retry(response(status))) << status;
  for (const int status : {400, 401, 403, 404, 413}) EXPECT_FALSE(may_retry(response(status))) << status;
  EXPECT_FALSE(may_retry(response(529, {{"x-should-retry", "false"}})));
  EXPECT_TRUE(may_retry(response(400, {{"x-should-retry", "true"}})));
  EXPECT_TRUE(may_retry({HttpEnd::Broken, "", 200, {}}));
  EXPECT_FALSE(may_retry({HttpEnd::NoLibrary, "", 0, {}}));

  const std::time_t now = 1792567680;  // Wed, 21 Oct 2026 07:28:00 GMT
  EXPECT_EQ(wanted_wait(response(429, {{"retry-after", "7"}}), now), 7.0);
  EXPECT_EQ(wanted_wait(response(429, {{"retry-after", "7"}, {"retry-after-ms", "20"}}), now), 0.02);
  EXPECT_EQ(wanted_wait(response(429, {{"retry-after", "Wed, 21 Oct 2026 07:28:30 GMT"}}), now), 30.0);
  EXPECT_EQ(wanted_wait(response(429, {{"retry-after", "Wed, 21 Oct 2026 07:27:30 GMT"}}), now), 0.0);
  for (const char* text : {"-1", "nan", "inf", "soon", "7 s", ""}) {
    EXPECT_FALSE(wanted_wait(response(429, {{"retry-after", text}}), now)) << text;
  }
  for (unsigned tries = 0; tries < 70; ++tries) {
    const double most = std::min(60.0, 0.5 * std::pow(2.0, tries));
    for (const std::uint64_t chance : {std::uint64_t{0}, std::uint64_t{1023}, ~std::uint64_t{0}}) {
      const double wait = wait_seconds(response(500), tries, now, chance);
      EXPECT_LE(wait, most);
      EXPECT_GE(wait, 0.75 * most);
    }
  }
}

TEST(RateLimit, PlacesAreApartAndWaitForWhomTheServerHeld) {
  const RateLimit::Clock::time_point begin{};
  const auto after = [&](double seconds) {
    return begin + std::chrono::duration_cast<RateLimit::Clock::duration>(std::chrono::duration<double>(seconds));
  };
  RateLimit limit(30);
  EXPECT_DOUBLE_EQ(limit.take(begin), 0);
  EXPECT_DOUBLE_EQ(limit.take(begin), 2) << "of another lane";
  EXPECT_DOUBLE_EQ(limit.take(after(1)), 3);
  EXPECT_DOUBLE_EQ(limit.take(after(10)), 0) << "what was not used is not saved up";
  limit.hold(after(10), 5);
  EXPECT_DOUBLE_EQ(limit.take(after(11)), 4);
  limit.hold(after(11), 1);
  EXPECT_DOUBLE_EQ(limit.take(after(11)), 6) << "a shorter hold moves nothing";
  RateLimit none;
  EXPECT_DOUBLE_EQ(none.take(begin), 0);
  EXPECT_DOUBLE_EQ(none.take(begin), 0);
}

TEST(Http, AKeyTravelsProtectedOrNotAtAll) {
  for (const char* url : {"https://example.org", "http://localhost:8080/v1", "http://127.0.0.1", "http://[::1]:80/"}) {
    EXPECT_TRUE(is_private(url)) << url;
  }
  for (const char* url :
       {"http://example.org", "http://localhost.example.org", "http://127.0.0.1.example.org/",
        "http://localhost:1@example.org", "http://localhostile", "ftp://localhost", "localhost", ""}) {
    EXPECT_FALSE(is_private(url)) << url;
  }
}

TEST(Http, AnAddressThatIsNoneIsSaid) {
  const HttpResponse response =
      post({"file:///etc/passwd", {}, "", 1, 1, 1, 100}, [](std::string_view) { return true; }, {});
  EXPECT_TRUE(response.end == HttpEnd::BadUrl || response.end == HttpEnd::NoLibrary);
  EXPECT_FALSE(response.message.empty());
}

TEST(Budget, SaysWhatIsUsedUp) {
  Findings findings;
  const auto budget = parse_budget("turns=3,tokens=100,usd=0.5,minutes=2", findings);
  ASSERT_TRUE(budget);
  EXPECT_EQ(exceeded(*budget, {2, {50, 49}, 0.49, 119}), "");
  EXPECT_EQ(exceeded(*budget, {3, {}, 0, 0}), "turns");
  EXPECT_EQ(exceeded(*budget, {0, {40, 30, 20, 10}, 0, 0}), "tokens");
  EXPECT_EQ(exceeded(*budget, {0, {}, 0.5, 0}), "usd");
  EXPECT_EQ(exceeded(*budget, {0, {}, 0, 120}), "minutes");
  EXPECT_EQ(exceeded({}, {1000000, {1u << 30}, 1e6, 1e9}), "");
  EXPECT_DOUBLE_EQ(cost({1'000'000, 2'000'000, 3'000'000, 4'000'000}, {1, 10, 100, 1000}), 1 + 20 + 300 + 4000);
}

// One answer of a wire, as the conversation keeps it.
Answer read_answer(const Wire& wire, const std::vector<Json>& events) {
  const auto reader = wire.reader({});
  for (const Json& event : events) reader->take({"", event.is_string() ? event.get<std::string>() : event.dump()});
  EXPECT_EQ(reader->failure(), "");
  EXPECT_TRUE(reader->is_whole());
  return reader->answer();
}

TEST(ChatCompletions, TakesTheWaysInWhichServersDiffer) {
  const auto wire = chat_completions_wire();
  const auto chunk = [](Json delta, Json reason = nullptr) {
    return Json{{"choices", {{{"delta", std::move(delta)}, {"finish_reason", std::move(reason)}}}}};
  };
  // No id, arguments as an object, the reason to stop is "stop", and no last word.
  Answer answer = read_answer(
      *wire,
      {chunk({{"tool_calls", {{{"index", 0}, {"function", {{"name", "isa"}, {"arguments", {{"query", "add"}}}}}}}}}),
       chunk(Json::object(), "stop")});
  std::vector<Call> calls = wire->calls_of(answer.content);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].input, Json({{"query", "add"}}));
  EXPECT_FALSE(calls[0].id.empty());
  // The reason says that there are calls, and there are none.
  answer = read_answer(*wire, {chunk({{"content", "x"}}, "tool_calls"), "[DONE]"});
  EXPECT_TRUE(wire->calls_of(answer.content).empty());
  EXPECT_EQ(answer.messages, std::vector<std::string>{"x"});
  // Cut off: nothing is executed.
  answer = read_answer(
      *wire,
      {chunk({{"tool_calls", {{{"index", 0}, {"id", "c"}, {"function", {{"name", "isa"}, {"arguments", "{}"}}}}}}},
             "length"),
       "[DONE]"});
  EXPECT_TRUE(wire->calls_of(answer.content).empty());
  EXPECT_EQ(answer.note, "cut");
}

TEST(Chat, AConversationComesBackFromItsEvents) {
  for (const auto& make : {anthropic_wire, chat_completions_wire}) {
    const auto wire = make();
    const bool is_anthropic = wire->key_variable() == "ANTHROPIC_API_KEY";
    const Json content =
        is_anthropic
            ? Json::parse(
                  R"([{"type": "text", "text": "Look."}, {"type": "tool_use", "id": "a", "name": "task", "input": {}},
                              {"type": "tool_use", "id": "b", "name": "isa", "input": {"query": "add"}}])")
            : Json::parse(R"({"role": "assistant", "content": "Look.", "tool_calls": [
                  {"id": "a", "type": "function", "function": {"name": "task", "arguments": "{}"}},
                  {"id": "b", "type": "function", "function": {"name": "isa", "arguments": "{\"query\": \"add\"}"}}]})");
    Chat chat(make(), {"m"});
    const std::vector<Json> events = {
        {{"event", "message"}, {"role", "system"}, {"text", "rules"}},
        {{"event", "message"}, {"role", "user"}, {"text", "lower this"}},
        {{"event", "turn"}, {"content", content}},
        {{"event", "message"}, {"role", "model"}, {"text", "Look."}},
        {{"event", "call"}, {"tool", "task"}, {"output", {{"x", 1}}}, {"is_answer", true}}};
    const std::vector<Call> pending = chat.restore(events);
    ASSERT_EQ(pending.size(), 1u);
    EXPECT_EQ(pending[0].tool, "isa");
    EXPECT_EQ(pending[0].id, "b");
    EXPECT_EQ(pending[0].input, Json({{"query", "add"}}));
    // Once it is answered there is none left.
    std::vector<Json> more = events;
    more.push_back({{"event", "call"}, {"tool", "isa"}, {"output", Json::object()}, {"is_answer", true}});
    EXPECT_TRUE(Chat(make(), {"m"}).restore(more).empty());
  }
}

TEST(Providers, SettingsAreHeldAgainstWhatAServiceNeeds) {
  const ServiceEnvironment none, both{"key-of-a-service", "", "key-of-a-service", ""};
  const auto code = [](const char* name, const ServiceEnvironment& environment, ChatConfig config) {
    Findings findings;
    const bool is_good = complete(name, environment, config, findings);
    EXPECT_EQ(is_good, findings.empty());
    return findings.empty() ? std::string_view() : findings.list()[0].code->id;
  };
  EXPECT_EQ(code("gpt", both, {"m"}), kProviderUnknown.id);
  for (const char* name : {"anthropic", "openai"}) {
    EXPECT_EQ(code(name, both, {}), kProviderSetting.id);
    EXPECT_EQ(code(name, none, {"m"}), kProviderKey.id);
    EXPECT_EQ(code(name, none, {"m", "http://gpu-server:8080/v1"}), "") << "a server of one's own wants no key";
    EXPECT_EQ(code(name, both, {"m", "http://gpu-server:8080/v1"}), kProviderKey.id);
    EXPECT_EQ(code(name, both, {"m"}), "");
    EXPECT_EQ(code(name, {"a\nb", "", "a\nb", ""}, {"m"}), kProviderKey.id);
  }
}

}  // namespace
}  // namespace plumb::agent
