// SPDX-License-Identifier: Apache-2.0
#include "agent/mcp_http.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <mutex>
#include <utility>

#include "agent/codes.h"
#include "agent/mcp_gate.h"
#include "base/hash.h"

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

constexpr int kMostHeaderBytes = 32 << 10, kKeepAliveSeconds = 15, kIdleSeconds = 300;
constexpr std::size_t kMostSessions = 256, kMostExchanges = 256;
constexpr const char *kSessionHeader = "Mcp-Session-Id", *kVersionHeader = "MCP-Protocol-Version";
constexpr std::string_view kEvents = "text/event-stream", kJson = "application/json";

// One request that waits for its answer.
struct Exchange {
  evhttp_request* request = nullptr;
  std::shared_ptr<McpPeer> peer;
  Json id;
  std::string new_session;  // that this answer announces
  bool is_modern = false;
  bool takes_events = false;  // a tool call whose client reads a stream
  bool is_streaming = false;
};

// What the threads of a run hand to the thread of the server.
class Outbox {
 public:
  struct Item {
    std::uint64_t exchange;
    Json message;
    bool is_last;
  };
  Outbox() : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~Outbox() { ::close(wake_); }
  Outbox(const Outbox&) = delete;  // owns a descriptor
  Outbox& operator=(const Outbox&) = delete;

  int descriptor() const { return wake_; }
  void put(Item item) {
    const std::lock_guard hold(mutex_);
    items_.push_back(std::move(item));
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t wrote = ::write(wake_, &one, sizeof one);  // fails only where it is set already
  }
  std::vector<Item> take() {
    const std::lock_guard hold(mutex_);
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(wake_, &count, sizeof count);
    return std::exchange(items_, {});
  }

 private:
  const int wake_;
  std::mutex mutex_;
  std::vector<Item> items_;
};

class HttpServer {
 public:
  HttpServer(McpServer& server, const McpHttpOptions& options) : server_(server), options_(options) {}
  ~HttpServer() {
    for (event* each : events_) event_free(each);
    if (http_ != nullptr) evhttp_free(http_);
    if (base_ != nullptr) event_base_free(base_);
  }
  HttpServer(const HttpServer&) = delete;  // libevent's callbacks point here
  HttpServer& operator=(const HttpServer&) = delete;

  bool listen(Findings& findings);
  void serve() { event_base_dispatch(base_); }

 private:
  using Sessions = std::map<std::string, std::shared_ptr<McpPeer>, std::less<>>;

  void take_request(evhttp_request* request);
  bool is_refused(evhttp_request* request);
  void take_delete(evhttp_request* request);
  void take_post(evhttp_request* request);
  bool disagrees(evhttp_request* request, const McpMessage& message);
  std::shared_ptr<McpPeer> peer_of(evhttp_request* request, const McpMessage& message, std::string& new_session);
  bool drop_oldest_session();
  void end_session(Sessions::iterator session);
  void deliver();
  void answer(Exchange& exchange, const Json& message);
  void stream(Exchange& exchange, std::string_view text);
  void keep_alive();
  void forget(evhttp_connection* connection);
  void every(int descriptor, short what, int seconds, event_callback_fn callback);

  static void reply(evhttp_request* request, int status, std::string_view body = {}, std::string_view type = {});
  static void fail(evhttp_request* request, int status, const Json& id, int code, std::string text) {
    reply(request, status, mcp_text(mcp_failure(id, code, std::move(text))), kJson);
  }

  McpServer& server_;
  const McpHttpOptions& options_;
  event_base* base_ = nullptr;
  evhttp* http_ = nullptr;
  std::vector<event*> events_;
  const std::shared_ptr<Outbox> outbox_ = std::make_shared<Outbox>();  // calls that outlive the server put into it
  std::uint64_t next_exchange_ = 1;
  std::map<std::uint64_t, Exchange> exchanges_;
  std::map<evhttp_connection*, std::uint64_t> by_connection_;
  Sessions sessions_;
  std::vector<std::string> session_order_;  // their names, the oldest first
};

std::string_view header(evhttp_request* request, const char* name) {
  const char* value = evhttp_find_header(evhttp_request_get_input_headers(request), name);
  return value != nullptr ? std::string_view(value) : std::string_view();
}

