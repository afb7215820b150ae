// SPDX-License-Identifier: Apache-2.0
#include "agent/chat.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "agent/codes.h"
#include "agent/prompt.h"
#include "agent/retry.h"
#include "base/hash.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostErrorBytes = 1 << 16, kMostShown = 400;
constexpr double kLongestWait = 900;
constexpr std::size_t kBytesPerToken = 4;  // where a server does not count

// Too many requests, or a service that has no room: true of every lane of the run.
bool is_limit(int status) { return status == 429 || status == 529; }

bool is_good(int status) { return status >= 200 && status < 300; }

// What an error's body says, in a line.
std::string error_words(const std::string& body) {
  const Json value = Json::parse(body, nullptr, false);
  const Json& error = field(value, "error");
  std::string text = error.is_string() ? error.get<std::string>() : text_field(error, "message");
  const std::string type = text_field(error, "type"), code = text_field(error, "code");
  if (text.empty()) text = body;
  if (!type.empty()) text = fmt::format("{}: {}", type, text);
  if (!code.empty() && code != type) text = fmt::format("{} ({})", text, code);
  if (text.size() > kMostShown) text = text.substr(0, kMostShown) + "...";
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}

// Whether a refusal says that the conversation is longer than the model takes.
bool says_too_long(int status, const std::string& words) {
  if (status != 400 && status != 413) return false;
  for (const char* sign : {"context_length_exceeded", "prompt is too long", "context length", "context size",
                           "exceed_context_size", "request_too_large"}) {
    if (words.find(sign) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

const Json& field(const Json& value, std::string_view name) {
  static const Json kNone;
  if (!value.is_object()) return kNone;
  const auto found = value.find(name);
  return found == value.end() ? kNone : *found;
}

std::string text_field(const Json& value, std::string_view name) {
  const Json& found = field(value, name);
  return found.is_string() ? found.get<std::string>() : std::string();
}

std::uint64_t count_field(const Json& value, std::string_view name) {
  const Json& found = field(value, name);
  return found.is_number_unsigned() ? found.get<std::uint64_t>() : 0;
}

Json arguments_of(const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  Json value = Json::parse(text, nullptr, false);
  if (value.is_object()) return value;
  return {{"unparsed", text}};
}

// One request and what came of it.
struct Chat::Try {
  HttpResponse response;
  std::unique_ptr<AnswerReader> reader;
  bool is_whole = false, is_too_long = false, may_again = false;
  std::string reason;
  std::size_t sent = 0;
};

void Chat::tell(std::string_view role, std::string_view text, bool restarts) {
  if (restarts) conversation_.entries.clear();
  if (role == "system") conversation_.system = text;
  else conversation_.entries.push_back({Entry::Kind::User, std::string(text)});
}

void Chat::answered(const Call& call, const session::Reply& reply, Findings&) {
  auto& entries = conversation_.entries;
  if (entries.empty() || entries.back().kind != Entry::Kind::Results) entries.push_back({Entry::Kind::Results});
  entries.back().results.push_back({call.id, shown_answer(reply), !reply.is_answer});
}

std::vector<Call> Chat::restore(const std::vector<Json>& events) {
  std::vector<Call> pending;
  for (const Json& event : events) {
    const Json& kind = event["event"];
    if (kind == "message" && event.value("role", "") != "model") {
      tell(event.value("role", ""), event["text"].get<std::string>(), event.value("restarts", false));
      pending.clear();
    } else if (kind == "turn") {
      const Json& content = field(event, "content");
      if (!content.is_null()) conversation_.entries.push_back({Entry::Kind::Model, {}, content});
      pending = wire_->calls_of(content);
    } else if (kind == "call" && !pending.empty()) {
      Findings ignored;
      answered(pending.front(), {event.value("is_answer", true), event["output"]}, ignored);
      pending.erase(pending.begin());
    }
  }
  return pending;
}

std::string Chat::without_key(std::string text) const {
  constexpr std::size_t kShortest = 6;  // anything shorter is no key, and may stand anywhere
  if (config_.key.size() < kShortest) return text;
  for (std::size_t at; (at = text.find(config_.key)) != std::string::npos;)
    text.replace(at, config_.key.size(), "[key]");
  return text;
}

void Chat::remove_key(Json& value) const {
  if (value.is_string()) value = without_key(value.get<std::string>());
  else if (value.is_structured()) {
    for (Json& element : value) remove_key(element);
  }
}

Chat::Try Chat::ask() {
  Try out;
  out.reader = wire_->reader(conversation_);
  EventStream stream([&](const ServerEvent& event) { out.reader->take(event); });
  HttpRequest request = wire_->request(conversation_, config_);
  request.quiet_seconds = config_.quiet_seconds;
  request.all_seconds = config_.all_seconds;
  out.sent = request.body.size();
  std::string head;  // of the body: an error's words
  const auto take = [&](std::string_view bytes) {
    if (head.size() < kMostErrorBytes) head += bytes.substr(0, kMostErrorBytes - head.size());
    stream.feed(bytes);
    return out.reader->failure().empty();
  };
  out.response = post(request, take, surroundings_.is_over);
  const HttpResponse& response = out.response;
  const bool has_failed = !out.reader->failure().empty();
  if (has_failed) out.response.end = HttpEnd::Whole;  // we broke off for that
  out.may_again = may_retry(response);
  if (response.end != HttpEnd::Whole) {
    out.reason = response.message;
  } else if (!is_good(response.status)) {
    const std::string words = error_words(head);
    out.reason = fmt::format("status {}: {}", response.status, words);
    out.is_too_long = says_too_long(response.status, words);
    // Waiting does not fill an account.
    if (words.find("insufficient_quota") != std::string::npos) out.may_again = false;
  } else if (has_failed) {
    out.reason = out.reader->failure();
  } else if (!out.reader->is_whole()) {
    out.reason = "the answer ended in the middle";
  } else {
    out.is_whole = true;
  }
  out.reason = without_key(out.reason);
  return out;
}

bool Chat::wait(double seconds) const {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    if (surroundings_.is_over && surroundings_.is_over()) return false;
    const std::chrono::duration<double> left = end - Clock::now();
    std::this_thread::sleep_for(std::min(left, std::chrono::duration<double>(0.1)));
  }
  return true;
}

std::optional<Turn> Chat::next(Findings& findings) {
  for (unsigned tries = 1;; ++tries) {
    if (!wait(config_.limit->take(Clock::now()))) return std::nullopt;
    const auto begin = Clock::now();
    Try attempt = ask();
    const std::chrono::duration<double> took = Clock::now() - begin;
    if (attempt.is_whole) {
      Answer answer = attempt.reader->answer();
      Json counted = true;
      if (answer.usage.all() == 0) {
        answer.usage.input = attempt.sent / kBytesPerToken;
        answer.usage.output =
            answer.content.dump(-1, ' ', false, Json::error_handler_t::replace).size() / kBytesPerToken;
        counted = false;
      }
      Turn turn = take(std::move(answer), took.count(), tries);
      if (counted == false) turn.events.front()["usage_is_estimated"] = true;
      return turn;
    }
    if (attempt.response.end == HttpEnd::BrokenOff) return std::nullopt;
    Json event = {{"event", "retry"}, {"reason", attempt.reason}, {"tries", tries}, {"seconds", took.count()}};
    if (attempt.response.status != 0) event["status"] = attempt.response.status;
    if (attempt.is_too_long && conversation_.entries.size() > 1) {
      Turn turn;
      turn.events.push_back(std::move(event));
      turn.note = "full";
      return turn;
    }
    const double pause = wait_seconds(attempt.response, tries - 1, std::time(nullptr), random_seed());
    const bool is_last = !attempt.may_again || tries >= config_.most_tries || pause > kLongestWait;
    event["gives_up"] = is_last;
    if (!is_last) event["wait_seconds"] = pause;
    if (!is_last && is_limit(attempt.response.status)) config_.limit->hold(Clock::now(), pause);
    if (surroundings_.record) surroundings_.record(std::move(event));
    if (is_last) {
      std::string message = fmt::format("{} after {} tries", attempt.reason, tries);
      if (pause > kLongestWait) message += fmt::format("; the server asks to wait {:.0f} s", pause);
      Finding& finding = findings.add(kProviderFailed, std::move(message));
      const int status = attempt.response.status;
      if (status == 401 || status == 403) finding.hint = fmt::format("the key is read from {}", wire_->key_variable());
      return std::nullopt;
    }
    if (!wait(pause)) return std::nullopt;
  }
}

Turn Chat::take(Answer answer, double seconds, unsigned tries) {
  remove_key(answer.content);
  Turn turn;
  for (std::string& text : answer.messages) turn.messages.push_back(without_key(std::move(text)));
  turn.calls = wire_->calls_of(answer.content);
  turn.note = answer.note;
  turn.is_over = answer.is_over;
  Json event = {{"event", "turn"},     {"content", answer.content},
                {"stop", answer.stop}, {"usage", to_json(answer.usage)},
                {"seconds", seconds},  {"tries", tries}};
  if (!answer.note.empty()) event["note"] = answer.note;
  if (!answer.id.empty()) event["id"] = without_key(answer.id);
  if (!answer.thoughts.empty()) event["thoughts"] = without_key(std::move(answer.thoughts));
  turn.events.push_back(std::move(event));
  if (!answer.content.empty()) conversation_.entries.push_back({Entry::Kind::Model, {}, std::move(answer.content)});
  return turn;
}

}  // namespace plumb::agent
