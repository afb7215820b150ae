// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "triton/codes.h"
#include "triton/frontend/build.h"
#include "triton/frontend/builder.h"

namespace plumb::triton {
namespace {

struct Construct {
  std::string_view python, words;
};

constexpr std::array<Construct, 33> kConstructs = {{
    {"AsyncFor", "`async for`"},
    {"AsyncFunctionDef", "`async def`"},
    {"AsyncWith", "`async with`"},
    {"Await", "`await`"},
    {"Break", "`break`"},
    {"ClassDef", "a class inside a function"},
    {"Continue", "`continue`"},
    {"Delete", "`del`"},
    {"Dict", "a dictionary"},
    {"DictComp", "a dictionary comprehension"},
    {"FunctionDef", "a function inside a function"},
    {"GeneratorExp", "a generator expression"},
    {"Global", "`global`"},
    {"Import", "`import` inside a function"},
    {"ImportFrom", "`import` inside a function"},
    {"Lambda", "`lambda`"},
    {"ListComp", "a list comprehension"},
    {"Match", "`match`"},
    {"NamedExpr", "the operator `:=`"},
    {"Nonlocal", "`nonlocal`"},
    {"Raise", "`raise`"},
    {"Set", "a set"},
    {"SetComp", "a set comprehension"},
    {"Slice", "a slice"},
    {"Starred", "a starred expression"},
    {"TemplateStr", "a template string"},
    {"Try", "`try`"},
    {"TryStar", "`try`"},
    {"TypeAlias", "`type`"},
    {"With", "`with`"},
    {"Yield", "`yield`"},
    {"YieldFrom", "`yield from`"},
    {"FormattedValue", "a formatted value"},
}};

}  // namespace

std::string describe(std::string_view python_node) {
  const auto* found = std::ranges::find(kConstructs, python_node, &Construct::python);
  return found != kConstructs.end() ? std::string(found->words) : fmt::format("the Python construct {}", python_node);
}

// --- program ---------------------------------------------------------------------------------------------------------

const Function* ProgramBuilder::function(std::string_view name, Span use) {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return known->second;
  const Global* global = scope_.find(name);
  auto made = std::make_unique<Function>();
  made->name = name;
  made->span = span_of(*global->node, *source_);
  // The body is not part of the place.
  made->span.end = std::min(made->span.end, made->span.begin + static_cast<std::uint32_t>(4 + name.size()));
  if (!check_decorators(*global->node, *made)) {
    report(kUnsupported, fmt::format("a call of `{}`, which is not a @triton.jit function, is not supported", name),
           use);
    by_name_.emplace(name, nullptr);
    return nullptr;
  }
  Function* function = made.get();
  functions_.push_back(std::move(made));
  by_name_.emplace(name, function);
  queued_.emplace_back(function, global->node);
  return function;
}

// True for a jitted function; decorators that change what is called are findings.
bool ProgramBuilder::check_decorators(const Json& definition, Function& function) {
  bool is_jit = false;
  for (const Json& decorator : list(definition, "decorator_list")) {
    const bool has_arguments = is(decorator, "Call");
    const Json& callee = has_arguments ? get(decorator, "func") : decorator;
    const std::string path = scope_.path(callee).value_or("");
    if (path == "triton.jit" || path == "triton.runtime.jit.jit") {
      is_jit = true;
      if (!has_arguments) continue;
      for (const Json& keyword : list(decorator, "keywords")) {
        if (!has(keyword, "arg") || name_of(keyword, "arg") != "do_not_specialize") continue;
        for (const Json& name : list(get(keyword, "value"), "elts")) {
          if (is(name, "Constant")) function.not_specialized.push_back(get(name, "value").at(1).get<std::string>());
        }
      }
    } else if (path != "triton.autotune" && path != "triton.heuristics") {
      const Span span = span_of(decorator, *source_);
      report(kUnsupported, fmt::format("the decorator `{}` is not supported", source_->slice(span)), span);
    }
  }
  return is_jit;
}

void ProgramBuilder::build_queued() {
  while (!queued_.empty()) {
    const auto [function, definition] = queued_.back();
    queued_.pop_back();
    FunctionBuilder(*this, function).build(*definition);
  }
}

Program ProgramBuilder::take(const Function* kernel) {
  return Program{source_, kernel, std::move(functions_), uses_atomics_};
}

std::optional<Program> build_program(const SourcePtr& source, const Json& statements, std::string_view function,
                                     Findings& findings) {
  Findings own;
  ProgramBuilder builder(source, statements, own);
  const Global* global = builder.scope().find(function);
  const Function* kernel = nullptr;
  if (global == nullptr || global->node == nullptr || !is(*global->node, "FunctionDef")) {
    own.add(kNoFunction, fmt::format("`{}` has no function `{}`", source->name(), function), {source, {}});
  } else if (global->kind != Global::Kind::Function) {
    own.add(kNoFunction, fmt::format("`{}` is defined more than once or under a condition", function),
            {source, span_of(*global->node, *source)});
  } else if (list(*global->node, "decorator_list").empty()) {
    own.add(kNoFunction, fmt::format("`{}` is not decorated with `@triton.jit`", function),
            {source, span_of(*global->node, *source)});
  } else {
    kernel = builder.function(function, span_of(*global->node, *source));
    builder.build_queued();
  }
  const bool is_good = kernel != nullptr && !own.has_error();
  findings.append(std::move(own));
  if (!is_good) return std::nullopt;
  return builder.take(kernel);
}

// --- function --------------------------------------------------------------------------------------------------------

void FunctionBuilder::build(const Json& definition) {
  parameters(get(definition, "args"));
  find_locals(list(definition, "body"));
  function_->body = body(list(definition, "body"));
}

bool FunctionBuilder::is_constexpr(const Json& annotation) const {
  if (is(annotation, "Constant")) {  // "tl.constexpr" as a string
    const Json& value = get(annotation, "value");
    return value.at(0) == "str" && value.at(1).get_ref<const std::string&>().ends_with("constexpr");
  }
  const std::optional<std::string> path = program_.scope().path(annotation);
  return path && Scope::canonical(*path) == "constexpr";
}

void FunctionBuilder::parameters(const Json& arguments) {
  for (const char* field : {"vararg", "kwarg"}) {
    if (has(arguments, field)) unsupported("a `*` or `**` parameter", span(get(arguments, field)));
  }
  const auto add = [&](const Json& argument, const Json* default_value) {
    Function::Parameter parameter;
    parameter.name = name_of(argument, "arg");
    parameter.span = span(argument);
    parameter.is_constexpr = has(argument, "annotation") && is_constexpr(get(argument, "annotation"));
    if (default_value != nullptr) parameter.default_value = FunctionBuilder(program_, nullptr).expr(*default_value);
    slots_.emplace(parameter.name, static_cast<std::uint32_t>(function_->slots.size()));
    function_->slots.push_back(parameter.name);
    function_->parameters.push_back(std::move(parameter));
  };
  const Json& first = list(arguments, "posonlyargs");
  const Json& second = list(arguments, "args");
  const Json& defaults = list(arguments, "defaults");
  const std::size_t count = first.size() + second.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Json& argument = i < first.size() ? first[i] : second[i - first.size()];
    const bool has_default = i + defaults.size() >= count;
    add(argument, has_default ? &defaults[i + defaults.size() - count] : nullptr);
  }
  const Json& keyword_defaults = list(arguments, "kw_defaults");
  for (std::size_t i = 0; i < list(arguments, "kwonlyargs").size(); ++i) {
    const bool has_default = i < keyword_defaults.size() && !keyword_defaults[i].is_null();
    add(list(arguments, "kwonlyargs")[i], has_default ? &keyword_defaults[i] : nullptr);
  }
}

