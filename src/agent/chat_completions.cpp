// SPDX-License-Identifier: Apache-2.0
// The Chat Completions protocol of OpenAI and of many local servers, with what they are known to do differently: calls
// count by being there, not by the reason to stop; arguments may come as an object; ids may be missing.
#include <fmt/format.h>

#include <map>

#include "agent/chat.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostCalls = 1000;

class Reader final : public AnswerReader {
 public:
  explicit Reader(std::size_t number) : number_(number) {}

  void take(const ServerEvent& event) override {
    if (!failure_.empty() || is_done_) return;
    if (event.data == "[DONE]") {
      is_done_ = true;
      return;
    }
    const Json data = Json::parse(event.data, nullptr, false);
    if (!data.is_object()) {
      failure_ = "the stream has an event that is not JSON";
      return;
    }
    if (const Json& error = field(data, "error"); !error.is_null()) {
      failure_ = error.is_string() ? error.get<std::string>()
                                   : fmt::format("{}: {}", text_field(error, "type"), text_field(error, "message"));
      if (failure_.empty()) failure_ = "the stream has an error";
      return;
    }
    if (answer_.id.empty()) answer_.id = text_field(data, "id");
    if (field(data, "usage").is_object()) take_usage(field(data, "usage"));
    const Json& choices = field(data, "choices");
    if (choices.is_array() && !choices.empty()) take_choice(choices.front());
  }

  bool is_whole() const override { return is_done_ || !answer_.stop.empty(); }
  const std::string& failure() const override { return failure_; }

  Answer answer() override {
    const bool is_cut = answer_.stop == "length";
    Json calls = Json::array();
    for (auto& [index, call] : calls_) {
      if (is_cut || call.name.empty()) continue;
      if (call.id.empty()) call.id = fmt::format("call_{}_{}", number_, index);
      calls.push_back({{"id", call.id},
                       {"type", "function"},
                       {"function", {{"name", call.name}, {"arguments", arguments_of(call.arguments).dump()}}}});
    }
    if (!text_.empty() || !calls.empty()) {
      answer_.content = {{"role", "assistant"}, {"content", text_.empty() ? Json() : Json(text_)}};
      if (!calls.empty()) answer_.content["tool_calls"] = std::move(calls);
    }
    if (!text_.empty()) answer_.messages.push_back(text_);
    if (is_cut) answer_.note = "cut";
    if (answer_.stop == "content_filter") answer_.note = "refused";
    return std::move(answer_);
  }

 private:
  struct Piece {
    std::string id, name, arguments;
  };

  void take_choice(const Json& choice) {
    const Json& delta = field(choice, "delta");
    text_ += text_field(delta, "content");
    answer_.thoughts += text_field(delta, "reasoning_content") + text_field(delta, "reasoning");
    if (const std::string stop = text_field(choice, "finish_reason"); !stop.empty()) answer_.stop = stop;
    const Json& calls = field(delta, "tool_calls");
    if (!calls.is_array()) return;
    for (const Json& call : calls) {
      const Json& given = field(call, "index");
      const std::uint64_t index = given.is_number_unsigned() ? given.get<std::uint64_t>() : calls_.size();
      if (index >= kMostCalls) {
        failure_ = "the stream has too many calls";
        return;
      }
      Piece& piece = calls_[index];
      if (const std::string id = text_field(call, "id"); !id.empty()) piece.id = id;
      const Json& function = field(call, "function");
      if (const std::string name = text_field(function, "name"); !name.empty()) piece.name = name;
      const Json& arguments = field(function, "arguments");
      if (arguments.is_string()) piece.arguments += arguments.get<std::string>();
      else if (arguments.is_object()) piece.arguments = arguments.dump();
    }
  }

  void take_usage(const Json& usage) {
    const std::uint64_t prompt = count_field(usage, "prompt_tokens");
    const std::uint64_t cached = count_field(field(usage, "prompt_tokens_details"), "cached_tokens");
    answer_.usage.cache_read = std::min(cached, prompt);
    answer_.usage.input = prompt - answer_.usage.cache_read;
    answer_.usage.output = count_field(usage, "completion_tokens");
  }

  std::size_t number_;  // of the answer in its conversation
  Answer answer_;
  std::string text_, failure_;
  std::map<std::uint64_t, Piece> calls_;
  bool is_done_ = false;
};

class ChatCompletionsWire final : public Wire {
 public:
  ChatCompletionsWire() : tools_(Json::array()) {
    for (const Json& tool : session::describe_tools()) {
      tools_.push_back(
          {{"type", "function"},
           {"function", {{"name", tool["name"]}, {"description", tool["help"]}, {"parameters", tool["schema"]}}}});
    }
  }

  HttpRequest request(const Conversation& conversation, const ChatConfig& config) const override {
    HttpRequest out;
    out.url = config.base_url + "/chat/completions";
    out.headers = {"content-type: application/json", "accept: text/event-stream"};
    if (!config.key.empty()) out.headers.push_back("authorization: Bearer " + config.key);
    Json body = {{"model", config.model},
                 {"messages", messages(conversation)},
                 {"tools", tools_},
                 {"stream", true},
                 {"stream_options", {{"include_usage", true}}}};
    // The service has renamed the field; servers of one's own know the old name.
    const bool is_service = config.base_url.find("api.openai.com") != std::string::npos;
    body[is_service ? "max_completion_tokens" : "max_tokens"] = config.most_output;
    if (!config.effort.empty()) body["reasoning_effort"] = config.effort;
    out.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
    return out;
  }

  std::unique_ptr<AnswerReader> reader(const Conversation& conversation) const override {
    return std::make_unique<Reader>(conversation.entries.size());
  }

  std::vector<Call> calls_of(const Json& content) const override {
    std::vector<Call> out;
    const Json& calls = field(content, "tool_calls");
    if (!calls.is_array()) return out;
    for (const Json& call : calls) {
      const Json& function = field(call, "function");
      out.push_back(
          {text_field(function, "name"), arguments_of(text_field(function, "arguments")), text_field(call, "id")});
    }
    return out;
  }

  std::string_view key_variable() const override { return "OPENAI_API_KEY"; }

 private:
  static Json messages(const Conversation& conversation) {
    Json out = Json::array();
    if (!conversation.system.empty()) out.push_back({{"role", "system"}, {"content", conversation.system}});
    for (const Entry& entry : conversation.entries) {
      if (entry.kind == Entry::Kind::Model) out.push_back(entry.content);
      if (entry.kind == Entry::Kind::User) out.push_back({{"role", "user"}, {"content", entry.text}});
      for (const Result& result : entry.results) {
        out.push_back({{"role", "tool"}, {"tool_call_id", result.id}, {"content", result.text}});
      }
    }
    return out;
  }

  Json tools_;
};

}  // namespace

std::unique_ptr<Wire> chat_completions_wire() { return std::make_unique<ChatCompletionsWire>(); }

}  // namespace plumb::agent
