// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "ptx/codes.h"
#include "ptx/nearest.h"
#include "ptx/parser.h"
#include "ptx/special.h"
#include "ptx/suggest.h"

namespace plumb::ptx {
namespace {

constexpr unsigned kDeepestOperand = 4;
constexpr std::size_t kLongestList = 1024;

std::uint64_t hex_bits(std::string_view text) {
  std::uint64_t bits = 0;
  for (const char c : text.substr(2)) {
    const unsigned digit = c <= '9' ? static_cast<unsigned>(c - '0') : (static_cast<unsigned>(c) | 32u) - 'a' + 10u;
    bits = bits << 4 | digit;
  }
  return bits;
}

// The number of a vector's element; npos where it is none.
std::size_t lane_of(std::string_view selector) {
  constexpr std::string_view kAxes = "xyzw", kColours = "rgba";
  if (selector.size() != 1) return std::string_view::npos;
  return std::min(kAxes.find(selector[0]), kColours.find(selector[0]));
}

}  // namespace

bool Parser::literal(Operand& out, bool is_minus) {
  const Token token = peek();
  out.span = {is_minus ? token.span.begin - 1 : token.span.begin, token.span.end};
  switch (token.kind) {
    case Token::Kind::Integer: {
      const std::optional<std::uint64_t> value = read_integer(token.text);
      if (!value) return fail(kSyntax, fmt::format("`{}` is no integer of 64 bits", token.text), token.span);
      take();
      out.kind = Operand::Kind::Int;
      out.is_unsigned_literal = token.text.back() == 'U' || token.text.back() == 'u' || (*value >> 63) != 0;
      out.integer = static_cast<std::int64_t>(is_minus ? 0 - *value : *value);
      if (is_minus) out.is_unsigned_literal = false;
      return true;
    }
    case Token::Kind::HexFloat:
    case Token::Kind::HexDouble: {
      take();
      const bool is_single = token.kind == Token::Kind::HexFloat;
      out.kind = Operand::Kind::Float;
      out.float_kind = is_single ? Operand::FloatKind::F32Bits : Operand::FloatKind::F64Bits;
      std::uint64_t bits = hex_bits(token.text);
      if (is_minus) bits ^= is_single ? 0x80000000ull : 0x8000000000000000ull;
      out.integer = static_cast<std::int64_t>(bits);
      return true;
    }
    case Token::Kind::Float: {
      const std::string text(token.text);
      char* end = nullptr;
      double value = std::strtod(text.c_str(), &end);
      if (end != text.c_str() + text.size()) {
        return fail(kSyntax, fmt::format("`{}` is no number", token.text), token.span,
                    text.ends_with('f') || text.ends_with('F') ? "it is written without the suffix" : "");
      }
      take();
      if (is_minus) value = -value;
      out.kind = Operand::Kind::Float;
      // No decimal text stands for infinity.
      out.float_kind = std::isfinite(value) ? Operand::FloatKind::Decimal : Operand::FloatKind::F64Bits;
      std::memcpy(&out.integer, &value, 8);
      return true;
    }
    default:
      return unexpected("an operand");
  }
}

bool Parser::special(std::string_view word, Operand& out) {
  const SpecialName* known = find_special(word);
  if (!known) return false;
  out.kind = Operand::Kind::Special;
  out.special = known->special;
  out.axis = known->index;
  if (!needs(word, known->since, known->min_sm, out.span)) return true;
  if (!known->has_axes) return true;
  if (reads_whole_special_ && peek().kind != Token::Kind::Dot) {
    out.axis = kAllAxes;
    return true;
  }
  // The fourth part is always zero.
  const std::size_t part = peek().kind == Token::Kind::Dot ? lane_of(peek().text) : std::string_view::npos;
  if (part == std::string_view::npos) {
    fail(kSyntax, fmt::format("`{}` has three parts, and one is read", word), out.span,
         fmt::format("write `{}.x`, `.y` or `.z`", word));
    return true;
  }
  out.axis = static_cast<std::uint8_t>(part);
  out.span.end = take().span.end;
  return true;
}

bool Parser::is_label_operand() const {
  return (opcode_ == "bra" && operand_index_ == 0) || (opcode_ == "brx" && operand_index_ == 1);
}

bool Parser::offset(Operand& out) {
  if (!peek().is('+') && !peek().is('-')) return true;
  if (Lexer ahead = lexer_; peek().is('+')) {
    const Token term = ahead.next();
    if (term.kind == Token::Kind::Word && term.text != "WARP_SZ") {
      return fail(kSyntax,
                  fmt::format("`{}` as an offset: an address is one register or variable and a constant", term.text),
                  term.span, "add the two before, with `add.s64`");
    }
  }
  return offset_sum(out.integer);
}

bool Parser::word_operand(Operand& out) {
  const Token word = take();
  out.span = word.span;
  if (word.text == "_") {
    out.kind = Operand::Kind::Sink;
    return true;
  }
  if (is_label_operand()) {
    out.kind = Operand::Kind::Label;
    scopes_.back().pending.push_back(
        {word.text, word.span, static_cast<std::uint32_t>(function_->instrs.size()), operand_index_, opcode_ == "brx"});
    return true;
  }
  if (const std::optional<Name> known = find(word.text)) {
    switch (known->kind) {
      case Name::Kind::Register:
        return register_operand(*known, out);
      case Name::Kind::Variable:
        out.kind = Operand::Kind::Variable;
        out.variable = known->index;
        return offset(out);
      case Name::Kind::Label:
        out.kind = Operand::Kind::Label;
        out.label = known->index;
        return true;
    }
  }
  if (special(word.text, out)) return !has_failed_;
  for (const Function& function : module_.functions) {
    if (function.name != word.text) continue;
    out.kind = Operand::Kind::Function;
    out.symbol = word.text;
    return true;
  }
  if (function_ != nullptr && word.text == function_->name) {
    out.kind = Operand::Kind::Function;
    out.symbol = word.text;
    return true;
  }
  if (opcode_ == "call" && word.text == "vprintf") {
    out.kind = Operand::Kind::Function;
    out.symbol = word.text;
    return true;
  }
  return undeclared(word);
}

// A register, or one of a vector's (`a.x`), or all of them.
bool Parser::register_operand(const Name& known, Operand& out) {
  out.kind = Operand::Kind::Reg;
  const bool has_selector = peek().kind == Token::Kind::Dot && peek().span.begin == last_end_;
  if (known.lanes == 1) {
    out.reg = known.index;
    if (opcode_.starts_with('v') && has_selector) {
      out.span.end = peek().span.end;
      out.symbol = take().text;
    } else if (has_selector && find_special(function_->registers[known.index].name) != nullptr) {
      return fail(kSyntax,
                  fmt::format("`{}` is a register of this function, which hides the special register and has no parts",
                              function_->registers[known.index].name),
                  peek().span, "declare the register under another name");
    }
    return true;
  }
  if (!has_selector) {
    out.kind = Operand::Kind::Vector;
    for (unsigned lane = 0; lane < known.lanes; ++lane) {
      Operand& element = out.elements.emplace_back();
      element.kind = Operand::Kind::Reg;
      element.reg = known.index + lane;
      element.span = out.span;
    }
    return true;
  }
  const Token selector = take();
  const std::size_t lane = lane_of(selector.text);
  if (lane >= known.lanes) {
    return fail(kSyntax, fmt::format("`.{}` is no element of a vector of {}", selector.text, known.lanes),
                selector.span, known.lanes == 2 ? "they are `.x` and `.y`" : "they are `.x`, `.y`, `.z` and `.w`");
  }
  out.reg = known.index + static_cast<RegId>(lane);
  out.span.end = selector.span.end;
  return true;
}

// Told once for each name.
bool Parser::undeclared(const Token& word) {
  if (!forgiven_.insert(word.text).second) {
    any_error_ = has_failed_ = true;
    return false;
  }
  std::string hint = nearest_name(word.text);
  if (hint.empty() && word.text.starts_with('%')) {
    hint = fmt::format("declare it first: `.reg .b32 {};`, with the type that is meant", word.text);
  }
  return fail(kUndeclared, fmt::format("`{}` is not declared", word.text), word.span, std::move(hint));
}

// A numbered register beyond its range, or a name that differs in a letter.
std::string Parser::nearest_name(std::string_view word) const {
  if (const std::string_view special = other_special(word); !special.empty()) {
    return fmt::format("that is `{}.x`", special);
  }
  if (const std::string percent = fmt::format("%{}", word); find(percent)) {
    return fmt::format("did you mean `{}`?", percent);
  }
  const std::size_t digits = word.find_last_not_of("0123456789") + 1;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    for (const Range& range : scope->ranges) {
      if (digits == word.size() || range.prefix != word.substr(0, digits)) continue;
      return fmt::format("`{}<{}>` declares `{}0` to `{}{}`", range.prefix, range.count, range.prefix, range.prefix,
                         range.count - 1);
    }
  }
  std::vector<std::string_view> known;
  for (const Scope& scope : scopes_) {
    for (const auto& [name, entry] : scope.names) known.push_back(name);
    for (const Range& range : scope.ranges) known.push_back(range.prefix);
  }
  for (const auto& [name, entry] : globals_) known.push_back(name);
  std::string_view stem = word;
  std::string best = nearest(word, known);
  if (best.empty() && digits != word.size()) {
    stem = word.substr(0, digits);
    best = nearest(stem, known);
    if (!best.empty()) best += word.substr(digits);
  }
  return best.empty() ? best : fmt::format("did you mean `{}`?", best);
}

