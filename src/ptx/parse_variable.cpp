// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ptx/codes.h"
#include "ptx/parser.h"
#include "ptx/space.h"
#include "ptx/type_fit.h"

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
  while (peek().is('[')) {
    const bool is_first = variable.dimensions.empty();
    take();
    if (is_first && accept(']')) {
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

// Whether an array has a size; an .extern one, and a function's last parameter, may be without.
bool Parser::is_complete(const Variable& variable, bool may_be_open) {
  if (may_be_open || variable.size != 0) return true;
  return fail(kSyntax, fmt::format("`{}` has no size, and is not `.extern`", variable.name), variable.span);
}

// Which types are declared, and where. The others are of instructions alone.
bool Parser::goes_in(Type type, Space space, bool is_kernel_parameter, Span span) {
  const auto wrong = [&](std::string_view what) {
    return fail(kSyntax, fmt::format("`.{}` {}", name(type), what), span);
  };
  const Class kind = class_of(type);
  if (type != Type::b128 && (kind == Class::Bits || kind == Class::Int || kind == Class::Real)) return true;
  switch (type) {
    case Type::b128:
      return needs(".b128", {8, 3}, 0, span);
    case Type::f16x2:
      return space != Space::param || wrong("has no place in .param space: declare `.b32`");
    case Type::pred:
      return space == Space::reg || wrong("is for registers only");
    case Type::texref:
    case Type::samplerref:
    case Type::surfref: {
      const bool is_module_scope = function_ == nullptr && space == Space::global;
      if (!is_module_scope && !is_kernel_parameter)
        return wrong("stands in .global space of a module, or is a kernel's parameter");
      const std::vector<std::string>& options = module_.target.options;
      const bool is_independent = std::find(options.begin(), options.end(), "texmode_independent") != options.end();
      return type != Type::samplerref || is_independent || wrong("needs the option `texmode_independent` of `.target`");
    }
    default:
      return wrong(fmt::format("is a type of instructions, not of variables: declare `.b{}`", 8 * byte_size(type)));
  }
}

bool Parser::alignment(std::uint32_t& out) {
  const Span span = peek().span;
  if (!expect_word32(out, "an alignment in bytes")) return false;
  return std::has_single_bit(out) || fail(kSyntax, fmt::format("an alignment of {} is no power of two", out), span);
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

// [.attribute(..)] [.align n] [.vN] .type, of which the space may follow the attribute.
bool Parser::variable_head(Variable& base, unsigned& lanes, const Linkage& link) {
  base.is_visible = link.is_visible;
  base.is_extern = link.is_extern;
  base.is_weak = link.is_weak;
  base.is_common = link.is_common;
  bool is_attributed = false;
  const auto attributes = [&] {
    while (peek().is_dot("attribute")) {
      if (!attribute(false)) return false;
      is_attributed = true;
    }
    return true;
  };
  const Span span = peek().span;
  if (!attributes()) return false;
  if (base.space == Space::none) {
    base.space = peek().kind == Token::Kind::Dot ? space_of(peek().text) : Space::none;
    if (base.space == Space::none) return unexpected("a state space");
    take();
  }
  if (accept_dot("align") && !alignment(base.alignment)) return false;
  if (!attributes()) return false;
  if (base.alignment == 0 && accept_dot("align") && !alignment(base.alignment)) return false;
  if (is_attributed && base.space != Space::global) {
    return fail(kSyntax, "`.attribute` is for .global variables", span);
  }
  if (base.is_common && base.space != Space::global)
    return fail(kSyntax, "`.common` is for .global variables", link.span);
  lanes = vector_word();
  const Span word = peek().span;
  const std::optional<Type> type = type_word();
  if (!type || !goes_in(*type, base.space, false, word)) return false;
  base.type = *type;
  const bool is_reference = *type == Type::texref || *type == Type::samplerref || *type == Type::surfref;
  return lanes == 1 || !is_reference || fail(kSyntax, "there are no vectors of references", word);
}

bool Parser::variable_value(Variable& variable, unsigned lanes) {
  if (!accept('=')) return is_complete(variable, variable.is_extern);
  const bool has_storage =
      (variable.space == Space::global || variable.space == Space::constant) && !variable.is_extern;
  if (!has_storage || variable.type == Type::f16 || variable.type == Type::f16x2) {
    return fail(
        kSyntax,
        fmt::format("`{}` takes no initial value: {}", variable.name,
                    has_storage ? "numbers of 16 bits have none" : "a .global or .const variable of this module does"),
        variable.span);
  }
  const bool is_reference =
      variable.type == Type::texref || variable.type == Type::samplerref || variable.type == Type::surfref;
  if (is_reference) return reference_states(variable);
  return initialiser(variable, lanes) && is_complete(variable, false);
}

// { field = value, .. } of a .texref, .samplerref or .surfref, and { {..}, .. } of an array of them; nothing here
// reads what they say, and it is not kept.
bool Parser::reference_states(Variable& variable) {
  if (variable.dimensions.empty()) {
    if (!reference_state(variable.type)) return false;
  } else {
    if (!expect('{', "of an initialiser")) return false;
    for (std::uint64_t i = 0; !peek().is('}'); ++i) {
      if (i != 0 && !expect(',', "between initial values")) return false;
      if (!reference_state(variable.type)) return false;
    }
    advance();
  }
  return is_complete(variable, false);
}

bool Parser::reference_state(Type type) {
  using Words = std::span<const std::string_view>;
  static constexpr std::string_view kTexture[] = {
      "width",       "height",      "depth",      "normalized_coords", "filter_mode",       "addr_mode_0",
      "addr_mode_1", "addr_mode_2", "array_size", "channel_data_type", "num_mipmap_levels", "channel_order",
      "num_samples"};
  static constexpr std::string_view kSampler[] = {"filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2",
                                                  "force_unnormalized_coords"};
  static constexpr std::string_view kSurface[] = {"width",         "height",     "depth",        "channel_data_type",
                                                  "channel_order", "array_size", "memory_layout"};
  static constexpr std::string_view kValues[] = {"nearest",   "linear",        "wrap",           "mirror",
                                                 "clamp_ogl", "clamp_to_edge", "clamp_to_border"};
  const Words fields = type == Type::texref       ? Words(kTexture)
                       : type == Type::samplerref ? Words(kSampler)
                                                  : Words(kSurface);
  const auto is_of = [&](Words names) {
    return peek().kind == Token::Kind::Word && std::find(names.begin(), names.end(), peek().text) != names.end();
  };
  if (!expect('{', "of an initialiser")) return false;
  if (accept('}')) return true;
  do {
    if (!is_of(fields)) return unexpected(fmt::format("a field of a `.{}`", name(type)));
    take();
    if (!expect('=', "after the field")) return false;
    if (!is_of(kValues) && peek().kind != Token::Kind::Integer) return unexpected("the value of a field");
    take();
  } while (accept(','));
  return expect('}', "at the end of an initialiser");
}

// One of two declarations in a module is .extern, and they agree in type and extent.
bool Parser::goes_with_earlier(const Variable& variable, VarId earlier) const {
  const Variable& other = module_.variables[earlier];
  const bool is_plain = !variable.is_visible && !variable.is_extern && !variable.is_weak && !variable.is_common;
  const bool is_resolved = variable.is_extern || (other.is_extern && !is_plain);
  const bool is_open = variable.size == 0 || other.size == 0;
  const bool is_alike =
      variable.dimensions == other.dimensions ||
      (is_open && variable.dimensions.size() == other.dimensions.size() &&
       std::equal(variable.dimensions.begin() + 1, variable.dimensions.end(), other.dimensions.begin() + 1));
  return is_resolved && variable.space == other.space && variable.type == other.type && is_alike;
}

bool Parser::declare_variable(Variable one, std::string_view name, std::vector<VarId>& out) {
  const Span span = one.span;
  const auto known = scopes_.empty() ? globals_.find(name) : globals_.end();
  const bool is_again = known != globals_.end() && known->second.kind == Name::Kind::Variable &&
                        goes_with_earlier(one, known->second.index);
  const bool is_defined = !one.is_extern;
  if (scopes_.empty() && last_function(name) != nullptr) {
    return fail(kRedeclared, fmt::format("`{}` is a function, too", name), span);
  }
  const VarId id = add_variable(std::move(one));
  out.push_back(id);
  if (!is_again) return declare(name, {Name::Kind::Variable, id, span});
  if (!is_defined) return true;
  resolved_.emplace_back(known->second.index, id);
  known->second.index = id;
  return true;
}

void Parser::resolve(Operand& operand) const {
  for (Operand& element : operand.elements) resolve(element);
  if (operand.kind != Operand::Kind::Variable && operand.base != Operand::Base::Variable) return;
  for (const auto& [declared, defined] : resolved_) {
    if (operand.variable == declared) operand.variable = defined;
  }
}

// name<count>: name0, name1, ... of one type.
bool Parser::numbered_variables(const Variable& base, const Token& name, unsigned lanes, std::vector<VarId>& out) {
  const Span span = take().span;
  const std::optional<std::uint64_t> count = expect_integer("how many variables");
  if (!count || !expect('>', "after the count")) return false;
  constexpr std::uint64_t kMost = 4096;
  if (*count > kMost) return fail(kLimit, fmt::format("more than {} variables", kMost), span);
  for (std::uint64_t i = 0; i < *count; ++i) {
    Variable one = base;
    one.name = made_names_.emplace_back(std::string(name.text) + std::to_string(i));
    one.span = name.span;
    one.size = byte_size(one.type);
    if (!widen(one, lanes) || !declare_variable(std::move(one), made_names_.back(), out)) return false;
  }
  return true;
}

// head name[..]... [= init] [, name...] ;
bool Parser::variable(Space space, const Linkage& link, std::vector<VarId>& out) {
  Variable base;
  unsigned lanes = 1;
  base.space = space;
  if (!variable_head(base, lanes, link)) return false;
  do {
    if (peek().kind != Token::Kind::Word || peek().text == "_" || peek().text == "WARP_SZ") {
      return unexpected("a variable's name");
    }
    const Token name = take();
    if (peek().is('<')) {
      if (!numbered_variables(base, name, lanes, out)) return false;
      continue;
    }
    Variable one = base;
    one.name = name.text;
    one.span = name.span;
    if (!array_dimensions(one) || !widen(one, lanes) || !variable_value(one, lanes)) return false;
    if (!declare_variable(std::move(one), name.text, out)) return false;
  } while (accept(','));
  return expect_end("at the end of the declaration");
}

// .param [.align n] .type [.align n] [.ptr [.space] [.align n]] name[..], of a function .reg [.align n] [.vN] .type
// name
bool Parser::parameter_words(Variable& one, unsigned& lanes, bool is_result) {
  const bool is_kernel = function_->is_entry && scopes_.size() == 1;
  const bool is_register = peek().is_dot("reg");
  if (is_register && is_kernel) return fail(kSyntax, "the parameters of a kernel are in .param space", peek().span);
  if (!is_register && !peek().is_dot("param")) return unexpected("`.param`");
  advance();
  one.space = is_register ? Space::reg : Space::param;
  if (accept_dot("align") && !alignment(one.alignment)) return false;
  lanes = is_register ? vector_word() : 1;
  const Span word = peek().span;
  const std::optional<Type> type = type_word();
  if (!type || !goes_in(*type, one.space, is_kernel, word)) return false;
  one.type = *type;
  if (one.alignment == 0 && !is_register && accept_dot("align") && !alignment(one.alignment)) return false;
  if (!is_register && accept_dot("ptr")) {
    Variable::PointerAttribute pointer;
    const Space space = peek().kind == Token::Kind::Dot ? space_of(peek().text) : Space::none;
    const bool is_space =
        space == Space::global || space == Space::constant || space == Space::shared || space == Space::local;
    if (is_space) pointer.space = space, take();
    if (accept_dot("align") && !alignment(pointer.alignment)) return false;
    one.pointer = pointer;
  }
  if (peek().kind != Token::Kind::Word) return unexpected("a parameter's name");
  const Token name = take();
  one.name = name.text;
  one.span = name.span;
  if (is_register) {
    one.size = std::uint64_t{byte_size(one.type)} * lanes;
    return true;
  }
  const Span bracket = peek().span;
  if (!array_dimensions(one)) return false;
  if (one.dimensions.size() > 1) return fail(kSyntax, "a parameter is an array of one dimension at most", bracket);
  if (one.size != 0 || (!is_kernel && !is_result)) return true;
  return fail(kSyntax, fmt::format("`{}` has no size: only a function's last parameter may be so", one.name), bracket);
}

bool Parser::parameter(std::vector<VarId>& out, bool is_result) {
  Variable one;
  unsigned lanes = 1;
  if (!parameter_words(one, lanes, is_result)) return false;
  if (one.space == Space::reg) return register_parameter(std::move(one), lanes, out);
  const Span span = one.span;
  const std::string_view name = module_.source->slice(span);
  const VarId id = add_variable(std::move(one));
  if (!declare(name, {Name::Kind::Variable, id, span})) return false;
  out.push_back(id);
  return true;
}

bool Parser::register_parameter(Variable one, unsigned lanes, std::vector<VarId>& out) {
  const Span span = one.span;
  if (lanes > 1 && (one.type == Type::pred || byte_size(one.type) * lanes > 16)) {
    return fail(kSyntax, fmt::format("a vector of {} `.{}`: vectors have 128 bits at most", lanes, ptx::name(one.type)),
                span);
  }
  if (lanes > 1) one.dimensions.push_back(lanes);
  one.reg = static_cast<RegId>(function_->registers.size());
  add_register(one.name, one.type, lanes, span);
  const std::string_view name = module_.source->slice(span);
  if (!declare(name, {Name::Kind::Register, one.reg, span, static_cast<std::uint8_t>(lanes)})) return false;
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

bool Parser::initialiser(Variable& variable, unsigned lanes) {
  if (variable.size > kLargestInitialiser) {
    return fail(kLimit,
                fmt::format("`{}` with an initialiser is larger than {} bytes", variable.name, kLargestInitialiser),
                peek().span);
  }
  std::uint64_t offset = 0;
  if (variable.dimensions.empty()) {
    if (!initial_value(variable, offset)) return false;
  } else if (!initial_values(variable, offset, 0, lanes)) {
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

// One pair of braces for each dimension; what a row leaves out is zero, but a vector is whole.
bool Parser::initial_values(Variable& variable, std::uint64_t& offset, unsigned depth, unsigned lanes) {
  const bool is_innermost = depth + 1 == variable.dimensions.size();
  const std::uint64_t begin = offset, element = stride(variable, depth);
  const Span open = peek().span;
  std::uint64_t count = 0;
  if (depth > 8) return fail(kLimit, "an initialiser is nested too deeply", open);
  if (!expect('{', fmt::format("of dimension {} of `{}`", depth + 1, variable.name))) return false;
  const std::uint64_t extent = variable.dimensions[depth];
  while (!peek().is('}')) {
    if (count != 0 && !expect(',', "between initial values")) return false;
    if (++count > extent && extent != 0) {
      return fail(kSyntax, fmt::format("`{}` has more initial values than elements", variable.name), peek().span);
    }
    if (!(is_innermost ? initial_value(variable, offset) : initial_values(variable, offset, depth + 1, lanes))) {
      return false;
    }
    if (begin + count * element > kLargestInitialiser) return fail(kLimit, "an initialiser is too large", peek().span);
    offset = begin + count * element;
  }
  take();
  if (is_innermost && lanes > 1 && count != lanes) {
    return fail(kSyntax, fmt::format("{} values for a vector of {}", count, lanes), open);
  }
  return true;
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
  const bool has_offset = peek().is('+') || peek().is('-');
  if (has_offset && !offset_sum(out.addend)) return false;
  if (is_masked && !expect(')', "after the masked address")) return false;
  if (variable.type != Type::u32 && variable.type != Type::u64 && !(is_masked && variable.type == Type::u8)) {
    return fail(kOperandType,
                fmt::format("an address initialises `{}` of type `.{}`: it takes `.u32` or `.u64`{}", variable.name,
                            ptx::name(variable.type), is_masked ? ", or `.u8` for a byte" : ""),
                begin);
  }
  if (!initial_symbol(name, out.is_generic || has_offset)) return false;
  variable.relocations.push_back(std::move(out));
  return true;
}

// A variable of .global or .const space, or a function, that stands before.
bool Parser::initial_symbol(const Token& name, bool is_computed) {
  const std::optional<Name> known = find(name.text);
  if (known && known->kind == Name::Kind::Variable) {
    const Space space = module_.variables[known->index].space;
    if (space == Space::global || space == Space::constant) return true;
    return fail(kOperandKind, fmt::format("`{}` is in no .global or .const space", name.text), name.span);
  }
  for (const Function& function : module_.functions) {
    if (function.name != name.text) continue;
    if (!is_computed) return true;
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
  if ((peek().kind == Token::Kind::Word && peek().text != "WARP_SZ") || is_masked) {
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
