// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ptx/codes.h"
#include "ptx/parser.h"
#include "ptx/space.h"

namespace plumb::ptx {

Space Parser::space_of(std::string_view word) {
  const bool is_declared = word == "shared::cta" || word.find("::") == std::string_view::npos;
  return is_declared ? space_from_word(word) : Space::none;
}

std::optional<Type> Parser::type_word() {
  if (peek().kind == Token::Kind::Dot) {
    if (const std::optional<Type> type = type_from_name(peek().text); type && *type != Type::none) {
      take();
      return type;
    }
  }
  unexpected("a type such as `.b32`");
  return std::nullopt;
}

VarId Parser::add_variable(Variable variable) {
  module_.variables.push_back(std::move(variable));
  return static_cast<VarId>(module_.variables.size() - 1);
}

bool Parser::array_dimensions(Variable& variable) {
  std::uint64_t count = 1;
  bool is_unsized = false;
  while (accept('[')) {
    if (accept(']')) {
      variable.dimensions.push_back(0);
      is_unsized = true;
      continue;
    }
    const Span span = peek().span;
    const std::optional<std::uint64_t> extent = expect_integer("an array extent");
    if (!extent) return false;
    if (*extent != 0 && count > kLargestVariable / *extent) {
      return fail(kLimit, fmt::format("`{}` is larger than {} bytes", variable.name, kLargestVariable), span);
    }
    count *= *extent;
    variable.dimensions.push_back(*extent);
    if (!expect(']', "after the array extent")) return false;
  }
  variable.size = is_unsized ? 0 : count * byte_size(variable.type);
  return true;
}

unsigned Parser::vector_word() {
  if (accept_dot("v2")) return 2;
  return accept_dot("v4") ? 4 : 1;
}

// A vector is kept as an array of its elements that is aligned to the whole.
bool Parser::widen(Variable& variable, unsigned lanes) {
  if (lanes == 1) return true;
  const unsigned bytes = lanes * byte_size(variable.type);
  if (bytes > 16) {
    return fail(kSyntax, fmt::format("a vector of {} `.{}`: vectors have 128 bits at most", lanes, name(variable.type)),
                variable.span);
  }
  variable.alignment = std::max(variable.alignment, bytes);
  variable.dimensions.push_back(lanes);
  variable.size *= lanes;
  return true;
}

// [.align n] [.vN] .type name[..]... [= init] [, name...] ;
bool Parser::variable(Space space, bool is_visible, bool is_extern, bool is_weak, bool is_common,
                      std::vector<VarId>& out) {
  Variable base;
  base.space = space;
  base.is_visible = is_visible;
  base.is_extern = is_extern;
  base.is_weak = is_weak;
  base.is_common = is_common;
  if (accept_dot("align")) {
    const std::optional<std::uint64_t> alignment = expect_integer("an alignment in bytes");
    if (!alignment) return false;
    if (*alignment == 0 || (*alignment & (*alignment - 1)) != 0 || *alignment > 4096) {
      return fail(kSyntax, fmt::format("an alignment of {} is no power of two up to 4096", *alignment), peek().span);
    }
    base.alignment = static_cast<std::uint32_t>(*alignment);
  }
  const unsigned lanes = vector_word();
  const std::optional<Type> type = type_word();
  if (!type) return false;
  if (*type == Type::pred) return fail(kSyntax, "a variable cannot be `.pred`", peek().span);
  base.type = *type;
  do {
    if (peek().kind != Token::Kind::Word) return unexpected("a variable's name");
    const Token name = take();
    Variable one = base;
    one.name = name.text;
    one.span = name.span;
    if (!array_dimensions(one) || !widen(one, lanes)) return false;
    if (accept('=') && !initialiser(one)) return false;
    const VarId id = add_variable(std::move(one));
    if (!declare(name.text, {Name::Kind::Variable, id, name.span})) return false;
    out.push_back(id);
  } while (accept(','));
  return expect_end("at the end of the declaration");
}

// .param .type [.ptr [.space] [.align n]] name[..]
bool Parser::parameter(std::vector<VarId>& out) {
  if (accept_dot("reg")) return fail(kSyntax, "register parameters of functions are not read", peek().span);
  if (!accept_dot("param")) return unexpected("`.param`");
  Variable one;
  one.space = Space::param;
  const auto alignment = [&](std::uint32_t& to) {
    const std::optional<std::uint64_t> bytes = expect_integer("an alignment in bytes");
    if (!bytes) return false;
    if (*bytes == 0 || (*bytes & (*bytes - 1)) != 0 || *bytes > 4096) {
      return fail(kSyntax, fmt::format("an alignment of {} is no power of two up to 4096", *bytes), peek().span);
    }
    to = static_cast<std::uint32_t>(*bytes);
    return true;
  };
  if (accept_dot("align") && !alignment(one.alignment)) return false;
  const std::optional<Type> type = type_word();
  if (!type) return false;
  one.type = *type;
  if (accept_dot("ptr")) {
    Variable::PointerAttribute pointer;
    if (peek().kind == Token::Kind::Dot && space_of(peek().text) != Space::none) pointer.space = space_of(take().text);
    if (accept_dot("align") && !alignment(pointer.alignment)) return false;
    one.pointer = pointer;
  }
  if (peek().kind != Token::Kind::Word) return unexpected("a parameter's name");
  const Token name = take();
  one.name = name.text;
  one.span = name.span;
  if (!array_dimensions(one)) return false;
  const VarId id = add_variable(std::move(one));
  if (!declare(name.text, {Name::Kind::Variable, id, name.span})) return false;
  out.push_back(id);
  return true;
}

namespace {

// Bytes from one element of the dimension to the next.
std::uint64_t stride(const Variable& variable, std::size_t dimension) {
  std::uint64_t out = byte_size(variable.type);
  for (std::size_t i = dimension + 1; i < variable.dimensions.size(); ++i) out *= variable.dimensions[i];
  return std::max<std::uint64_t>(out, 1);
}

}  // namespace

bool Parser::initialiser(Variable& variable) {
  if (variable.size > kLargestInitialiser) {
    return fail(kLimit,
                fmt::format("`{}` with an initialiser is larger than {} bytes", variable.name, kLargestInitialiser),
                peek().span);
  }
  std::uint64_t offset = 0;
  if (peek().is('{')) {
    if (!initial_values(variable, offset, 0)) return false;
  } else if (!initial_value(variable, offset)) {
    return false;
  }
  if (variable.size == 0 && !variable.dimensions.empty()) {
    const std::uint64_t row = stride(variable, 0);
    variable.dimensions[0] = (offset + row - 1) / row;
    variable.size = variable.dimensions[0] * row;
  }
  variable.initial.resize(variable.size);
  return true;
}

bool Parser::initial_values(Variable& variable, std::uint64_t& offset, unsigned depth) {
  if (depth > 8) return fail(kLimit, "an initialiser is nested too deeply", peek().span);
  if (!expect('{', "of an initialiser")) return false;
  if (accept('}')) return true;
  do {
    if (peek().is('{')) {
      // A row of its own, filled up with zeros.
      const std::uint64_t row = stride(variable, depth), begin = offset;
      if (depth + 1 >= variable.dimensions.size()) {
        return fail(kSyntax, fmt::format("`{}` has no dimension for these braces", variable.name), peek().span);
      }
      if (!initial_values(variable, offset, depth + 1)) return false;
      if (offset > begin + row) {
        return fail(kSyntax, fmt::format("a row of `{}` has more initial values than elements", variable.name),
                    peek().span);
      }
      if (begin + row > kLargestInitialiser) return fail(kLimit, "an initialiser is too large", peek().span);
      offset = begin + row;
    } else if (!initial_value(variable, offset)) {
      return false;
    }
  } while (accept(','));
  return expect('}', "at the end of an initialiser");
}

bool Parser::initial_value(Variable& variable, std::uint64_t& offset) {
  const unsigned size = byte_size(variable.type);
  const Span span = peek().span;
  const bool is_sized = variable.size != 0;
  if ((is_sized && offset + size > variable.size) || offset + size > kLargestInitialiser) {
    return fail(kSyntax, fmt::format("`{}` has more initial values than elements", variable.name), span);
  }
  std::uint64_t bits = 0;
  if (peek().kind == Token::Kind::Word) {
    const bool is_generic = peek().text == "generic";
    if (is_generic) {
      take();
      if (!expect('(', "after `generic`")) return false;
    }
    if (peek().kind != Token::Kind::Word) return unexpected("a variable's name");
    Variable::Relocation relocation{offset, std::string(take().text), 0, is_generic};
    if (is_generic && !expect(')', "after the name")) return false;
    while (peek().is('+') || peek().is('-')) {
      const bool is_minus = take().is('-');
      std::uint64_t bytes = 0;
      if (!offset_term(bytes)) return false;
      const auto sum = static_cast<std::uint64_t>(relocation.addend) + (is_minus ? 0 - bytes : bytes);
      relocation.addend = static_cast<std::int64_t>(sum);
    }
    variable.relocations.push_back(std::move(relocation));
  } else {
    Operand value;
    if (!constant(value)) return false;
    bits = static_cast<std::uint64_t>(value.integer);
    if (value.kind == Operand::Kind::Float) {
      double number = 0;
      float single = 0;
      if (value.float_kind == Operand::FloatKind::F32Bits) {
        const auto word = static_cast<std::uint32_t>(bits);
        std::memcpy(&single, &word, 4);
        number = static_cast<double>(single);
      } else {
        std::memcpy(&number, &bits, 8);
      }
      if (variable.type == Type::f64) {
        std::memcpy(&bits, &number, 8);
      } else if (variable.type == Type::f32) {
        single = static_cast<float>(number);
        bits = 0;
        std::memcpy(&bits, &single, 4);
      } else if (value.float_kind == Operand::FloatKind::Decimal) {
        return fail(kOperandType,
                    fmt::format("a real number initialises `{}` of type `.{}`", variable.name, name(variable.type)),
                    span);
      }
    }
  }
  variable.initial.resize(offset + size);
  for (unsigned i = 0; i < size && i < 8; ++i) variable.initial[offset + i] = static_cast<std::byte>(bits >> (8 * i));
  offset += size;
  return true;
}

}  // namespace plumb::ptx
