// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
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
    if (peek().is('=')) {
      const bool has_storage = (space == Space::global || space == Space::constant) && !is_extern;
      if (!has_storage || *type == Type::f16 || *type == Type::f16x2) {
        return fail(kSyntax,
                    fmt::format("`{}` takes no initial value: {}", name.text,
                                has_storage ? "numbers of 16 bits have none"
                                            : "a .global or .const variable of this module does"),
                    name.span);
      }
      advance();
      if (!initialiser(one)) return false;
    }
    const VarId id = add_variable(std::move(one));
    if (!declare(name.text, {Name::Kind::Variable, id, name.span})) return false;
    out.push_back(id);
  } while (accept(','));
  return expect_end("at the end of the declaration");
}

// .param [.align n] .type [.ptr [.space] [.align n]] name[..], and of a function .reg [.align n] [.vN] .type name
bool Parser::parameter(std::vector<VarId>& out) {
  const bool is_register = peek().is_dot("reg");
  if (is_register && function_->is_entry) {
    return fail(kSyntax, "the parameters of a kernel are in .param space", peek().span);
  }
  if (!is_register && !peek().is_dot("param")) return unexpected("`.param`");
  advance();
  Variable one;
  one.space = is_register ? Space::reg : Space::param;
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
  const unsigned lanes = is_register ? vector_word() : 1;
  const std::optional<Type> type = type_word();
  if (!type) return false;
  one.type = *type;
  if (is_register) return register_parameter(std::move(one), lanes, out);
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

bool Parser::register_parameter(Variable one, unsigned lanes, std::vector<VarId>& out) {
  if (peek().kind != Token::Kind::Word) return unexpected("a parameter's name");
  const Token name = take();
  one.name = name.text;
  one.span = name.span;
  if (lanes > 1 && (one.type == Type::pred || byte_size(one.type) * lanes > 16)) {
    return fail(kSyntax, fmt::format("a vector of {} `.{}`: vectors have 128 bits at most", lanes, ptx::name(one.type)),
                name.span);
  }
  if (lanes > 1) one.dimensions.push_back(lanes);
  one.size = std::uint64_t{byte_size(one.type)} * lanes;
  one.reg = static_cast<RegId>(function_->registers.size());
  add_register(one.name, one.type, lanes, name.span);
  if (!declare(name.text, {Name::Kind::Register, one.reg, name.span, static_cast<std::uint8_t>(lanes)})) return false;
  out.push_back(add_variable(std::move(one)));
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

// False where the number does not go with the type.
bool Parser::initial_bits(const Variable& variable, const Operand& value, std::uint64_t& bits) {
  bits = static_cast<std::uint64_t>(value.integer);
  const bool is_real = variable.type == Type::f32 || variable.type == Type::f64;
  if (value.kind != Operand::Kind::Float) return !is_real;
  const bool is_single = value.float_kind == Operand::FloatKind::F32Bits;
  if (!is_real) return variable.type == (is_single ? Type::b32 : Type::b64);
  float single = 0;
  double number = 0;
  if (is_single) {
    const auto word = static_cast<std::uint32_t>(bits);
    std::memcpy(&single, &word, 4);
    number = static_cast<double>(single);
  } else {
    std::memcpy(&number, &bits, 8);
  }
  if (variable.type == Type::f64) {
    std::memcpy(&bits, &number, 8);
  } else {
    single = static_cast<float>(number);
    bits = 0;
    std::memcpy(&bits, &single, 4);
  }
  return true;
}

// [mask(] symbol [+ n] or generic(symbol) [+ n] [)]
bool Parser::initial_address(Variable& variable, std::uint64_t offset, bool is_masked) {
  const Span begin = peek().span;
  Variable::Relocation out{offset, {}, 0, false, 0};
  if (is_masked) {
    const std::optional<std::uint64_t> mask = expect_integer("a mask");
    if (!mask) return false;
    out.mask = *mask;
    const bool is_byte = *mask != 0 && *mask >> std::countr_zero(*mask) == 0xff && std::countr_zero(*mask) % 8 == 0;
    if (!is_byte) {
      return fail(kSyntax, fmt::format("the mask 0x{:x} is not one byte of an address, such as 0xFF00", *mask), begin);
    }
    if (module_.version < Version{7, 1}) {
      return fail(kVersion, "a mask in an initialiser needs PTX 7.1", begin);
    }
    advance();
  }
  out.is_generic = peek().kind == Token::Kind::Word && peek().text == "generic";
  if (out.is_generic) {
    advance();
    if (!expect('(', "after `generic`")) return false;
  }
  if (peek().kind != Token::Kind::Word) return unexpected("a variable's name");
  const Token name = take();
  out.symbol = name.text;
  if (out.is_generic && !expect(')', "after the name")) return false;
  if (peek().is('+') || peek().is('-')) {
    if (!offset_sum(out.addend)) return false;
  }
  if (is_masked && !expect(')', "after the masked address")) return false;
  if (variable.type != Type::u32 && variable.type != Type::u64 && !(is_masked && variable.type == Type::u8)) {
    return fail(kOperandType,
                fmt::format("an address initialises `{}` of type `.{}`: it takes `.u32` or `.u64`{}", variable.name,
                            ptx::name(variable.type), is_masked ? ", or `.u8` for a byte" : ""),
                begin);
  }
  if (!initial_symbol(name, out)) return false;
  variable.relocations.push_back(std::move(out));
  return true;
}

// A variable of .global or .const space, or a function, that stands before.
bool Parser::initial_symbol(const Token& name, const Variable::Relocation& relocation) {
  const std::optional<Name> known = find(name.text);
  if (known && known->kind == Name::Kind::Variable) {
    const Space space = module_.variables[known->index].space;
    if (space == Space::global || space == Space::constant) return true;
    return fail(kOperandKind, fmt::format("`{}` is in no .global or .const space", name.text), name.span);
  }
  for (const Function& function : module_.functions) {
    if (function.name != name.text) continue;
    if (!relocation.is_generic && relocation.addend == 0) return true;
    return fail(kOperandKind, fmt::format("the address of the function `{}` stands alone", name.text), name.span);
  }
  return known ? fail(kOperandKind, fmt::format("`{}` has no address", name.text), name.span) : undeclared(name);
}

bool Parser::initial_value(Variable& variable, std::uint64_t& offset) {
  const unsigned size = byte_size(variable.type);
  const Span span = peek().span;
  const bool is_sized = variable.size != 0;
  if ((is_sized && offset + size > variable.size) || offset + size > kLargestInitialiser) {
    return fail(kSyntax, fmt::format("`{}` has more initial values than elements", variable.name), span);
  }
  std::uint64_t bits = 0;
  const bool is_masked = peek().kind == Token::Kind::Integer && lexer_.is_next('(');
  if (peek().kind == Token::Kind::Word || is_masked) {
    if (!initial_address(variable, offset, is_masked)) return false;
  } else {
    Operand value;
    if (!constant(value)) return false;
    if (!initial_bits(variable, value, bits)) {
      return fail(
          kOperandType,
          fmt::format("{} number initialises `{}` of type `.{}`",
                      value.kind == Operand::Kind::Float ? "a real" : "an integer", variable.name, name(variable.type)),
          span, value.kind == Operand::Kind::Float ? "" : "write it with a point: `1.0`");
    }
  }
  variable.initial.resize(offset + size);
  for (unsigned i = 0; i < size && i < 8; ++i) variable.initial[offset + i] = static_cast<std::byte>(bits >> (8 * i));
  offset += size;
  return true;
}

}  // namespace plumb::ptx
