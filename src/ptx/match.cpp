// SPDX-License-Identifier: Apache-2.0
#include "ptx/match.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/codes.h"
#include "ptx/space.h"
#include "ptx/special.h"
#include "ptx/type_fit.h"

namespace plumb::ptx {
namespace {

constexpr auto kNoLabel = "a call through a register ends with the label of a prototype or of its targets";

class OperandMatch {
 public:
  OperandMatch(const Module& module, const Function& function, const Line& line, const Filling& filling,
               const Instr& instr, Roles* roles)
      : module_(module), function_(function), line_(line), filling_(filling), instr_(instr), roles_(roles) {}

  // An operand that may be left out is taken where it fits, unless the rest then does not.
  std::optional<Mismatch> match(std::size_t s = 0, std::size_t at = 0) const {
    const std::vector<OperandSpec>& specs = line_.operands;
    for (; s < specs.size(); ++s) {
      const OperandSpec& wanted = specs[s];
      const bool is_free = wanted.is_optional && wanted.condition < 0;
      if (wanted.condition >= 0 && filling_[static_cast<std::size_t>(wanted.condition)] < 0) continue;
      if (is_free && at >= instr_.operands.size()) continue;
      if (wanted.kind == OperandSpec::Kind::Call) return call();
      if (at >= instr_.operands.size()) {
        return missing(wanted, at);
      }
      std::optional<Mismatch> mismatch = fits(wanted, instr_.operands[at]);
      if (mismatch) {
        mismatch->matched = at;
      } else if (roles_ != nullptr) {
        (*roles_)[at] = &wanted;  // of what is tried last, which is what holds where all fits
      }
      if (is_free) {
        if (!mismatch) mismatch = match(s + 1, at + 1);
        if (!mismatch) return std::nullopt;
        std::optional<Mismatch> without = match(s + 1, at);
        if (!without || without->matched > mismatch->matched) return without;
        return mismatch;
      }
      if (mismatch) return at == 0 && lacks_result(wanted) ? missing(wanted, at) : mismatch;
      ++at;
    }
    if (at < instr_.operands.size()) {
      return Mismatch{&kOperandCount,
                      fmt::format("`{}` has {} operands and takes {}", opcode_text(), instr_.operands.size(), at),
                      instr_.operands[at].span, at};
    }
    return std::nullopt;
  }

  Mismatch missing(const OperandSpec& wanted, std::size_t at) const {
    return {&kOperandCount, fmt::format("`{}` has too few operands: `{}` is missing", opcode_text(), wanted.name),
            instr_.opcode_span, at};
  }

  // An address stands first, where the form has a result before it and more operands than there are.
  bool lacks_result(const OperandSpec& first) const {
    const auto needed = std::count_if(line_.operands.begin(), line_.operands.end(), [&](const OperandSpec& one) {
      return one.condition >= 0 ? filling_[static_cast<std::size_t>(one.condition)] >= 0 : !one.is_optional;
    });
    return first.is_dest && instr_.operands[0].kind == Operand::Kind::Address &&
           instr_.operands.size() < static_cast<std::size_t>(needed);
  }

  std::string opcode_text() const { return std::string(module_.source->slice(instr_.opcode_span)); }

