// SPDX-License-Identifier: Apache-2.0
#include "ptx/format.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "ptx/module.h"

namespace plumb::ptx {
namespace {

class Formatter {
 public:
  std::string run(std::string_view text) {
    bool was_blank = true;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string line = format_line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.empty() && was_blank) continue;
      was_blank = line.empty();
      out_ += line + '\n';
    }
    while (out_.ends_with("\n\n")) out_.pop_back();
    return std::move(out_);
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

  // White space inside a block comment is the author's.
  std::string format_line(std::string_view line) {
    std::string body;
    const bool began_in_comment = is_in_comment_;
    if (!began_in_comment) {
      while (!line.empty() && is_space(line.front())) line.remove_prefix(1);
    }
    while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
    if (line.empty()) return {};
    const bool is_closing = !began_in_comment && (line.front() == '}' || line.front() == ')');
    const int indent = began_in_comment ? 0 : std::max(0, depth_ - (is_closing ? 1 : 0));
    for (std::size_t i = 0; i < line.size();) i = piece(line, i, body);
    const bool is_flush = began_in_comment || is_label(body) || body.starts_with("//!");
    return std::string(is_flush ? 0 : static_cast<std::size_t>(std::min(indent, 16)), '\t') + body;
  }

  static bool is_label(std::string_view body) {
    const std::size_t colon = body.find_first_of(": \t\"/");
    return colon != std::string_view::npos && colon > 0 && body[colon] == ':' && body[0] != '.' &&
           body.substr(colon).size() == 1;
  }

  std::size_t piece(std::string_view line, std::size_t i, std::string& body) {
    if (is_in_comment_) {
      const std::size_t end = line.find("*/", i);
      is_in_comment_ = end == std::string_view::npos;
      const std::size_t stop = is_in_comment_ ? line.size() : end + 2;
      body += line.substr(i, stop - i);
      return stop;
    }
    const char c = line[i];
    if (c == '/' && i + 1 < line.size() && line[i + 1] == '/') {
      body += line.substr(i);
      return line.size();
    }
    if (c == '/' && i + 1 < line.size() && line[i + 1] == '*') {
      body += "/*";
      is_in_comment_ = true;
      return i + 2;
    }
    if (c == '"') {
      const std::size_t end = line.find('"', i + 1);
      const std::size_t stop = end == std::string_view::npos ? line.size() : end + 1;
      body += line.substr(i, stop - i);
      return stop;
    }
    if (is_space(c)) {
      if (!body.empty() && body.back() != ' ') body += ' ';
      return i + 1;
    }
    if (c == '{' || c == '(') ++depth_;
    if (c == '}' || c == ')') depth_ = std::max(0, depth_ - 1);
    if ((c == ',' || c == ';') && body.ends_with(' ')) body.pop_back();
    body += c;
    if (c == ',' && i + 1 < line.size() && !is_space(line[i + 1])) body += ' ';
    return i + 1;
  }

  std::string out_;
  int depth_ = 0;
  bool is_in_comment_ = false;
};

}  // namespace

std::optional<std::string> format(SourcePtr source, Findings& findings) {
  const std::optional<Module> before = parse(source, findings);
  if (!before) return std::nullopt;
  std::string out = Formatter().run(source->text());
  Findings ignored;
  const std::optional<Module> after = parse(std::make_shared<Source>(source->name(), out), ignored);
  PLUMB_CHECK(after.has_value() && equal(*before, *after));
  return out;
}

}  // namespace plumb::ptx
