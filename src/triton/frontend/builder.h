// SPDX-License-Identifier: Apache-2.0
// The builders behind build.h: one for the program, one for each function.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "triton/frontend/scope.h"
#include "triton/frontend/tree.h"

namespace plumb::triton {

// How a reader would name a Python construct ("a list comprehension").
std::string describe(std::string_view python_node);

class ProgramBuilder {
 public:
  ProgramBuilder(const SourcePtr& source, const Json& statements, Findings& findings)
      : scope_(statements), source_(source), findings_(findings) {}

  // The jitted function of that name, queued to be built; null after a finding.
  const Function* function(std::string_view name, Span use);
  // Builds until nothing is queued.
  void build_queued();
  Program take(const Function* kernel);

  const Scope& scope() const { return scope_; }
  const SourcePtr& source() const { return source_; }
  void report(const Code& code, std::string message, Span span) {
    findings_.add(code, std::move(message), {source_, span});
  }
  void note_atomic() { uses_atomics_ = true; }
  // Guards against constants that are defined by themselves: false when `name` is being resolved already.
  bool enter_global(std::string_view name) { return open_globals_.emplace(name).second; }
  void leave_global(std::string_view name) { open_globals_.erase(std::string(name)); }

 private:
  bool check_decorators(const Json& definition, Function& function);

  Scope scope_;
  SourcePtr source_;
  Findings& findings_;
  std::vector<std::unique_ptr<Function>> functions_;
  std::map<std::string, const Function*, std::less<>> by_name_;
  std::vector<std::pair<Function*, const Json*>> queued_;
  std::set<std::string> open_globals_;
  bool uses_atomics_ = false;
};

class FunctionBuilder {
 public:
  // `function` null: expressions of module level.
  FunctionBuilder(ProgramBuilder& program, Function* function) : program_(program), function_(function) {}

  void build(const Json& definition);
  ExprPtr expr(const Json& node);

 private:
  // Statements (build_stmt.cpp).
  void parameters(const Json& arguments);
  void find_locals(const Json& statements);
  void find_target(const Json& target);
  Body body(const Json& statements);
  void statement(const Json& node, Body& out);
  void assign(const Json& node, Body& out);
  void augmented(const Json& node, Body& out);
  void annotated(const Json& node, Body& out);
  void for_loop(const Json& node, Body& out);
  void if_statement(const Json& node, Body& out);
  Body nested(const Json& statements, std::vector<std::uint32_t>& assigned);
  Target target(const Json& node);
  void bind(std::uint32_t slot);
  bool is_constexpr(const Json& annotation) const;

  // Expressions (build_expr.cpp).
  ExprPtr constant(const Json& node);
  ExprPtr name(const Json& node);
  ExprPtr global(std::string_view name, Span span);
  ExprPtr from_path(std::string_view path, Span span);
  ExprPtr attribute(const Json& node);
  ExprPtr binary(const Json& node);
  ExprPtr unary(const Json& node);
  ExprPtr boolean(const Json& node);
  ExprPtr compare(const Json& node);
  ExprPtr call(const Json& node);
  ExprPtr op_call(const OpRow& row, ExprPtr self, const Json& node);
  void op_argument(const OpRow& row, const Json& argument, std::size_t& position, node::OpCall& out);
  void op_keyword(const OpRow& row, const Json& keyword, node::OpCall& out);
  ExprPtr type_call(Type type, const Json& node);
  ExprPtr user_call(const Json& node);
  ExprPtr subscript(const Json& node);
  Index index(const Json& item);
  std::optional<std::string> module_path(const Json& node) const;
  bool is_local(std::string_view name) const;
  std::optional<BinaryOp> binary_op(std::string_view word, Span span);
  ExprPtr unsupported(std::string what, Span span);

  template <class Node>
  static ExprPtr make(Span span, Node node) {
    return std::make_unique<const Expr>(Expr{span, std::move(node)});
  }
  Span span(const Json& node) const { return span_of(node, *program_.source()); }
  std::string_view text(Span at) const { return program_.source()->slice(at); }

  ProgramBuilder& program_;
  Function* function_;
  std::map<std::string, std::uint32_t, std::less<>> slots_;
  std::vector<std::vector<std::uint32_t>*> open_;  // assigned-sets of the enclosing loops and branches
  unsigned loops_ = 0;
};

}  // namespace plumb::triton