  std::optional<Mismatch> call() const {
    for (const Operand& operand : instr_.operands) {
      const bool is_fit = operand.kind == Operand::Kind::List || operand.kind == Operand::Kind::Function ||
                          operand.kind == Operand::Kind::Reg || operand.kind == Operand::Kind::Label;
      if (!is_fit) return Mismatch{&kOperandKind, "`call` takes a function and lists in parentheses", operand.span, 0};
    }
    if (instr_.operands.empty()) return Mismatch{&kOperandCount, "`call` names no function", instr_.opcode_span, 0};
    const std::vector<Operand>& all = instr_.operands;
    const auto [at, next] = call_places();
    const bool is_direct = at < all.size() && all[at].kind == Operand::Kind::Function;
    if (next + (is_direct ? 0 : 1) != all.size()) {
      return Mismatch{&kOperandCount, is_direct ? "a call ends with its arguments" : kNoLabel, instr_.opcode_span, 0};
    }
    if (!is_direct && (all[at].kind != Operand::Kind::Reg || all.back().kind == Operand::Kind::List)) {
      return Mismatch{&kOperandKind, "`call` takes a function, or a register and a label", all[at].span, 0};
    }
    if (!is_direct) {
      if (all.back().kind == Operand::Kind::Label) return std::nullopt;  // the parser holds it to the prototypes
      return Mismatch{&kOperandKind, kNoLabel, all.back().span, 0};
    }
    const std::string_view symbol = all[at].symbol;
    const auto callee = std::find_if(module_.functions.begin(), module_.functions.end(),
                                     [&](const Function& one) { return one.name == symbol; });
    if (callee == module_.functions.end()) return std::nullopt;  // `vprintf` needs no declaration
    if (callee->is_entry) return Mismatch{&kOperandKind, "a kernel is not called", all[at].span, 0};
    return held_to(variables(callee->results), variables(callee->parameters));
  }

  // Where a call's function stands, and what follows its arguments.
  std::pair<std::size_t, std::size_t> call_places() const {
    const auto is_list = [&](std::size_t i) {
      return i < instr_.operands.size() && instr_.operands[i].kind == Operand::Kind::List;
    };
    const std::size_t at = is_list(0) ? 1 : 0;
    return {at, is_list(at + 1) ? at + 2 : at + 1};
  }

  std::optional<Mismatch> held_to(const std::vector<Variable>& results, const std::vector<Variable>& parameters) const {
    const auto [at, next] = call_places();
    const std::vector<Operand>& all = instr_.operands;
    std::optional<Mismatch> mismatch = passed(results, at == 1 ? &all[0] : nullptr, true);
    return mismatch ? mismatch : passed(parameters, next == at + 2 ? &all[at + 1] : nullptr, false);
  }

  std::vector<Variable> variables(const std::vector<VarId>& ids) const {
    std::vector<Variable> out(ids.size());
    std::transform(ids.begin(), ids.end(), out.begin(), [&](VarId id) { return module_.variables[id]; });
    return out;
  }

  std::optional<Mismatch> passed(const std::vector<Variable>& formal, const Operand* list, bool is_result) const {
    const std::size_t count = list == nullptr ? 0 : list->elements.size();
    if (count != formal.size()) {
      const char* const what = is_result ? "results" : "arguments";
      return Mismatch{&kOperandCount, fmt::format("the call has {} {} and the function {}", count, what, formal.size()),
                      list == nullptr ? instr_.opcode_span : list->span, 0};
    }
    OperandSpec wanted;
    wanted.is_dest = wanted.allows_sink = is_result;
    for (std::size_t i = 0; i < count; ++i) {
      const Variable& parameter = formal[i];
      wanted.name = parameter.name;
      const Operand& given = list->elements[i];
      if (given.kind == Operand::Kind::Variable) {
        if (auto mismatch = passed_variable(parameter, given)) return mismatch;
        continue;
      }
      const bool is_array = !parameter.dimensions.empty();
      if (is_array && given.kind != Operand::Kind::Vector && given.kind != Operand::Kind::Sink) {
        return Mismatch{
            &kOperandKind,
            fmt::format("the parameter `{}` is an array, and {} is passed", parameter.name, describe(given)),
            given.span, 0};
      }
      if (is_array) continue;
      if (auto mismatch = scalar(wanted, given, parameter.type)) return mismatch;
    }
    return std::nullopt;
  }

