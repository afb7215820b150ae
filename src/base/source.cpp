// SPDX-License-Identifier: Apache-2.0
#include "base/source.h"

#include <algorithm>
#include <utility>

namespace plumb {

Source::Source(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_begins_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_begins_.push_back(static_cast<std::uint32_t>(i + 1));
  }
}

std::string_view Source::slice(Span span) const {
  const std::size_t begin = std::min<std::size_t>(span.begin, text_.size());
  const std::size_t end = std::clamp<std::size_t>(span.end, begin, text_.size());
  return std::string_view(text_).substr(begin, end - begin);
}

LineColumn Source::locate(std::uint32_t offset) const {
  const auto after = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset);
  const auto line = static_cast<std::uint32_t>(after - line_begins_.begin());
  return {line, offset - line_begins_[line - 1] + 1};
}

std::string_view Source::line(std::uint32_t number) const {
  if (number == 0 || number > line_begins_.size()) return {};
  const std::size_t begin = line_begins_[number - 1];
  std::size_t end = number < line_begins_.size() ? line_begins_[number] - 1 : text_.size();
  if (end > begin && text_[end - 1] == '\r') --end;
  return std::string_view(text_).substr(begin, end - begin);
}

std::uint32_t Source::offset_of(std::uint32_t line, std::uint32_t column) const {
  if (line == 0) return 0;
  if (line > line_begins_.size()) return static_cast<std::uint32_t>(text_.size());
  const std::size_t offset = line_begins_[line - 1] + (column == 0 ? 0 : column - 1);
  return static_cast<std::uint32_t>(std::min(offset, text_.size()));
}

}  // namespace plumb
