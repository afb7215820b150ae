// SPDX-License-Identifier: Apache-2.0
#include "ptx/isa.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/isa/table.h"

namespace plumb::ptx {
namespace {

std::vector<std::string_view> split(std::string_view query) {
  std::vector<std::string_view> out;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find_first_of(". \t"), query.size());
    if (end != 0) out.push_back(query.substr(0, end));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return out;
}

bool has_word(const Line& line, std::string_view word) {
  return std::any_of(line.slots.begin(), line.slots.end(), [&](const ModSlot& slot) {
    return std::any_of(slot.words.begin(), slot.words.end(), [&](Mod mod) { return text(mod) == word; });
  });
}

}  // namespace

std::vector<IsaEntry> look_up(std::string_view query) {
  std::vector<IsaEntry> out;
  const std::vector<std::string_view> words = split(query);
  if (words.empty()) return out;
  const Table& isa = table();
  const bool is_exact = isa.by_opcode.count(words[0]) != 0;
  Form last{};
  for (const Line& line : isa.lines) {
    if (is_exact ? line.opcode != words[0] : !line.opcode.starts_with(words[0])) continue;
    if (!std::all_of(words.begin() + 1, words.end(), [&](std::string_view word) { return has_word(line, word); })) {
      continue;
    }
    if (out.empty() || line.form != last) {
      const FormSpec& form = spec(line.form);
      IsaEntry entry;
      entry.name = form.name;
      entry.since = fmt::format("PTX {}.{}", line.needs.version.major, line.needs.version.minor);
      entry.targets = describe_targets(line.needs);
      entry.manual = form.manual;
      out.push_back(std::move(entry));
      last = line.form;
    }
    out.back().syntax.push_back(pretty(line));
  }
  return out;
}

}  // namespace plumb::ptx