  // A .param variable stands for a parameter of its size and alignment.
  std::optional<Mismatch> passed_variable(const Variable& parameter, const Operand& given) const {
    const Variable& variable = module_.variables[given.variable];
    const auto alignment = [](const Variable& one) {
      return one.alignment != 0 ? one.alignment : std::max(1u, byte_size(one.type));
    };
    const bool is_open = !parameter.dimensions.empty() && parameter.dimensions[0] == 0;
    if (variable.space != Space::param || given.integer != 0) {
      return Mismatch{&kOperandKind, fmt::format("`{}` is passed, which is no `.param` variable", variable.name),
                      given.span, 0};
    }
    const bool is_alike =
        variable.dimensions.empty() == parameter.dimensions.empty() && (variable.size == parameter.size || is_open) &&
        goes_with(variable.type, parameter.type, false) && alignment(variable) == alignment(parameter);
    if (is_alike || parameter.space == Space::reg) return std::nullopt;
    return Mismatch{
        &kOperandType,
        fmt::format("`{}` differs from the parameter `{}` in type, size or alignment", variable.name, parameter.name),
        given.span, 0};
  }

  Type type_of(const OperandSpec& wanted) const {
    if (wanted.type_slot < 0) return wanted.type;
    const int filled = filling_[static_cast<std::size_t>(wanted.type_slot)];
    const ModSlot& slot = line_.slots[static_cast<std::size_t>(wanted.type_slot)];
    const Mod mod = filled >= 0 ? instr_.mods[static_cast<std::size_t>(filled)] : slot.words.front();
    const Type named = table().mod_types[static_cast<std::size_t>(mod)];
    const Type type = named == Type::none ? Type::b32 : named;
    if (!wanted.is_doubled) return type;
    switch (type) {
      case Type::u16:
        return Type::u32;
      case Type::s16:
        return Type::s32;
      case Type::u32:
        return Type::u64;
      case Type::s32:
        return Type::s64;
      default:
        return type;
    }
  }

  std::optional<Mismatch> fits(const OperandSpec& wanted, const Operand& given) const {
    const auto kind = [&](std::string_view what) {
      return Mismatch{
          &kOperandKind,
          fmt::format("operand `{}` of `{}` is {}, not {}", wanted.name, opcode_text(), what, describe(given)),
          given.span, 0};
    };
    switch (wanted.kind) {
      case OperandSpec::Kind::Sink:
        if (given.kind != Operand::Kind::Sink) return kind("`_`");
        return std::nullopt;
      case OperandSpec::Kind::Label:
        if (given.kind != Operand::Kind::Label) return kind("a label");
        return std::nullopt;
      case OperandSpec::Kind::Immediate:
        if (given.kind != Operand::Kind::Int) return kind("an integer constant");
        return constant(wanted, given);
      case OperandSpec::Kind::Address:
        if (given.kind != Operand::Kind::Address || !given.elements.empty()) return kind("an address `[a]`");
        return address(wanted, given);
      case OperandSpec::Kind::TensorAddress:
        if (given.kind != Operand::Kind::Address || given.elements.empty()) {
          return kind("an address with coordinates `[a, {c}]`");
        }
        if (given.integer != 0) return kind("an address without an offset");
        if (auto mismatch = coordinates(wanted, given.elements.back())) return mismatch;
        return address(wanted, given);
      case OperandSpec::Kind::Call:
        return std::nullopt;
      case OperandSpec::Kind::Value:
        break;
    }
    const Type type = type_of(wanted);
    if (given.kind == Operand::Kind::Pair) {
      if (wanted.pair == OperandSpec::Pair::None) return kind("one register");
      if (auto mismatch = vector(wanted, given.elements[0], type)) return mismatch;
      return scalar(predicate_spec(), given.elements[1], Type::pred);
    }
    if (wanted.pair == OperandSpec::Pair::Required) return kind("a pair `p|q`");
    return vector(wanted, given, type);
  }

  static const OperandSpec& predicate_spec() {
    static const OperandSpec kSpec = [] {
      OperandSpec out;
      out.name = "q";
      out.type = Type::pred;
      out.is_dest = out.allows_sink = true;
      return out;
    }();
    return kSpec;
  }

  // One coordinate may stand without braces, in a texture's address.
  std::optional<Mismatch> coordinates(const OperandSpec& wanted, const Operand& given) const {
    const Type type = type_of(wanted);
    const bool is_bare = given.kind == Operand::Kind::Reg && vector_length(wanted, instr_.mods) == 1;
    return is_bare ? scalar(wanted, given, type) : vector(wanted, given, type);
  }

