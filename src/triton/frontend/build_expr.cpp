// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <numbers>
#include <utility>

#include "triton/assembly.h"
#include "triton/codes.h"
#include "triton/frontend/builder.h"
#include "triton/frontend/formatted.h"

namespace plumb::triton {
namespace {

template <class Enum>
struct Word {
  std::string_view python, symbol;
  Enum op;
};

constexpr std::array<Word<BinaryOp>, 12> kBinary = {{{"Add", "+", BinaryOp::Add},
                                                     {"Sub", "-", BinaryOp::Sub},
                                                     {"Mult", "*", BinaryOp::Mul},
                                                     {"Div", "/", BinaryOp::Div},
                                                     {"FloorDiv", "//", BinaryOp::FloorDiv},
                                                     {"Mod", "%", BinaryOp::Mod},
                                                     {"Pow", "**", BinaryOp::Pow},
                                                     {"LShift", "<<", BinaryOp::Shl},
                                                     {"RShift", ">>", BinaryOp::Shr},
                                                     {"BitAnd", "&", BinaryOp::And},
                                                     {"BitOr", "|", BinaryOp::Or},
                                                     {"BitXor", "^", BinaryOp::Xor}}};
constexpr std::array<Word<CompareOp>, 8> kCompare = {{{"Eq", "==", CompareOp::Eq},
                                                      {"NotEq", "!=", CompareOp::Ne},
                                                      {"Lt", "<", CompareOp::Lt},
                                                      {"LtE", "<=", CompareOp::Le},
                                                      {"Gt", ">", CompareOp::Gt},
                                                      {"GtE", ">=", CompareOp::Ge},
                                                      {"Is", "is", CompareOp::Is},
                                                      {"IsNot", "is not", CompareOp::IsNot}}};
constexpr std::array<Word<Member>, 12> kMembers = {{{"shape", "", Member::Shape},
                                                    {"dtype", "", Member::DType},
                                                    {"type", "", Member::Type},
                                                    {"T", "", Member::Transposed},
                                                    {"numel", "", Member::Numel},
                                                    {"element_ty", "", Member::ElementType},
                                                    {"scalar", "", Member::Scalar},
                                                    {"primitive_bitwidth", "", Member::PrimitiveBitwidth},
                                                    {"int_bitwidth", "", Member::IntBitwidth},
                                                    {"value", "", Member::Value},
                                                    {"block_shape", "", Member::BlockShape},
                                                    {"strides", "", Member::Strides}}};

template <class Enum, std::size_t n>
std::optional<Enum> look_up(const std::array<Word<Enum>, n>& words, std::string_view python) {
  const auto* found = std::ranges::find(words, python, &Word<Enum>::python);
  if (found == words.end()) return std::nullopt;
  return found->op;
}

template <class Enum, std::size_t n>
std::string_view symbol_of(const std::array<Word<Enum>, n>& words, Enum op) {
  return std::ranges::find(words, op, &Word<Enum>::op)->symbol;
}

// Hexadecimal digits after "0x" or "-0x"; empty when the number does not fit.
std::optional<Int128> parse_integer(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative ? 3 : 2);
  if (text.size() > 30) return std::nullopt;
  Int128 value = 0;
  for (const char c : text) value = value * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
  return is_negative ? -value : value;
}

}  // namespace

std::string_view symbol(BinaryOp op) { return symbol_of(kBinary, op); }
std::string_view symbol(CompareOp op) { return symbol_of(kCompare, op); }

ExprPtr FunctionBuilder::unsupported(std::string what, Span at) {
  return refuse(kUnsupported, what + " is not supported", at);
}

ExprPtr FunctionBuilder::refuse(const Code& code, std::string message, Span at) {
  pending_.push_back({&code, std::move(message), {module_.source, at}, is_open_});
  return make(at, node::Constant{None{}});
}

ExprPtr FunctionBuilder::settle_refusals(std::size_t before, Span at) {
  if (is_module_level_ || pending_.size() <= before) return nullptr;
  const Refusal& first = pending_[before];
  ExprPtr refused =
      make(first.place.source == module_.source ? first.place.span : at, node::Refused{first.code, first.message});
  for (std::size_t i = before; i < pending_.size(); ++i) program_.note_refusal(function_, std::move(pending_[i]));
  pending_.resize(before);
  return refused;
}

