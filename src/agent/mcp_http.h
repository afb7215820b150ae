// SPDX-License-Identifier: Apache-2.0
// MCP over streamable HTTP: one endpoint, /mcp. Tool calls are answered as a stream of events, the rest as JSON. Who
// may come in is decided before anything is read: the host and the origin that a browser names, then the bearer token.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/mcp.h"
#include "base/finding.h"

namespace plumb::agent {

struct McpHttpOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;            // 0: any that is free
  std::string token;                 // empty: none is asked for; only a loopback address is served then
  std::vector<std::string> origins;  // that may call from a browser, beside those of this machine
  std::function<void(std::uint16_t port)> listening;
};

// Until SIGINT or SIGTERM. False with a finding where it cannot or must not listen.
bool serve_mcp_http(McpServer& server, const McpHttpOptions& options, Findings& findings);

}  // namespace plumb::agent
