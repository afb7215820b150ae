// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

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

namespace {

// Decorators that choose how a kernel is launched, not what it computes.
bool is_of_launch(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  const std::string_view word = dot == std::string_view::npos ? path : path.substr(dot + 1);
  return word == "libentry" || word == "libtuner" || word == "heuristics" || word.find("autotune") != word.npos;
}

bool contains_return(const Body& body);
bool contains_return(const Stmt& statement) {
  const auto* branch = std::get_if<node::If>(&statement.node);
  return std::holds_alternative<node::Return>(statement.node) ||
         (branch != nullptr && (contains_return(branch->then) || contains_return(branch->otherwise)));
}
bool contains_return(const Body& body) {
  return std::ranges::any_of(body, [](const Stmt& each) { return contains_return(each); });
}

}  // namespace

const Function* ProgramBuilder::function(const Module& module, const Json& definition) {
  const auto known = by_definition_.find(&definition);
  if (known != by_definition_.end()) return known->second;
  auto made = std::make_unique<Function>();
  made->name = name_of(definition, "name");
  made->source = module.source;
  made->span = span_of(definition, *module.source);
  // The body is not part of the place.
  made->span.end = std::min(made->span.end, made->span.begin + static_cast<std::uint32_t>(4 + made->name.size()));
  Function* function = made.get();
  if (!check_decorators(module, definition, *made)) {
    refusals_.erase(function);
    return by_definition_[&definition] = nullptr;
  }
  functions_.push_back(std::move(made));
  by_definition_.emplace(&definition, function);
  queued_.push_back({function, &module, &definition});
  return function;
}

// True for a jitted function. Decorators that may change what is called are refused where the function is called.
bool ProgramBuilder::check_decorators(const Module& module, const Json& definition, Function& function) {
  bool is_jit = false;
  for (const Json& decorator : list(definition, "decorator_list")) {
    const bool has_arguments = is(decorator, "Call");
    const std::optional<Meaning> meaning = modules_.resolve(module, has_arguments ? get(decorator, "func") : decorator);
    std::string path = meaning && meaning->module == nullptr ? meaning->path : std::string();
    if (meaning && meaning->module != nullptr && is(*meaning->global.node, "FunctionDef")) {
      path = name_of(*meaning->global.node, "name");
    }
    const std::string canonical = Scope::canonical(path).value_or("");
    if (canonical == "triton.jit" || canonical == "triton.runtime.jit.jit") {
      is_jit = true;
      if (!has_arguments) continue;
      for (const Json& keyword : list(decorator, "keywords")) {
        if (!has(keyword, "arg") || name_of(keyword, "arg") != "do_not_specialize") continue;
        for (const Json& name : list(get(keyword, "value"), "elts")) {
          if (is(name, "Constant")) function.not_specialized.push_back(get(name, "value").at(1).get<std::string>());
        }
      }
    } else if (canonical == "triton.constexpr_function" || canonical == "constexpr_function" ||
               canonical == "triton.runtime.jit.constexpr_function") {
      is_jit = function.is_compile_time = true;
    } else if (!is_of_launch(path)) {
      const Span span = span_of(decorator, *module.source);
      note_refusal(&function, {&kUnsupported,
                               fmt::format("the decorator `{}` is not supported", module.source->slice(span)),
                               {module.source, span},
                               false});
    }
  }
  return is_jit;
}

void ProgramBuilder::build_queued() {
  while (!queued_.empty()) {
    const Queued next = queued_.back();
    queued_.pop_back();
    const auto refused = refusals_.find(next.function);
    FunctionBuilder(*this, *next.module, next.function).build(*next.definition);
    if (refused == refusals_.end()) continue;
    // Its decorator is refused: so is every call of it.
    const Refusal& first = refused->second.front();
    ExprPtr node = std::make_unique<const Expr>(Expr{first.place.span, node::Refused{first.code, first.message}});
    next.function->body.clear();
    next.function->body.push_back({first.place.span, node::Evaluate{std::move(node)}});
  }
}

void ProgramBuilder::report_refusals(const Function& kernel) {
  std::vector<const Function*> reached{&kernel};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (Refusal& each : refusals_[reached[i]]) {
      if (!each.is_open) findings_.add(*each.code, std::move(each.message), std::move(each.place));
    }
    for (const Callee& each : calls_[reached[i]]) {
      if (!each.is_open && std::ranges::find(reached, each.function) == reached.end()) reached.push_back(each.function);
    }
  }
}

Program ProgramBuilder::take(const Function* kernel) {
  return Program{kernel->source, modules_.sources(), kernel, std::move(functions_), uses_atomics_};
}

