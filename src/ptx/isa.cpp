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

IsaSummary summarise(Form form) {
  IsaSummary out;
  for (const Line& line : table().lines) {
    if (line.form != form) continue;
    std::string opcode(line.opcode);
    for (unsigned i = 0; i < line.leading && i < line.slots.size(); ++i)
      opcode += "." + std::string(line.slots[i].name);
    if (std::find(out.opcodes.begin(), out.opcodes.end(), opcode) == out.opcodes.end()) out.opcodes.push_back(opcode);
    if (out.lines++ == 0) {
      const std::string targets = describe_targets(line.needs);
      out.since = fmt::format("PTX {}.{}{}{}", line.needs.version.major, line.needs.version.minor,
                              targets.empty() ? "" : ", ", targets);
    }
  }
  return out;
}

std::optional<Form> form_of(std::string_view spelling) {
  const std::vector<std::string_view> words = split(spelling);
  const auto lines = words.empty() ? table().by_opcode.end() : table().by_opcode.find(words[0]);
  if (lines == table().by_opcode.end()) return std::nullopt;
  std::vector<Mod> mods;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::optional<Mod> mod = mod_from_text(words[i]);
    if (!mod) return std::nullopt;
    mods.push_back(*mod);
  }
  Filling filling;
  for (const std::uint32_t index : lines->second) {
    if (fill(table().lines[index], mods, filling)) return table().lines[index].form;
  }
  return std::nullopt;
}

}  // namespace plumb::ptx
