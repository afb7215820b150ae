// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "triton/frontend/formatted.h"
#include "triton/tile/arith.h"
#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"

namespace plumb::triton {

template <class D>
Value<D> Evaluator<D>::eval(const ExprPtr& expr) {
  return std::visit([&](const auto& node) { return eval_node(node, expr->span); }, expr->node);
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Constant& node, Span) {
  return std::visit([](const auto& each) { return Value<D>(each); }, node.value);
}
template <class D>
Value<D> Evaluator<D>::eval_node(const node::TypeName& node, Span) {
  return TypeValue{node.type, false, {}};
}
template <class D>
Value<D> Evaluator<D>::eval_node(const node::EnumName& node, Span) {
  return node;
}
template <class D>
Value<D> Evaluator<D>::eval_node(const node::Builtin& node, Span) {
  return node.op;
}
template <class D>
Value<D> Evaluator<D>::eval_node(const node::FunctionName& node, Span) {
  return node.function;
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Local& node, Span span) {
  const Value<D>& value = slots_[node.slot];
  if (!value.is_unset()) return value;
  if (node.global) return eval(node.global);
  context_.span = span;
  context_.fail(kName, fmt::format("`{}` has no value here", function_->slots[node.slot]));
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Unary& node, Span span) {
  const Value<D> operand = eval(node.operand);
  context_.span = span;
  return unary(context_, node.op, operand);
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Binary& node, Span span) {
  const Value<D> left = eval(node.left);
  const Value<D> right = eval(node.right);
  context_.span = span;
  return binary(context_, node.op, left, right);
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Compare& node, Span span) {
  const Value<D> left = eval(node.left);
  const Value<D> right = eval(node.right);
  context_.span = span;
  return compare(context_, node.op, left, right);
}

// Compile-time operands short-circuit; run-time ones are all evaluated and combined.
template <class D>
Value<D> Evaluator<D>::eval_node(const node::Bool& node, Span span) {
  Value<D> combined, last;
  for (const ExprPtr& operand : node.operands) {
    last = eval(operand);
    context_.span = span;
    if (last.block() != nullptr) {
      combined = combined.is_unset() ? last : logical(context_, node.op, combined, last);
    } else if (truth(context_, last) == (node.op == BoolOp::Or)) {
      return last;
    }
  }
  return combined.is_unset() ? last : combined;
}

template <class D>
bool Evaluator<D>::condition(const ExprPtr& expr, const char* what, bool& is_runtime) {
  const Value<D> value = eval(expr);
  context_.span = expr->span;
  const Block<D>* block = value.block();
  is_runtime = block != nullptr;
  if (!is_runtime) return truth(context_, value);
  if (block->size() != 1) context_.fail(kType, fmt::format("{} is a block of shape {}", what, text(block->shape)));
  return known_integer(context_, *cast(context_, *value.template get<BlockPtr<D>>(), {DType::Int1, false}), what) != 0;
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Conditional& node, Span span) {
  bool is_runtime = false;
  const bool is_then = condition(node.test, "the condition", is_runtime);
  Value<D> value = eval(is_then ? node.then : node.otherwise);
  context_.span = span;
  return is_runtime && value.is_number() ? Value<D>(to_block(context_, value)) : value;
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Tuple& node, Span) {
  std::vector<Value<D>> elements;
  for (const ExprPtr& element : node.elements) elements.push_back(eval(element));
  return tuple_of(std::move(elements));
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::OpCall& node, Span span) {
  Arguments<D> arguments;
  arguments.values.resize(node.arguments.size());
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    if (node.arguments[i]) arguments.values[i] = eval(node.arguments[i]);
  }
  for (const CallArgument& each : node.rest) {
    Value<D> value = eval(each.value);
    const bool is_whole = node.rest.size() == 1 && value.tuple() != nullptr && node.op != Op::ignored_output;
    if (value.tuple() != nullptr && (is_whole || each.is_starred)) {
      for (const Value<D>& element : *value.tuple()) arguments.rest.push_back(element);
    } else {
      arguments.rest.push_back(std::move(value));
    }
  }
  context_.span = span;
  return call_op(context_, node.op, arguments);
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Refused& node, Span span) {
  context_.span = span;
  context_.unmodelled(*node.code, node.message);
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::InModule& node, Span) {
  const SourcePtr here = std::exchange(context_.source, node.source);
  Value<D> value = eval(node.value);
  context_.source = here;
  return value;
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Comprehension& node, Span span) {
  const Value<D> tuple = eval(node.tuple);
  context_.span = span;
  if (tuple.tuple() == nullptr) context_.fail(kType, "a comprehension is over a tuple");
  std::vector<Value<D>> out;
  for (const Value<D>& each : *tuple.tuple()) {
    assign(node.target, each);
    bool is_taken = true;
    for (const ExprPtr& condition : node.conditions) is_taken = is_taken && truth(context_, eval(condition));
    if (is_taken) out.push_back(eval(node.element));
  }
  return tuple_of(std::move(out));
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Text& node, Span span) {
  std::string out;
  for (const ExprPtr& part : node.parts) {
    const Value<D> value = eval(part);
    context_.span = span;
    if (const auto* text = value.template get<std::string>()) {
      out += *text;
    } else if (const Int128* integer = value.template get<Int128>()) {
      out += std::to_string(static_cast<long long>(*integer));
    } else if (const bool* boolean = value.template get<bool>()) {
      out += *boolean ? "True" : "False";
    } else {
      return node::EnumName{std::string(kFormattedText)};
    }
  }
  return out;
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Walrus& node, Span span) {
  Value<D> value = sanitized(eval(node.value));
  context_.span = span;
  slots_[node.slot] = value;
  return value;
}

