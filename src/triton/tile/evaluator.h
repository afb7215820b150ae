// SPDX-License-Identifier: Apache-2.0
// Evaluates the statements and expressions of one program. Functions of the op table are called through `op_<id>`, each
// defined in the chapter that ops.def names.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "triton/tile/context.h"

namespace plumb::triton {

// The arguments of a call of the op table, by parameter; Unset where absent.
template <class D>
struct Arguments {
  std::vector<Value<D>> values;
  std::vector<Value<D>> rest;  // of the variadic parameter, or of a tuple given for it
  Value<D>& operator[](std::size_t i) { return values[i]; }
  bool has(std::size_t i) const { return !values[i].is_unset() && !values[i].is_none(); }
};

#define PLUMB_TRITON_OP(id, names, parameters) \
  template <class D>                           \
  Value<D> op_##id(Context<D>& context, Arguments<D>& arguments);
#include "triton/ops.def"
#undef PLUMB_TRITON_OP

template <class D>
class Evaluator {
 public:
  explicit Evaluator(Context<D>& context) : context_(context) { context_.evaluator = this; }

  // Runs the kernel for the program of context.program_id. Throws Halt.
  void run();
  // A jitted function on positional arguments; what it returns, None without a return.
  Value<D> call(const Function& function, std::vector<Value<D>> arguments);
  // A jitted function or a function of the table.
  Value<D> call(const Value<D>& callee, std::vector<Value<D>> arguments);

 private:
  using Slots = std::vector<Value<D>>;

  Value<D> kernel_argument(const Function::Parameter& parameter);
  Value<D> from_argument(const Function::Parameter& parameter, const Argument& argument);
  Value<D> descriptor_argument(const Argument& argument);
  void bind_default(const Function::Parameter& parameter, Value<D>& slot);

  // True when the function returned; its value is then in `returned_`.
  bool body(const Body& statements);
  bool statement(const Stmt& statement);
  bool run_node(const node::Evaluate& node, Span span);
  bool run_node(const node::Assign& node, Span span);
  bool run_node(const node::For& node, Span span);
  bool run_node(const node::While& node, Span span);
  bool run_node(const node::If& node, Span span);
  bool run_node(const node::Return& node, Span span);
  bool run_node(const node::Assert& node, Span span);
  void assign(const Target& target, Value<D> value);
  Value<D> sanitized(const Value<D>& value);
  bool static_loop(const node::For& node);
  bool range_loop(const node::For& node, Span span);
  // Loop-carried and conditionally assigned names, as Triton's compiler treats them.
  Slots remembered(const std::vector<std::uint32_t>& assigned) const;
  void check_carried(const std::vector<std::uint32_t>& assigned, const Slots& before, Span span, const char* where);
  void forget_new(const std::vector<std::uint32_t>& assigned, const Slots& before);

  Value<D> eval(const ExprPtr& expr);
  Value<D> eval_node(const node::Constant& node, Span span);
  Value<D> eval_node(const node::TypeName& node, Span span);
  Value<D> eval_node(const node::EnumName& node, Span span);
  Value<D> eval_node(const node::Local& node, Span span);
  Value<D> eval_node(const node::Builtin& node, Span span);
  Value<D> eval_node(const node::FunctionName& node, Span span);
  Value<D> eval_node(const node::MemberOf& node, Span span);
  Value<D> eval_node(const node::Unary& node, Span span);
  Value<D> eval_node(const node::Binary& node, Span span);
  Value<D> eval_node(const node::Compare& node, Span span);
  Value<D> eval_node(const node::Bool& node, Span span);
  Value<D> eval_node(const node::Conditional& node, Span span);
  Value<D> eval_node(const node::OpCall& node, Span span);
  Value<D> eval_node(const node::Call& node, Span span);
  Value<D> eval_node(const node::Subscript& node, Span span);
  Value<D> eval_node(const node::Tuple& node, Span span);
  Value<D> eval_node(const node::Refused& node, Span span);
  Value<D> eval_node(const node::InModule& node, Span span);
  Value<D> eval_node(const node::Comprehension& node, Span span);
  Value<D> eval_node(const node::Text& node, Span span);
  Value<D> eval_node(const node::Walrus& node, Span span);
  // A function of the table that was passed as a value.
  Value<D> call_builtin(Op op, std::vector<std::pair<std::string, Value<D>>> arguments);
  Value<D> member_of_block(const BlockPtr<D>& block, Member member);
  Value<D> member_of_descriptor(const Descriptor& descriptor, Member member);
  Value<D> member_of_type(const TypeValue& type, Member member);
  Value<D> tuple_item(const std::vector<Value<D>>& tuple, const node::Subscript& node);
  Value<D> tuple_slice(const std::vector<Value<D>>& tuple, const Index& item);
  // A scalar condition of `if`, `while` or a ternary; `is_runtime` tells which kind it was.
  bool condition(const ExprPtr& expr, const char* what, bool& is_runtime);

  Context<D>& context_;
  const Function* function_ = nullptr;
  Slots slots_;
  Value<D> returned_;
};

// Compile-time arguments.
template <class D>
Int128 constexpr_integer(Context<D>& context, const Value<D>& value, const char* what);
template <class D>
bool constexpr_flag(Context<D>& context, const Value<D>& value, bool otherwise);
template <class D>
std::string constexpr_text(Context<D>& context, const Value<D>& value, const char* what);
template <class D>
Type constexpr_type(Context<D>& context, const Value<D>& value);
// A tuple of extents, or one extent.
template <class D>
Shape constexpr_shape(Context<D>& context, const Value<D>& value);
template <class D>
Shape constexpr_shape(Context<D>& context, std::span<const Value<D>> extents);
// An axis in [0, rank), negative ones counted from the end.
template <class D>
unsigned constexpr_axis(Context<D>& context, const Value<D>& value, unsigned rank);
template <class D>
Value<D> tuple_of(std::vector<Value<D>> elements) {
  return TuplePtr<D>(std::make_shared<const std::vector<Value<D>>>(std::move(elements)));
}

// Calls the row's meaning.
template <class D>
Value<D> call_op(Context<D>& context, Op op, Arguments<D>& arguments);

}  // namespace plumb::triton