  // The space that an address operand is in, by the instruction's words; none: generic.
  Space space_of(const OperandSpec& wanted) const {
    if (wanted.kind == OperandSpec::Kind::TensorAddress) return Space::global;
    if (wanted.name == "mbar" || instr_.opcode == "mbarrier") return Space::shared;
    Space out = Space::none;
    for (const Mod mod : instr_.mods) {
      const Space space = table().mod_spaces[static_cast<std::size_t>(mod)];
      if (space == Space::none) continue;
      out = space;
      if (wanted.name != "src") return out;  // the second space word is the source's
    }
    return out;
  }

  std::optional<Mismatch> address(const OperandSpec& wanted, const Operand& given) const {
    const Space space = space_of(wanted);
    if (wanted.has_no_offset && given.integer != 0) {
      return Mismatch{&kOperandKind, fmt::format("the address of `{}` takes no offset", opcode_text()), given.span, 0};
    }
    if (given.base == Operand::Base::Variable && instr_.opcode == "tcgen05" && instr_.has(Mod::mma)) {
      return Mismatch{&kOperandKind, "an address of tensor memory is in a register", given.span, 0};
    }
    if (given.base == Operand::Base::Variable) {
      const Variable& variable = module_.variables[given.variable];
      const bool is_generic = variable.space != Space::constant && variable.space != Space::param;
      if (space == Space::none ? is_generic : variable.space == space) return std::nullopt;
      return Mismatch{&kOperandKind,
                      fmt::format("`{}` is a {} variable, and `{}` takes a {} address here", variable.name,
                                  described(variable.space), opcode_text(), described(space)),
                      given.span, 0};
    }
    if (given.base == Operand::Base::None) {
      if (space == Space::local) return std::nullopt;
      return Mismatch{&kOperandKind, "only a .local address can be a number", given.span, 0};
    }
    const Register& reg = function_.registers[given.reg];
    const bool is_typed = wanted.type != Type::none || wanted.type_slot >= 0;
    if (wanted.kind == OperandSpec::Kind::Address && is_typed)
      return scalar(wanted, given_register(given), type_of(wanted));
    const Class own = class_of(reg.type);
    if ((own == Class::Bits || own == Class::Int) && byte_size(reg.type) <= 8) return std::nullopt;
    return Mismatch{&kOperandType,
                    fmt::format("address `{}` is in `{}` of type `.{}`; an address is an integer of up to 64 bits",
                                wanted.name, reg.name, name(reg.type)),
                    given.span, 0};
  }

  static Operand given_register(const Operand& address) {
    Operand out;
    out.kind = Operand::Kind::Reg;
    out.reg = address.reg;
    out.span = address.span;
    return out;
  }

  // ptxas takes more coordinates and offsets than a texture's geometry has, so long as they are one, two or four, and
  // one offset for all but volumes.
  unsigned texture_length(const OperandSpec& wanted, const Operand& given) const {
    const unsigned whole = vector_length(wanted, instr_.mods);
    const bool is_offset = wanted.name == "offset";
    const auto has = [&](Mod mod) { return instr_.has(mod); };
    const unsigned least = !is_offset                       ? whole
                           : has(Mod::_1d) || has(Mod::a1d) ? 1
                           : has(Mod::_2d) || has(Mod::a2d) ? 2
                                                            : 4;
    if (is_offset && given.kind == Operand::Kind::Int) return 0;
    if (is_offset && given.kind == Operand::Kind::Reg && least < 4) return 0;
    const std::size_t size = given.elements.size();
    return size >= least && (size == 1 || size == 2 || size == 4) ? static_cast<unsigned>(size) : whole;
  }