void set_header(evhttp_request* request, const char* name, const std::string& value) {
  evhttp_add_header(evhttp_request_get_output_headers(request), name, value.c_str());
}

void HttpServer::reply(evhttp_request* request, int status, std::string_view body, std::string_view type) {
  evbuffer* buffer = evbuffer_new();
  if (!type.empty()) set_header(request, "Content-Type", std::string(type));
  evbuffer_add(buffer, body.data(), body.size());
  evhttp_send_reply(request, status, nullptr, buffer);
  evbuffer_free(buffer);
}

void HttpServer::every(int descriptor, short what, int seconds, event_callback_fn callback) {
  event* made = event_new(base_, descriptor, static_cast<short>(what | EV_PERSIST), callback, this);
  const timeval pause{seconds, 0};
  event_add(made, seconds > 0 ? &pause : nullptr);
  events_.push_back(made);
}

bool HttpServer::listen(Findings& findings) {
  if (options_.token.empty() && !is_loopback(options_.address)) {
    findings.add(kMcpToken, fmt::format("`{}` is no loopback address, and no bearer token is set", options_.address))
        .hint = "set PLUMB_MCP_TOKEN in the environment, or listen on 127.0.0.1";
    return false;
  }
  base_ = event_base_new();
  http_ = base_ != nullptr ? evhttp_new(base_) : nullptr;
  evhttp_bound_socket* bound =
      http_ != nullptr ? evhttp_bind_socket_with_handle(http_, options_.address.c_str(), options_.port) : nullptr;
  if (bound == nullptr) {
    findings.add(kMcpListen, fmt::format("cannot listen on {}:{}", options_.address, options_.port));
    return false;
  }
  evhttp_set_max_headers_size(http_, kMostHeaderBytes);
  evhttp_set_max_body_size(http_, static_cast<ev_ssize_t>(kMostMcpBytes));
  evhttp_set_timeout(http_, kIdleSeconds);
  // What is not ours is answered here, with the methods that are.
  evhttp_set_allowed_methods(http_, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT |
                                        EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
  evhttp_set_gencb(
      http_, [](evhttp_request* request, void* self) { static_cast<HttpServer*>(self)->take_request(request); }, this);
  every(outbox_->descriptor(), EV_READ, 0, [](int, short, void* self) { static_cast<HttpServer*>(self)->deliver(); });
  every(-1, 0, kKeepAliveSeconds, [](int, short, void* self) { static_cast<HttpServer*>(self)->keep_alive(); });
  for (const int number : {SIGINT, SIGTERM}) {
    every(number, EV_SIGNAL, 0,
          [](int, short, void* self) { event_base_loopbreak(static_cast<HttpServer*>(self)->base_); });
  }
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::uint16_t port = options_.port;
  if (::getsockname(evhttp_bound_socket_get_fd(bound), reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    port = ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                               : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
  }
  if (options_.listening) options_.listening(port);
  return true;
}

// The gate: nothing of a body is looked at before this lets it in.
bool HttpServer::is_refused(evhttp_request* request) {
  const std::string_view origin = header(request, "Origin");
  if (!origin.empty() && !is_allowed_origin(origin, options_.origins)) {
    fail(request, 403, nullptr, mcp_error::kInvalidRequest, "this origin may not call");
  } else if (is_loopback(options_.address) && !is_own_host(header(request, "Host"))) {
    fail(request, 403, nullptr, mcp_error::kInvalidRequest, "this is not the host that was asked for");
  } else if (!options_.token.empty() && !holds_token(header(request, "Authorization"), options_.token)) {
    set_header(request, "WWW-Authenticate", "Bearer");
    fail(request, 401, nullptr, mcp_error::kInvalidRequest, "a bearer token is needed");
  } else {
    return false;
  }
  return true;
}

void HttpServer::take_request(evhttp_request* request) {
  if (is_refused(request)) return;
  const char* path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
  if (path == nullptr || std::string_view(path) != "/mcp") return reply(request, 404);
  switch (evhttp_request_get_command(request)) {
    case EVHTTP_REQ_POST:
      return take_post(request);
    case EVHTTP_REQ_DELETE:
      return take_delete(request);
    default:
      set_header(request, "Allow", "POST, DELETE");
      return reply(request, 405);
  }
}

void HttpServer::take_delete(evhttp_request* request) {
  const auto session = sessions_.find(header(request, kSessionHeader));
  if (session == sessions_.end()) return reply(request, 404);
  server_.cancel_all(session->second);
  end_session(session);
  reply(request, 204);
}

// The headers of the modern revision repeat what the body says, for those on the way who do not read it.
bool HttpServer::disagrees(evhttp_request* request, const McpMessage& message) {
  const std::string revision = mcp_revision_of(message.params);
  if (revision.empty()) {
    if (header(request, kVersionHeader) != kMcpModern || message.kind != McpMessage::Kind::Request) return false;
    fail(request, 400, message.id, mcp_error::kHeaderMismatch, "the header names a revision, `_meta` does not");
    return true;
  }
  const char* key = message.method == "tools/call" ? "name" : message.method == "resources/read" ? "uri" : nullptr;
  const Json name = key != nullptr ? message.params.value(key, Json()) : Json();
  std::string wrong;
  if (header(request, kVersionHeader) != revision) wrong = kVersionHeader;
  else if (header_text(header(request, "Mcp-Method")) != message.method) wrong = "Mcp-Method";
  else if (name.is_string() && header_text(header(request, "Mcp-Name")) != name.get<std::string>()) wrong = "Mcp-Name";
  if (wrong.empty()) return false;
  fail(request, 400, message.id, mcp_error::kHeaderMismatch,
       fmt::format("the header {} is not what the body says", wrong));
  return true;
}

// Clients need not say when they leave. One that comes back to a session that went begins another.
bool HttpServer::drop_oldest_session() {
  for (auto name = session_order_.begin(); name != session_order_.end(); ++name) {
    const auto session = sessions_.find(*name);
    if (!session->second->is_idle()) continue;
    end_session(session);
    return true;
  }
  return false;
}

void HttpServer::end_session(Sessions::iterator session) {
  std::erase(session_order_, session->first);
  sessions_.erase(session);
}

// Null where the request was answered already.
std::shared_ptr<McpPeer> HttpServer::peer_of(evhttp_request* request, const McpMessage& message,
                                             std::string& new_session) {
  if (!mcp_revision_of(message.params).empty()) return std::make_shared<McpPeer>();  // stands by itself
  if (message.method == "initialize") {
    if (sessions_.size() >= kMostSessions && !drop_oldest_session()) {
      fail(request, 503, message.id, mcp_error::kInternal, "too many sessions are open");
      return nullptr;
    }
    new_session = sha256(fmt::format("{:x}{:x}", random_seed(), random_seed())).substr(0, 32);
    session_order_.push_back(new_session);
    return sessions_.emplace(new_session, std::make_shared<McpPeer>()).first->second;
  }
  const std::string_view session = header(request, kSessionHeader);
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) return found->second;
  fail(request, session.empty() ? 400 : 404, message.id, mcp_error::kInvalidRequest,
       session.empty() ? "there is no session: send `initialize` first" : "there is no such session");
  return nullptr;
}

void HttpServer::take_post(evhttp_request* request) {
  if (!header(request, "Content-Type").starts_with(kJson)) return reply(request, 415);
  const std::string_view accept = header(request, "Accept");
  const bool takes_all = accept.empty() || accept.find("*/*") != std::string_view::npos;
  const bool takes_events = takes_all || accept.find(kEvents) != std::string_view::npos;
  if (!takes_all && accept.find(kJson) == std::string_view::npos) return reply(request, 406);
  if (exchanges_.size() >= kMostExchanges) return reply(request, 503);
  evbuffer* body = evhttp_request_get_input_buffer(request);
  const std::size_t size = evbuffer_get_length(body);
  const auto* text = reinterpret_cast<const char*>(evbuffer_pullup(body, -1));
  const McpMessage message = read_mcp_message(std::string_view(text, text != nullptr ? size : 0));
  if (message.kind == McpMessage::Kind::Bad) return reply(request, 400, mcp_text(message.error), kJson);
  if (disagrees(request, message)) return;
  Exchange exchange;
  exchange.request = request;
  exchange.peer = peer_of(request, message, exchange.new_session);
  if (!exchange.peer) return;
  exchange.id = message.id;
  exchange.is_modern = !mcp_revision_of(message.params).empty();
  exchange.takes_events = takes_events && message.method == "tools/call";
  const std::uint64_t number = next_exchange_++;
  evhttp_connection* connection = evhttp_request_get_connection(request);
  by_connection_[connection] = number;
  evhttp_connection_set_closecb(
      connection, [](evhttp_connection* closed, void* self) { static_cast<HttpServer*>(self)->forget(closed); }, this);
  const std::shared_ptr<McpPeer> peer = exchange.peer;
  exchanges_.emplace(number, std::move(exchange));
  server_.receive(peer, message, [outbox = outbox_, number](const Json& answer, bool is_last) {
    outbox->put({number, answer, is_last});
  });
}

// A client of the modern revision takes a request back by leaving; an earlier one may come back for what it asked.
void HttpServer::forget(evhttp_connection* connection) {
  const auto found = by_connection_.find(connection);
  if (found == by_connection_.end()) return;
  const auto exchange = exchanges_.find(found->second);
  if (exchange != exchanges_.end()) {
    if (exchange->second.is_modern) server_.cancel(exchange->second.peer, exchange->second.id);
    exchanges_.erase(exchange);
  }
  by_connection_.erase(found);
}

void HttpServer::deliver() {
  for (const Outbox::Item& item : outbox_->take()) {
    const auto found = exchanges_.find(item.exchange);
    if (found == exchanges_.end()) continue;
    Exchange& exchange = found->second;
    if (!item.is_last) {
      if (exchange.takes_events) stream(exchange, fmt::format("event: message\ndata: {}\n\n", mcp_text(item.message)));
      continue;
    }
    Exchange last = std::move(exchange);
    exchanges_.erase(found);  // first: sending may close the connection
    answer(last, item.message);
  }
}

void HttpServer::answer(Exchange& exchange, const Json& message) {
  if (message.is_null() && !exchange.is_streaming) return reply(exchange.request, 202);
  if (exchange.is_streaming || (exchange.takes_events && !message.contains("error"))) {
    if (!message.is_null()) stream(exchange, fmt::format("event: message\ndata: {}\n\n", mcp_text(message)));
    return evhttp_send_reply_end(exchange.request);
  }
  if (!exchange.new_session.empty()) {
    const auto session = sessions_.find(exchange.new_session);
    if (exchange.peer->is_open()) set_header(exchange.request, kSessionHeader, exchange.new_session);
    else if (session != sessions_.end()) end_session(session);
  }
  const int code = message.contains("error") ? message["error"]["code"].get<int>() : 0;
  const bool is_bad = code == mcp_error::kInvalidParams || code == mcp_error::kUnsupportedVersion;
  const int status = !exchange.is_modern || code == 0     ? 200
                     : code == mcp_error::kMethodNotFound ? 404
                     : is_bad                             ? 400
                                                          : 200;
  reply(exchange.request, status, mcp_text(message), kJson);
}

void HttpServer::stream(Exchange& exchange, std::string_view text) {
  if (!exchange.is_streaming) {
    exchange.is_streaming = true;
    set_header(exchange.request, "Content-Type", std::string(kEvents));
    set_header(exchange.request, "Cache-Control", "no-cache");
    set_header(exchange.request, "X-Accel-Buffering", "no");
    evhttp_send_reply_start(exchange.request, 200, nullptr);
  }
  evbuffer* buffer = evbuffer_new();
  evbuffer_add(buffer, text.data(), text.size());
  evhttp_send_reply_chunk(exchange.request, buffer);
  evbuffer_free(buffer);
}

// So that nobody on the way takes a long proof for a dead connection.
void HttpServer::keep_alive() {
  for (auto& [number, exchange] : exchanges_) {
    if (exchange.takes_events) stream(exchange, ": still at work\n\n");
  }
}

}  // namespace

bool serve_mcp_http(McpServer& server, const McpHttpOptions& options, Findings& findings) {
  HttpServer http(server, options);
  if (!http.listen(findings)) return false;
  http.serve();
  return true;
}

}  // namespace plumb::agent
