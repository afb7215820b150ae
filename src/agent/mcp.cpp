// SPDX-License-Identifier: Apache-2.0
#include "agent/mcp.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/mcp_resources.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kVersionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kServerKey = "io.modelcontextprotocol/serverInfo";
// Those of which we use nothing that they do not have.
constexpr std::string_view kLegacyVersions[] = {"2024-11-05", "2025-03-26", "2025-06-18", kMcpLegacy};
constexpr std::string_view kLevels[] = {"debug", "info",     "notice", "warning",
                                        "error", "critical", "alert",  "emergency"};
constexpr std::chrono::milliseconds kProgressPause{200};
constexpr int kStableMilliseconds = 3600 * 1000;

constexpr std::string_view kInstructions =
    "plumb proves PTX equal to a Triton kernel. Read the task (tool `task`), write a candidate (`write_candidate`: a "
    "TOML "
    "launch header in `//!` lines, then PTX), and go on with `assemble`, `check`, `prove`, `run`, and where there is a "
    "GPU "
    "`test` and `bench`, until `prove` says `proved` with the contract `kept`. Say what you try with `note`. Call "
    "`finish` "
    "at the end: only what is proved again from scratch is a lowering.";

std::string instructions(const McpRun& run) {
  std::string out(kInstructions);
  if (run.from() == "source") return out;
  return out + fmt::format(
                   " The run begins with a {} in `{}`. Read it, and hold it to be neither correct nor fast before "
                   "the tools have said so.",
                   run.from() == "seed" ? "given PTX text" : "scaffold", run.default_file());
}

Json capabilities(bool is_modern) {
  Json out = {{"tools", Json::object()}, {"resources", Json::object()}};
  if (!is_modern) out["logging"] = Json::object();
  return out;
}

// Progress of one call: numbers that only grow, not more often than people read.
class ProgressTeller {
 public:
  ProgressTeller(Json token, McpSend send) : token_(std::move(token)), send_(std::move(send)) {}

  void tell(const prove::Progress& progress) {
    using Clock = std::chrono::steady_clock;
    const std::unique_lock hold(mutex_, std::try_to_lock);
    if (!hold || is_over_) return;  // another worker is telling
    std::string phase = fmt::format("{}: {}", progress.shape, progress.phase);
    if (phase != phase_) {
      phase_ = std::move(phase);
      ++phases_;
    }
    const Clock::time_point now = Clock::now();
    const double part = progress.all == 0 ? 0 : static_cast<double>(progress.done) / static_cast<double>(progress.all);
    const double value = phases_ + std::min(part, 0.999);
    if (value <= last_value_ || now - last_ < kProgressPause) return;
    last_value_ = value;
    last_ = now;
    Json params = {{"progressToken", token_},
                   {"progress", value},
                   {"message", fmt::format("{} {}/{}", phase_, progress.done, progress.all)}};
    send_(mcp_notification("notifications/progress", std::move(params)), false);
  }
  void stop() {
    const std::lock_guard hold(mutex_);
    is_over_ = true;
  }

 private:
  const Json token_;
  const McpSend send_;
  std::mutex mutex_;
  std::string phase_;
  double phases_ = 0, last_value_ = 0;
  std::chrono::steady_clock::time_point last_{};
  bool is_over_ = false;
};

std::string level_of(const Json& params) {
  const Json level = params.value("level", Json());
  const bool is_known = level.is_string() && std::find(std::begin(kLevels), std::end(kLevels),
                                                       level.get_ref<const std::string&>()) != std::end(kLevels);
  return is_known ? level.get<std::string>() : std::string();
}

}  // namespace

std::string mcp_revision_of(const Json& params) {
  const auto meta = params.find("_meta");
  if (meta == params.end() || !meta->is_object()) return {};
  const auto version = meta->find(kVersionKey);
  return version != meta->end() && version->is_string() ? version->get<std::string>() : std::string();
}

bool McpPeer::is_open() const {
  const std::lock_guard hold(mutex_);
  return !version_.empty();
}

bool McpPeer::is_idle() const {
  const std::lock_guard hold(mutex_);
  return calls_.empty();
}

struct McpServer::Request {
  const std::shared_ptr<McpPeer>& peer;
  const McpMessage& message;
  const McpSend& send;
  bool is_modern = false;

  // What the modern revision asks of every result, and of those that a client may keep.
  Json reply(Json result, int keep_milliseconds = -1) const {
    if (is_modern) {
      result["resultType"] = "complete";
      if (keep_milliseconds >= 0) {
        result["ttlMs"] = keep_milliseconds;
        result["cacheScope"] = "private";
      }
    }
    return mcp_reply(message.id, std::move(result));
  }
  Json fail(int code, std::string text, Json data = nullptr) const {
    return mcp_failure(message.id, code, std::move(text), std::move(data));
  }
};

