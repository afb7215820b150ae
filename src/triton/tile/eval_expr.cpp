// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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
  return TypeValue{node.type, false};
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
Value<D> Evaluator<D>::eval_node(const node::Call& node, Span span) {
  const Value<D> callee = eval(node.callee);
  const auto* function = callee.template get<const Function*>();
  if (function == nullptr) {
    context_.span = span;
    if (callee.template get<Op>() != nullptr) {
      context_.unmodelled(kUnsupported, "a function of Triton called through a name is not supported");
    }
    context_.fail(kType, "this is no function");
  }
  const Function& called = **function;
  Slots slots(called.parameters.size());
  std::size_t position = 0;
  const auto place = [&](std::size_t index, Value<D> value) {
    context_.span = span;
    if (index >= slots.size()) {
      context_.fail(kCall, fmt::format("`{}` takes {} arguments", called.name, called.parameters.size()));
    }
    if (!slots[index].is_unset()) {
      context_.fail(kCall, fmt::format("`{}` is given `{}` twice", called.name, called.parameters[index].name));
    }
    slots[index] = std::move(value);
  };
  for (const CallArgument& each : node.arguments) {
    Value<D> value = eval(each.value);
    if (each.is_starred && value.tuple() != nullptr) {
      for (const Value<D>& element : *value.tuple()) place(position++, element);
    } else if (each.name.empty()) {
      place(position++, std::move(value));
    } else {
      std::size_t index = 0;
      while (index < called.parameters.size() && called.parameters[index].name != each.name) ++index;
      context_.span = span;
      if (index == called.parameters.size()) {
        context_.fail(kCall, fmt::format("`{}` has no parameter `{}`", called.name, each.name));
      }
      place(index, std::move(value));
    }
  }
  context_.span = span;
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
    if (node.member == Member::DType) return TypeValue{(*descriptor)->element, false};
  }
  // A Python number has a type as soon as Triton makes it a scalar.
  if (object.is_number()) return member_of_block(to_block(context_, object), node.member);
  context_.fail(kType, fmt::format("`{}` is no attribute of this", context_.program.source->slice(span)));
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
      return TypeValue{block->type, false};
    case Member::Type:
      return TypeValue{block->type, shape.rank != 0};
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
      if (type.is_block) return TypeValue{scalar, false};
      if (scalar.is_pointer) return TypeValue{{scalar.element, false}, false};
      break;
    case Member::Scalar:
      return TypeValue{scalar, false};
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

template <class D>
Value<D> Evaluator<D>::tuple_item(const std::vector<Value<D>>& tuple, const node::Subscript& node) {
  if (node.items.size() != 1 || node.items[0].kind != Index::Kind::At) {
    context_.unmodelled(kUnsupported, "an index of a tuple other than an integer is not supported");
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

#define PLUMB_INSTANTIATE(D)                            \
  template Value<D> Evaluator<D>::eval(const ExprPtr&); \
  template bool Evaluator<D>::condition(const ExprPtr&, const char*, bool&);
PLUMB_FOR_EACH_DOMAIN(PLUMB_INSTANTIATE)

}  // namespace plumb::triton