  std::optional<Mismatch> vector(const OperandSpec& wanted, const Operand& given, Type type) const {
    const bool is_texture = wanted.count == OperandSpec::Count::Texture;
    const unsigned length = is_texture ? texture_length(wanted, given) : vector_length(wanted, instr_.mods);
    const bool is_vector = given.kind == Operand::Kind::Vector;
    if (given.kind == Operand::Kind::Sink && wanted.allows_sink) return std::nullopt;
    if (wanted.count == OperandSpec::Count::Pack) return pack(wanted, given, type);
    if (is_vector && wanted.count == OperandSpec::Count::Vec && length == 0 && given.elements.size() == 1) {
      return scalar(wanted, given.elements[0], type);  // `{%r1}` without `.v2` is as good as `%r1`
    }
    if (!is_vector) {
      if (length > 0) {
        return Mismatch{
            &kVectorLength,
            fmt::format("operand `{}` of `{}` is {} registers in braces", wanted.name, opcode_text(), length),
            given.span, 0};
      }
      return scalar(wanted, given, type);
    }
    if (length == 0) {
      return Mismatch{&kOperandKind,
                      fmt::format("operand `{}` of `{}` is one register, not a vector", wanted.name, opcode_text()),
                      given.span, 0};
    }
    if (given.elements.size() != length) {
      return Mismatch{&kVectorLength,
                      fmt::format("operand `{}` of `{}` has {} registers and takes {}", wanted.name, opcode_text(),
                                  given.elements.size(), length),
                      given.span, 0};
    }
    return elements(wanted, given, type);
  }

  // The elements of a vector have one width, and constants go with the registers beside them.
  std::optional<Mismatch> elements(const OperandSpec& wanted, const Operand& given, Type type) const {
    unsigned size = 0, sinks = 0;
    bool has_int = false, has_real = false;
    for (const Operand& element : given.elements) {
      if (element.kind == Operand::Kind::Sink && wanted.is_dest) {
        ++sinks;
        continue;
      }
      const bool is_constant = element.kind == Operand::Kind::Int || element.kind == Operand::Kind::Float;
      if (is_constant && !wanted.is_dest) {
        (element.kind == Operand::Kind::Int ? has_int : has_real) = true;
        continue;
      }
      if (auto mismatch = scalar(wanted, element, type)) return mismatch;
      if (element.kind != Operand::Kind::Reg) continue;
      const Type own = function_.registers[element.reg].type;
      if (size != 0 && byte_size(own) != size) {
        return Mismatch{&kOperandType, "the elements of a vector have different widths", element.span, 0};
      }
      size = byte_size(own);
      has_int = has_int || class_of(own) == Class::Int;
      has_real = has_real || class_of(own) == Class::Real;
    }
    if (sinks != 0 && sinks == given.elements.size()) {
      return Mismatch{&kOperandKind, "a vector needs one register at least", given.span, 0};
    }
    if (has_int && has_real && !wanted.is_dest) {
      return Mismatch{&kOperandType, "a vector mixes integers and real numbers", given.span, 0};
    }
    return std::nullopt;
  }

  std::optional<Mismatch> pack(const OperandSpec& wanted, const Operand& given, Type type) const {
    if (given.kind != Operand::Kind::Vector || given.elements.empty()) {
      return Mismatch{&kOperandKind, fmt::format("operand `{}` of `{}` is a vector", wanted.name, opcode_text()),
                      given.span, 0};
    }
    const auto count = static_cast<unsigned>(given.elements.size());
    const unsigned size = byte_size(type) / count;
    if (size * count != byte_size(type) || (count != 2 && count != 4)) {
      return Mismatch{&kVectorLength, fmt::format("{} elements do not make up `.{}`", count, name(type)), given.span,
                      0};
    }
    for (const Operand& element : given.elements) {
      if (element.kind == Operand::Kind::Sink || element.kind == Operand::Kind::Int) continue;
      if (element.kind == Operand::Kind::Reg) {
        const Register& reg = function_.registers[element.reg];
        if (byte_size(reg.type) == size && reg.type != Type::pred) continue;
        return Mismatch{&kOperandType,
                        fmt::format("`{}` is `.{}`: {} elements of `.{}` are {} bits wide", reg.name, name(reg.type),
                                    count, name(type), 8 * size),
                        element.span, 0};
      }
      if (element.kind == Operand::Kind::Float) continue;
      return Mismatch{&kOperandKind, fmt::format("{} in a vector", describe(element)), element.span, 0};
    }
    return std::nullopt;
  }