enum Era : unsigned { kLegacyEra = 1, kModernEra = 2, kBothEras = 3 };
struct McpServer::Method {
  std::string_view name;
  unsigned eras;
  Json (McpServer::*handler)(const Request&);  // a null answer comes later
};
const McpServer::Method McpServer::kMethods[] = {
    {"initialize", kLegacyEra, &McpServer::initialize},
    {"ping", kLegacyEra, &McpServer::ping},
    {"logging/setLevel", kLegacyEra, &McpServer::set_level},
    {"server/discover", kModernEra, &McpServer::discover},
    {"tools/list", kBothEras, &McpServer::list_tools},
    {"tools/call", kBothEras, &McpServer::call_tool},
    {"resources/list", kBothEras, &McpServer::list_resources},
    {"resources/templates/list", kBothEras, &McpServer::list_templates},
    {"resources/read", kBothEras, &McpServer::read_resource},
};

void McpServer::receive(const std::shared_ptr<McpPeer>& peer, const McpMessage& message, const McpSend& send) {
  switch (message.kind) {
    case McpMessage::Kind::Bad:
      return send(message.error, true);
    case McpMessage::Kind::Response:
      return send(nullptr, true);  // we ask for nothing
    case McpMessage::Kind::Notification:
      if (message.method == "notifications/cancelled") cancel(peer, message.params.value("requestId", Json()));
      return send(nullptr, true);
    case McpMessage::Kind::Request:
      return answer({peer, message, send, !mcp_revision_of(message.params).empty()});
  }
}

void McpServer::answer(const Request& request) {
  const McpMessage& message = request.message;
  const auto fail = [&](int code, std::string text, Json data = nullptr) {
    request.send(request.fail(code, std::move(text), std::move(data)), true);
  };
  const auto method = std::find_if(std::begin(kMethods), std::end(kMethods),
                                   [&](const Method& each) { return each.name == message.method; });
  if (request.is_modern) {
    const std::string revision = mcp_revision_of(message.params);
    if (revision != kMcpModern) {
      return fail(mcp_error::kUnsupportedVersion, "unsupported protocol version",
                  {{"supported", {kMcpModern}}, {"requested", revision}});
    }
    if (!message.params["_meta"].value(kCapabilitiesKey, Json()).is_object()) {
      return fail(mcp_error::kInvalidParams, fmt::format("`_meta` lacks `{}`", kCapabilitiesKey));
    }
  }
  const unsigned era = request.is_modern ? kModernEra : kLegacyEra;
  if (method == std::end(kMethods) || (method->eras & era) == 0) {
    const bool lacks_meta = method != std::end(kMethods) && !request.is_modern;
    return fail(lacks_meta ? mcp_error::kInvalidParams : mcp_error::kMethodNotFound,
                lacks_meta ? fmt::format("`_meta` lacks `{}`", kVersionKey)
                           : fmt::format("there is no method `{}`", message.method));
  }
  const bool is_opening = message.method == "initialize" || message.method == "ping";
  if (!request.is_modern && !is_opening && !request.peer->is_open()) {
    return fail(mcp_error::kInvalidRequest,
                fmt::format("send `initialize` first, or name the revision {} in `_meta`", kMcpModern));
  }
  Json reply = (this->*method->handler)(request);
  if (!reply.is_null()) request.send(reply, true);
}

Json McpServer::server_info() const {
  return {{"name", "plumb"}, {"title", "plumb: Triton to proved PTX"}, {"version", plumb_version_}};
}

Json McpServer::initialize(const Request& request) {
  const Json asked = request.message.params.value("protocolVersion", Json());
  if (!asked.is_string()) return request.fail(mcp_error::kInvalidParams, "`protocolVersion` must be a string");
  const bool is_known = std::find(std::begin(kLegacyVersions), std::end(kLegacyVersions),
                                  asked.get_ref<const std::string&>()) != std::end(kLegacyVersions);
  const std::string version = is_known ? asked.get<std::string>() : std::string(kMcpLegacy);
  {
    const std::lock_guard hold(request.peer->mutex_);
    request.peer->version_ = version;
  }
  return request.reply({{"protocolVersion", version},
                        {"capabilities", capabilities(false)},
                        {"serverInfo", server_info()},
                        {"instructions", instructions(run_)}});
}

Json McpServer::discover(const Request& request) {
  return request.reply({{"supportedVersions", {kMcpModern}},
                        {"capabilities", capabilities(true)},
                        {"instructions", instructions(run_)},
                        {"_meta", {{kServerKey, server_info()}}}},
                       kStableMilliseconds);
}

Json McpServer::ping(const Request& request) { return request.reply(Json::object()); }

Json McpServer::set_level(const Request& request) {
  const std::string level = level_of(request.message.params);
  if (level.empty()) return request.fail(mcp_error::kInvalidParams, "`level` is none of the log levels");
  const std::lock_guard hold(request.peer->mutex_);
  request.peer->log_level_ = level;
  return request.reply(Json::object());
}

Json McpServer::list_tools(const Request& request) {
  Json tools = Json::array();
  for (Json& tool : McpRun::describe_tools()) {
    tools.push_back({{"name", tool["name"]},
                     {"description", tool["help"]},
                     {"inputSchema", std::move(tool["schema"])},
                     {"annotations", {{"openWorldHint", false}}}});
  }
  return request.reply({{"tools", std::move(tools)}}, kStableMilliseconds);
}