// [base], [base+offset], [base+offset, {coordinates}]
bool Parser::address(Operand& out) {
  const Span open = take().span;
  out.kind = Operand::Kind::Address;
  if (peek().kind == Token::Kind::Word) {
    const Token word = take();
    const std::optional<Name> known = find(word.text);
    if (!known) return undeclared(word);
    if (known->kind == Name::Kind::Label) {
      return fail(kOperandKind, fmt::format("the label `{}` is no address of memory", word.text), word.span);
    }
    out.base = known->kind == Name::Kind::Register ? Operand::Base::Reg : Operand::Base::Variable;
    if (out.base == Operand::Base::Reg) {
      Operand base;
      base.span = word.span;
      if (!register_operand(*known, base)) return false;
      if (base.kind != Operand::Kind::Reg || !base.symbol.empty()) {
        return fail(kOperandKind, "an address is one register, not a vector", word.span);
      }
      out.reg = base.reg;
    } else {
      out.variable = known->index;
    }
    if (!offset(out)) return false;
  } else {
    const Span span = peek().span;
    Constant value;
    if (!expression(value, 0)) return false;
    if (value.is_real) return fail(kSyntax, "an address is an integer", span);
    out.integer = static_cast<std::int64_t>(value.bits);
  }
  while (accept(',')) {
    if (out.elements.size() >= 2) return unexpected("`]`");
    Operand element;
    if (!operand(element, 1)) return false;
    out.elements.push_back(std::move(element));
  }
  const bool is_texture = opcode_.starts_with('t') || opcode_.starts_with('s');
  if (!is_texture && !out.elements.empty() &&
      (out.elements.size() > 1 || out.elements[0].kind != Operand::Kind::Vector)) {
    return fail(kOperandKind, "coordinates in an address stand in braces", out.elements[0].span,
                out.elements[0].kind == Operand::Kind::Int ? "an offset is added to the register: `[%rd+4]`" : "");
  }
  out.span = {open.begin, peek().span.end};
  return expect(']', "at the end of the address");
}

