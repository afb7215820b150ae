// SPDX-License-Identifier: Apache-2.0
#include "ptx/isa/table.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/check.h"
#include "ptx/isa/notation.h"
#include "ptx/space.h"

namespace plumb::ptx {
namespace {

constexpr std::string_view kModTexts[] = {
#define PLUMB_MOD(name, text) text,
#include "ptx/isa/mods.def"
#undef PLUMB_MOD
};

struct Row {
  std::string_view name, manual, lines;
};

constexpr Row kRows[] = {
#define PLUMB_FORM(name, manual, lines) {#name, manual, lines},
#include "ptx/isa/forms.def"
#undef PLUMB_FORM
};

struct NamedNeeds {
  std::string_view word, needs;
};

constexpr NamedNeeds kWordNeeds[] = {
#define PLUMB_WORD_SET(name, words)
#define PLUMB_WORD_NEEDS(word, needs) {word, needs},
#include "ptx/isa/words.def"
#undef PLUMB_WORD_NEEDS
#undef PLUMB_WORD_SET
};

Table build() {
  Table out;
  for (std::size_t i = 0; i < std::size(kModTexts); ++i) out.mods.emplace(kModTexts[i], static_cast<Mod>(i));
  out.mod_needs.resize(std::size(kModTexts));
  for (const std::string_view word : kModTexts) {
    out.mod_types.push_back(type_from_name(word).value_or(Type::none));
    out.mod_spaces.push_back(space_from_word(word));
  }
  for (const NamedNeeds& row : kWordNeeds) {
    const auto mod = out.mods.find(row.word);
    PLUMB_CHECK(mod != out.mods.end());
    out.mod_needs[static_cast<std::size_t>(mod->second)].push_back(notation::parse_needs(row.needs));
  }
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    const std::size_t first = out.lines.size();
    for (std::string_view rest = kRows[i].lines; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      PLUMB_CHECK(end != std::string_view::npos);
      out.lines.push_back(notation::parse_line(rest.substr(0, end), static_cast<Form>(i), out.mods));
      rest.remove_prefix(end + 1);
    }
    PLUMB_CHECK(out.lines.size() > first);
    const Line& line = out.lines[first];
    const int sm = line.needs.targets.empty() ? 0 : line.needs.targets[0].sm;
    out.forms.push_back({kRows[i].name, line.opcode, line.head, line.needs.version.major, line.needs.version.minor, sm,
                         kRows[i].manual});
  }
  for (std::size_t i = 0; i < out.lines.size(); ++i) {
    out.by_opcode[out.lines[i].opcode].push_back(static_cast<std::uint32_t>(i));
  }
  return out;
}

int family(int sm) {
  switch (sm) {
    case 100:
    case 103:
      return 10;
    case 101:
    case 110:
      return 11;
    case 120:
    case 121:
      return 12;
    default:
      return sm;
  }
}

bool satisfies(const SmNeed& need, const Target& target) {
  if (need.suffix == 0) return target.sm >= need.sm;
  if (need.suffix == 'a') return target.sm == need.sm && target.suffix == 'a';
  return family(target.sm) == family(need.sm) && target.sm >= need.sm && target.suffix != 0;
}

bool has(std::span<const Mod> mods, Mod wanted) {
  for (const Mod mod : mods) {
    if (mod == wanted) return true;
  }
  return false;
}

// Words that the assembler lets stand twice.
// ptxas takes these twice.
bool is_repeatable(Mod mod) {
  constexpr Mod kWords[] = {Mod::sync, Mod::sat, Mod::approx,    Mod::uni,     Mod::cc,
                            Mod::relu, Mod::NaN, Mod::satfinite, Mod::shiftamt};
  return std::find(std::begin(kWords), std::end(kWords), mod) != std::end(kWords);
}

bool holds(const ModSlot& slot, Mod mod) {
  for (const Mod word : slot.words) {
    if (word == mod) return true;
  }
  return false;
}

}  // namespace

const Table& table() {
  static const Table kTable = build();
  return kTable;
}

std::string_view text(Mod mod) { return kModTexts[static_cast<std::size_t>(mod)]; }

