// SPDX-License-Identifier: Apache-2.0
#include "generate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace plumb::agreement {
namespace {

using ptx::OperandSpec;
using ptx::Type;

const ptx::Mod* word_of(const ptx::Line& line, const std::vector<int>& chosen, std::size_t slot) {
  return chosen[slot] < 0 ? nullptr : &line.slots[slot].words[static_cast<std::size_t>(chosen[slot])];
}

std::vector<ptx::Mod> words_of(const ptx::Line& line, const std::vector<int>& chosen) {
  std::vector<ptx::Mod> out;
  for (std::size_t s = 0; s < line.slots.size(); ++s) {
    if (const ptx::Mod* word = word_of(line, chosen, s)) out.push_back(*word);
  }
  return out;
}

bool has_shared(const ptx::Line& line, const std::vector<int>& chosen) {
  const std::vector<ptx::Mod> words = words_of(line, chosen);
  return std::find(words.begin(), words.end(), ptx::Mod::shared) != words.end();
}

// Register types that go with an instruction type.
std::vector<Type> register_types(Type type, bool allows_wider) {
  switch (ptx::byte_size(type)) {
    case 1:
      if (type == Type::pred) return {Type::pred};
      if (allows_wider) return {Type::b16, Type::u32, Type::b32, Type::s16, Type::b64};
      return {Type::b8};
    case 2:
      if (type == Type::f16) return {Type::f16, Type::b16};
      if (type == Type::u16 || type == Type::s16) {
        if (allows_wider) return {Type::u16, Type::s16, Type::b16, Type::b32, Type::s64};
        return {Type::u16, Type::s16, Type::b16};
      }
      if (type == Type::b16) return {Type::b16, Type::u16, Type::f16};
      return {Type::b16};
    case 4:
      if (type == Type::f32) return {Type::f32, Type::b32};
      if (type == Type::f16x2) return {Type::f16x2, Type::b32};
      if (type == Type::u32 || type == Type::s32) return {Type::u32, Type::s32, Type::b32};
      if (type == Type::b32) return {Type::b32, Type::u32, Type::s32, Type::f32};
      return {Type::b32};
    case 8:
      if (type == Type::f64) return {Type::f64, Type::b64};
      if (type == Type::u64 || type == Type::s64) return {Type::u64, Type::s64, Type::b64};
      if (type == Type::b64) return {Type::b64, Type::u64, Type::s64, Type::f64};
      return {Type::b64};
    default:
      return {Type::b128};
  }
}

Type type_of(const ptx::Line& line, const std::vector<int>& chosen, const OperandSpec& spec) {
  if (spec.type_slot < 0) return spec.type;
  const auto slot = static_cast<std::size_t>(spec.type_slot);
  const ptx::Mod* word = word_of(line, chosen, slot);
  const Type type = ptx::type_from_name(ptx::text(word ? *word : line.slots[slot].words.front())).value_or(Type::b32);
  if (!spec.is_doubled) return type;
  switch (type) {
    case Type::u16:
      return Type::u32;
    case Type::s16:
      return Type::s32;
    case Type::u32:
      return Type::u64;
    default:
      return Type::s64;
  }
}

std::string spelled(const ptx::Line& line, const std::vector<std::string>& words,
                    const std::vector<std::string>& operands) {
  std::string out(line.opcode);
  for (const std::string& word : words) out += "." + word;
  if (!operands.empty()) out += fmt::format(" {}", fmt::join(operands, ", "));
  return out + ";";
}

bool is_met(const ptx::Needs& needs, const Setting& setting) {
  return setting.version >= needs.version && ptx::allows(needs, parse_target(setting.target));
}

}  // namespace

std::vector<int> Generator::filling(const ptx::Line& line, std::size_t slot, std::size_t word) {
  std::vector<int> out(line.slots.size(), -1);
  std::vector<int> groups(line.slots.size() + 1, -1);
  for (std::size_t s = 0; s < line.slots.size(); ++s) {
    const ptx::ModSlot& row = line.slots[s];
    bool is_filled = !row.is_optional || coin() || s == slot;
    if (row.group >= 0) {
      int& group = groups[static_cast<std::size_t>(row.group)];
      if (group < 0) {
        const bool is_wanted = slot < line.slots.size() && line.slots[slot].group == row.group;
        group = is_wanted || is_filled ? 1 : 0;
      }
      is_filled = group == 1;
    }
    if (!is_filled) continue;
    out[s] = static_cast<int>(s == slot ? word : pick(row.words.size()));
    if (row.same_as >= 0) out[s] = out[static_cast<std::size_t>(row.same_as)];
  }
  return out;
}

