// SPDX-License-Identifier: Apache-2.0
#include "agent/mcp_stdio.h"

#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

// Lines from several threads, each whole. A client that is gone hears nothing more.
class Lines {
 public:
  explicit Lines(int out) : out_(out) {}

  void write(const Json& message) {
    const std::string line = mcp_text(message) + "\n";
    const std::lock_guard hold(mutex_);
    for (std::size_t done = 0; done < line.size() && !is_gone_;) {
      const ssize_t wrote = ::write(out_, line.data() + done, line.size() - done);
      if (wrote > 0) done += static_cast<std::size_t>(wrote);
      else is_gone_ = wrote < 0 && errno != EINTR;
    }
  }

 private:
  const int out_;
  std::mutex mutex_;
  bool is_gone_ = false;
};

}  // namespace

void serve_mcp_stdio(McpServer& server, int in, int out) {
  const auto lines = std::make_shared<Lines>(out);  // calls that end later hold it too
  const auto peer = std::make_shared<McpPeer>();
  const McpSend send = [lines](const Json& message, bool) {
    if (!message.is_null()) lines->write(message);
  };
  std::string text;
  bool is_skipping = false;  // the rest of a line that is too long
  const auto take = [&](std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) server.receive(peer, read_mcp_message(line), send);
  };
  char block[1 << 16];
  while (true) {
    const ssize_t got = ::read(in, block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(block, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (!is_skipping) take(std::string_view(text).substr(begin, end - begin));
      is_skipping = false;
    }
    text.erase(0, begin);
    if (text.size() <= kMostMcpBytes) continue;
    if (!is_skipping) take(text);  // refused for its size
    is_skipping = true;
    text.clear();
  }
  if (!text.empty() && !is_skipping) take(text);
}

}  // namespace plumb::agent
