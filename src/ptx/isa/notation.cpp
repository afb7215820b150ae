// SPDX-License-Identifier: Apache-2.0
#include "ptx/isa/notation.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/check.h"

namespace plumb::ptx::notation {
namespace {

struct WordSet {
  std::string_view name, words;
};

constexpr WordSet kWordSets[] = {
#define PLUMB_WORD_SET(name, words) {name, words},
#define PLUMB_WORD_NEEDS(word, needs)
#include "ptx/isa/words.def"
#undef PLUMB_WORD_NEEDS
#undef PLUMB_WORD_SET
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Takes the part before `separator` off the front of `rest`.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return trim(part);
}

template <class Number = int>
Number number(std::string_view text) {
  Number out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  PLUMB_CHECK(error == std::errc() && end == text.data() + text.size());
  return out;
}

Mod mod(std::string_view word, const Mods& mods) {
  const auto found = mods.find(word);
  PLUMB_CHECK(found != mods.end());
  return found->second;
}

// Appends what a list item stands for: a word, `@set`, or `m64n<8:256:8>k16`.
void expand(std::string_view item, const Mods& mods, std::vector<Mod>& out) {
  if (item.starts_with('@')) {
    for (const WordSet& set : kWordSets) {
      if (set.name != item.substr(1)) continue;
      for (std::string_view rest = set.words; !rest.empty();) out.push_back(mod(take(rest, ' '), mods));
      return;
    }
    PLUMB_CHECK(false);
  }
  const std::size_t open = item.find('<');
  if (open == std::string_view::npos) return out.push_back(mod(item, mods));
  const std::size_t close = item.find('>');
  std::string_view range = item.substr(open + 1, close - open - 1);
  const int first = number(take(range, ':'));
  const int last = number(take(range, ':'));
  const int step = number(range);
  for (int i = first; i <= last; i += step) {
    const std::string word =
        std::string(item.substr(0, open)) + std::to_string(i) + std::string(item.substr(close + 1));
    out.push_back(mod(word, mods));
  }
}

std::vector<Mod> word_list(std::string_view text, const Mods& mods) {
  std::vector<Mod> out;
  while (!text.empty()) {
    const std::string_view item = take(text, ' ');
    if (!item.empty()) expand(item, mods, out);
  }
  return out;
}

bool is_space_word(std::string_view word) {
  return word == "const" || word == "global" || word == "local" || word.starts_with("param") ||
         word.starts_with("shared");
}

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

struct Definition {
  std::string_view name, words;
};

class LineParser {
 public:
  LineParser(std::string_view text, Form form, const Mods& mods) : mods_(mods) {
    line_.form = form;
    std::string_view rest = text;
    line_.head = take(rest, ';');
    while (!rest.empty()) clause(take(rest, ';'));
    const std::size_t space = line_.head.find(' ');
    const std::string_view words = line_.head.substr(0, space);
    const std::size_t end = words.find_first_of(".{");
    line_.opcode = words.substr(0, end);
    if (end != std::string_view::npos) slots(words.substr(end));
    if (space != std::string_view::npos) operands(trim(line_.head.substr(space)));
    line_.leading = leading_words();
    for (const Definition& definition : definitions_) PLUMB_CHECK(find_slot(definition.name) >= 0);
  }

  // Words that come before all others, though some may be left out before them: `bar{.cta}.red`.
  bool is_first(std::string_view word) const {
    constexpr std::string_view kTexture[] = {"base", "level", "grad"};
    constexpr std::string_view kBarrier[] = {"cta", "cluster", "warp", "arrive", "wait", "red"};
    const auto holds = [&](auto& list) { return std::find(std::begin(list), std::end(list), word) != std::end(list); };
    if (line_.opcode == "tex") return holds(kTexture);
    if (line_.opcode == "tcgen05") return word == "mma" || word == "ws";
    if (line_.opcode == "mbarrier") return word == "test_wait" || word == "try_wait" || word == "parity";
    if (line_.opcode == "cvta") return word == "to";
    if (line_.opcode == "cvt") return word == "pack";
    return (line_.opcode == "bar" || line_.opcode == "barrier") && holds(kBarrier);
  }