  std::optional<Mismatch> scalar(const OperandSpec& wanted, const Operand& given, Type type) const {
    const auto wrong_kind = [&](std::string_view rule) {
      return Mismatch{&kOperandKind,
                      fmt::format("operand `{}` of `{}` is {}: {}", wanted.name, opcode_text(), describe(given), rule),
                      given.span, 0};
    };
    if (given.is_negated && wanted.is_dest) return wrong_kind("a result is not negated");
    if (given.is_negated && !wanted.is_negatable && type != Type::pred) return wrong_kind("only a predicate takes `!`");
    switch (given.kind) {
      case Operand::Kind::Reg: {
        using enum OperandSpec::Selector;
        const bool has_selector = !given.symbol.empty();
        if (has_selector && wanted.selector == None) return wrong_kind("a whole register is needed");
        if (!has_selector && wanted.selector == Required)
          return wrong_kind("a part such as `.b0` or `.h1` is named here");
        const Register& reg = function_.registers[given.reg];
        const bool is_count = wanted.type_slot < 0 && class_of(type) == Class::Int;  // no pair, whatever its size
        const bool is_alike = goes_with(reg.type, type, wanted.allows_wider) && !(is_count && reg.type == Type::f16x2);
        if (wanted.is_exact ? reg.type == type : is_alike) return std::nullopt;
        return Mismatch{&kOperandType,
                        fmt::format("operand `{}` of `{}` is `{}` of type `.{}`, which does not go with `.{}`",
                                    wanted.name, opcode_text(), reg.name, name(reg.type), name(type)),
                        given.span, 0};
      }
      case Operand::Kind::Sink:
        if (wanted.allows_sink) return std::nullopt;
        return wrong_kind("a register is read or written here");
      case Operand::Kind::Int:
        if (wanted.is_dest) return wrong_kind("a result needs a register");
        if (class_of(type) == Class::Real)
          return wrong_kind(fmt::format("a real number is needed: `{}`", as_real(given, type)));
        if (class_of(type) == Class::Packed || wanted.is_register || wanted.is_exact) {
          return wrong_kind("a register is needed");
        }
        return constant(wanted, given);
      case Operand::Kind::Float:
        if (wanted.is_dest) return wrong_kind("a result needs a register");
        if (wanted.is_register || wanted.is_exact) return wrong_kind("a register is needed");
        if (type == Type::f32 || type == Type::f64) return std::nullopt;
        if (type == Type::b32 && given.float_kind == Operand::FloatKind::F32Bits) return std::nullopt;
        if (type == Type::b64 && given.float_kind != Operand::FloatKind::F32Bits) return std::nullopt;
        return wrong_kind("no real constant can stand here");
      case Operand::Kind::Special:
        if (wanted.is_dest) return wrong_kind("a special register cannot be written");
        if (class_of(type) == Class::Real) return wrong_kind("special registers hold integers");
        if (given.special == Special::warp_sz ? class_of(type) == Class::Int || class_of(type) == Class::Bits
                                              : wanted.allows_special) {
          return std::nullopt;
        }
        return wrong_kind("special registers are read with `mov` or `cvt`");
      case Operand::Kind::Variable:
        if (wanted.allows_symbol) return symbol(given, type);
        return wrong_kind("the address of a variable is taken with `mov`, and its value read with `ld`");
      case Operand::Kind::Function:
        if (wanted.allows_symbol) return std::nullopt;
        return wrong_kind("the address of a function is taken with `mov`");
      default:
        return wrong_kind("a register or a constant is needed");
    }
  }

  // An integer as it is written where a real number stands; its digits mean bits when they are those of all bits.
  std::string as_real(const Operand& given, Type type) const {
    const std::string_view text = module_.source->slice(given.span);
    const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
    if (is_hex && type == Type::f32 && text.size() == 10) return fmt::format("0f{}", text.substr(2));
    if (is_hex && type == Type::f64 && text.size() == 18) return fmt::format("0d{}", text.substr(2));
    return fmt::format("{}.0", given.integer);
  }

