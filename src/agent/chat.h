// SPDX-License-Identifier: Apache-2.0
// A live model behind a chat service: the conversation, requests with retries, and what of an answer goes into the run
// log. What differs from one service to the next is a `Wire`.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "agent/budget.h"
#include "agent/http.h"
#include "agent/provider.h"
#include "agent/retry.h"
#include "agent/sse.h"

namespace plumb::agent {

struct ChatConfig {
  std::string model;
  std::string base_url{};              // without a slash at its end
  std::string key{};                   // from the environment; sent to the server and shown nowhere
  std::uint64_t most_output = 32'000;  // tokens of one answer
  std::string effort{};                // the service's own word; empty: its default
  std::string thinking{};              // "adaptive", "off" or a number of tokens; empty: the service's default
  double quiet_seconds = 300;          // without a byte from the server
  double all_seconds = 3600;           // for one answer
  unsigned most_tries = 6;
  std::shared_ptr<RateLimit> limit = std::make_shared<RateLimit>();  // of all conversations that copy this
};

struct Result {
  std::string id, text;
  bool is_error = false;
};

struct Entry {
  enum class Kind : std::uint8_t { User, Model, Results };
  Kind kind = Kind::User;
  std::string text{};             // User
  nlohmann::json content{};       // Model: as the service has it
  std::vector<Result> results{};  // Results
};

struct Conversation {
  std::string system;
  std::vector<Entry> entries;
};

struct Answer {
  nlohmann::json content;  // goes back to the service as it is; calls that were cut off are not in it
  std::vector<std::string> messages{};
  std::string stop{};   // the service's word
  std::string note{};   // "cut", "refused", "full" (of the conversation)
  bool is_over = true;  // false: the model only pauses
  std::string id{}, thoughts{};
  Usage usage{};
};

// Reads one streamed answer. Whatever the server sends, it neither throws nor takes what is not there.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  virtual void take(const ServerEvent& event) = 0;
  virtual bool is_whole() const = 0;
  virtual const std::string& failure() const = 0;  // what the stream says went wrong
  virtual Answer answer() = 0;                     // of a whole one
};

class Wire {
 public:
  virtual ~Wire() = default;
  virtual HttpRequest request(const Conversation& conversation, const ChatConfig& config) const = 0;
  virtual std::unique_ptr<AnswerReader> reader(const Conversation& conversation) const = 0;
  virtual std::vector<Call> calls_of(const nlohmann::json& content) const = 0;
  virtual std::string_view key_variable() const = 0;
};
std::unique_ptr<Wire> anthropic_wire();
std::unique_ptr<Wire> chat_completions_wire();

class Chat final : public Provider {
 public:
  Chat(std::unique_ptr<Wire> wire, ChatConfig config) : wire_(std::move(wire)), config_(std::move(config)) {}

  std::optional<std::uint64_t> seed() const override { return std::nullopt; }
  bool is_live() const override { return true; }
  void attach(const Surroundings& surroundings) override { surroundings_ = surroundings; }
  void tell(std::string_view role, std::string_view text, bool restarts) override;
  std::optional<Turn> next(Findings& findings) override;
  void answered(const Call& call, const session::Reply& reply, Findings& findings) override;
  std::vector<Call> restore(const std::vector<nlohmann::json>& events) override;

 private:
  struct Try;
  Try ask();
  Turn take(Answer answer, double seconds, unsigned tries);
  bool wait(double seconds) const;
  std::string without_key(std::string text) const;
  void remove_key(nlohmann::json& value) const;

  std::unique_ptr<Wire> wire_;
  ChatConfig config_;
  Surroundings surroundings_;
  Conversation conversation_;
};

// The parts of a value that may be of any shape: empty, null or 0 where it is not what is asked for.
const nlohmann::json& field(const nlohmann::json& value, std::string_view name);
std::string text_field(const nlohmann::json& value, std::string_view name);
std::uint64_t count_field(const nlohmann::json& value, std::string_view name);
// A call's arguments as an object: what is none becomes {"unparsed": TEXT}.
nlohmann::json arguments_of(const std::string& text);

}  // namespace plumb::agent