  // The first words that are part of the instruction's name, as in `wmma.load.a` or `cp.async.bulk`.
  unsigned leading_words() const {
    constexpr std::string_view kFamilies[] = {"tcgen05",
                                              "wgmma",
                                              "wmma",
                                              "createpolicy",
                                              "mbarrier",
                                              "tensormap",
                                              "multimem",
                                              "clusterlaunchcontrol",
                                              "griddepcontrol",
                                              "brx",
                                              "suld",
                                              "sust",
                                              "sured",
                                              "mul24",
                                              "mad24",
                                              "dp2a",
                                              "shf"};
    constexpr std::string_view kNames[] = {"async",      "bulk",     "tensor",    "reduce", "prefetch", "commit_group",
                                           "wait_group", "wait_all", "proxy",     "warp",   "cluster",  "load",
                                           "store",      "red",      "expect_tx", "wide"};
    const auto holds = [](auto& list, std::string_view word) {
      return std::find(std::begin(list), std::end(list), word) != std::end(list);
    };
    unsigned out = holds(kFamilies, line_.opcode) ? 1 : 0;
    const auto names = [&](std::size_t i) {
      const ModSlot& slot = line_.slots[i];
      const bool is_before = i > 0 && (line_.slots[i - 1].name == "load" || line_.slots[i - 1].name == "store");
      if (slot.name == "part") return true;  // .hi, .lo
      if (line_.opcode == "cp" && (slot.name == "mbarrier" || slot.name == "arrive")) return true;
      return !slot.is_optional && slot.words.size() == 1 && (holds(kNames, slot.name) || is_before);
    };
    while (out < line_.slots.size() && names(out)) ++out;
    return out;
  }

  Line result() { return std::move(line_); }

 private:
  void clause(std::string_view text) {
    if (text.empty()) return;
    if (const std::size_t equal = text.find('='); equal != std::string_view::npos) {
      definitions_.push_back({trim(text.substr(0, equal)), trim(text.substr(equal + 1))});
      return;
    }
    if (const std::size_t excludes = text.find(" excludes "); excludes != std::string_view::npos) {
      line_.exclusions.push_back(
          {word_list(text.substr(0, excludes), mods_), word_list(text.substr(excludes + 10), mods_)});
      return;
    }
    const std::size_t at = text.find("needs ");
    PLUMB_CHECK(at != std::string_view::npos);
    const Needs needs = parse_needs(text.substr(at + 6));
    if (at == 0) {
      line_.needs = needs;
    } else {
      line_.word_needs.push_back({word_list(trim(text.substr(0, at)), mods_), needs});
    }
  }

  void slots(std::string_view text) {
    int group = -1, next_group = 0;
    bool is_optional = false;
    for (std::size_t i = 0; i < text.size();) {
      if (text[i] == '{') {
        is_optional = true;
        const std::size_t close = text.find('}', i);
        const std::string_view inner = text.substr(i + 1, close - i - 1);
        group = inner.find('.', 1) != std::string_view::npos ? next_group++ : -1;
        ++i;
      } else if (text[i] == '}') {
        is_optional = false;
        group = -1;
        ++i;
      } else {
        PLUMB_CHECK(text[i] == '.');
        std::size_t end = i + 1;
        while (end < text.size() && is_word_char(text[end])) ++end;
        add_slot(text.substr(i + 1, end - i - 1), is_optional, group);
        i = end;
      }
    }
  }

  void add_slot(std::string_view word, bool is_optional, int group) {
    ModSlot slot;
    slot.name = word;
    slot.same_as = find_slot(word);
    slot.is_optional = is_optional;
    slot.group = group;
    for (const Definition& definition : definitions_) {
      if (definition.name == word) slot.words = word_list(definition.words, mods_);
    }
    if (slot.words.empty()) slot.words.push_back(mod(word, mods_));
    const std::string_view first = text(slot.words[0]);
    if (type_from_name(first)) slot.order = ModSlot::Order::Type;
    if (is_space_word(first)) slot.order = ModSlot::Order::Space;
    constexpr std::string_view kLayouts[] = {"row", "col", "xor", "and", "popc", "b8x16", "b6x16_p32"};
    if (std::find(std::begin(kLayouts), std::end(kLayouts), first) != std::end(kLayouts)) {
      slot.order = ModSlot::Order::Layout;
    }
    if (is_first(first)) slot.order = ModSlot::Order::First;
    line_.slots.push_back(std::move(slot));
  }