void FunctionBuilder::find_target(const Json& node) {
  if (is(node, "Name")) {
    const std::string_view word = name_of(node, "id");
    if (slots_.contains(word)) return;
    slots_.emplace(word, static_cast<std::uint32_t>(function_->slots.size()));
    function_->slots.emplace_back(word);
  } else if (is(node, "Tuple") || is(node, "List")) {
    for (const Json& element : list(node, "elts")) find_target(element);
  }
}

// A name that is bound anywhere in the function is a local of it.
void FunctionBuilder::find_locals(const Json& statements) {
  for (const Json& node : statements) {
    for (const Json& each : list(node, "targets")) find_target(each);
    if (has(node, "target")) find_target(get(node, "target"));
    for (const char* field : {"body", "orelse"}) {
      if (!is(node, "FunctionDef") && !is(node, "ClassDef")) find_locals(list(node, field));
    }
  }
}

Body FunctionBuilder::body(const Json& statements) {
  Body out;
  for (const Json& node : statements) statement(node, out);
  return out;
}

Body FunctionBuilder::nested(const Json& statements, std::vector<std::uint32_t>& assigned) {
  open_.push_back(&assigned);
  Body out = body(statements);
  open_.pop_back();
  return out;
}

void FunctionBuilder::bind(std::uint32_t slot) {
  for (std::vector<std::uint32_t>* assigned : open_) {
    if (std::ranges::find(*assigned, slot) == assigned->end()) assigned->push_back(slot);
  }
}

Target FunctionBuilder::target(const Json& node) {
  Target out{span(node), 0, {}};
  if (is(node, "Name")) {
    out.slot = slots_.find(name_of(node, "id"))->second;
    bind(out.slot);
  } else if (is(node, "Tuple") || is(node, "List")) {
    for (const Json& element : list(node, "elts")) out.elements.push_back(target(element));
    if (out.elements.empty()) unsupported("an empty target", out.span);
  } else {
    unsupported(is(node, "Starred") ? "a starred target" : "assignment to an item or attribute", out.span);
  }
  return out;
}