// As many as stand before the next `close`, or `;`: how long a list will be.
std::size_t Parser::commas_before(char close) const {
  const std::string_view rest = module_.source->text().substr(peek().span.begin);
  std::size_t out = 0;
  for (std::size_t i = 0; i < rest.size() && rest[i] != close && rest[i] != ';' && out < kLongestList; ++i) {
    if (rest[i] == ',') ++out;
  }
  return out;
}

bool Parser::list(Operand& out, char close, unsigned depth) {
  const Span open = take().span;
  if (!peek().is(close)) {
    out.elements.reserve(commas_before(close) + 1);
    do {
      if (out.elements.size() >= kLongestList) return fail(kLimit, "a list of operands is too long", peek().span);
      if (!operand(out.elements.emplace_back(), depth + 1)) return false;
    } while (accept(','));
  }
  out.span = {open.begin, peek().span.end};
  return expect(close, "at the end of the list");
}

bool Parser::operand(Operand& out, unsigned depth) {
  if (depth > kDeepestOperand) return fail(kLimit, "operands are nested too deeply", peek().span);
  if (peek().is('[')) return address(out);
  if (peek().is('{')) {
    out.kind = Operand::Kind::Vector;
    return list(out, '}', depth) && second_of_pair(out);
  }
  if (peek().is('(') && opcode_ == "call") {
    out.kind = Operand::Kind::List;
    return list(out, ')', depth);
  }
  Lexer ahead = lexer_;
  if (peek().is('!') && ahead.next().kind == Token::Kind::Word) {
    const Span mark = take().span;
    if (!word_operand(out)) return false;
    out.is_negated = true;
    out.span.begin = mark.begin;
    return true;
  }
  if (peek().kind != Token::Kind::Word) return constant(out);
  if (!word_operand(out)) return false;
  int precedence = 0;
  if (out.kind == Operand::Kind::Special && out.special == Special::warp_sz && !binary_operator(precedence).empty()) {
    return rest_of_constant({false, false, 32, 0}, out.span.begin, out);
  }
  return second_of_pair(out);
}

// `first|p`
bool Parser::second_of_pair(Operand& out) {
  if (!peek().is('|')) return true;
  take();
  Operand pair;
  pair.kind = Operand::Kind::Pair;
  pair.span = out.span;
  Operand second;
  if (peek().kind != Token::Kind::Word) return unexpected("a predicate after `|`");
  if (!word_operand(second)) return false;
  pair.span.end = second.span.end;
  pair.elements.push_back(std::move(out));
  pair.elements.push_back(std::move(second));
  out = std::move(pair);
  return true;
}

}  // namespace plumb::ptx