Json McpServer::list_resources(const Request& request) {
  return request.reply({{"resources", mcp_resources()}}, kStableMilliseconds);
}

Json McpServer::list_templates(const Request& request) {
  return request.reply({{"resourceTemplates", mcp_resource_templates()}}, kStableMilliseconds);
}

Json McpServer::read_resource(const Request& request) {
  const Json uri = request.message.params.value("uri", Json());
  if (!uri.is_string()) return request.fail(mcp_error::kInvalidParams, "`uri` must be a string");
  const McpResource found = read_mcp_resource(run_, uri.get_ref<const std::string&>());
  if (!found.text) {
    const int code = request.is_modern ? mcp_error::kInvalidParams : mcp_error::kResourceNotFound;
    return request.fail(code, "there is no such resource", {{"uri", uri}});
  }
  const Json content = {{"uri", uri}, {"mimeType", found.mime_type}, {"text", *found.text}};
  return request.reply({{"contents", Json::array({content})}}, 0);
}

Json McpServer::call_tool(const Request& request) {
  const Json& params = request.message.params;
  const Json name = params.value("name", Json());
  Json arguments = params.value("arguments", Json());
  if (arguments.is_null()) arguments = Json::object();
  if (!name.is_string()) return request.fail(mcp_error::kInvalidParams, "`name` must be a string");
  if (!McpRun::has_tool(name.get_ref<const std::string&>())) {
    return request.fail(mcp_error::kInvalidParams,
                        fmt::format("there is no tool `{}`", name.get_ref<const std::string&>()));
  }
  if (!arguments.is_object()) return request.fail(mcp_error::kInvalidParams, "`arguments` must be an object");
  const auto call = std::make_shared<McpCall>();
  call->tool = name.get<std::string>();
  call->input = std::move(arguments);
  std::shared_ptr<ProgressTeller> teller;  // held by two callbacks of the call
  const Json meta = params.value("_meta", Json());
  const Json token = meta.is_object() ? meta.value("progressToken", Json()) : Json();
  if (token.is_string() || token.is_number_integer()) {
    teller = std::make_shared<ProgressTeller>(token, request.send);
    call->progress = [teller](const prove::Progress& progress) { teller->tell(progress); };
  }
  const std::string key = request.message.id.dump();
  // Once: whoever takes the call off the list answers.
  const auto take = [peer = request.peer, key] {
    const std::lock_guard hold(peer->mutex_);
    return peer->calls_.erase(key) != 0;
  };
  call->done = [this, teller, take, message = request.message, peer = request.peer, send = request.send,
                is_modern = request.is_modern, tool = call->tool](const session::Reply& reply) {
    if (teller) teller->stop();
    const Request again{peer, message, send, is_modern};
    log(again, tool, reply);
    if (!take()) return send(nullptr, true);
    Json result = {{"content", Json::array({{{"type", "text"}, {"text", mcp_text(reply.output)}}})},
                   {"structuredContent", reply.output},
                   {"isError", !reply.is_answer}};
    send(again.reply(std::move(result)), true);
  };
  call->cancelled = [teller, take, send = request.send] {
    if (teller) teller->stop();
    take();
    send(nullptr, true);
  };
  {
    const std::lock_guard hold(request.peer->mutex_);
    if (!request.peer->calls_.emplace(key, call).second) {
      return request.fail(mcp_error::kInvalidRequest, "a request with this `id` is still open");
    }
  }
  if (run_.submit(call)) return nullptr;
  take();
  return request.fail(mcp_error::kInternal, "too many calls wait already: wait for their answers");
}

void McpServer::log(const Request& request, std::string_view tool, const session::Reply& reply) {
  std::string level;
  {
    const std::lock_guard hold(request.peer->mutex_);
    level = request.peer->log_level_;
  }
  const std::string_view own = reply.is_answer ? "info" : "warning";
  const auto rank = [](std::string_view name) {
    return std::find(std::begin(kLevels), std::end(kLevels), name) - std::begin(kLevels);
  };
  if (level.empty() || rank(own) < rank(level)) return;
  Json data = {{"tool", tool}, {"is_answer", reply.is_answer}};
  if (reply.output.contains("verdict")) data["verdict"] = reply.output["verdict"];
  request.send(
      mcp_notification("notifications/message", {{"level", own}, {"logger", "plumb"}, {"data", std::move(data)}}),
      false);
}

void McpServer::cancel(const std::shared_ptr<McpPeer>& peer, const Json& id) {
  {
    const std::lock_guard hold(peer->mutex_);
    const auto found = peer->calls_.find(id.dump());
    if (found == peer->calls_.end()) return;
    found->second->is_cancelled = true;
    peer->calls_.erase(found);
  }
  run_.drop_cancelled();
}

void McpServer::cancel_all(const std::shared_ptr<McpPeer>& peer) {
  {
    const std::lock_guard hold(peer->mutex_);
    for (const auto& [id, call] : peer->calls_) call->is_cancelled = true;
    peer->calls_.clear();
  }
  run_.drop_cancelled();
}

}  // namespace plumb::agent
