// SPDX-License-Identifier: Apache-2.0
// Constant expressions (PTX ISA, "Constant expressions"): 64-bit integers, signed unless a literal says otherwise, and
// double-precision numbers, with C's operators and precedence.
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ptx/codes.h"
#include "ptx/parser.h"

namespace plumb::ptx {
namespace {

constexpr unsigned kDeepestExpression = 64;
constexpr int kLowest = 0;

struct Operator {
  std::string_view text;
  int precedence = 0;
};

// Two-character ones first, so that the longest match is found first.
constexpr Operator kOperators[] = {
    {"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6}, {"&&", 2}, {"||", 1}, {"<", 7},
    {">", 7},  {"&", 5},  {"^", 4},  {"|", 3},  {"+", 9},  {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10},
};

bool is_literal(const Token& token) {
  return token.kind == Token::Kind::Integer || token.kind == Token::Kind::Float ||
         token.kind == Token::Kind::HexFloat || token.kind == Token::Kind::HexDouble;
}

template <class T>
bool compare(std::string_view op, T a, T b) {
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  if (op == "==") return a == b;
  return a != b;
}

bool is_comparison(std::string_view op) {
  return op == "<" || op == ">" || op == "<=" || op == ">=" || op == "==" || op == "!=";
}

}  // namespace

// The operator that begins at the present token; empty when none does. `?` is not among them.
std::string_view Parser::binary_operator(int& precedence) const {
  constexpr std::string_view kFirst = "<>=!&|^+-*/%";
  if (peek().kind != Token::Kind::Punct || kFirst.find(peek().text[0]) == std::string_view::npos) return {};
  const std::string_view rest = module_.source->text().substr(peek().span.begin, 2);
  for (const Operator& op : kOperators) {
    if (!rest.starts_with(op.text)) continue;
    precedence = op.precedence;
    return op.text;
  }
  return {};
}

bool Parser::expression(Constant& out, unsigned depth) {
  if (depth > kDeepestExpression) return fail(kLimit, "an expression is nested too deeply", peek().span);
  if (!unary(out, depth) || !climb(out, kLowest, depth)) return false;
  return conditional(out, depth);
}

bool Parser::conditional(Constant& out, unsigned depth) {
  if (!peek().is('?')) return true;
  take();
  const bool holds = out.is_true();
  Constant other;
  if (!expression(out, depth + 1) || !expect(':', "of the condition") || !expression(other, depth + 1)) return false;
  if (!holds) out = other;
  return true;
}

bool Parser::unary(Constant& out, unsigned depth) {
  if (depth > kDeepestExpression) return fail(kLimit, "an expression is nested too deeply", peek().span);
  const Span span = peek().span;
  for (const char mark : {'-', '+', '~', '!'}) {
    if (!accept(mark)) continue;
    if (!unary(out, depth + 1)) return false;
    if (mark == '!') out = {false, false, out.is_true() ? 0u : 1u, 0};
    if (mark == '~' && out.is_real) return fail(kSyntax, "`~` takes an integer", span);
    if (mark == '~') out = {false, true, ~out.bits, 0};
    if (mark == '-') out.bits = 0 - out.bits, out.real = -out.real;
    return true;
  }
  if (accept('(')) {
    const bool is_signed = peek().is_dot("s64");
    if (is_signed || peek().is_dot("u64")) {
      take();
      if (!expect(')', "after the type") || !unary(out, depth + 1)) return false;
      if (out.is_real) return fail(kSyntax, "a cast takes an integer", span);
      out.is_unsigned = !is_signed;
      return true;
    }
    return expression(out, depth + 1) && expect(')', "at the end of the expression");
  }
  if (peek().kind == Token::Kind::Word && peek().text == "WARP_SZ") {
    take();
    out = {false, false, 32, 0};
    return true;
  }
  if (peek().kind == Token::Kind::Word && find(peek().text)) {
    return fail(kSyntax, fmt::format("`{}` in a constant expression", peek().text), peek().span,
                "compute the value in a register before");
  }
  Operand value;
  return literal(value, false) && to_constant(value, out);
}

bool Parser::to_constant(const Operand& value, Constant& out) {
  if (value.kind == Operand::Kind::Int) {
    out = {false, value.is_unsigned_literal, static_cast<std::uint64_t>(value.integer), 0};
    return true;
  }
  if (value.float_kind == Operand::FloatKind::F32Bits) {
    return fail(kSyntax, "a `0f` literal stands alone: expressions are of double precision", value.span);
  }
  out = {true, false, 0, 0};
  std::memcpy(&out.real, &value.integer, sizeof out.real);
  return true;
}

bool Parser::climb(Constant& left, int lowest, unsigned depth) {
  if (depth > kDeepestExpression) return fail(kLimit, "an expression is nested too deeply", peek().span);
  while (true) {
    int precedence = 0;
    const std::string_view op = binary_operator(precedence);
    if (op.empty() || precedence < lowest) return true;
    const Span span = peek().span;
    for (std::size_t i = 0; i < op.size(); ++i) take();
    Constant right;
    if (!unary(right, depth + 1) || !climb(right, precedence + 1, depth + 1)) return false;
    if (!apply(op, left, right, span)) return false;
  }
}

bool Parser::apply(std::string_view op, Constant& left, const Constant& right, Span span) {
  const auto truth = [](bool value) { return Constant{false, false, value ? 1u : 0u, 0}; };
  if (op == "&&" || op == "||") {
    left = truth(op == "&&" ? left.is_true() && right.is_true() : left.is_true() || right.is_true());
    return true;
  }
  if (left.is_real != right.is_real) {
    return fail(kSyntax, fmt::format("`{}` takes two integers or two real numbers", op), span);
  }
  if (left.is_real) return apply_real(op, left, right, span);
  const bool is_unsigned = left.is_unsigned || right.is_unsigned;
  const std::uint64_t a = left.bits, b = right.bits;
  const auto signed_a = static_cast<std::int64_t>(a), signed_b = static_cast<std::int64_t>(b);
  if (is_comparison(op)) {
    left = truth(is_unsigned ? compare(op, a, b) : compare(op, signed_a, signed_b));
    return true;
  }
  if ((op == "/" || op == "%") && b == 0) return fail(kSyntax, "a constant is divided by zero", span);
  if ((op == "<<" || op == ">>") && b > 63) {
    return fail(kSyntax, fmt::format("a shift by {} of a 64-bit constant", signed_b), span);
  }
  if (op == "+") left.bits = a + b;
  if (op == "-") left.bits = a - b;
  if (op == "*") left.bits = a * b;
  if (op == "/") {
    // The one quotient that does not fit wraps around.
    const bool is_lowest = signed_a == std::numeric_limits<std::int64_t>::min() && signed_b == -1;
    left.bits = is_unsigned ? a / b : is_lowest ? a : static_cast<std::uint64_t>(signed_a / signed_b);
  }
  if (op == "%") left.bits = a % b;
  if (op == "&") left.bits = a & b;
  if (op == "^") left.bits = a ^ b;
  if (op == "|") left.bits = a | b;
  if (op == "<<") left.bits = a << b;
  if (op == ">>") left.bits = left.is_unsigned ? a >> b : static_cast<std::uint64_t>(signed_a >> b);
  if (op != "<<" && op != ">>") left.is_unsigned = is_unsigned;
  return true;
}

bool Parser::apply_real(std::string_view op, Constant& left, const Constant& right, Span span) {
  if (is_comparison(op)) {
    left = {false, false, compare(op, left.real, right.real) ? 1u : 0u, 0};
    return true;
  }
  if (op == "+") left.real += right.real;
  else if (op == "-") left.real -= right.real;
  else if (op == "*") left.real *= right.real;
  else if (op == "/") left.real /= right.real;
  else return fail(kSyntax, fmt::format("`{}` takes integers", op), span);
  return true;
}

// A literal alone keeps how it was written; anything more is computed.
bool Parser::constant(Operand& out) {
  const std::uint32_t begin = peek().span.begin;
  Constant value;
  const bool is_minus = peek().is('-');
  if (is_minus || peek().is('+')) take();
  if (is_literal(peek())) {
    if (!literal(out, is_minus)) return false;
    int precedence = 0;
    if (!peek().is('?') && binary_operator(precedence).empty()) return true;
    if (!to_constant(out, value)) return false;
  } else {
    if (is_minus && peek().kind == Token::Kind::Word && find(peek().text)) {
      return fail(kSyntax, fmt::format("`-{}`: an operand is not negated in place", peek().text), peek().span,
                  "negate it before with `neg`, or use `sub`");
    }
    if (!unary(value, 0)) return false;
    if (is_minus) value.bits = 0 - value.bits, value.real = -value.real;
  }
  return rest_of_constant(value, begin, out);
}

bool Parser::rest_of_constant(Constant value, std::uint32_t begin, Operand& out) {
  if (!climb(value, kLowest, 0) || !conditional(value, 0)) return false;
  out = Operand{};
  out.span = {begin, last_end_};
  if (value.is_real) {
    out.kind = Operand::Kind::Float;
    // No decimal text stands for infinity or a NaN.
    out.float_kind = std::isfinite(value.real) ? Operand::FloatKind::Decimal : Operand::FloatKind::F64Bits;
    std::memcpy(&out.integer, &value.real, sizeof value.real);
  } else {
    out.kind = Operand::Kind::Int;
    out.integer = static_cast<std::int64_t>(value.bits);
    out.is_unsigned_literal = value.is_unsigned;
  }
  return true;
}

// `+` and an expression, added to `to`. ptxas has no other sign before it.
bool Parser::offset_sum(std::int64_t& to) {
  const Span sign = peek().span;
  if (peek().is('-')) {
    return fail(kSyntax, "an offset is added to an address, never subtracted", sign, "write `+-4` for 4 bytes before");
  }
  advance();
  Constant value;
  if (!expression(value, 0)) return false;
  if (value.is_real) return fail(kSyntax, "an offset in bytes is an integer", sign);
  to = static_cast<std::int64_t>(static_cast<std::uint64_t>(to) + value.bits);
  return true;
}

}  // namespace plumb::ptx
