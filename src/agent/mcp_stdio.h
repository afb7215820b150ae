// SPDX-License-Identifier: Apache-2.0
// MCP over standard input and output: one message a line. Nothing else may write to `out`.
#pragma once

#include "agent/mcp.h"

namespace plumb::agent {

// Until the client closes its end. What it still waits for then is answered when the run carries it out.
void serve_mcp_stdio(McpServer& server, int in, int out);

}  // namespace plumb::agent
