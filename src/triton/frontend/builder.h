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
#include "triton/frontend/module.h"
#include "triton/frontend/tree.h"

namespace plumb::triton {

// How a reader would name a Python construct ("a list comprehension").
std::string describe(std::string_view python_node);

// A construct that is not supported. `is_open`: a compile-time condition may take it away.
struct Refusal {
  const Code* code = nullptr;
  std::string message;
  Place place;
  bool is_open = false;
};

class ProgramBuilder {
 public:
  ProgramBuilder(const SourcePtr& source, const Json& statements, const PythonConfig& python, Findings& findings)
      : modules_(source, statements, python), findings_(findings) {}

  // The jitted function that a module defines, queued to be built; null when it is none.
  const Function* function(const Module& module, const Json& definition);
  // Builds until nothing is queued, and reports the refusals that every call of the kernel meets.
  void build_queued();
  void report_refusals(const Function& kernel);
  Program take(const Function* kernel);

  Modules& modules() { return modules_; }
  void report(const Code& code, std::string message, const SourcePtr& source, Span span) {
    findings_.add(code, std::move(message), {source, span});
  }
  void note_atomic() { uses_atomics_ = true; }
  void note_refusal(const Function* function, Refusal refusal) { refusals_[function].push_back(std::move(refusal)); }
  void note_call(const Function* caller, const Function* callee, bool is_open) {
    calls_[caller].push_back({callee, is_open});
  }
  // Guards against constants that are defined by themselves: false when the node is being resolved already.
  bool enter_global(const Json* node) { return open_globals_.emplace(node).second; }
  void leave_global(const Json* node) { open_globals_.erase(node); }

 private:
  struct Callee {
    const Function* function = nullptr;
    bool is_open = false;
  };
  struct Queued {
    Function* function = nullptr;
    const Module* module = nullptr;
    const Json* definition = nullptr;
  };
  bool check_decorators(const Module& module, const Json& definition, Function& function);

  Modules modules_;
  Findings& findings_;
  std::vector<std::unique_ptr<Function>> functions_;
  std::map<const Json*, const Function*> by_definition_;
  std::vector<Queued> queued_;
  std::map<const Function*, std::vector<Refusal>> refusals_;
  std::map<const Function*, std::vector<Callee>> calls_;
  std::set<const Json*> open_globals_;
  bool uses_atomics_ = false;
};

class FunctionBuilder {
 public:
  // `function` is what is built; for expressions of module level (`is_module_level`) what they are built for.
  FunctionBuilder(ProgramBuilder& program, const Module& module, Function* function, bool is_module_level = false)
      : program_(program), module_(module), function_(function), is_module_level_(is_module_level) {}

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
  void build_statement(const Json& node, Body& out);
  void find_targets_in(const Json& node);
  Body nested(const Json& statements, std::vector<std::uint32_t>& assigned);
  Target target(const Json& node);
  void bind(std::uint32_t slot);
  bool is_constexpr(const Json& annotation) const;

  // Expressions (build_expr.cpp).
  ExprPtr constant(const Json& node);
  ExprPtr name(const Json& node);
  ExprPtr global(std::string_view name, Span span);
  ExprPtr from_meaning(const Meaning& meaning, Span span);
  ExprPtr from_path(std::string_view path, Span span);
  ExprPtr attribute(const Json& node);
  ExprPtr comprehension(const Json& node);
  ExprPtr joined_text(const Json& node);
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
  std::optional<Meaning> outer_meaning(const Json& node) const;
  bool is_local(std::string_view name) const;
  std::optional<BinaryOp> binary_op(std::string_view word, Span span);
  ExprPtr unsupported(std::string what, Span span);
  ExprPtr refuse(const Code& code, std::string message, Span span);
  // Builds an expression that a compile-time condition may take away: a refusal in it stays with it.
  ExprPtr arm(const Json& node);
  // Hands the refusals since `before` to the program; a node in their stead, or null when there are none.
  ExprPtr settle_refusals(std::size_t before, Span span);

  template <class Node>
  static ExprPtr make(Span span, Node node) {
    return std::make_unique<const Expr>(Expr{span, std::move(node)});
  }
  Span span(const Json& node) const { return span_of(node, *module_.source); }
  std::string_view text(Span at) const { return module_.source->slice(at); }

  ProgramBuilder& program_;
  const Module& module_;
  Function* function_;
  bool is_module_level_ = false;
  bool is_open_ = false;          // a compile-time condition may take away what is being built
  std::vector<Refusal> pending_;  // of the statement that is being built
  std::map<std::string, std::uint32_t, std::less<>> slots_;
  std::vector<std::vector<std::uint32_t>*> open_;  // assigned-sets of the enclosing loops and branches
  unsigned loops_ = 0;
};

}  // namespace plumb::triton
