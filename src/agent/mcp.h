// SPDX-License-Identifier: Apache-2.0
// The Model Context Protocol, apart from how messages travel: an outside agent drives the tools of one run. Both eras
// are served: a request that says its revision in `_meta` (2026-07-28) stands by itself, and `initialize` (2025-11-25
// and before) opens a conversation. Everything but tool calls is answered at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "agent/mcp_message.h"
#include "agent/mcp_run.h"

namespace plumb::agent {

inline constexpr std::string_view kMcpModern = "2026-07-28", kMcpLegacy = "2025-11-25";

// Where the messages for one request go: notifications, then its answer with `is_last`. A null message with `is_last`
// ends a request that was taken back. Called from the run's thread too, and from those of a proof.
using McpSend = std::function<void(const nlohmann::json& message, bool is_last)>;

// One connection or session: what its client said of itself, and what it waits for.
class McpPeer {
 public:
  // Whether `initialize` was answered.
  bool is_open() const;
  // Whether it waits for nothing.
  bool is_idle() const;

 private:
  friend class McpServer;
  mutable std::mutex mutex_;
  std::string version_;                                    // agreed by `initialize`
  std::string log_level_;                                  // of `logging/setLevel`; empty: no log messages
  std::map<std::string, std::shared_ptr<McpCall>> calls_;  // by id, as JSON
};

class McpServer {
 public:
  McpServer(McpRun& run, std::string plumb_version) : run_(run), plumb_version_(std::move(plumb_version)) {}

  void receive(const std::shared_ptr<McpPeer>& peer, const McpMessage& message, const McpSend& send);
  // The client is gone or takes the request back: no answer follows, its call stops.
  void cancel(const std::shared_ptr<McpPeer>& peer, const nlohmann::json& id);
  void cancel_all(const std::shared_ptr<McpPeer>& peer);

 private:
  struct Request;
  struct Method;
  static const Method kMethods[];

  void answer(const Request& request);
  nlohmann::json initialize(const Request& request);
  nlohmann::json discover(const Request& request);
  nlohmann::json ping(const Request& request);
  nlohmann::json set_level(const Request& request);
  nlohmann::json list_tools(const Request& request);
  nlohmann::json list_resources(const Request& request);
  nlohmann::json list_templates(const Request& request);
  nlohmann::json read_resource(const Request& request);
  nlohmann::json call_tool(const Request& request);
  void log(const Request& request, std::string_view tool, const session::Reply& reply);
  nlohmann::json server_info() const;

  McpRun& run_;
  std::string plumb_version_;
};

// The revision that a request says in its `_meta`; empty where it says none.
std::string mcp_revision_of(const nlohmann::json& params);

}  // namespace plumb::agent