ExprPtr FunctionBuilder::arm(const Json& node) {
  const std::size_t before = pending_.size();
  const bool was_open = std::exchange(is_open_, true);
  ExprPtr built = expr(node);
  is_open_ = was_open;
  ExprPtr refused = settle_refusals(before, span(node));
  return refused ? std::move(refused) : std::move(built);
}

ExprPtr FunctionBuilder::expr(const Json& node) {
  const std::string_view word = kind(node);
  const Span at = span(node);
  if (word == "Constant") return constant(node);
  if (word == "Name") return name(node);
  if (word == "Attribute") return attribute(node);
  if (word == "BinOp") return binary(node);
  if (word == "UnaryOp") return unary(node);
  if (word == "BoolOp") return boolean(node);
  if (word == "Compare") return compare(node);
  if (word == "Call") return call(node);
  if (word == "Subscript") return subscript(node);
  if (word == "IfExp") {
    ExprPtr test = expr(get(node, "test"));
    ExprPtr then = arm(get(node, "body"));
    return make(at, node::Conditional{std::move(test), std::move(then), arm(get(node, "orelse"))});
  }
  if (word == "Tuple" || word == "List") {
    node::Tuple tuple;
    for (const Json& element : list(node, "elts")) tuple.elements.push_back(expr(element));
    return make(at, std::move(tuple));
  }
  if (word == "JoinedStr") return joined_text(node);
  if (word == "ListComp") return comprehension(node);
  if (word == "NamedExpr" && !is_module_level_) {
    ExprPtr value = expr(get(node, "value"));
    return make(at, node::Walrus{target(get(node, "target")).slot, std::move(value)});
  }
  return unsupported(describe(word), at);
}

ExprPtr FunctionBuilder::constant(const Json& node) {
  const Json& value = get(node, "value");
  const auto& type = value.at(0).get_ref<const std::string&>();
  const auto& words = value.at(1).get_ref<const std::string&>();
  const Span at = span(node);
  if (type == "none") return make(at, node::Constant{None{}});
  if (type == "bool") return make(at, node::Constant{words == "1"});
  if (type == "str") return make(at, node::Constant{words});
  if (type == "float") return make(at, node::Constant{std::strtod(words.c_str(), nullptr)});
  if (type == "int") {
    const std::optional<Int128> integer = parse_integer(words);
    if (integer) return make(at, node::Constant{*integer});
    return unsupported("an integer this large", at);
  }
  return unsupported(fmt::format("a constant of type `{}`", words), at);
}

bool FunctionBuilder::is_local(std::string_view name) const { return slots_.contains(name); }

// What a name or a chain of attributes means outside the function, unless its root is a local.
std::optional<Meaning> FunctionBuilder::outer_meaning(const Json& node) const {
  const Json* root = &node;
  while (is(*root, "Attribute")) root = &get(*root, "value");
  if (!is(*root, "Name") || is_local(name_of(*root, "id"))) return std::nullopt;
  return program_.modules().resolve(module_, node);
}

ExprPtr FunctionBuilder::name(const Json& node) {
  const std::string_view word = name_of(node, "id");
  const auto found = slots_.find(word);
  if (found == slots_.end()) return global(word, span(node));
  // While a local has no value the name means the module's, as in Triton's compiler.
  ExprPtr outer;
  if (program_.modules().find(module_, word)) {
    const std::size_t before = pending_.size();
    outer = global(word, span(node));
    if (pending_.size() != before) outer = nullptr;
    pending_.resize(before);
  }
  return make(span(node), node::Local{found->second, std::move(outer)});
}

ExprPtr FunctionBuilder::global(std::string_view word, Span at) {
  if (const std::optional<Meaning> found = program_.modules().find(module_, word)) return from_meaning(*found, at);
  const OpRow* row = find_op("python." + std::string(word));
  if (row != nullptr) return make(at, node::Builtin{row->op});
  return refuse(kName, fmt::format("`{}` is not defined", word), at);
}

