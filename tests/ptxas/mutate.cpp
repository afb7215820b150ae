// SPDX-License-Identifier: Apache-2.0
#include "mutate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <string_view>

namespace plumb::agreement {
namespace {

std::string trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return std::string(text);
}

struct Parts {
  std::string guard, opcode;
  std::vector<std::string> words, operands;
};

std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> out;
  std::string one;
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if (c == ',' && depth == 0) {
      out.push_back(trim(one));
      one.clear();
    } else {
      one += c;
    }
  }
  if (!trim(one).empty()) out.push_back(trim(one));
  return out;
}

Parts take_apart(const std::string& line) {
  Parts out;
  std::string text = trim(line.substr(0, line.find(';')));
  if (text.starts_with('@')) {
    const std::size_t space = text.find_first_of(" \t");
    out.guard = text.substr(0, space);
    text = space == std::string::npos ? "" : trim(text.substr(space));
  }
  const std::size_t space = text.find_first_of(" \t");
  std::string name = text.substr(0, space);
  if (space != std::string::npos) out.operands = split_operands(text.substr(space));
  std::size_t at = name.find('.');
  out.opcode = name.substr(0, at);
  while (at != std::string::npos) {
    const std::size_t next = name.find('.', at + 1);
    out.words.push_back(name.substr(at + 1, next == std::string::npos ? next : next - at - 1));
    at = next;
  }
  return out;
}

std::string put_together(const Parts& parts) {
  std::string out = parts.guard.empty() ? "" : parts.guard + " ";
  out += parts.opcode;
  for (const std::string& word : parts.words) out += "." + word;
  if (!parts.operands.empty()) out += fmt::format(" {}", fmt::join(parts.operands, ", "));
  return out + ";";
}

bool is_instruction(const std::string& line) {
  const std::string text = trim(line);
  if (text.empty() || !text.ends_with(';') || text.find(';') + 1 != text.size()) return false;
  if (text.find_first_of("\"/") != std::string::npos) return false;
  return text[0] == '@' || std::islower(static_cast<unsigned char>(text[0])) != 0;
}

}  // namespace

File split(const std::string& path, const std::string& text) {
  File out;
  out.path = path;
  bool is_in_body = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out.lines.push_back(text.substr(at, end - at));
    const std::string& line = out.lines.back();
    if (line.starts_with(".target ")) out.arch = line.substr(8, line.find_first_of(", \t\r", 8) - 8);
    if (line.starts_with('{')) is_in_body = true;
    if (line.starts_with('}')) is_in_body = false;
    if (is_in_body && is_instruction(line)) out.instrs.push_back(out.lines.size() - 1);
    at = end + 1;
  }
  return out;
}

std::string Mutator::mutate(const File& file, std::size_t line) {
  const std::string& before = file.lines[line];
  Parts parts = take_apart(before);
  const Parts other = take_apart(file.lines[file.instrs[pick(file.instrs.size())]]);
  const bool has_words = !parts.words.empty(), has_operands = !parts.operands.empty();
  switch (pick(11)) {
    case 0:
      if (has_words) parts.words.erase(parts.words.begin() + static_cast<std::ptrdiff_t>(pick(parts.words.size())));
      break;
    case 1:
      if (has_words && !other.words.empty())
        parts.words[pick(parts.words.size())] = other.words[pick(other.words.size())];
      break;
    case 2:
      if (!other.words.empty()) {
        parts.words.insert(parts.words.begin() + static_cast<std::ptrdiff_t>(pick(parts.words.size() + 1)),
                           other.words[pick(other.words.size())]);
      }
      break;
    case 3:
    case 4:
      if (has_operands && !other.operands.empty()) {
        parts.operands[pick(parts.operands.size())] = other.operands[pick(other.operands.size())];
      }
      break;
    case 5:
      if (has_operands) {
        parts.operands.erase(parts.operands.begin() + static_cast<std::ptrdiff_t>(pick(parts.operands.size())));
      }
      break;
    case 6:
      if (!other.operands.empty()) parts.operands.push_back(other.operands[pick(other.operands.size())]);
      break;
    case 7:
      parts.opcode = other.opcode;
      break;
    case 8:
      if (has_operands) {
        static constexpr const char* kConstants[] = {"0",         "1", "-1", "0f3F800000", "1.5", "0d3FF0000000000000",
                                                     "4294967296"};
        parts.operands[pick(parts.operands.size())] = kConstants[pick(std::size(kConstants))];
      }
      break;
    default: {
      std::string text = trim(before);
      const std::size_t at = pick(text.size());
      static constexpr std::string_view kBytes = ",.%[]{}+-0189abrsuvx_ !|";
      if (pick(2) == 0) {
        text.erase(at, 1);
      } else {
        text[at] = kBytes[pick(kBytes.size())];
      }
      return text;
    }
  }
  return put_together(parts);
}

}  // namespace plumb::agreement
