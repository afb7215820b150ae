// SPDX-License-Identifier: Apache-2.0
#include "mutate/site.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace plumb::mutate {
namespace {

constexpr std::uint32_t kRegistersLookedBack = 24;

bool is_in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':'; }

}  // namespace

bool Site::is(std::initializer_list<std::string_view> opcodes) const {
  return std::find(opcodes.begin(), opcodes.end(), instr_.opcode) != opcodes.end();
}

bool Site::has(std::string_view word) const {
  return std::any_of(instr_.mods.begin(), instr_.mods.end(), [&](ptx::Mod mod) { return ptx::text(mod) == word; });
}

const ptx::Instr* Site::next() const {
  if (index_ + 1 >= function_.instrs.size()) return nullptr;
  const ptx::Instr& next = function_.instrs[index_ + 1];
  const std::string_view between = text({instr_.span.end, next.span.begin});
  return between.find_first_of(":{}") == std::string_view::npos ? &next : nullptr;
}

std::string_view Site::other_register(ptx::RegId than) const {
  const std::uint32_t first = index_ - std::min(index_, kRegistersLookedBack);
  for (std::uint32_t at = index_; at-- > first;) {
    for (const ptx::RegId reg : flow_.uses(at).writes) {
      if (reg != than && type(reg) == type(than)) return function_.registers[reg].name;
    }
  }
  return {};
}

Edit Site::dropped() const {
  const std::string_view whole = text(instr_.span);
  return {instr_.span, std::string(static_cast<std::size_t>(std::count(whole.begin(), whole.end(), '\n')), '\n')};
}

Edit Site::without_guard() const { return {{instr_.span.begin, instr_.opcode_span.begin}, {}}; }

Edit Site::in_block(std::string_view before, Span span, std::string_view by) const {
  std::string out = "{ ";
  out += before;
  out += ' ';
  out += text({instr_.span.begin, span.begin});
  out += by;
  out += text({span.end, instr_.span.end});
  out += " }";
  return {instr_.span, std::move(out)};
}

Span Site::head() const {
  const std::uint32_t end = instr_.operands.empty() ? instr_.span.end : instr_.operands.front().span.begin;
  return {instr_.opcode_span.begin, end};
}

void Site::with_word(Edits& out, std::string_view from, std::string_view to) const {
  const Span span = head();
  const std::string_view words = text(span);
  for (std::size_t at = words.find('.'); at != std::string_view::npos; at = words.find('.', at + 1)) {
    if (words.substr(at + 1, from.size()) != from) continue;
    const std::size_t end = at + 1 + from.size();
    if (end < words.size() && is_in_word(words[end])) continue;
    out.push_back({{span.begin + static_cast<std::uint32_t>(at), span.begin + static_cast<std::uint32_t>(end)},
                   to.empty() ? std::string() : "." + std::string(to)});
    return;
  }
}

void Site::swapped(Edits& out, const ptx::Operand& a, const ptx::Operand& b) const {
  if (text(a.span) == text(b.span)) return;
  std::string all(text(b.span));
  all += text({a.span.end, b.span.begin});
  all += text(a.span);
  out.push_back({{a.span.begin, b.span.end}, std::move(all)});
}

}  // namespace plumb::mutate
