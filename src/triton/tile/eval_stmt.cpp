// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"
#include "triton/tile/memory_args.h"

namespace plumb::triton {

namespace {

constexpr std::size_t kDeepestCall = 100;

template <class D>
Value<D> from_constexpr(const Constexpr& constant) {
  if (const auto* integer = std::get_if<std::int64_t>(&constant)) return Int128{*integer};
  if (const auto* real = std::get_if<double>(&constant)) return *real;
  if (const auto* boolean = std::get_if<bool>(&constant)) return *boolean;
  if (const auto* string = std::get_if<std::string>(&constant)) {
    // A type passed as a constexpr is spelled as in a source: "tl.float16". Other strings are strings.
    if (string->starts_with("tl.")) {
      if (const auto type = from_language_name(std::string_view(*string).substr(3)))
        return TypeValue{{*type, false}, false, {}};
    }
    return *string;
  }
  return None{};
}

// What a run-time value is to the compiler: it may not change over a loop.
template <class D>
std::string shape_of(const Value<D>& value) {
  const Block<D>* block = value.block();
  return block != nullptr ? name(block->type) + (block->shape.rank == 0 ? "" : text(block->shape)) : std::string();
}

}  // namespace

// --- calls -----------------------------------------------------------------------------------------------------------

template <class D>
void Evaluator<D>::bind_default(const Function::Parameter& parameter, Value<D>& slot) {
  if (!slot.is_unset()) return;
  if (!parameter.default_value) context_.fail(kCall, fmt::format("the argument `{}` is missing", parameter.name));
  slot = eval(parameter.default_value);
}

// "tensordesc<fp16[64, 64]>": element type and block shape.
template <class D>
Value<D> Evaluator<D>::descriptor_argument(const Argument& argument) {
  std::string_view text = argument.type;
  const std::size_t begin = text.find('<'), bracket = text.find('['), end = text.find(']');
  const bool is_good =
      begin != text.npos && bracket != text.npos && end != text.npos && begin < bracket && bracket < end;
  const std::optional<DType> type =
      is_good ? from_signature_name(text.substr(begin + 1, bracket - begin - 1)) : std::nullopt;
  if (!type) {
    context_.unmodelled(kUnsupported, fmt::format("an argument of type `{}` is not supported", argument.type));
  }
  Descriptor made;
  made.element = {*type, false};
  made.base = argument.bits;
  made.shape = argument.shape;
  made.strides = argument.strides;
  std::vector<Value<D>> extents;
  Int128 extent = 0;
  for (const char c : text.substr(bracket + 1, end - bracket)) {
    if (c >= '0' && c <= '9') {
      extent = extent * 10 + (c - '0');
    } else if (c == ',' || c == ']') {
      extents.push_back(std::exchange(extent, 0));
    }
  }
  made.block = constexpr_shape(context_, std::span<const Value<D>>(extents));
  check_descriptor(context_, made);
  return std::shared_ptr<const Descriptor>(std::make_shared<Descriptor>(std::move(made)));
}

template <class D>
Value<D> Evaluator<D>::kernel_argument(const Function::Parameter& parameter) {
  const auto found = context_.call.arguments.find(parameter.name);
  if (found == context_.call.arguments.end()) return {};
  context_.span = parameter.span;
  const Argument& argument = found->second;
  if (parameter.is_constexpr && argument.type != "constexpr" && argument.type != "tuple") {
    context_.fail(kCall, fmt::format("`{}` is a constexpr parameter, its argument a run-time value", parameter.name));
  }
  return from_argument(parameter, argument);
}

template <class D>
Value<D> Evaluator<D>::from_argument(const Function::Parameter& parameter, const Argument& argument) {
  if (argument.type == "constexpr") return from_constexpr<D>(argument.constant);
  if (argument.type == "tuple") {
    std::vector<Value<D>> out;
    for (const Argument& each : argument.elements) out.push_back(from_argument(parameter, each));
    return tuple_of(std::move(out));
  }
  if (argument.type.starts_with("tensordesc")) return descriptor_argument(argument);
  const bool is_pointer = argument.type.starts_with('*');
  const std::optional<DType> type = from_signature_name(std::string_view(argument.type).substr(is_pointer ? 1 : 0));
  if (!type) {
    context_.unmodelled(kUnsupported, fmt::format("an argument of type `{}` is not supported", argument.type));
  }
  // An integer argument equal to 1 is compile time to Triton's compiler.
  const std::vector<std::string>& not_specialized = function_->not_specialized;
  const bool is_one = !is_pointer && !is_float(*type) && *type != DType::Int1 && argument.bits == 1;
  if (is_one && std::ranges::find(not_specialized, parameter.name) == not_specialized.end()) return Int128{1};
  auto block = new_block<D>({*type, is_pointer}, {});
  if (block->is_real()) {
    block->reals[0] = context_.domain.constant(format(*type), argument.bits);
  } else {
    const auto bits = static_cast<std::int64_t>(argument.bits);
    block->ints[0] = is_pointer ? bits : wrap(*type, bits);
  }
  return BlockPtr<D>(std::move(block));
}

template <class D>
void Evaluator<D>::run() {
  function_ = context_.program.kernel;
  slots_.assign(function_->slots.size(), {});
  for (std::size_t i = 0; i < function_->parameters.size(); ++i) {
    slots_[i] = kernel_argument(function_->parameters[i]);
    bind_default(function_->parameters[i], slots_[i]);
  }
  body(function_->body);
  slots_.clear();
  context_.flush();
}

template <class D>
Value<D> Evaluator<D>::call(const Function& function, std::vector<Value<D>> arguments) {
  if (context_.callers.size() >= kDeepestCall)
    context_.fail(kCall, "calls are nested too deeply: recursion never ends");
  if (arguments.size() > function.parameters.size()) {
    context_.fail(kCall, fmt::format("`{}` takes {} arguments", function.name, function.parameters.size()));
  }
  arguments.resize(function.slots.size());
  if (function.has_rest && arguments[function.parameters.size() - 1].is_unset()) {
    arguments[function.parameters.size() - 1] = tuple_of(std::vector<Value<D>>());
  }
  const Span span = context_.span;
  const SourcePtr source = std::exchange(context_.source, function.source);
  context_.callers.push_back({source, span});
  std::swap(slots_, arguments);
  const Function* caller = std::exchange(function_, &function);
  for (std::size_t i = 0; i < function.parameters.size(); ++i) bind_default(function.parameters[i], slots_[i]);
  Value<D> result = body(function.body) ? std::move(returned_) : Value<D>(None{});
  function_ = caller;
  std::swap(slots_, arguments);
  context_.callers.pop_back();
  context_.source = source;
  context_.span = span;
  return result;
}

// --- statements ------------------------------------------------------------------------------------------------------

template <class D>
bool Evaluator<D>::body(const Body& statements) {
  for (const Stmt& each : statements) {
    if (statement(each)) return true;
  }
  return false;
}

template <class D>
bool Evaluator<D>::statement(const Stmt& statement) {
  context_.count(1);
  return std::visit([&](const auto& node) { return run_node(node, statement.span); }, statement.node);
}

template <class D>
bool Evaluator<D>::run_node(const node::Evaluate& node, Span) {
  eval(node.value);
  return false;
}

// An assigned number is a run-time scalar from then on, as in Triton's compiler.
template <class D>
Value<D> Evaluator<D>::sanitized(const Value<D>& value) {
  if (function_->is_compile_time) return value;
  if (value.is_number()) return to_block(context_, value);
  if (const std::vector<Value<D>>* tuple = value.tuple()) {
    std::vector<Value<D>> out;
    for (const Value<D>& each : *tuple) out.push_back(sanitized(each));
    return tuple_of(std::move(out));
  }
  return value;
}

template <class D>
bool Evaluator<D>::run_node(const node::Assign& node, Span span) {
  Value<D> value = eval(node.value);
  context_.span = span;
  if (node.is_constexpr) {
    if (value.block() != nullptr) context_.fail(kConstexpr, "a run-time value is no `tl.constexpr`");
  } else {
    value = sanitized(value);
  }
  assign(node.target, std::move(value));
  return false;
}

template <class D>
void Evaluator<D>::assign(const Target& target, Value<D> value) {
  if (target.elements.empty()) {
    slots_[target.slot] = std::move(value);
    return;
  }
  const std::vector<Value<D>>* tuple = value.tuple();
  if (tuple == nullptr || tuple->size() != target.elements.size()) {
    context_.span = target.span;
    context_.fail(kType, fmt::format("{} names for a value of {}", target.elements.size(),
                                     tuple == nullptr ? "no tuple" : fmt::format("{} elements", tuple->size())));
  }
  for (std::size_t i = 0; i < tuple->size(); ++i) assign(target.elements[i], (*tuple)[i]);
}

template <class D>
bool Evaluator<D>::run_node(const node::Return& node, Span) {
  returned_ = node.value ? eval(node.value) : Value<D>(None{});
  return true;
}

template <class D>
bool Evaluator<D>::run_node(const node::Assert& node, Span span) {
  const Value<D> value = eval(node.test);
  context_.span = span;
  // A run-time assertion is active in debug builds of a kernel only.
  if (value.block() == nullptr && !truth(context_, value)) context_.fail(kAssert, "the assertion does not hold");
  return false;
}

// --- names over loops and branches -----------------------------------------------------------------------------------

template <class D>
typename Evaluator<D>::Slots Evaluator<D>::remembered(const std::vector<std::uint32_t>& assigned) const {
  Slots before;
  for (const std::uint32_t slot : assigned) before.push_back(slots_[slot]);
  return before;
}

template <class D>
void Evaluator<D>::check_carried(const std::vector<std::uint32_t>& assigned, const Slots& before, Span span,
                                 const char* where) {
  for (std::size_t i = 0; i < assigned.size(); ++i) {
    const std::string was = shape_of(before[i]), now = shape_of(slots_[assigned[i]]);
    if (was.empty() || was == now) continue;
    context_.span = span;
    context_.fail(kType, fmt::format("`{}` is {} before {} and {} after it: its type must stay",
                                     function_->slots[assigned[i]], was, where, now.empty() ? "no block" : now));
  }
}

template <class D>
void Evaluator<D>::forget_new(const std::vector<std::uint32_t>& assigned, const Slots& before) {
  for (std::size_t i = 0; i < assigned.size(); ++i) {
    if (before[i].is_unset()) slots_[assigned[i]] = {};
  }
}

template <class D>
bool Evaluator<D>::run_node(const node::If& node, Span span) {
  bool is_runtime = false;
  const bool is_then = condition(node.test, "the condition of `if`", is_runtime);
  const Body& taken = is_then ? node.then : node.otherwise;
  if (!is_runtime) return body(taken);
  // Names that only the taken branch binds must keep their type, and are forgotten when they are new.
  const std::vector<std::uint32_t>& mine = is_then ? node.assigned_then : node.assigned_otherwise;
  const std::vector<std::uint32_t>& others = is_then ? node.assigned_otherwise : node.assigned_then;
  std::vector<std::uint32_t> alone;
  std::ranges::copy_if(mine, std::back_inserter(alone),
                       [&](std::uint32_t slot) { return std::ranges::find(others, slot) == others.end(); });
  const Slots before = remembered(alone);
  if (body(taken)) return true;
  check_carried(alone, before, span, "the `if`");
  forget_new(alone, before);
  return false;
}

template <class D>
bool Evaluator<D>::run_node(const node::While& node, Span span) {
  const Slots first = remembered(node.assigned);
  while (true) {
    bool is_runtime = false;
    if (!condition(node.test, "the condition of `while`", is_runtime)) break;
    const Slots before = remembered(node.assigned);
    if (body(node.body)) return true;
    check_carried(node.assigned, before, span, "the loop");
    context_.count(1);
  }
  forget_new(node.assigned, first);
  return false;
}

template <class D>
bool Evaluator<D>::run_node(const node::For& node, Span span) {
  return node.is_static || (node.is_python && function_->is_compile_time) ? static_loop(node) : range_loop(node, span);
}

template <class D>
bool Evaluator<D>::static_loop(const node::For& node) {
  const auto bound = [&](const ExprPtr& expr, Int128 otherwise) {
    if (!expr) return otherwise;
    const Value<D> value = eval(expr);
    context_.span = expr->span;
    return constexpr_integer(context_, value, "a bound of `tl.static_range`");
  };
  const Int128 first = bound(node.first, 0), last = bound(node.last, 0), step = bound(node.step, 1);
  if (step == 0) context_.fail(kConstexpr, "the step of a range is zero");
  for (Int128 i = first; step > 0 ? i < last : i > last; i += step) {
    slots_[node.slot] = i;
    if (body(node.body)) return true;
    context_.count(1);
  }
  return false;
}

template <class D>
bool Evaluator<D>::range_loop(const node::For& node, Span span) {
  const auto bound = [&](const ExprPtr& expr, Int128 otherwise) {
    const Value<D> value = expr ? eval(expr) : Value<D>(otherwise);
    if (expr) context_.span = expr->span;
    return to_block(context_, value);
  };
  const BlockPtr<D> first = bound(node.first, 0), last = bound(node.last, 0), step = bound(node.step, 1);
  for (const BlockPtr<D>& each : {first, last, step}) {
    if (each->is_pointer() || each->is_real()) context_.fail(kType, "the bounds of a range are integers");
  }
  const DType type = promote_integers(promote_integers(first->type.element, last->type.element), step->type.element);
  const auto value_of = [&](const BlockPtr<D>& block) {
    return known_integer(context_, *cast(context_, block, {type, false}), "a bound of the loop");
  };
  const std::int64_t begin = value_of(first), end = value_of(last), by = value_of(step);
  if (by == 0) context_.fail(kArithmetic, "the step of a range is zero");
  const Slots before = remembered(node.assigned);
  // Compared as signed; beyond the type's range the next index would wrap, and the loop not end as written.
  for (Int128 i = begin; by > 0 ? i < end : i > end; i += by) {
    auto index = new_block<D>({type, false}, {});
    index->ints[0] = static_cast<std::int64_t>(i);
    slots_[node.slot] = BlockPtr<D>(std::move(index));
    const Slots start = remembered(node.assigned);
    body(node.body);
    check_carried(node.assigned, start, span, "the loop");
    context_.count(1);
  }
  slots_[node.slot] = {};
  forget_new(node.assigned, before);
  return false;
}

#define PLUMB_INSTANTIATE(D)         \
  template void Evaluator<D>::run(); \
  template Value<D> Evaluator<D>::call(const Function&, std::vector<Value<D>>);
PLUMB_FOR_EACH_DOMAIN(PLUMB_INSTANTIATE)

}  // namespace plumb::triton