void FunctionBuilder::statement(const Json& node, Body& out) {
  const std::string_view word = kind(node);
  const Span at = span(node);
  if (word == "Assign") {
    assign(node, out);
  } else if (word == "AugAssign") {
    augmented(node, out);
  } else if (word == "AnnAssign") {
    annotated(node, out);
  } else if (word == "Expr") {
    const Json& value = get(node, "value");
    if (is(value, "Constant")) return;  // a docstring
    out.push_back({at, node::Evaluate{expr(value)}});
  } else if (word == "For") {
    for_loop(node, out);
  } else if (word == "While") {
    if (has(node, "orelse")) unsupported("`else` on a loop", at);
    node::While loop{expr(get(node, "test")), {}, {}};
    ++loops_;
    loop.body = nested(list(node, "body"), loop.assigned);
    --loops_;
    out.push_back({at, std::move(loop)});
  } else if (word == "If") {
    if_statement(node, out);
  } else if (word == "Return") {
    if (loops_ != 0) unsupported("`return` inside a loop", at);
    out.push_back({at, node::Return{has(node, "value") ? expr(get(node, "value")) : nullptr}});
  } else if (word == "Assert") {
    out.push_back({at, node::Assert{expr(get(node, "test"))}});
  } else if (word != "Pass") {
    unsupported(describe(word), at);
  }
}

void FunctionBuilder::assign(const Json& node, Body& out) {
  const Json& targets = list(node, "targets");
  if (targets.size() != 1) {
    unsupported("assignment to several targets", span(node));
    return;
  }
  ExprPtr value = expr(get(node, "value"));
  out.push_back({span(node), node::Assign{target(targets[0]), std::move(value), false}});
}

void FunctionBuilder::augmented(const Json& node, Body& out) {
  const Json& bound = get(node, "target");
  const std::optional<BinaryOp> op = binary_op(get(node, "op").get_ref<const std::string&>(), span(node));
  ExprPtr right = expr(get(node, "value"));
  ExprPtr left = is(bound, "Name") ? name(bound) : make(span(bound), node::Constant{None{}});
  ExprPtr value = make(span(node), node::Binary{op.value_or(BinaryOp::Add), std::move(left), std::move(right)});
  out.push_back({span(node), node::Assign{target(bound), std::move(value), false}});
}

void FunctionBuilder::annotated(const Json& node, Body& out) {
  if (!has(node, "value")) return;  // a bare annotation binds nothing
  ExprPtr value = expr(get(node, "value"));
  const bool is_compile_time = is_constexpr(get(node, "annotation"));
  out.push_back({span(node), node::Assign{target(get(node, "target")), std::move(value), is_compile_time}});
}

void FunctionBuilder::for_loop(const Json& node, Body& out) {
  if (has(node, "orelse")) unsupported("`else` on a loop", span(node));
  const Json& iterator = get(node, "iter");
  std::string called;
  if (is(iterator, "Call")) {
    const Json& callee = get(iterator, "func");
    if (const std::optional<std::string> path = module_path(callee)) called = Scope::canonical(*path).value_or("");
    const bool is_bare = is(callee, "Name") && !is_local(name_of(callee, "id"));
    if (called.empty() && is_bare && name_of(callee, "id") == "range") called = "python.range";
  }
  const OpRow* found = find_op(called);
  if (found == nullptr || found->op != Op::range || !is(get(node, "target"), "Name")) {
    unsupported("a loop other than `for NAME in` range, `tl.range` or `tl.static_range`",
                is(get(node, "target"), "Name") ? span(iterator) : span(get(node, "target")));
    return;
  }
  node::OpCall arguments{Op::range, {}, {}};
  arguments.arguments.resize(found->parameters.size());
  std::size_t position = 0;
  for (const Json& argument : list(iterator, "args")) op_argument(*found, argument, position, arguments);
  for (const Json& keyword : list(iterator, "keywords")) op_keyword(*found, keyword, arguments);
  ExprPtr& first = arguments.arguments[0];
  ExprPtr& second = arguments.arguments[1];
  if (!first) {
    program_.report(kType, "a range without bounds", span(iterator));
    return;
  }
  node::For loop;
  loop.is_static = called == "static_range";
  loop.last = second ? std::move(second) : std::move(first);
  loop.first = std::move(first);
  loop.step = std::move(arguments.arguments[2]);
  loop.slot = target(get(node, "target")).slot;
  ++loops_;
  loop.body = nested(list(node, "body"), loop.assigned);
  --loops_;
  out.push_back({span(node), std::move(loop)});
}

void FunctionBuilder::if_statement(const Json& node, Body& out) {
  node::If branch{expr(get(node, "test")), {}, {}, {}, {}};
  branch.then = nested(list(node, "body"), branch.assigned_then);
  branch.otherwise = nested(list(node, "orelse"), branch.assigned_otherwise);
  out.push_back({span(node), std::move(branch)});
}

}  // namespace plumb::triton