std::int64_t Generator::some_value(const OperandSpec& spec) {
  const ptx::Range& range = spec.values[pick(spec.values.size())];
  return range.first + range.step * pick(static_cast<std::size_t>((range.last - range.first) / range.step) + 1);
}

std::vector<Type> Generator::fitting_types(const OperandSpec& spec, Type type) {
  if (spec.is_exact) return {type};
  return register_types(type, spec.allows_wider);
}

std::string Generator::value(const OperandSpec& spec, Type type) {
  const std::vector<Type> fitting = fitting_types(spec, type);
  if (!spec.is_dest && !spec.is_register && !spec.is_exact && spec.count == OperandSpec::Count::Scalar &&
      pick(6) == 0) {
    switch (type) {
      case Type::f32:
        return "0f3F800000";
      case Type::f64:
        return "0d3FF0000000000000";
      case Type::u16:
      case Type::s16:
      case Type::u32:
      case Type::s32:
      case Type::b32:
      case Type::u64:
      case Type::s64:
      case Type::b64:
        return spec.values.empty() ? "5" : std::to_string(some_value(spec));
      default:
        break;
    }
  }
  return register_name(fitting[pick(fitting.size())], next_register_++);
}

std::string Generator::pack(const OperandSpec& spec, Type type) {
  const unsigned size = ptx::byte_size(type);
  const unsigned count = size >= 8 && coin() ? (size == 16 ? 2u : 4u) : 2u;
  static constexpr Type kBySize[] = {Type::none, Type::b8,   Type::b16,  Type::none, Type::b32,
                                     Type::none, Type::none, Type::none, Type::b64};
  std::vector<std::string> out;
  for (unsigned i = 0; i < count; ++i) out.push_back(register_name(kBySize[size / count], next_register_++));
  if (spec.allows_sink && pick(4) == 0) out[0] = "_";
  return fmt::format("{{{}}}", fmt::join(out, ", "));
}

std::string Generator::address(const OperandSpec& spec, const ptx::Line& line, const std::vector<int>& chosen) {
  const bool is_tensor = spec.kind == OperandSpec::Kind::TensorAddress;
  const bool is_typed = !is_tensor && (spec.type != Type::none || spec.type_slot >= 0);
  std::string base = register_name(is_typed ? type_of(line, chosen, spec) : Type::b64, next_register_++);
  if (pick(4) == 0 && !is_tensor && !spec.has_no_offset) base += "+16";
  if (spec.kind != OperandSpec::Kind::TensorAddress) return "[" + base + "]";
  const Type reg = register_types(type_of(line, chosen, spec), false).front();
  std::vector<std::string> out;
  for (unsigned i = 0; i < ptx::vector_length(spec, words_of(line, chosen)); ++i) out.push_back(register_name(reg, i));
  return fmt::format("[{}, {{{}}}]", base, fmt::join(out, ", "));
}

std::string Generator::operand(const ptx::Line& line, const std::vector<int>& chosen, const OperandSpec& spec) {
  switch (spec.kind) {
    case OperandSpec::Kind::Immediate:
      return spec.values.empty() ? std::to_string(pick(4)) : std::to_string(some_value(spec));
    case OperandSpec::Kind::Label:
      return spec.name == "targets" ? "TABLE" : "TO";
    case OperandSpec::Kind::Sink:
      return "_";
    case OperandSpec::Kind::Call:
      return "(res_a), callee, (arg_a)";
    case OperandSpec::Kind::Address:
    case OperandSpec::Kind::TensorAddress:
      return address(spec, line, chosen);
    case OperandSpec::Kind::Value:
      break;
  }
  const Type type = type_of(line, chosen, spec);
  if (spec.count == OperandSpec::Count::Pack) return pack(spec, type);
  std::string out;
  if (const unsigned length = ptx::vector_length(spec, words_of(line, chosen)); length > 0) {
    std::vector<std::string> parts;
    const std::vector<Type> fitting = fitting_types(spec, type);
    const Type reg = fitting[pick(fitting.size())];
    for (unsigned i = 0; i < length; ++i) parts.push_back(register_name(reg, next_register_++));
    out = fmt::format("{{{}}}", fmt::join(parts, ", "));
  } else {
    out = value(spec, type);
    if (spec.allows_sink && pick(8) == 0) out = "_";
    if (spec.allows_special && type == Type::u32 && pick(8) == 0) out = "%tid.x";
    if (spec.allows_symbol && ptx::byte_size(type) == 8 && type != Type::f64 && pick(8) == 0) {
      const bool is_free = line.opcode == "mov" || has_shared(line, chosen);
      if (is_free) out = "s_data";
    }
  }
  const bool takes_part =
      spec.selector == OperandSpec::Selector::Required || (spec.selector == OperandSpec::Selector::Optional && coin());
  if (takes_part && out[0] == '%') {
    const char last = line.opcode.back();
    out += last == '2' ? (spec.is_dest ? ".h1" : ".h32") : last == '4' ? (spec.is_dest ? ".b32" : ".b3210") : ".b1";
  }
  if (spec.is_negatable && coin() && out[0] == '%') out = "!" + out;
  if (spec.pair == OperandSpec::Pair::Required || (spec.pair == OperandSpec::Pair::Optional && coin())) {
    out += "|" + register_name(Type::pred, next_register_++);
  }
  return out;
}