  // `cvta` and its like take the address of a variable of the space that they name.
  std::optional<Mismatch> symbol(const Operand& given, Type type) const {
    if (instr_.opcode == "mov") {
      if (class_of(type) == Class::Int || class_of(type) == Class::Bits) return std::nullopt;
      return Mismatch{&kOperandType,
                      fmt::format("an address is an integer, and `{}` moves `.{}`", opcode_text(), name(type)),
                      given.span, 0};
    }
    Space space = Space::shared;  // of a cluster's block
    for (const Mod mod : instr_.mods) {
      const Space named = table().mod_spaces[static_cast<std::size_t>(mod)];
      if (named != Space::none) space = named;
    }
    const Variable& variable = module_.variables[given.variable];
    if (variable.space == space) return std::nullopt;
    return Mismatch{&kOperandKind,
                    fmt::format("`{}` is a {} variable, and `{}` takes the address of a {} variable", variable.name,
                                described(variable.space), opcode_text(), described(space)),
                    given.span, 0};
  }

  std::optional<Mismatch> constant(const OperandSpec& wanted, const Operand& given) const {
    if (allows(wanted.values, given.integer)) return std::nullopt;
    return Mismatch{&kOperandRange,
                    fmt::format("operand `{}` of `{}` is {}, and may be {}", wanted.name, opcode_text(), given.integer,
                                describe_values(wanted.values)),
                    given.span, 0};
  }

  static std::string describe_values(std::span<const Range> values) {
    std::string out;
    for (const Range& range : values) {
      if (!out.empty()) out += ", ";
      out += fmt::format("{}", range.first);
      if (range.last == range.first) continue;
      out += fmt::format(" to {}", range.last);
      if (range.step != 1) out += fmt::format(" in steps of {}", range.step);
    }
    return out;
  }

  std::string describe(const Operand& given) const {
    switch (given.kind) {
      case Operand::Kind::Reg:
        return fmt::format("the register `{}`", function_.registers[given.reg].name);
      case Operand::Kind::Int:
        return "an integer constant";
      case Operand::Kind::Float:
        return "a real constant";
      case Operand::Kind::Special:
        return fmt::format("the special register `{}`", special_text(given.special, given.axis));
      case Operand::Kind::Variable:
        return fmt::format("the variable `{}`", module_.variables[given.variable].name);
      case Operand::Kind::Function:
        return fmt::format("the function `{}`", given.symbol);
      case Operand::Kind::Label:
        return "a label";
      case Operand::Kind::Address:
        return "an address";
      case Operand::Kind::Vector:
        return "a vector";
      case Operand::Kind::Pair:
        return "a pair";
      case Operand::Kind::Sink:
        return "`_`";
      case Operand::Kind::List:
        return "a list";
    }
    return "an operand";
  }

  const Module& module_;
  const Function& function_;
  const Line& line_;
  const Filling& filling_;
  const Instr& instr_;
  Roles* roles_;
};

}  // namespace

std::optional<Mismatch> match(const Module& module, const Function& function, const Line& line, const Filling& filling,
                              const Instr& instr, Roles* roles) {
  if (roles != nullptr) roles->assign(instr.operands.size(), nullptr);
  return OperandMatch(module, function, line, filling, instr, roles).match();
}

std::optional<Mismatch> match_prototypes(const Module& module, const Function& function, const Instr& call,
                                         const std::vector<Prototype>& prototypes) {
  const Line& line = table().lines[table().by_opcode.at(call.opcode).front()];
  const Filling filling;
  const Operand& label = call.operands.back();
  std::optional<Mismatch> out{{&kOperandKind, kNoLabel, label.span, 0}};
  for (const Prototype& one : prototypes) {
    if (one.label != label.label) continue;
    out = OperandMatch(module, function, line, filling, call, nullptr).held_to(one.results, one.parameters);
    if (out) return out;
  }
  return out;
}

}  // namespace plumb::ptx
