// SPDX-License-Identifier: Apache-2.0
#include "agent/sse.h"

#include <utility>

namespace plumb::agent {

void EventStream::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    if (was_return_ && bytes.front() == '\n') bytes.remove_prefix(1);  // the second half of a line end
    was_return_ = false;
    const std::size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (end == std::string_view::npos) return;
    was_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    end_line();
  }
}

void EventStream::end_line() {
  const std::string line = std::exchange(line_, {});
  if (line.empty()) {
    if (has_data_) take_(event_);
    event_ = {};
    has_data_ = false;
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = std::string_view(line).substr(0, colon);
  std::string_view value = colon == std::string::npos ? std::string_view() : std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_.name = value;
  if (field != "data") return;  // comments, ids and times to wait are of no use here
  if (has_data_) event_.data += '\n';
  event_.data += value;
  has_data_ = true;
}

}  // namespace plumb::agent
