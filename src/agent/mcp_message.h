// SPDX-License-Identifier: Apache-2.0
// JSON-RPC 2.0 as the Model Context Protocol uses it: one message at a time, ids that are strings or integers, bounded
// size and depth. What is wrong with a message becomes the error that answers it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace plumb::agent {

inline constexpr std::size_t kMostMcpBytes = std::size_t{16} << 20;  // of one message

namespace mcp_error {
inline constexpr int kParse = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601, kInvalidParams = -32602,
                     kInternal = -32603, kResourceNotFound = -32002, kHeaderMismatch = -32020,
                     kUnsupportedVersion = -32022;
}  // namespace mcp_error

struct McpMessage {
  enum class Kind : std::uint8_t { Request, Notification, Response, Bad };
  Kind kind = Kind::Bad;
  nlohmann::json id;  // of a request
  std::string method;
  nlohmann::json params = nlohmann::json::object();
  nlohmann::json error;  // of a bad one: the whole answer
};

McpMessage read_mcp_message(std::string_view text);

nlohmann::json mcp_reply(const nlohmann::json& id, nlohmann::json result);
nlohmann::json mcp_failure(const nlohmann::json& id, int code, std::string message, nlohmann::json data = nullptr);
nlohmann::json mcp_notification(std::string_view method, nlohmann::json params);
// In one line.
std::string mcp_text(const nlohmann::json& message);

}  // namespace plumb::agent
