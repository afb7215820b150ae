// SPDX-License-Identifier: Apache-2.0
// A text with a name, and places in it. Every syntax tree keeps `Span`s into one `Source`; the text outlives the tree.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

// Half-open byte range [begin, end) of a source text.
struct Span {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

// 1-based line and 1-based column (in bytes).
struct LineColumn {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

class Source {
 public:
  Source(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  std::string_view slice(Span span) const;
  LineColumn locate(std::uint32_t offset) const;
  // The line without its newline; empty when the number is out of range. Lines count from 1.
  std::string_view line(std::uint32_t number) const;
  std::uint32_t line_count() const { return static_cast<std::uint32_t>(line_begins_.size()); }
  // Byte offset of a 1-based line and 1-based column, clamped to the text.
  std::uint32_t offset_of(std::uint32_t line, std::uint32_t column) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::uint32_t> line_begins_;
};

using SourcePtr = std::shared_ptr<const Source>;  // shared: findings outlive the tree that they came from

}  // namespace plumb