ExprPtr FunctionBuilder::from_meaning(const Meaning& meaning, Span at) {
  if (meaning.module == nullptr) return from_path(meaning.path, at);
  const Json& node = *meaning.global.node;
  if (meaning.global.kind == Global::Kind::Function) {
    const Function* function = program_.function(*meaning.module, node);
    if (function == nullptr) {
      return unsupported(fmt::format("a call of `{}`, which is not a @triton.jit function,", name_of(node, "name")),
                         at);
    }
    program_.note_call(function_, function, is_open_);
    return make(at, node::FunctionName{function});
  }
  if (meaning.global.kind != Global::Kind::Constant) {
    return unsupported(fmt::format("`{}`, which is no constant, import or jitted function of its module,", text(at)),
                       at);
  }
  if (!program_.enter_global(&node)) return unsupported(fmt::format("`{}`, defined by itself,", text(at)), at);
  FunctionBuilder inner(program_, *meaning.module, function_, true);
  inner.is_open_ = is_open_;
  ExprPtr value = inner.expr(node);
  program_.leave_global(&node);
  std::move(inner.pending_.begin(), inner.pending_.end(), std::back_inserter(pending_));
  if (meaning.module == &module_) return value;
  return make(at, node::InModule{meaning.module->source, std::move(value)});
}

ExprPtr FunctionBuilder::from_path(std::string_view path, Span at) {
  if (path == "torch.version.hip") return make(at, node::Constant{None{}});  // CUDA is the back end
  const std::optional<std::string> found = Scope::canonical(path);
  if (!found) return unsupported(fmt::format("`{}` (`{}`)", text(at), path), at);
  if (const std::optional<DType> type = from_language_name(*found)) return make(at, node::TypeName{{*type, false}});
  // Types and classes that a source may ask for; no value has them.
  constexpr std::array<std::string_view, 8> kNames = {
      "PropagateNan.ALL", "PropagateNan.NONE", "float8e4b8", "float8e4b15", "float8e5b16", "tensor", "tuple",
      "block_type"};
  if (std::ranges::find(kNames, *found) != kNames.end()) return make(at, node::EnumName{*found});
  if (*found == "TRITON_MAX_TENSOR_NUMEL") return make(at, node::Constant{Int128{kLargestBlock}});
  if (*found == "python.math.inf") return make(at, node::Constant{HUGE_VAL});
  if (*found == "python.math.nan") return make(at, node::Constant{std::numeric_limits<double>::quiet_NaN()});
  if (*found == "python.math.pi") return make(at, node::Constant{std::numbers::pi});
  if (*found == "python.math.e") return make(at, node::Constant{std::numbers::e});
  if (const OpRow* row = find_op(*found)) {
    if (found->starts_with("atomic_")) program_.note_atomic();
    return make(at, node::Builtin{row->op});
  }
  return unsupported(fmt::format("`{}`", text(at)), at);
}

ExprPtr FunctionBuilder::attribute(const Json& node) {
  if (const std::optional<Meaning> meaning = outer_meaning(node)) return from_meaning(*meaning, span(node));
  const std::string_view word = name_of(node, "attr");
  ExprPtr object = expr(get(node, "value"));
  const std::optional<Member> member = look_up(kMembers, word);
  if (!member) return unsupported(fmt::format("the attribute `.{}`", word), span(node));
  return make(span(node), node::MemberOf{std::move(object), *member});
}

std::optional<BinaryOp> FunctionBuilder::binary_op(std::string_view word, Span at) {
  const std::optional<BinaryOp> op = look_up(kBinary, word);
  if (!op) unsupported(word == "MatMult" ? "the operator `@`" : fmt::format("the operator {}", word), at);
  return op;
}

ExprPtr FunctionBuilder::binary(const Json& node) {
  const std::optional<BinaryOp> op = binary_op(get(node, "op").get_ref<const std::string&>(), span(node));
  ExprPtr left = expr(get(node, "left")), right = expr(get(node, "right"));
  return make(span(node), node::Binary{op.value_or(BinaryOp::Add), std::move(left), std::move(right)});
}

ExprPtr FunctionBuilder::unary(const Json& node) {
  const auto& word = get(node, "op").get_ref<const std::string&>();
  const UnaryOp op = word == "USub"     ? UnaryOp::Neg
                     : word == "UAdd"   ? UnaryOp::Plus
                     : word == "Invert" ? UnaryOp::Invert
                                        : UnaryOp::Not;
  return make(span(node), node::Unary{op, expr(get(node, "operand"))});
}

ExprPtr FunctionBuilder::boolean(const Json& node) {
  node::Bool out{get(node, "op").get_ref<const std::string&>() == "And" ? BoolOp::And : BoolOp::Or, {}};
  for (const Json& value : list(node, "values")) out.operands.push_back(expr(value));
  return make(span(node), std::move(out));
}

