// SPDX-License-Identifier: Apache-2.0
#include "ptx/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plumb::ptx {
namespace {

constexpr std::size_t kMostLines = 2;

bool holds(const ModSlot& slot, Mod mod) {
  return std::find(slot.words.begin(), slot.words.end(), mod) != slot.words.end();
}

// How a line would take the words, as `fill` does, but going on where it would give up.
struct Attempt {
  const Line* line = nullptr;
  Filling filling;
  std::vector<Mod> stray;
  std::vector<const ModSlot*> missing;
  std::size_t cost() const { return 2 * stray.size() + missing.size(); }
};

Attempt attempt(const Line& line, std::span<const Mod> mods) {
  Attempt out;
  out.line = &line;
  out.filling.assign(line.slots.size(), -1);
  int last_type = -1;
  for (std::size_t i = 0; i < mods.size(); ++i) {
    int found = -1;
    for (std::size_t s = 0; s < line.slots.size() && found < 0; ++s) {
      if (out.filling[s] >= 0 || !holds(line.slots[s], mods[i])) continue;
      if (line.slots[s].order == ModSlot::Order::Type && static_cast<int>(s) < last_type) continue;
      found = static_cast<int>(s);
    }
    if (found < 0) {
      out.stray.push_back(mods[i]);
      continue;
    }
    if (line.slots[static_cast<std::size_t>(found)].order == ModSlot::Order::Type) last_type = found;
    out.filling[static_cast<std::size_t>(found)] = static_cast<int>(i);
  }
  for (std::size_t s = 0; s < line.slots.size(); ++s) {
    if (out.filling[s] < 0 && !line.slots[s].is_optional) out.missing.push_back(&line.slots[s]);
  }
  return out;
}

std::string alternatives(const ModSlot& slot) {
  constexpr std::size_t kMost = 8;
  std::string out;
  for (std::size_t i = 0; i < slot.words.size() && i < kMost; ++i) {
    if (i != 0) out += i + 1 == slot.words.size() ? " or " : ", ";
    out += fmt::format("`.{}`", text(slot.words[i]));
  }
  return slot.words.size() > kMost ? out + " ..." : out;
}

std::string reason_of(const Attempt& nearest, std::span<const Mod> mods) {
  if (!nearest.stray.empty()) {
    const Mod word = nearest.stray.front();
    const bool is_twice = std::count(mods.begin(), mods.end(), word) > 1;
    return is_twice ? fmt::format("`.{}` stands twice", text(word)) : fmt::format("it takes no `.{}` here", text(word));
  }
  if (!nearest.missing.empty()) {
    const ModSlot& slot = *nearest.missing.front();
    if (slot.words.size() == 1) return fmt::format("`.{}` is missing", text(slot.words[0]));
    return fmt::format("`.{}` is missing: {}", slot.name, alternatives(slot));
  }
  const auto [word, other] = excluded(*nearest.line, mods);
  if (word != other) return fmt::format("`.{}` and `.{}` do not go together", text(word), text(other));
  return "these words do not stand so, or not in this order";
}

std::string spelling_of(const Attempt& nearest, std::string_view opcode, std::span<const Mod> mods) {
  std::vector<Mod> words;
  for (std::size_t s = 0; s < nearest.line->slots.size(); ++s) {
    const ModSlot& slot = nearest.line->slots[s];
    if (nearest.filling[s] >= 0) {
      words.push_back(mods[static_cast<std::size_t>(nearest.filling[s])]);
    } else if (!slot.is_optional) {
      words.push_back(slot.words.front());
    }
  }
  Filling filling;
  if (!fill(*nearest.line, words, filling)) return {};
  std::string out(opcode);
  for (const Mod word : words) out += fmt::format(".{}", text(word));
  return out;
}

struct OtherName {
  std::string_view word, meant;
};

constexpr OtherName kOpcodes[] = {
    {"__syncthreads", "`bar.sync 0`"},
    {"br", "`bra`"},
    {"branch", "`bra`"},
    {"cmp", "`setp`, which writes a predicate"},
    {"exp", "`ex2.approx.f32`, of the argument times log2(e)"},
    {"exp2", "`ex2.approx.f32`"},
    {"fadd", "`add.f32`"},
    {"fdiv", "`div.rn.f32`"},
    {"ffma", "`fma.rn.f32`"},
    {"fmul", "`mul.f32`"},
    {"fsub", "`sub.f32`"},
    {"goto", "`bra`"},
    {"iadd", "`add.s32`"},
    {"if", "a guard: `@%p bra LABEL;`"},
    {"imad", "`mad.lo.s32`"},
    {"imul", "`mul.lo.s32`"},
    {"jmp", "`bra`"},
    {"lds", "`ld.shared`"},
    {"ldg", "`ld.global`"},
    {"load", "`ld`"},
    {"log", "`lg2.approx.f32`, times ln(2)"},
    {"log2", "`lg2.approx.f32`"},
    {"move", "`mov`"},
    {"pow", "`ex2.approx.f32` of a product with `lg2.approx.f32`"},
    {"return", "`ret`"},
    {"sts", "`st.shared`"},
    {"stg", "`st.global`"},
    {"store", "`st`"},
    {"syncthreads", "`bar.sync 0`"},
};
constexpr OtherName kSpecials[] = {
    {"blockDim", "%ntid"},  {"blockIdx", "%ctaid"}, {"gridDim", "%nctaid"},
    {"lane_id", "%laneid"}, {"threadIdx", "%tid"},  {"warp_id", "%warpid"},
};

template <std::size_t N>
std::string_view find(const OtherName (&names)[N], std::string_view word) {
  for (const OtherName& one : names) {
    if (one.word == word) return one.meant;
  }
  return {};
}

}  // namespace

WordAdvice advise(std::string_view opcode, std::span<const Mod> mods, std::span<const std::uint32_t> lines) {
  std::vector<Attempt> attempts;
  for (const std::uint32_t index : lines) attempts.push_back(attempt(table().lines[index], mods));
  std::stable_sort(attempts.begin(), attempts.end(),
                   [](const Attempt& a, const Attempt& b) { return a.cost() < b.cost(); });
  WordAdvice out;
  out.reason = reason_of(attempts.front(), mods);
  out.spelling = spelling_of(attempts.front(), opcode, mods);
  std::string last;
  for (const Attempt& one : attempts) {
    std::string shown = pretty(*one.line);
    if (shown == last || out.nearest.size() == kMostLines) continue;  // lines may differ in what constants may be only
    out.nearest.push_back(one.line);
    last = std::move(shown);
  }
  return out;
}

std::string_view other_opcode(std::string_view word) { return find(kOpcodes, word); }

std::string_view other_special(std::string_view word) {
  if (word.starts_with('%')) word.remove_prefix(1);
  return find(kSpecials, word);
}

}  // namespace plumb::ptx