Generator::Draft Generator::draft(const ptx::Line& line, const std::vector<int>& chosen) {
  Draft out;
  for (std::size_t s = 0; s < line.slots.size(); ++s) {
    if (const ptx::Mod* word = word_of(line, chosen, s)) out.words.emplace_back(ptx::text(*word));
  }
  for (const OperandSpec& spec : line.operands) {
    if (spec.condition >= 0 ? chosen[static_cast<std::size_t>(spec.condition)] < 0 : spec.is_optional && coin())
      continue;
    out.operands.push_back(operand(line, chosen, spec));
    out.specs.push_back(&spec);
  }
  return out;
}

std::string Generator::random_operand() {
  static constexpr Type kTypes[] = {Type::pred, Type::b16, Type::u16, Type::s16, Type::f16, Type::f16x2,
                                    Type::b32,  Type::u32, Type::s32, Type::f32, Type::b64, Type::u64,
                                    Type::s64,  Type::f64, Type::b8,  Type::u8};
  static constexpr const char* kOthers[] = {"7",        "-1",     "0f3F800000", "0d3FF0000000000000",
                                            "1.5",      "g_data", "s_data",     "%tid.x",
                                            "_",        "TO",     "[%b64_1]",   "{%b32_1, %b32_2}",
                                            "100000",   "0",      "%clock64",   "callee",
                                            "!%pred_1", "p_wide", "[s_data]",   "{%b16_1, %b16_2, %b16_3, %b16_4}"};
  if (coin()) return register_name(kTypes[pick(std::size(kTypes))], next_register_++);
  return kOthers[pick(std::size(kOthers))];
}

// One change to a legal instruction; the answer names it.
std::string Generator::change(const ptx::Line& line, Draft& draft) {
  const ptx::Table& isa = ptx::table();
  const std::vector<std::uint32_t>& siblings = isa.by_opcode.at(line.opcode);
  const auto any_word = [&]() -> std::string {
    // Mostly a word that the opcode knows in some form.
    if (pick(5) == 0) return std::string(ptx::text(static_cast<ptx::Mod>(pick(isa.mod_needs.size()))));
    const ptx::Line& other = isa.lines[siblings[pick(siblings.size())]];
    if (other.slots.empty()) return "sat";
    const ptx::ModSlot& slot = other.slots[pick(other.slots.size())];
    return std::string(ptx::text(slot.words[pick(slot.words.size())]));
  };
  const bool has_words = !draft.words.empty(), has_operands = !draft.operands.empty();
  switch (pick(10)) {
    case 0:
      if (!has_words) break;
      draft.words.erase(draft.words.begin() + pick(draft.words.size()));
      return "word left out";
    case 1: {
      draft.words.insert(draft.words.begin() + pick(draft.words.size() + 1), any_word());
      return "word added";
    }
    case 2:
    case 3:
      if (!has_words) break;
      draft.words[pick(draft.words.size())] = any_word();
      return "word replaced";
    case 4:
      if (!has_operands) break;
      draft.operands.erase(draft.operands.begin() + pick(draft.operands.size()));
      return "operand left out";
    case 5:
      draft.operands.insert(draft.operands.begin() + pick(draft.operands.size() + 1), random_operand());
      return "operand added";
    case 6: {
      if (!has_operands) break;
      std::string& one = draft.operands[pick(draft.operands.size())];
      const std::size_t brace = one.find('{');
      if (brace == std::string::npos) break;
      if (coin()) {
        one.insert(one.find('}'), one.find('}') == brace + 1 ? "%b32_0" : ", %b32_0");
      } else {
        const std::size_t comma = one.find(',', brace);
        if (comma == std::string::npos) break;
        one.erase(brace + 1, comma - brace);
      }
      return "vector length";
    }
    case 7: {
      if (draft.words.size() < 2) break;
      std::swap(draft.words[pick(draft.words.size())], draft.words[pick(draft.words.size())]);
      return "word order";
    }
    default:
      if (!has_operands) break;
      draft.operands[pick(draft.operands.size())] = random_operand();
      return "operand replaced";
  }
  draft.operands.push_back(random_operand());
  return "operand added";
}