  int find_slot(std::string_view name) const {
    for (std::size_t i = 0; i < line_.slots.size(); ++i) {
      if (line_.slots[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

  // The type of an operand that names none: the slot `type`, else the line's first type word.
  void default_type(OperandSpec& operand) const {
    if (operand.name == "p" || operand.name == "q") {
      operand.type = Type::pred;
      return;
    }
    operand.type_slot = find_slot("type");
    for (std::size_t i = 0; i < line_.slots.size() && operand.type_slot < 0; ++i) {
      if (line_.slots[i].order == ModSlot::Order::Type) operand.type_slot = static_cast<int>(i);
    }
    PLUMB_CHECK(operand.type_slot >= 0);
  }

  void set_type(OperandSpec& operand, std::string_view name) const {
    if (name == "imm") {
      operand.kind = OperandSpec::Kind::Immediate;
    } else if (name == "label") {
      operand.kind = OperandSpec::Kind::Label;
    } else if (name == "call") {
      operand.kind = OperandSpec::Kind::Call;
    } else {
      if (name.starts_with("2*")) {
        operand.is_doubled = true;
        name.remove_prefix(2);
      }
      operand.type_slot = find_slot(name);
      if (operand.type_slot < 0) {
        const std::optional<Type> type = type_from_name(name);
        PLUMB_CHECK(type.has_value());
        operand.type = *type;
      }
    }
  }

  static void set_count(OperandSpec& operand, std::string_view text) {
    using Count = OperandSpec::Count;
    if (text == "vec") {
      operand.count = Count::Vec;
    } else if (text == "pack") {
      operand.count = Count::Pack;
    } else if (text == "tex") {
      operand.count = Count::Texture;
    } else if (text == "grad") {
      operand.count = Count::Gradient;
    } else if (text == "lanes") {
      operand.count = Count::Lanes;
    } else if (text.ends_with("x")) {
      operand.count = Count::PerX;
      operand.count_value = text == "x" ? 1 : number(text.substr(0, text.size() - 1));
    } else if (text.starts_with("n/")) {
      operand.count = Count::PerN;
      operand.count_value = number(text.substr(2));
    } else if (text.starts_with("dim")) {
      operand.count = Count::Dim;
      operand.count_value = text == "dim" ? 0 : number(text.substr(4));
    } else {
      operand.count = Count::Fixed;
      operand.count_value = number(text);
    }
  }

  static void set_flags(OperandSpec& operand, std::string_view flags) {
    for (const char flag : flags) {
      if (flag == '_') operand.allows_sink = true;
      if (flag == 's') operand.allows_special = true;
      if (flag == '@') operand.allows_symbol = true;
      if (flag == 'w') operand.allows_wider = true;
      if (flag == '=') operand.is_exact = true;
      if (flag == '0') operand.has_no_offset = true;
      if (flag == 'h') operand.selector = OperandSpec::Selector::Optional;
      if (flag == 'H') operand.selector = OperandSpec::Selector::Required;
      if (flag == 'r') operand.is_register = true;
      PLUMB_CHECK(std::string_view("_s@w=rhH0").find(flag) != std::string_view::npos);
    }
  }

  // <4|8|16>, <0..15>, <24..256 by 8>
  static std::vector<Range> ranges(std::string_view text) {
    std::vector<Range> out;
    while (!text.empty()) {
      std::string_view item = take(text, '|');
      Range range;
      if (const std::size_t by = item.find(" by "); by != std::string_view::npos) {
        range.step = number<std::int64_t>(item.substr(by + 4));
        item = item.substr(0, by);
      }
      const std::size_t dots = item.find("..");
      range.first = number<std::int64_t>(item.substr(0, dots));
      range.last = dots == std::string_view::npos ? range.first : number<std::int64_t>(item.substr(dots + 2));
      out.push_back(range);
    }
    return out;
  }

  // name [*count] [:type] [<values>] [/flags] [pair]
  OperandSpec operand(std::string_view whole) const {
    OperandSpec out;
    std::string without_values(whole);
    if (const std::size_t open = whole.find('<'); open != std::string_view::npos) {
      const std::size_t close = whole.find('>');
      out.values = ranges(whole.substr(open + 1, close - open - 1));
      without_values.erase(open, close - open + 1);
    }
    read_operand(without_values, out);
    // What is kept are views into the row, not into the copy.
    out.name = whole.substr(whole.find(out.name), out.name.size());
    return out;
  }

  void read_operand(std::string_view text, OperandSpec& out) const {
    if (text.starts_with("{!}")) {
      out.is_negatable = true;
      text.remove_prefix(3);
    }
    if (text.starts_with('[')) {
      out.kind = OperandSpec::Kind::Address;
      std::string_view inner = text.substr(1, text.size() - 2);
      out.name = take(inner, ',');
      if (inner.empty()) {
        if (const std::size_t slash = out.name.find('/'); slash != std::string_view::npos) {
          set_flags(out, out.name.substr(slash + 1));
          out.name = out.name.substr(0, slash);
        }
        if (const std::size_t colon = out.name.find(':'); colon != std::string_view::npos) {
          set_type(out, out.name.substr(colon + 1));
          out.name = out.name.substr(0, colon);
        }
        return;
      }
      out.kind = OperandSpec::Kind::TensorAddress;
      inner = trim(inner);
      take(inner, '*');
      set_count(out, take(inner, ':'));
      set_type(out, inner);
      return;
    }
    if (text == "_") {
      out.kind = OperandSpec::Kind::Sink;
      out.name = text;
      return;
    }
    if (const std::size_t pair = text.find('|'); pair != std::string_view::npos) {
      const bool is_optional = text[pair - 1] == '{';
      out.pair = is_optional ? OperandSpec::Pair::Optional : OperandSpec::Pair::Required;
      text = text.substr(0, is_optional ? pair - 1 : pair);
    }
    const auto part = [&text](char mark) {
      const std::size_t at = text.rfind(mark);
      if (at == std::string_view::npos) return std::string_view();
      const std::string_view out_part = text.substr(at + 1);
      text = text.substr(0, at);
      return out_part;
    };
    const std::size_t slash = text.rfind('/');
    const bool has_flags = slash != std::string_view::npos && (text[slash + 1] < '1' || text[slash + 1] > '9');
    const std::string_view flags = has_flags ? part('/') : std::string_view();
    const std::string_view type = part(':');
    const std::string_view count = part('*');
    out.name = text;
    for (const std::string_view name : {"d", "p", "q", "state", "redval"}) out.is_dest |= text == name;
    set_flags(out, flags);
    if (!count.empty()) set_count(out, count);
    if (type.empty()) {
      default_type(out);
    } else {
      set_type(out, type);
    }
  }

  void optional_operand(std::string_view text) {
    int condition = -1;
    if (const std::size_t at = text.find(" if "); at != std::string_view::npos) {
      condition = find_slot(text.substr(at + 4));
      PLUMB_CHECK(condition >= 0);
      text = text.substr(0, at);
    }
    OperandSpec spec = operand(trim(text));
    spec.is_optional = true;
    spec.condition = condition;
    line_.operands.push_back(spec);
  }

  void operands(std::string_view text) {
    while (!text.empty()) {
      if (text.starts_with("{,")) {
        // The group ends at the brace that closes it; `{!}` may stand inside.
        std::size_t close = 1;
        for (int depth = 1; depth > 0; ++close) {
          if (text[close] == '{') ++depth;
          if (text[close] == '}') --depth;
        }
        optional_operand(text.substr(2, close - 3));
        text = trim(text.substr(close));
      } else {
        if (text.starts_with(',')) text = trim(text.substr(1));
        std::size_t end = 0;
        int depth = 0;
        for (; end < text.size(); ++end) {
          const char c = text[end];
          if (depth == 0 && (c == ',' || text.substr(end).starts_with("{,"))) break;
          if (c == '[' || c == '{') ++depth;
          if (c == ']' || c == '}') --depth;
        }
        line_.operands.push_back(operand(trim(text.substr(0, end))));
        text = trim(text.substr(end));
      }
    }
  }

  const Mods& mods_;
  Line line_;
  std::vector<Definition> definitions_;
};

}  // namespace

Needs parse_needs(std::string_view text) {
  Needs out;
  std::string_view version = take(text, ' ');
  out.version.major = number(take(version, '.'));
  out.version.minor = number(version);
  text = trim(text);
  while (!text.empty()) {
    std::string_view target = take(text, '|');
    PLUMB_CHECK(target.starts_with("sm_"));
    target.remove_prefix(3);
    SmNeed need;
    if (target.back() == 'a' || target.back() == 'f') {
      need.suffix = target.back();
      target.remove_suffix(1);
    }
    need.sm = number(target);
    out.targets.push_back(need);
  }
  return out;
}

Line parse_line(std::string_view text, Form form, const Mods& mods) { return LineParser(text, form, mods).result(); }

}  // namespace plumb::ptx::notation
