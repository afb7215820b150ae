// SPDX-License-Identifier: Apache-2.0
#include "agent/mcp_message.h"

#include <algorithm>

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

constexpr int kMostNesting = 64;

// Values deeper than any tool's input would only exhaust the stack of whoever walks over them.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_string) {
      if (c == '\\') ++i;
      else if (c == '"') is_string = false;
    } else if (c == '"') {
      is_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostNesting) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

McpMessage bad(const Json& id, int code, std::string message) {
  McpMessage out;
  out.error = mcp_failure(id, code, std::move(message));
  return out;
}

}  // namespace

McpMessage read_mcp_message(std::string_view text) {
  if (text.size() > kMostMcpBytes) return bad(nullptr, mcp_error::kInvalidRequest, "the message is too large");
  if (is_too_deep(text)) return bad(nullptr, mcp_error::kParse, "the message is nested too deeply");
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) return bad(nullptr, mcp_error::kParse, "the message is not JSON");
  if (!value.is_object()) return bad(nullptr, mcp_error::kInvalidRequest, "a message is one JSON object");
  const bool has_id = value.contains("id");
  const Json id = has_id ? value["id"] : Json();
  const bool is_good_id = id.is_string() || id.is_number_integer();
  if (value.value("jsonrpc", Json()) != "2.0") {
    return bad(is_good_id ? id : Json(), mcp_error::kInvalidRequest, "`jsonrpc` must be \"2.0\"");
  }
  McpMessage out;
  if (!value.contains("method")) {
    const bool is_response = value.contains("result") || value.contains("error");
    if (!is_response) return bad(is_good_id ? id : Json(), mcp_error::kInvalidRequest, "there is no `method`");
    out.kind = McpMessage::Kind::Response;
    return out;
  }
  if (has_id && !is_good_id) return bad(nullptr, mcp_error::kInvalidRequest, "an `id` is a string or an integer");
  if (!value["method"].is_string()) return bad(id, mcp_error::kInvalidRequest, "`method` must be a string");
  if (value.contains("params")) {
    if (!value["params"].is_object()) return bad(id, mcp_error::kInvalidParams, "`params` must be an object");
    out.params = std::move(value["params"]);
  }
  out.kind = has_id ? McpMessage::Kind::Request : McpMessage::Kind::Notification;
  out.id = id;
  out.method = value["method"].get<std::string>();
  return out;
}

Json mcp_reply(const Json& id, Json result) { return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}; }

Json mcp_failure(const Json& id, int code, std::string message, Json data) {
  Json error = {{"code", code}, {"message", std::move(message)}};
  if (!data.is_null()) error["data"] = std::move(data);
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}};
}

Json mcp_notification(std::string_view method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

std::string mcp_text(const Json& message) { return message.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace plumb::agent