// The lowest setting that has the form, and a random one.
bool Generator::place(const ptx::Line& line, const std::vector<int>& chosen, Setting& lowest, Setting& any) {
  std::vector<Setting> legal;
  const auto fits = [&](const Setting& setting) {
    if (!is_met(line.needs, setting)) return false;
    for (std::size_t s = 0; s < line.slots.size(); ++s) {
      const ptx::Mod* word = word_of(line, chosen, s);
      if (word == nullptr) continue;
      bool is_named = false;
      for (const ptx::WordNeeds& row : line.word_needs) {
        if (std::find(row.words.begin(), row.words.end(), *word) == row.words.end()) continue;
        is_named = true;
        if (!is_met(row.needs, setting)) return false;
      }
      if (is_named) continue;
      for (const ptx::Needs& needs : ptx::table().mod_needs[static_cast<std::size_t>(*word)]) {
        if (!is_met(needs, setting)) return false;
      }
    }
    return true;
  };
  for (const TargetRow& target : targets()) {
    for (const ptx::Version& version : versions()) {
      if (version < target.since) continue;
      const Setting setting{version, target.name};
      if (fits(setting)) legal.push_back(setting);
    }
  }
  if (legal.empty()) return false;
  lowest = legal.front();
  any = legal[pick(legal.size())];
  return true;
}

// The same instruction one version or one target too early, where there is such a setting.
void Generator::miss_setting(const ptx::Line& line, const std::vector<int>& chosen, Case base, std::vector<Case>& out) {
  static_cast<void>(line);
  static_cast<void>(chosen);
  const auto row = std::find_if(targets().begin(), targets().end(),
                                [&](const TargetRow& target) { return base.setting.target == target.name; });
  const auto version = std::find(versions().begin(), versions().end(), base.setting.version);
  if (version != versions().begin() && *(version - 1) >= row->since) {
    Case earlier = base;
    earlier.setting.version = *(version - 1);
    earlier.change = "earlier version";
    out.push_back(std::move(earlier));
  }
  const TargetRow& other = targets()[pick(targets().size())];
  base.setting.target = other.name;
  base.setting.version = {9, 0};
  base.change = "other target";
  out.push_back(std::move(base));
}

std::vector<Case> Generator::cases(const ptx::Line& line, unsigned legal, unsigned misses) {
  std::vector<Case> out;
  const auto add = [&](std::size_t slot, std::size_t word) {
    std::vector<int> chosen;
    bool is_excluded = true;
    for (unsigned i = 0; i < 20 && is_excluded; ++i) {
      chosen = filling(line, slot, word);
      const auto [first, second] = ptx::excluded(line, words_of(line, chosen));
      is_excluded = first != second;
    }
    Setting lowest, any;
    if (is_excluded || !place(line, chosen, lowest, any)) return;
    const Draft one = draft(line, chosen);
    Case base{spelled(line, one.words, one.operands), coin() ? lowest : any, &line, ""};
    out.push_back(base);
    base.setting = lowest;
    if (coin()) miss_setting(line, chosen, base, out);
  };
  for (std::size_t s = 0; s < line.slots.size(); ++s) {
    const std::size_t words = line.slots[s].words.size();
    const std::size_t most = 24;  // enough of wgmma's shapes for one seed
    for (std::size_t w = 0; w < std::min(words, most); ++w) add(s, words > most ? pick(words) : w);
  }
  for (unsigned i = 0; i < legal; ++i) add(line.slots.size(), 0);
  for (unsigned i = 0; i < misses; ++i) {
    const std::vector<int> chosen = filling(line, line.slots.size(), 0);
    Setting lowest, any;
    if (!place(line, chosen, lowest, any)) continue;
    Draft one = draft(line, chosen);
    const std::string what = change(line, one);
    out.push_back({spelled(line, one.words, one.operands), any, &line, what});
  }
  return out;
}

}  // namespace plumb::agreement