std::optional<Mod> mod_from_text(std::string_view text) {
  const auto found = table().mods.find(text);
  if (found == table().mods.end()) return std::nullopt;
  return found->second;
}

std::span<const FormSpec> forms() { return table().forms; }
const FormSpec& spec(Form form) { return table().forms[static_cast<std::size_t>(form)]; }

bool allows(const Needs& needs, const Target& target) {
  if (needs.targets.empty()) return true;
  for (const SmNeed& need : needs.targets) {
    if (satisfies(need, target)) return true;
  }
  return false;
}

std::string describe_targets(const Needs& needs) {
  std::string out;
  for (const SmNeed& need : needs.targets) {
    if (!out.empty()) out += " or ";
    out += "sm_" + std::to_string(need.sm);
    if (need.suffix == 0) out += " or later";
    if (need.suffix != 0) out += need.suffix;
  }
  return out;
}

std::pair<Mod, Mod> excluded(const Line& line, std::span<const Mod> mods) {
  for (const Exclusion& exclusion : line.exclusions) {
    for (const Mod word : mods) {
      if (std::find(exclusion.words.begin(), exclusion.words.end(), word) == exclusion.words.end()) continue;
      for (const Mod other : mods) {
        if (std::find(exclusion.others.begin(), exclusion.others.end(), other) != exclusion.others.end()) {
          return {word, other};
        }
      }
    }
  }
  return {};
}

bool fill(const Line& line, std::span<const Mod> mods, Filling& filling) {
  filling.assign(line.slots.size(), -1);
  for (std::size_t i = 0; i < line.leading; ++i) {
    if (i < line.slots.size() && (i >= mods.size() || !holds(line.slots[i], mods[i]))) return false;
  }
  int last_type = -1, last_space = -1, last_layout = -1, last_first = -1;
  bool has_other = false;  // than the first words
  for (std::size_t i = 0; i < mods.size(); ++i) {
    int found = -1;
    for (std::size_t s = 0; s < line.slots.size() && found < 0; ++s) {
      const ModSlot& slot = line.slots[s];
      if (filling[s] >= 0 || !holds(slot, mods[i])) continue;
      const int at = static_cast<int>(s);
      if (slot.order == ModSlot::Order::Type && at < last_type) continue;
      if (slot.order == ModSlot::Order::Space && at < last_space) continue;
      if (slot.order == ModSlot::Order::Layout && at < last_layout) continue;
      if (slot.order == ModSlot::Order::First && (has_other || at < last_first)) continue;
      found = at;
    }
    if (found < 0 && is_repeatable(mods[i]) && has(mods.first(i), mods[i])) continue;
    if (found < 0) return false;
    const ModSlot& slot = line.slots[static_cast<std::size_t>(found)];
    if (slot.order == ModSlot::Order::Type) last_type = found;
    if (slot.order == ModSlot::Order::Space) last_space = found;
    if (slot.order == ModSlot::Order::Layout) last_layout = found;
    if (slot.order == ModSlot::Order::First) last_first = found;
    has_other |= slot.order != ModSlot::Order::First;
    filling[static_cast<std::size_t>(found)] = static_cast<int>(i);
  }
  for (std::size_t s = 0; s < line.slots.size(); ++s) {
    const ModSlot& slot = line.slots[s];
    if (filling[s] < 0 && !slot.is_optional) return false;
    if (filling[s] >= 0 && slot.same_as >= 0) {
      const int other = filling[static_cast<std::size_t>(slot.same_as)];
      if (mods[static_cast<std::size_t>(filling[s])] != mods[static_cast<std::size_t>(other)]) return false;
    }
    if (slot.group < 0) continue;
    for (std::size_t t = 0; t < line.slots.size(); ++t) {
      if (line.slots[t].group == slot.group && (filling[t] < 0) != (filling[s] < 0)) return false;
    }
  }
  const auto [word, other] = excluded(line, mods);
  return word == other;
}