template <class D>
Value<D> Evaluator<D>::call_builtin(Op op, std::vector<std::pair<std::string, Value<D>>> arguments) {
  const OpRow& called = row(op);
  Arguments<D> placed;
  placed.values.resize(called.parameters.size());
  std::size_t position = 0;
  for (auto& [word, value] : arguments) {
    const std::size_t index =
        word.empty() ? position : static_cast<std::size_t>(static_cast<unsigned>(called.parameter(word)));
    if (index < called.parameters.size() && called.parameters[index].is_variadic) {
      placed.rest.push_back(std::move(value));
      continue;
    }
    if (index >= called.parameters.size() || !placed.values[index].is_unset()) {
      context_.fail(kCall, fmt::format("`{}` does not take these arguments", called.names.front()));
    }
    placed.values[index] = std::move(value);
    position += word.empty();
  }
  for (std::size_t i = 0; i < called.parameters.size(); ++i) {
    const OpRow::Parameter& parameter = called.parameters[i];
    if (!placed.values[i].is_unset() || parameter.is_optional || parameter.is_variadic) continue;
    context_.fail(kCall, fmt::format("`{}` lacks its argument `{}`", called.names.front(), parameter.name));
  }
  return call_op(context_, op, placed);
}

template <class D>
Value<D> Evaluator<D>::call(const Value<D>& callee, std::vector<Value<D>> arguments) {
  if (const auto* function = callee.template get<const Function*>()) return call(**function, std::move(arguments));
  const Op* op = callee.template get<Op>();
  if (op == nullptr) context_.fail(kType, "this is no function");
  std::vector<std::pair<std::string, Value<D>>> unnamed;
  for (Value<D>& each : arguments) unnamed.emplace_back("", std::move(each));
  return call_builtin(*op, std::move(unnamed));
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Call& node, Span span) {
  const Value<D> callee = eval(node.callee);
  std::vector<std::pair<std::string, Value<D>>> arguments;
  for (const CallArgument& each : node.arguments) {
    Value<D> value = eval(each.value);
    if (!each.is_starred) {
      arguments.emplace_back(each.name, std::move(value));
      continue;
    }
    context_.span = span;
    if (value.tuple() == nullptr) context_.fail(kType, "a `*` argument is a tuple");
    for (const Value<D>& element : *value.tuple()) arguments.emplace_back("", element);
  }
  context_.span = span;
  if (const Op* op = callee.template get<Op>()) return call_builtin(*op, std::move(arguments));
  const auto* function = callee.template get<const Function*>();
  if (function == nullptr) context_.fail(kType, "this is no function");
  const Function& called = **function;
  Slots slots(called.parameters.size());
  std::vector<Value<D>> rest;
  const std::size_t fixed = called.parameters.size() - (called.has_rest ? 1 : 0);
  std::size_t position = 0;
  for (auto& [word, value] : arguments) {
    std::size_t index = position;
    if (word.empty()) {
      ++position;
    } else {
      for (index = 0; index < fixed && called.parameters[index].name != word;) ++index;
      if (index == fixed) context_.fail(kCall, fmt::format("`{}` has no parameter `{}`", called.name, word));
    }
    if (index >= fixed && called.has_rest) {
      rest.push_back(std::move(value));
      continue;
    }
    if (index >= fixed) context_.fail(kCall, fmt::format("`{}` takes {} arguments", called.name, fixed));
    if (!slots[index].is_unset()) {
      context_.fail(kCall, fmt::format("`{}` is given `{}` twice", called.name, called.parameters[index].name));
    }
    slots[index] = std::move(value);
  }
  if (called.has_rest) slots[fixed] = tuple_of(std::move(rest));
  return call(called, std::move(slots));
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::MemberOf& node, Span span) {
  const Value<D> object = eval(node.object);
  context_.span = span;
  if (const auto* block = object.template get<BlockPtr<D>>()) return member_of_block(*block, node.member);
  if (const auto* type = object.template get<TypeValue>()) return member_of_type(*type, node.member);
  if (node.member == Member::Value && (object.is_number() || object.is_none())) return object;
  if (const auto* descriptor = object.template get<std::shared_ptr<const Descriptor>>()) {
    return member_of_descriptor(**descriptor, node.member);
  }
  // A Python number has a type as soon as Triton makes it a scalar.
  if (object.is_number()) return member_of_block(to_block(context_, object), node.member);
  context_.fail(kType, fmt::format("`{}` is no attribute of this", context_.source->slice(span)));
}