std::optional<Program> build_program(const SourcePtr& source, const Json& statements, std::string_view name,
                                     const PythonConfig& python, Findings& findings) {
  Findings own;
  ProgramBuilder builder(source, statements, python, own);
  const Module& main = builder.modules().main();
  const std::vector<Binding>* bindings = main.scope.find(name);
  const std::optional<Meaning> meaning = builder.modules().find(main, name);
  const auto place_of = [&](const Json& node) { return Place{source, span_of(node, *source)}; };
  const Function* kernel = nullptr;
  if (bindings == nullptr || !is(*bindings->back().global.node, "FunctionDef")) {
    own.add(kNoFunction, fmt::format("`{}` has no function `{}`", source->name(), name), {source, {}});
  } else if (const Json& node = *bindings->back().global.node;
             !meaning || meaning->module != &main || meaning->global.kind != Global::Kind::Function) {
    own.add(kNoFunction, fmt::format("`{}` is defined more than once or under a condition", name), place_of(node));
  } else if (const Json& definition = *meaning->global.node; list(definition, "decorator_list").empty()) {
    own.add(kNoFunction, fmt::format("`{}` is not decorated with `@triton.jit`", name), place_of(definition));
  } else {
    kernel = builder.function(main, definition);
    if (kernel == nullptr) {
      const Json& decorator = list(definition, "decorator_list").at(0);
      const Place place = place_of(decorator);
      own.add(kUnsupported, fmt::format("the decorator `{}` is not supported", source->slice(place.span)), place);
    } else {
      builder.build_queued();
      builder.report_refusals(*kernel);
    }
  }
  const bool is_good = kernel != nullptr && !own.has_error();
  findings.append(std::move(own));
  if (!is_good) return std::nullopt;
  return builder.take(kernel);
}

// --- function --------------------------------------------------------------------------------------------------------

void FunctionBuilder::build(const Json& definition) {
  parameters(get(definition, "args"));
  ExprPtr refused = settle_refusals(0, function_->span);
  find_locals(list(definition, "body"));
  find_targets_in(list(definition, "body"));
  function_->body = body(list(definition, "body"));
  if (refused) function_->body.insert(function_->body.begin(), {refused->span, node::Evaluate{std::move(refused)}});
}

bool FunctionBuilder::is_constexpr(const Json& annotation) const {
  if (is(annotation, "Constant")) {  // "tl.constexpr" as a string
    const Json& value = get(annotation, "value");
    return value.at(0) == "str" && value.at(1).get_ref<const std::string&>().ends_with("constexpr");
  }
  const std::optional<Meaning> meaning = program_.modules().resolve(module_, annotation);
  return meaning && meaning->module == nullptr && Scope::canonical(meaning->path) == "constexpr";
}

void FunctionBuilder::parameters(const Json& arguments) {
  if (has(arguments, "kwarg")) unsupported("a `**` parameter", span(get(arguments, "kwarg")));
  const auto add = [&](const Json& argument, const Json* default_value) {
    Function::Parameter parameter;
    parameter.name = name_of(argument, "arg");
    parameter.span = span(argument);
    parameter.is_constexpr = has(argument, "annotation") && is_constexpr(get(argument, "annotation"));
    if (default_value != nullptr) parameter.default_value = arm(*default_value);
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
  if (has(arguments, "vararg")) {
    if (!list(arguments, "kwonlyargs").empty()) {
      unsupported("a parameter after a `*` parameter", span(list(arguments, "kwonlyargs")[0]));
    }
    add(get(arguments, "vararg"), nullptr);
    function_->has_rest = true;
    return;
  }
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

// Targets inside expressions: of comprehensions and `:=`.
void FunctionBuilder::find_targets_in(const Json& node) {
  if (!node.is_array() && !node.is_object()) return;
  const bool is_node = node.is_array() && node.size() == 3 && node[0].is_string();
  if (is_node && (is(node, "NamedExpr") || is(node, "comprehension"))) find_target(get(node, "target"));
  for (const Json& each : node) find_targets_in(each);
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

// A statement with a refusal is one node that refuses.
void FunctionBuilder::statement(const Json& node, Body& out) {
  const std::size_t before = pending_.size(), count = out.size();
  build_statement(node, out);
  ExprPtr refused = settle_refusals(before, span(node));
  if (!refused) return;
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(count), out.end());
  out.push_back({refused->span, node::Evaluate{std::move(refused)}});
}

void FunctionBuilder::build_statement(const Json& node, Body& out) {
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
    if (loops_ != 0 && !function_->is_compile_time) unsupported("`return` inside a loop", at);
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
    if (const std::optional<Meaning> meaning = outer_meaning(callee); meaning && meaning->module == nullptr) {
      called = Scope::canonical(meaning->path).value_or("");
    }
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
    refuse(kType, "a range without bounds", span(iterator));
    return;
  }
  node::For loop;
  loop.is_static = called == "static_range";
  loop.is_python = called == "python.range";
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
  const bool was_open = std::exchange(is_open_, true);
  branch.then = nested(list(node, "body"), branch.assigned_then);
  branch.otherwise = nested(list(node, "orelse"), branch.assigned_otherwise);
  // What follows a branch that returns may be taken away too.
  is_open_ = was_open || contains_return(branch.then) || contains_return(branch.otherwise);
  out.push_back({span(node), std::move(branch)});
}

}  // namespace plumb::triton
