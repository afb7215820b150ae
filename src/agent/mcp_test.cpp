// SPDX-License-Identifier: Apache-2.0
// The parts of the MCP server that need neither a run nor a socket; tests/mcp drives the whole.
#include "agent/mcp.h"

#include <gtest/gtest.h>

#include "agent/mcp_gate.h"
#include "agent/mcp_message.h"

namespace plumb::agent {
namespace {

TEST(McpGate, LoopbackIsThisMachineAlone) {
  for (const char* address : {"127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"}) {
    EXPECT_TRUE(is_loopback(address)) << address;
  }
  for (const char* address :
       {"", "0.0.0.0", "::", "128.0.0.1", "127.evil.example", "127.0.0.1.evil", "localhost.evil", "10.0.0.1", "[::]"}) {
    EXPECT_FALSE(is_loopback(address)) << address;
  }
}

TEST(McpGate, OriginsAreThisMachineOrNamed) {
  for (const char* origin : {"http://localhost", "https://127.0.0.1:8000", "http://[::1]:5", "https://lab.example"}) {
    EXPECT_TRUE(is_allowed_origin(origin, {"https://lab.example"})) << origin;
  }
  for (const char* origin : {"null", "", "http://", "https://lab.example:8", "http://lab.example", "http://a@localhost",
                             "http://localhost.evil", "file://localhost", "http://[::1].evil", "http://[::1",
                             "http://localhost:80@evil", "http://localhost:"}) {
    EXPECT_FALSE(is_allowed_origin(origin, {"https://lab.example"})) << origin;
  }
}

TEST(McpGate, ATokenIsTheWholeToken) {
  EXPECT_TRUE(holds_token("Bearer abc", "abc"));
  for (const char* given : {"", "abc", "Bearer", "Bearer ", "Bearer ab", "Bearer abcd", "Bearer abcabc", "bearer abc",
                            "Bearer abd", "Bearer  abc"}) {
    EXPECT_FALSE(holds_token(given, "abc")) << given;
  }
  EXPECT_FALSE(holds_token("Bearer ", "")) << "no token is none that fits";
}

TEST(McpGate, HeadersReadInBase64) {
  EXPECT_EQ(header_text("plain text"), "plain text");
  EXPECT_EQ(header_text("=?base64?cGx1bWI=?="), "plumb");
  EXPECT_EQ(header_text("=?base64?cGx1bWJz?="), "plumbs");
  EXPECT_EQ(header_text("=?base64?"
                        "?="),
            "");
  EXPECT_EQ(header_text("=?base64?!?="), std::nullopt);
  EXPECT_EQ(header_text("=?base64?="), "=?base64?=") << "too short to be one";
}

TEST(McpMessage, KindsAreToldApart) {
  using Kind = McpMessage::Kind;
  EXPECT_EQ(read_mcp_message(R"({"jsonrpc":"2.0","id":"a","method":"m","params":{"x":1}})").kind, Kind::Request);
  EXPECT_EQ(read_mcp_message(R"({"jsonrpc":"2.0","method":"m"})").kind, Kind::Notification);
  EXPECT_EQ(read_mcp_message(R"({"jsonrpc":"2.0","id":1,"error":{}})").kind, Kind::Response);
  EXPECT_EQ(read_mcp_message("{}").kind, Kind::Bad);
}

TEST(McpMessage, BracketsInStringsAreNotDepth) {
  const std::string deep(1000, '[');
  EXPECT_EQ(read_mcp_message(R"({"jsonrpc":"2.0","id":1,"method":"m\"","params":{"x":")" + deep + R"(\\"}})").kind,
            McpMessage::Kind::Request);
  EXPECT_EQ(read_mcp_message(deep).error["error"]["code"], mcp_error::kParse);
}

TEST(McpMessage, ATextIsOneLine) {
  const nlohmann::json reply = mcp_reply(1, {{"text", "a\nb\r\xff"}});
  EXPECT_EQ(mcp_text(reply).find_first_of("\r\n"), std::string::npos);
}

TEST(McpMessage, TheRevisionIsThatOfMeta) {
  EXPECT_EQ(mcp_revision_of({{"_meta", {{"io.modelcontextprotocol/protocolVersion", "2026-07-28"}}}}), "2026-07-28");
  EXPECT_EQ(mcp_revision_of({{"_meta", {{"io.modelcontextprotocol/protocolVersion", 3}}}}), "");
  EXPECT_EQ(mcp_revision_of({{"_meta", 3}}), "");
  EXPECT_EQ(mcp_revision_of(nlohmann::json::object()), "");
}

}  // namespace
}  // namespace plumb::agent