template <class D>
Value<D> Evaluator<D>::member_of_descriptor(const Descriptor& descriptor, Member member) {
  std::vector<Value<D>> out;
  switch (member) {
    case Member::DType:
      return TypeValue{descriptor.element, false, {}};
    case Member::Type:
      return TypeValue{descriptor.element, true, descriptor.block};
    case Member::BlockShape:
      for (unsigned axis = 0; axis < descriptor.block.rank; ++axis) out.push_back(Int128{descriptor.block[axis]});
      return tuple_of(std::move(out));
    case Member::Shape:
    case Member::Strides:
      for (const std::int64_t each : member == Member::Shape ? descriptor.shape : descriptor.strides) {
        auto scalar = new_block<D>({member == Member::Shape ? DType::Int32 : DType::Int64, false}, {});
        scalar->ints[0] = each;
        out.push_back(BlockPtr<D>(std::move(scalar)));
      }
      return tuple_of(std::move(out));
    default:
      break;
  }
  context_.fail(kType, "a descriptor has no such attribute");
}

template <class D>
Value<D> Evaluator<D>::member_of_block(const BlockPtr<D>& block, Member member) {
  const Shape& shape = block->shape;
  switch (member) {
    case Member::Shape: {
      std::vector<Value<D>> extents;
      for (unsigned axis = 0; axis < shape.rank; ++axis) extents.push_back(Int128{shape[axis]});
      return tuple_of(std::move(extents));
    }
    case Member::DType:
      return TypeValue{block->type, false, {}};
    case Member::Type:
      return TypeValue{block->type, shape.rank != 0, shape};
    case Member::Numel:
      return Int128{shape.size()};
    case Member::Transposed: {
      if (shape.rank != 2) context_.fail(kType, fmt::format("`.T` of a block of shape {}", text(shape)));
      Shape turned;
      turned.push(shape[1]);
      turned.push(shape[0]);
      context_.count(shape.size());
      return restride(*block, turned, Strides{1, shape[1]});
    }
    default:
      break;
  }
  context_.fail(kType, "a block has no such attribute");
}

template <class D>
Value<D> Evaluator<D>::member_of_type(const TypeValue& type, Member member) {
  const Type& scalar = type.type;
  switch (member) {
    case Member::ElementType:
      if (type.is_block) return TypeValue{scalar, false, {}};
      if (scalar.is_pointer) return TypeValue{{scalar.element, false}, false, {}};
      break;
    case Member::Scalar:
      return TypeValue{scalar, false, {}};
    case Member::PrimitiveBitwidth:
      return Int128{scalar.is_pointer ? 64u : bit_width(scalar.element)};
    case Member::IntBitwidth:
      if (!scalar.is_pointer && !is_float(scalar.element)) return Int128{bit_width(scalar.element)};
      break;
    default:
      break;
  }
  context_.fail(kType, fmt::format("the type {} has no such attribute", name(scalar)));
}

