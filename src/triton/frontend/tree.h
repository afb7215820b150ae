// SPDX-License-Identifier: Apache-2.0
// A kernel and the jitted functions it calls, resolved: locals are slots, functions of Triton are rows of the op table.
// What is in a tree is supported, but for `Refused` nodes; anything else became a finding when the tree was made. Every
// node has its place in the source of its function.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/finding.h"
#include "base/source.h"
#include "triton/kernel.h"
#include "triton/op_table.h"
#include "triton/type.h"

namespace plumb::triton {

enum class BinaryOp : std::uint8_t { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, Shl, Shr, And, Or, Xor };
enum class UnaryOp : std::uint8_t { Neg, Plus, Invert, Not };
enum class CompareOp : std::uint8_t { Eq, Ne, Lt, Le, Gt, Ge, Is, IsNot };
enum class BoolOp : std::uint8_t { And, Or };
enum class Member : std::uint8_t {
  Shape,
  DType,
  Type,
  Transposed,
  Numel,
  ElementType,
  Scalar,
  PrimitiveBitwidth,
  IntBitwidth,
  Value,
  BlockShape,
  Strides
};

std::string_view symbol(BinaryOp op);
std::string_view symbol(CompareOp op);

struct Expr;
struct Function;
using ExprPtr = std::unique_ptr<const Expr>;

using Literal = std::variant<None, bool, Int128, double, std::string>;

struct CallArgument {  // of a call
  std::string name;    // empty: positional
  bool is_starred = false;
  ExprPtr value;
};

// An item of a subscript: `:`, `None`, a compile-time index, or a slice of a tuple.
struct Index {
  enum class Kind : std::uint8_t { All, NewAxis, At, Slice } kind = Kind::All;
  ExprPtr at;
  ExprPtr lower, upper, step;  // of a slice; null where absent
};

// What an assignment binds: one slot, or a tuple of targets.
struct Target {
  Span span;
  std::uint32_t slot = 0;
  std::vector<Target> elements;  // not empty: a tuple
};

namespace node {
struct Constant {
  Literal value;
};
// A construct that is not supported, where a compile-time condition may take it away: a finding when it is reached.
struct Refused {
  const Code* code = nullptr;
  std::string message;
};
// A module-level expression of another source.
struct InModule {
  SourcePtr source;
  ExprPtr value;
};
struct TypeName {
  Type type;
};  // tl.float32
struct EnumName {
  std::string name;
};  // "PropagateNan.ALL"
struct Local {
  std::uint32_t slot = 0;
  ExprPtr global;
};  // `global`: what the name means while the slot is empty
struct Builtin {
  Op op{};
};  // a function of the table as a value
struct FunctionName {
  const Function* function = nullptr;
};
struct MemberOf {
  ExprPtr object;
  Member member{};
};
struct Unary {
  UnaryOp op{};
  ExprPtr operand;
};
struct Binary {
  BinaryOp op{};
  ExprPtr left, right;
};
struct Compare {
  CompareOp op{};
  ExprPtr left, right;
};
struct Bool {
  BoolOp op{};
  std::vector<ExprPtr> operands;
};
struct Conditional {
  ExprPtr test, then, otherwise;
};
// A call of a row; `arguments` by parameter, null where absent; a variadic parameter's in `rest`.
struct OpCall {
  Op op{};
  std::vector<ExprPtr> arguments;
  std::vector<CallArgument> rest;
};
struct Call {
  ExprPtr callee;
  std::vector<CallArgument> arguments;
};
struct Subscript {
  ExprPtr object;
  std::vector<Index> items;
};
struct Tuple {
  std::vector<ExprPtr> elements;
};
struct Comprehension {  // [element for target in tuple if ...]
  Target target;
  ExprPtr tuple, element;
  std::vector<ExprPtr> conditions;
};
struct Text {  // an f-string
  std::vector<ExprPtr> parts;
};
struct Walrus {  // (name := value)
  std::uint32_t slot = 0;
  ExprPtr value;
};
}  // namespace node

struct Expr {
  Span span;
  std::variant<node::Constant, node::TypeName, node::EnumName, node::Local, node::Builtin, node::FunctionName,
               node::MemberOf, node::Unary, node::Binary, node::Compare, node::Bool, node::Conditional, node::OpCall,
               node::Call, node::Subscript, node::Tuple, node::Refused, node::InModule, node::Comprehension, node::Text,
               node::Walrus>
      node;
};

struct Stmt;
using Body = std::vector<Stmt>;

namespace node {
struct Evaluate {
  ExprPtr value;
};
struct Assign {
  Target target;
  ExprPtr value;
  bool is_constexpr = false;
};  // `x: tl.constexpr = value`
struct For {
  std::uint32_t slot = 0;
  bool is_static = false;
  bool is_python = false;     // Python's `range`: static in a compile-time function
  ExprPtr first, last, step;  // null: 0, -, 1
  Body body;
  std::vector<std::uint32_t> assigned;  // slots that the body may bind
};
struct While {
  ExprPtr test;
  Body body;
  std::vector<std::uint32_t> assigned;
};
struct If {
  ExprPtr test;
  Body then, otherwise;
  std::vector<std::uint32_t> assigned_then, assigned_otherwise;
};
struct Return {
  ExprPtr value;
};  // null: none
struct Assert {
  ExprPtr test;
};
}  // namespace node

struct Stmt {
  Span span;
  std::variant<node::Evaluate, node::Assign, node::For, node::While, node::If, node::Return, node::Assert> node;
};

struct Function {
  struct Parameter {
    std::string name;
    bool is_constexpr = false;
    ExprPtr default_value;  // null: none
    Span span;
  };
  std::string name;
  SourcePtr source;
  Span span;
  // Runs on compile-time values only (@triton.constexpr_function): names keep Python's values.
  bool is_compile_time = false;
  bool has_rest = false;                     // the last parameter is `*name`
  std::vector<Parameter> parameters;         // slot i is parameter i
  std::vector<std::string> slots;            // names of the locals
  std::vector<std::string> not_specialized;  // parameters of @triton.jit(do_not_specialize=...)
  Body body;
};

// The kernel and what it reaches; functions stay where they are.
struct Program {
  SourcePtr source;                // of the kernel
  std::vector<SourcePtr> sources;  // that were read for it, the kernel's first
  const Function* kernel = nullptr;
  std::vector<std::unique_ptr<Function>> functions;
  bool uses_atomics = false;  // programs then run in order, so that the result does not depend on timing
};

}  // namespace plumb::triton
