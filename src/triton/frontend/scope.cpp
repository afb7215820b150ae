// SPDX-License-Identifier: Apache-2.0
#include "triton/frontend/scope.h"

#include <utility>

namespace plumb::triton {

const Json& list(const Json& node, const char* field) {
  static const Json empty = Json::array();
  return has(node, field) ? get(node, field) : empty;
}

std::string_view name_of(const Json& node, const char* field) { return get(node, field).get_ref<const std::string&>(); }

Span span_of(const Json& node, const Source& source) {
  const Json& place = node.at(1);
  const auto at = [&](std::size_t i) { return place.at(i).get<std::uint32_t>(); };
  Span span;
  span.begin = source.offset_of(at(0), at(1) + 1);
  span.end = at(2) == 0 ? span.begin : source.offset_of(at(2), at(3) + 1);
  return span;
}

Scope::Scope(const Json& statements) { add_all(statements); }

const std::vector<Binding>* Scope::find(std::string_view name) const {
  const auto found = globals_.find(name);
  return found == globals_.end() ? nullptr : &found->second;
}

void Scope::bind(std::string_view name, Global global) {
  globals_[std::string(name)].push_back({std::move(global), conditions_});
}

void Scope::add_under(const Json& statements, Condition condition) {
  conditions_.push_back(condition);
  add_all(statements);
  conditions_.pop_back();
}

void Scope::add(const Json& statement) {
  const std::string_view word = kind(statement);
  if (word == "Import" || word == "ImportFrom") {
    add_imports(statement);
  } else if (word == "FunctionDef") {
    bind(name_of(statement, "name"), {Global::Kind::Function, {}, &statement});
  } else if (word == "ClassDef" || word == "AsyncFunctionDef") {
    bind(name_of(statement, "name"), {Global::Kind::Other, {}, &statement});
  } else if (word == "Assign" || word == "AnnAssign" || word == "AugAssign") {
    add_assignment(statement);
  } else if (word == "If") {
    add_under(list(statement, "body"), {&get(statement, "test"), true});
    add_under(list(statement, "orelse"), {&get(statement, "test"), false});
  } else {
    for (const char* field : {"body", "orelse", "finalbody"}) add_under(list(statement, field), {});
    for (const Json& handler : list(statement, "handlers")) add_under(list(handler, "body"), {});
  }
}

void Scope::add_assignment(const Json& statement) {
  const Json& targets = list(statement, "targets");
  const Json* target = has(statement, "target") ? &get(statement, "target")
                       : targets.size() == 1    ? &targets[0]
                                                : nullptr;
  if (target == nullptr || !is(*target, "Name")) return;
  const std::string_view name = name_of(*target, "id");
  if (is(statement, "AugAssign")) {
    bind(name, {Global::Kind::Other, {}, &statement});
  } else if (has(statement, "value")) {
    bind(name, {Global::Kind::Constant, {}, &get(statement, "value")});
  }
}

void Scope::add_imports(const Json& statement) {
  std::string prefix;
  if (is(statement, "ImportFrom")) {
    if (has(statement, "level")) prefix.assign(get(statement, "level").get<std::size_t>(), '.');
    if (has(statement, "module")) prefix += std::string(name_of(statement, "module")) + '.';
  }
  for (const Json& alias : list(statement, "names")) {
    const std::string_view name = name_of(alias, "name");
    if (name == "*") {
      if (conditions_.empty()) stars_.push_back(prefix);
    } else if (has(alias, "asname")) {
      bind(name_of(alias, "asname"), {Global::Kind::Path, prefix + std::string(name), &statement});
    } else if (is(statement, "ImportFrom")) {
      bind(name, {Global::Kind::Path, prefix + std::string(name), &statement});
    } else {
      const std::string root(name.substr(0, name.find('.')));
      bind(root, {Global::Kind::Path, root, &statement});
    }
  }
}

std::optional<std::string> Scope::canonical(std::string_view path) {
  constexpr std::string_view kLanguage = "triton.language";
  if (path == "triton" || path == kLanguage) return std::string();
  for (const std::string_view module : {"math.", "numpy."}) {  // of constants and functions of numbers
    if (path.starts_with(module)) return "python.math." + std::string(path.substr(module.size()));
  }
  if (!path.starts_with("triton.")) return std::nullopt;
  if (!path.starts_with("triton.language.")) return std::string(path);
  path.remove_prefix(kLanguage.size() + 1);
  for (const std::string_view prefix : {"math.", "standard.", "core."}) {
    if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
  }
  for (const std::string_view prefix :
       {"extra.libdevice", "extra.cuda.libdevice", "libdevice", "extra.cuda", "extra"}) {
    if (path == prefix) return std::string();
  }
  for (const std::string_view prefix : {"extra.cuda.libdevice.", "extra.libdevice.", "libdevice."}) {
    if (!path.starts_with(prefix)) continue;
    return "libdevice." + std::string(path.substr(prefix.size()));
  }
  return std::string(path);
}

}  // namespace plumb::triton
