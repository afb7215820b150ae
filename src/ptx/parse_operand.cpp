// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ptx/codes.h"
#include "ptx/parser.h"
#include "ptx/special.h"

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
        return fail(kSyntax, fmt::format("`{}` is no number", token.text), token.span);
      }
      take();
      if (is_minus) value = -value;
      out.kind = Operand::Kind::Float;
      out.float_kind = Operand::FloatKind::Decimal;
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
  if (!known->has_axes) return true;
  if (peek().kind != Token::Kind::Dot || peek().text.size() != 1 || peek().text[0] < 'x' || peek().text[0] > 'z') {
    unexpected(fmt::format("`.x`, `.y` or `.z` after `{}`", word));
    return true;
  }
  out.axis = static_cast<std::uint8_t>(peek().text[0] - 'x');
  out.span.end = take().span.end;
  return true;
}

bool Parser::is_label_operand() const {
  return (opcode_ == "bra" && operand_index_ == 0) || (opcode_ == "brx" && operand_index_ == 1);
}

bool Parser::offset(Operand& out) {
  while (peek().is('+') || peek().is('-')) {
    const bool is_minus = take().is('-');
    const bool is_negated = accept('-');
    const std::optional<std::uint64_t> value = expect_integer("an offset in bytes");
    if (!value) return false;
    const auto bytes = static_cast<std::int64_t>(is_minus != is_negated ? 0 - *value : *value);
    out.integer =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(out.integer) + static_cast<std::uint64_t>(bytes));
  }
  return true;
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
        {word.text, word.span, static_cast<std::uint32_t>(function_->instrs.size()), operand_index_});
    return true;
  }
  if (const std::optional<Name> known = find(word.text)) {
    switch (known->kind) {
      case Name::Kind::Register:
        out.kind = Operand::Kind::Reg;
        out.reg = known->index;
        if (opcode_.starts_with('v') && peek().kind == Token::Kind::Dot) {
          out.span.end = peek().span.end;
          out.symbol = take().text;
        }
        return true;
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
  if (opcode_ == "call") {  // a prototype label, or a function that is declared nowhere
    out.kind = Operand::Kind::Function;
    out.symbol = word.text;
    return word.text == "vprintf" || fail(kUndeclared, fmt::format("`{}` is not declared", word.text), word.span);
  }
  const bool is_register = word.text.starts_with('%');
  return fail(
      kUndeclared, fmt::format("`{}` is not declared", word.text), word.span,
      is_register ? fmt::format("declare it first: `.reg .b32 {};`, with the type that is meant", word.text) : "");
}

// [base], [base+offset], [base+offset, {coordinates}]
bool Parser::address(Operand& out) {
  const Span open = take().span;
  out.kind = Operand::Kind::Address;
  if (peek().kind == Token::Kind::Word) {
    const Token word = take();
    const std::optional<Name> known = find(word.text);
    if (!known || known->kind == Name::Kind::Label) {
      return fail(kUndeclared, fmt::format("`{}` is not declared", word.text), word.span);
    }
    out.base = known->kind == Name::Kind::Register ? Operand::Base::Reg : Operand::Base::Variable;
    if (out.base == Operand::Base::Reg) {
      out.reg = known->index;
    } else {
      out.variable = known->index;
    }
  } else {
    const bool is_minus = accept('-');
    const std::optional<std::uint64_t> value = expect_integer("an address: a register, a variable or an integer");
    if (!value) return false;
    out.integer = static_cast<std::int64_t>(is_minus ? 0 - *value : *value);
  }
  if (!offset(out)) return false;
  while (accept(',')) {
    if (out.elements.size() >= 2) return unexpected("`]`");
    Operand element;
    if (!operand(element, 1)) return false;
    out.elements.push_back(std::move(element));
  }
  const bool is_texture = opcode_.starts_with('t') || opcode_.starts_with('s');
  if (!is_texture && !out.elements.empty() &&
      (out.elements.size() > 1 || out.elements[0].kind != Operand::Kind::Vector)) {
    return fail(kOperandKind, "coordinates in an address stand in braces", out.elements[0].span);
  }
  out.span = {open.begin, peek().span.end};
  return expect(']', "at the end of the address");
}

bool Parser::list(Operand& out, char close, unsigned depth) {
  const Span open = take().span;
  if (!peek().is(close)) {
    do {
      if (out.elements.size() >= kLongestList) return fail(kLimit, "a list of operands is too long", peek().span);
      Operand element;
      if (!operand(element, depth + 1)) return false;
      out.elements.push_back(std::move(element));
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
  if (peek().is('(')) {
    out.kind = Operand::Kind::List;
    return list(out, ')', depth);
  }
  if (peek().is('!')) {
    const Span mark = take().span;
    if (peek().kind != Token::Kind::Word) return unexpected("a predicate after `!`");
    if (!word_operand(out)) return false;
    out.is_negated = true;
    out.span.begin = mark.begin;
    return true;
  }
  if (peek().is('-') || peek().is('+')) return literal(out, take().is('-'));
  if (peek().kind != Token::Kind::Word) return literal(out, false);
  if (!word_operand(out)) return false;
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
