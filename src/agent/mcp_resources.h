// SPDX-License-Identifier: Apache-2.0
// What an MCP client can read without calling a tool: the task, the candidate that the run would end with, how far the
// run is, the knowledge entries, instructions and codes. Never the log: it has the seed of the proofs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "agent/mcp_run.h"

namespace plumb::agent {

struct McpResource {
  std::optional<std::string> text;  // empty: there is no such resource
  std::string mime_type;
};

nlohmann::json mcp_resources();
nlohmann::json mcp_resource_templates();
McpResource read_mcp_resource(const McpRun& run, std::string_view uri);

}  // namespace plumb::agent