ExprPtr FunctionBuilder::compare(const Json& node) {
  const Json& ops = list(node, "ops");
  const Json& others = list(node, "comparators");
  node::Bool all{BoolOp::And, {}};
  const Json* left = &get(node, "left");
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto& word = ops.at(i).get_ref<const std::string&>();
    const std::optional<CompareOp> op = look_up(kCompare, word);
    if (!op) return unsupported(word == "In" ? "the operator `in`" : "the operator `not in`", span(node));
    // The operand in the middle is read twice here.
    const bool is_simple = i == 0 || is(*left, "Name") || is(*left, "Constant");
    if (!is_simple) return unsupported("a chained comparison of this", span(node));
    ExprPtr a = expr(*left), b = expr(others.at(i));
    all.operands.push_back(make(span(node), node::Compare{*op, std::move(a), std::move(b)}));
    left = &others.at(i);
  }
  return all.operands.size() == 1 ? std::move(all.operands[0]) : make(span(node), std::move(all));
}

ExprPtr FunctionBuilder::comprehension(const Json& node) {
  const Json& generators = list(node, "generators");
  if (generators.size() != 1 || is_module_level_) return unsupported("this comprehension", span(node));
  node::Comprehension out;
  out.tuple = expr(get(generators[0], "iter"));
  out.target = target(get(generators[0], "target"));
  for (const Json& each : list(generators[0], "ifs")) out.conditions.push_back(expr(each));
  out.element = arm(get(node, "elt"));
  return make(span(node), std::move(out));
}

ExprPtr FunctionBuilder::joined_text(const Json& node) {
  node::Text out;
  for (const Json& part : list(node, "values")) {
    const bool is_value = is(part, "FormattedValue");
    // A formatted text can be printed; nothing is known of it.
    if (is_value && (has(part, "format_spec") || get(part, "conversion") != -1)) {
      return make(span(node), node::EnumName{std::string(kFormattedText)});
    }
    out.parts.push_back(expr(is_value ? get(part, "value") : part));
  }
  return make(span(node), std::move(out));
}

ExprPtr FunctionBuilder::call(const Json& node) {
  const Json& callee = get(node, "func");
  const std::optional<Meaning> meaning = outer_meaning(callee);
  if (meaning && meaning->module == nullptr) {
    const ExprPtr found = from_path(meaning->path, span(callee));
    if (const auto* type = std::get_if<node::TypeName>(&found->node)) return type_call(type->type, node);
    const auto* builtin = std::get_if<node::Builtin>(&found->node);
    if (builtin != nullptr) return op_call(row(builtin->op), nullptr, node);
    if (std::holds_alternative<node::EnumName>(found->node)) return unsupported("a call of this", span(callee));
    return make(span(node), node::Constant{None{}});  // refused by from_path
  }
  if (meaning) return user_call(node);
  if (is(callee, "Attribute")) {
    const std::string_view word = name_of(callee, "attr");
    const OpRow* method = find_op("." + std::string(word));
    ExprPtr self = expr(get(callee, "value"));
    if (method != nullptr) return op_call(*method, std::move(self), node);
    return unsupported(fmt::format("the method `.{}`", word), span(callee));
  }
  if (is(callee, "Name") && !is_local(name_of(callee, "id"))) {
    const OpRow* builtin = find_op("python." + std::string(name_of(callee, "id")));
    if (builtin != nullptr) return op_call(*builtin, nullptr, node);
    return unsupported(fmt::format("`{}`", name_of(callee, "id")), span(callee));
  }
  return user_call(node);
}

ExprPtr FunctionBuilder::type_call(Type type, const Json& node) {
  const Json& arguments = list(node, "args");
  if (arguments.size() != 1 || !list(node, "keywords").empty()) {
    return unsupported("a call of a type with other than one argument", span(node));
  }
  node::OpCall cast{Op::cast, {}, {}};
  cast.arguments.resize(row(Op::cast).parameters.size());
  cast.arguments[0] = expr(arguments.at(0));
  cast.arguments[1] = make(span(get(node, "func")), node::TypeName{type});
  return make(span(node), std::move(cast));
}

