// SPDX-License-Identifier: Apache-2.0
// Server-sent events out of bytes that arrive in any pieces: a piece may end inside of a line, of a line end or of a
// character.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace plumb::agent {

struct ServerEvent {
  std::string name;  // empty: "message"
  std::string data;  // lines joined by line feeds
};

class EventStream {
 public:
  explicit EventStream(std::function<void(const ServerEvent&)> take) : take_(std::move(take)) {}

  void feed(std::string_view bytes);
  // The stream has ended. An event without the empty line after it is not one.
  bool has_rest() const { return has_data_ || !line_.empty(); }

 private:
  void end_line();

  std::function<void(const ServerEvent&)> take_;
  std::string line_;
  ServerEvent event_;
  bool has_data_ = false, was_return_ = false;
};

}  // namespace plumb::agent