// The elements that a Python slice takes.
template <class D>
Value<D> Evaluator<D>::tuple_slice(const std::vector<Value<D>>& tuple, const Index& item) {
  const auto size = static_cast<Int128>(tuple.size());
  const auto bound = [&](const ExprPtr& expr) -> std::optional<Int128> {
    if (!expr) return std::nullopt;
    const Value<D> value = eval(expr);
    if (value.is_none()) return std::nullopt;
    return constexpr_integer(context_, value, "a bound of a slice");
  };
  const Int128 step = bound(item.step).value_or(1);
  if (step == 0) context_.fail(kConstexpr, "the step of a slice is zero");
  const auto clamped = [&](std::optional<Int128> at, Int128 otherwise) {
    if (!at) return otherwise;
    const Int128 counted = *at < 0 ? *at + size : *at;
    const Int128 low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    return std::min(std::max(counted, low), high);
  };
  const Int128 first = clamped(bound(item.lower), step > 0 ? 0 : size - 1);
  const Int128 last = clamped(bound(item.upper), step > 0 ? size : -1);
  std::vector<Value<D>> out;
  for (Int128 i = first; step > 0 ? i < last : i > last; i += step) out.push_back(tuple[static_cast<std::size_t>(i)]);
  return tuple_of(std::move(out));
}

template <class D>
Value<D> Evaluator<D>::tuple_item(const std::vector<Value<D>>& tuple, const node::Subscript& node) {
  if (node.items.size() == 1 && node.items[0].kind == Index::Kind::Slice) return tuple_slice(tuple, node.items[0]);
  if (node.items.size() == 1 && node.items[0].kind == Index::Kind::All) return tuple_of(std::vector<Value<D>>(tuple));
  if (node.items.size() != 1 || node.items[0].kind != Index::Kind::At) {
    context_.fail(kType, "a tuple is indexed by one integer or slice");
  }
  const Span span = context_.span;
  const Value<D> item = eval(node.items[0].at);
  context_.span = span;
  Int128 index = constexpr_integer(context_, item, "the index of a tuple");
  if (index < 0) index += static_cast<Int128>(tuple.size());
  if (index < 0 || index >= static_cast<Int128>(tuple.size())) {
    context_.fail(kType, fmt::format("the index is out of range of a tuple of {}", tuple.size()));
  }
  return tuple[static_cast<std::size_t>(index)];
}

template <class D>
Value<D> Evaluator<D>::eval_node(const node::Subscript& node, Span span) {
  const Value<D> object = eval(node.object);
  context_.span = span;
  if (const std::vector<Value<D>>* tuple = object.tuple()) return tuple_item(*tuple, node);
  const BlockPtr<D> block = to_block(context_, object);
  Shape shape;
  unsigned axis = 0;
  for (const Index& item : node.items) {
    if (shape.rank == kMaxRank) context_.unmodelled(kUnsupported, "a block of this rank is not supported");
    if (item.kind == Index::Kind::NewAxis) {
      shape.push(1);
    } else if (item.kind == Index::Kind::All && axis < block->shape.rank) {
      shape.push(block->shape[axis++]);
    } else {
      context_.fail(kType, fmt::format("a block of shape {} is indexed by `:` and `None` only, one `:` for each axis",
                                       text(block->shape)));
    }
  }
  if (shape.rank + (block->shape.rank - axis) > kMaxRank) {
    context_.unmodelled(kUnsupported, "a block of this rank is not supported");
  }
  while (axis < block->shape.rank) shape.push(block->shape[axis++]);
  return reshaped(block, shape);
}

#define PLUMB_INSTANTIATE(D)                                                    \
  template Value<D> Evaluator<D>::eval(const ExprPtr&);                         \
  template Value<D> Evaluator<D>::call(const Value<D>&, std::vector<Value<D>>); \
  template bool Evaluator<D>::condition(const ExprPtr&, const char*, bool&);
PLUMB_FOR_EACH_DOMAIN(PLUMB_INSTANTIATE)

}  // namespace plumb::triton