ExprPtr FunctionBuilder::op_call(const OpRow& called, ExprPtr self, const Json& node) {
  if (called.op == Op::range) return unsupported("`range` outside a `for`", span(node));
  const std::string_view word = called.names.front();
  if (word.starts_with("atomic_") || word.starts_with(".atomic_")) program_.note_atomic();
  node::OpCall out{called.op, {}, {}};
  out.arguments.resize(called.parameters.size());
  std::size_t position = 0;
  if (self) out.arguments[position++] = std::move(self);
  for (const Json& argument : list(node, "args")) op_argument(called, argument, position, out);
  for (const Json& keyword : list(node, "keywords")) op_keyword(called, keyword, out);
  if (called.op == Op::inline_asm_elementwise && out.arguments[0]) {
    const auto* constant = std::get_if<node::Constant>(&out.arguments[0]->node);
    const auto* words = constant != nullptr ? std::get_if<std::string>(&constant->value) : nullptr;
    if (words != nullptr && find_assembly(*words) == nullptr) {
      return unsupported(fmt::format("the inline assembly `{}`", std::string_view(*words).substr(0, 80)), span(node));
    }
  }
  for (std::size_t i = 0; i < called.parameters.size(); ++i) {
    const OpRow::Parameter& parameter = called.parameters[i];
    if (out.arguments[i] || parameter.is_optional || parameter.is_variadic) continue;
    refuse(kType, fmt::format("`{}` lacks its argument `{}`", text(span(get(node, "func"))), parameter.name),
           span(node));
  }
  return make(span(node), std::move(out));
}

void FunctionBuilder::op_argument(const OpRow& called, const Json& argument, std::size_t& position, node::OpCall& out) {
  if (position >= called.parameters.size()) {
    refuse(kType, fmt::format("too many arguments: {} are the most", called.parameters.size()), span(argument));
    return;
  }
  const bool is_starred = is(argument, "Starred");
  if (called.parameters[position].is_variadic) {
    out.rest.push_back({{}, is_starred, expr(is_starred ? get(argument, "value") : argument)});
    return;
  }
  if (is_starred) {
    unsupported("a `*` argument here", span(argument));
    return;
  }
  out.arguments[position++] = expr(argument);
}

void FunctionBuilder::op_keyword(const OpRow& called, const Json& keyword, node::OpCall& out) {
  if (!has(keyword, "arg")) {
    unsupported("a `**` argument", span(keyword));
    return;
  }
  const std::string_view word = name_of(keyword, "arg");
  const int index = called.parameter(word);
  if (index < 0) {
    unsupported(fmt::format("the argument `{}`", word), span(keyword));
    return;
  }
  if (called.parameters[static_cast<std::size_t>(index)].is_variadic) {
    out.rest.push_back({{}, false, expr(get(keyword, "value"))});
    return;
  }
  ExprPtr& argument = out.arguments[static_cast<std::size_t>(index)];
  if (argument) refuse(kType, fmt::format("the argument `{}` is given twice", word), span(keyword));
  argument = expr(get(keyword, "value"));
}

ExprPtr FunctionBuilder::user_call(const Json& node) {
  node::Call out;
  out.callee = expr(get(node, "func"));
  for (const Json& argument : list(node, "args")) {
    const bool is_starred = is(argument, "Starred");
    out.arguments.push_back({{}, is_starred, expr(is_starred ? get(argument, "value") : argument)});
  }
  for (const Json& keyword : list(node, "keywords")) {
    if (!has(keyword, "arg")) return unsupported("a `**` argument", span(keyword));
    out.arguments.push_back({std::string(name_of(keyword, "arg")), false, expr(get(keyword, "value"))});
  }
  return make(span(node), std::move(out));
}

ExprPtr FunctionBuilder::subscript(const Json& node) {
  node::Subscript out;
  out.object = expr(get(node, "value"));
  const Json& slice = get(node, "slice");
  if (is(slice, "Tuple") || is(slice, "ExtSlice")) {
    for (const Json& item : list(slice, is(slice, "Tuple") ? "elts" : "dims")) out.items.push_back(index(item));
  } else {
    out.items.push_back(index(slice));
  }
  return make(span(node), std::move(out));
}

Index FunctionBuilder::index(const Json& item) {
  if (is(item, "Slice")) {
    const bool is_whole = !has(item, "lower") && !has(item, "upper") && !has(item, "step");
    if (is_whole) return {};
    Index out;
    out.kind = Index::Kind::Slice;
    const auto part = [&](const char* field) { return has(item, field) ? expr(get(item, field)) : nullptr; };
    out.lower = part("lower"), out.upper = part("upper"), out.step = part("step");
    return out;
  }
  const bool is_none = is(item, "Constant") && get(item, "value").at(0) == "none";
  Index out;
  out.kind = is_none ? Index::Kind::NewAxis : Index::Kind::At;
  if (!is_none) out.at = expr(item);
  return out;
}

}  // namespace plumb::triton
