// SPDX-License-Identifier: Apache-2.0
// The Anthropic Messages protocol: an answer is a list of blocks, streamed block by block, and goes back as it came,
// thoughts with their signatures included.
#include <fmt/format.h>

#include "agent/chat.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBlocks = 1000;

const Json& cache_mark() {
  static const Json kMark = {{"type", "ephemeral"}};
  return kMark;
}

class Reader final : public AnswerReader {
 public:
  void take(const ServerEvent& event) override {
    if (!failure_.empty() || is_whole_) return;
    const Json data = Json::parse(event.data, nullptr, false);
    if (!data.is_object()) {
      failure_ = "the stream has an event that is not JSON";
      return;
    }
    const std::string type = text_field(data, "type");
    if (type == "message_start") {
      const Json& message = field(data, "message");
      answer_.id = text_field(message, "id");
      take_usage(field(message, "usage"));
    } else if (type == "content_block_start") {
      start(data);
    } else if (type == "content_block_delta") {
      add(data);
    } else if (type == "content_block_stop") {
      if (Block* block = find(data)) block->is_closed = true;
    } else if (type == "message_delta") {
      if (const std::string stop = text_field(field(data, "delta"), "stop_reason"); !stop.empty()) answer_.stop = stop;
      take_usage(field(data, "usage"));
    } else if (type == "message_stop") {
      is_whole_ = true;
    } else if (type == "error") {
      const Json& error = field(data, "error");
      failure_ = fmt::format("{}: {}", text_field(error, "type"), text_field(error, "message"));
    }
  }

  bool is_whole() const override { return is_whole_; }
  const std::string& failure() const override { return failure_; }

  Answer answer() override {
    answer_.content = Json::array();
    const bool is_cut = answer_.stop == "max_tokens";
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      Block& block = blocks_[i];
      const std::string type = text_field(block.value, "type");
      if (type.empty()) continue;
      if (type == "tool_use") {
        // The last call of an answer that was cut off may be half of one, whatever it looks like.
        if (!block.is_closed || (is_cut && i + 1 == blocks_.size())) continue;
        if (!block.arguments.empty() || !field(block.value, "input").is_object()) {
          block.value["input"] = arguments_of(block.arguments);
        }
      }
      if (type == "text") {
        const std::string text = text_field(block.value, "text");
        if (text.empty()) continue;  // the service takes no empty ones back
        answer_.messages.push_back(text);
      }
      answer_.content.push_back(std::move(block.value));
    }
    if (is_cut) answer_.note = "cut";
    if (answer_.stop == "refusal") answer_.note = "refused";
    if (answer_.stop == "model_context_window_exceeded") answer_.note = "full";
    answer_.is_over = answer_.stop != "pause_turn";
    return std::move(answer_);
  }

 private:
  struct Block {
    Json value;
    std::string arguments;
    bool is_closed = false;
  };

  Block* find(const Json& data) {
    const Json& index = field(data, "index");
    if (!index.is_number_unsigned() || index.get<std::uint64_t>() >= blocks_.size()) return nullptr;
    return &blocks_[index.get<std::size_t>()];
  }

  void start(const Json& data) {
    const Json& index = field(data, "index");
    const Json& block = field(data, "content_block");
    if (!index.is_number_unsigned() || index.get<std::uint64_t>() >= kMostBlocks || !block.is_object()) {
      failure_ = "the stream begins a block that is none";
      return;
    }
    const std::size_t at = index.get<std::size_t>();
    if (at >= blocks_.size()) blocks_.resize(at + 1);
    blocks_[at] = {block, {}, false};
  }

  void add(const Json& data) {
    Block* block = find(data);
    const Json& delta = field(data, "delta");
    const std::string type = text_field(delta, "type");
    if (block == nullptr) {
      failure_ = "the stream goes on with a block that it has not begun";
      return;
    }
    if (type == "input_json_delta") block->arguments += text_field(delta, "partial_json");
    else if (type == "text_delta") append(block->value, "text", delta);
    else if (type == "thinking_delta") append(block->value, "thinking", delta);
    else if (type == "signature_delta") append(block->value, "signature", delta);
  }

  static void append(Json& block, const char* name, const Json& delta) {
    block[name] = text_field(block, name) + text_field(delta, name);
  }

  // Later counts replace earlier ones; what is absent stays.
  void take_usage(const Json& usage) {
    const std::pair<const char*, std::uint64_t*> counts[] = {
        {"input_tokens", &answer_.usage.input},
        {"output_tokens", &answer_.usage.output},
        {"cache_read_input_tokens", &answer_.usage.cache_read},
        {"cache_creation_input_tokens", &answer_.usage.cache_write}};
    for (const auto& [name, count] : counts) {
      if (field(usage, name).is_number_unsigned()) *count = count_field(usage, name);
    }
  }

  Answer answer_;
  std::vector<Block> blocks_;
  std::string failure_;
  bool is_whole_ = false;
};