namespace {

// The number after `mark` in one of the words: 64 after 'n' in `m64n64k16`, 4 after 'x' at the front of `x4`.
unsigned number_in(std::span<const Mod> mods, char mark, bool is_at_front) {
  for (const Mod mod : mods) {
    const std::string_view word = text(mod);
    const std::size_t at = word.find(mark);
    if (at == std::string_view::npos || (is_at_front && at != 0)) continue;
    unsigned out = 0;
    if (std::from_chars(word.data() + at + 1, word.data() + word.size(), out).ec == std::errc()) return out;
  }
  return 0;
}

}  // namespace

unsigned vector_length(const OperandSpec& operand, std::span<const Mod> mods) {
  const auto value = static_cast<unsigned>(operand.count_value);
  switch (operand.count) {
    case OperandSpec::Count::Fixed:
      return value;
    case OperandSpec::Count::Vec:
      return has(mods, Mod::v2) ? 2 : has(mods, Mod::v4) ? 4 : has(mods, Mod::v8) ? 8 : 0;
    case OperandSpec::Count::PerX:
      return number_in(mods, 'x', true) * value;
    case OperandSpec::Count::PerN:
      return number_in(mods, 'n', false) / value;
    case OperandSpec::Count::Dim:
      return static_cast<unsigned>(has(mods, Mod::_1d)   ? 1
                                   : has(mods, Mod::_2d) ? 2
                                   : has(mods, Mod::_3d) ? 3
                                   : has(mods, Mod::_4d) ? 4
                                                         : 5) -
             value;
    case OperandSpec::Count::Texture:
      if (has(mods, Mod::_1d)) return 1;
      return has(mods, Mod::_2d) || has(mods, Mod::a1d) ? 2 : 4;
    case OperandSpec::Count::Gradient:
      if (has(mods, Mod::_1d) || has(mods, Mod::a1d)) return 1;
      return has(mods, Mod::_2d) || has(mods, Mod::a2d) ? 2 : 4;
    case OperandSpec::Count::Lanes:
      return has(mods, Mod::cta_group_2) ? 8 : 4;
    case OperandSpec::Count::Scalar:
    case OperandSpec::Count::Pack:
      break;
  }
  return 0;
}

bool allows(std::span<const Range> values, std::int64_t constant) {
  if (values.empty()) return true;
  for (const Range& range : values) {
    if (constant >= range.first && constant <= range.last && (constant - range.first) % range.step == 0) return true;
  }
  return false;
}

namespace {

std::string pretty_operand(const OperandSpec& operand) {
  std::string core(operand.name);
  switch (operand.kind) {
    case OperandSpec::Kind::Address:
      core = "[" + core + "]";
      break;
    case OperandSpec::Kind::TensorAddress:
      core = "[" + core + ", {coordinates}]";
      break;
    default:
      break;
  }
  if (operand.count == OperandSpec::Count::Fixed) {
    const std::string last = std::to_string(operand.count_value - 1);
    core = operand.count_value == 1 ? "{" + core + "0}" : "{" + core + "0, .., " + core + last + "}";
  } else if (operand.count != OperandSpec::Count::Scalar && operand.kind == OperandSpec::Kind::Value &&
             operand.count != OperandSpec::Count::Vec) {
    core = "{" + core + "..}";
  }
  if (operand.is_negatable) core = "{!}" + core;
  if (operand.pair == OperandSpec::Pair::Required) core += "|p";
  if (operand.pair == OperandSpec::Pair::Optional) core += operand.name == "p" ? "{|q}" : "{|p}";
  return core;
}

}  // namespace

std::string pretty(const Line& line) {
  std::string out(line.head.substr(0, line.head.find(' ')));
  bool is_first = true;
  for (const OperandSpec& operand : line.operands) {
    const std::string core = pretty_operand(operand);
    const std::string comma = is_first ? " " : ", ";
    out += operand.is_optional ? "{" + comma + core + "}" : comma + core;
    is_first = false;
  }
  for (const ModSlot& slot : line.slots) {
    if (slot.words.size() < 2) continue;
    out += "; ." + std::string(slot.name) + " =";
    constexpr std::size_t kMost = 12;
    for (std::size_t i = 0; i < slot.words.size() && i < kMost; ++i) out += " ." + std::string(text(slot.words[i]));
    if (slot.words.size() > kMost) out += " ...";
  }
  return out;
}

}  // namespace plumb::ptx