class AnthropicWire final : public Wire {
 public:
  AnthropicWire() : tools_(Json::array()) {
    for (const Json& tool : session::describe_tools()) {
      tools_.push_back({{"name", tool["name"]}, {"description", tool["help"]}, {"input_schema", tool["schema"]}});
    }
    tools_.back()["cache_control"] = cache_mark();
  }

  HttpRequest request(const Conversation& conversation, const ChatConfig& config) const override {
    HttpRequest out;
    out.url = config.base_url + "/v1/messages";
    out.headers = {"content-type: application/json", "anthropic-version: 2023-06-01", "accept: text/event-stream"};
    if (!config.key.empty()) out.headers.push_back("x-api-key: " + config.key);
    Json body = {{"model", config.model},
                 {"max_tokens", config.most_output},
                 {"stream", true},
                 {"tools", tools_},
                 {"messages", messages(conversation)}};
    body["system"] = {{{"type", "text"}, {"text", conversation.system}, {"cache_control", cache_mark()}}};
    if (!config.effort.empty()) body["output_config"] = {{"effort", config.effort}};
    if (config.thinking == "adaptive") body["thinking"] = {{"type", "adaptive"}};
    else if (config.thinking == "off") body["thinking"] = {{"type", "disabled"}};
    else if (!config.thinking.empty()) {
      body["thinking"] = {{"type", "enabled"}, {"budget_tokens", std::strtoull(config.thinking.c_str(), nullptr, 10)}};
    }
    out.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
    return out;
  }

  std::unique_ptr<AnswerReader> reader(const Conversation&) const override { return std::make_unique<Reader>(); }

  std::vector<Call> calls_of(const Json& content) const override {
    std::vector<Call> out;
    if (!content.is_array()) return out;
    for (const Json& block : content) {
      if (text_field(block, "type") == "tool_use") {
        out.push_back({text_field(block, "name"), field(block, "input"), text_field(block, "id")});
      }
    }
    return out;
  }

  std::string_view key_variable() const override { return "ANTHROPIC_API_KEY"; }

 private:
  // Results go before texts in one message of the user, as the service wants it. The ends of the last two such messages
  // are marked: the next request finds what this one has cached.
  static Json messages(const Conversation& conversation) {
    Json out = Json::array();
    std::vector<std::size_t> users;
    for (const Entry& entry : conversation.entries) {
      if (entry.kind == Entry::Kind::Model) {
        out.push_back({{"role", "assistant"}, {"content", entry.content}});
        continue;
      }
      if (out.empty() || out.back()["role"] != "user") {
        users.push_back(out.size());
        out.push_back({{"role", "user"}, {"content", Json::array()}});
      }
      Json& content = out.back()["content"];
      if (entry.kind == Entry::Kind::User) content.push_back({{"type", "text"}, {"text", entry.text}});
      for (const Result& result : entry.results) {
        content.push_back({{"type", "tool_result"},
                           {"tool_use_id", result.id},
                           {"content", result.text},
                           {"is_error", result.is_error}});
      }
    }
    for (std::size_t i = users.size() > 2 ? users.size() - 2 : 0; i < users.size(); ++i) {
      out[users[i]]["content"].back()["cache_control"] = cache_mark();
    }
    return out;
  }

  Json tools_;
};

}  // namespace

std::unique_ptr<Wire> anthropic_wire() { return std::make_unique<AnthropicWire>(); }

}  // namespace plumb::agent
