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

Scope::Scope(const Json& statements) {
  for (const Json& statement : statements) add(statement, false);
}

const Global* Scope::find(std::string_view name) const {
  const auto found = globals_.find(name);
  return found == globals_.end() ? nullptr : &found->second;
}

void Scope::bind(std::string_view name, Global global) {
  const auto [found, is_new] = globals_.try_emplace(std::string(name), global);
  if (is_new) return;
  // The first of several imports under one name stands when they mean the same function (`try: import ...`).
  const bool is_same = found->second.kind == Global::Kind::Path && global.kind == Global::Kind::Path &&
                       canonical(found->second.path) == canonical(global.path);
  if (is_same) return;
  found->second = {Global::Kind::Other, {}, global.node};
}

// Statements under `if`, `try` and `with` may or may not run: only their imports are taken.
void Scope::add(const Json& statement, bool is_conditional) {
  const std::string_view word = kind(statement);
  if (word == "Import" || word == "ImportFrom") {
    add_imports(statement);
  } else if (word == "FunctionDef" && !is_conditional) {
    bind(name_of(statement, "name"), {Global::Kind::Function, {}, &statement});
  } else if (word == "FunctionDef" || word == "ClassDef" || word == "AsyncFunctionDef") {
    bind(name_of(statement, "name"), {Global::Kind::Other, {}, &statement});
  } else if (word == "Assign" || word == "AnnAssign" || word == "AugAssign") {
    add_assignment(statement, is_conditional);
  } else {
    for (const char* field : {"body", "orelse", "finalbody"}) {
      for (const Json& inner : list(statement, field)) {
        if (inner.is_array()) add(inner, true);
      }
    }
    for (const Json& handler : list(statement, "handlers")) {
      for (const Json& inner : list(handler, "body")) add(inner, true);
    }
  }
}

void Scope::add_assignment(const Json& statement, bool is_conditional) {
  const Json& targets = list(statement, "targets");
  const Json* target = has(statement, "target") ? &get(statement, "target")
                       : targets.size() == 1    ? &targets[0]
                                                : nullptr;
  if (target == nullptr || !is(*target, "Name")) return;
  const std::string_view name = name_of(*target, "id");
  if (is_conditional || is(statement, "AugAssign") || !has(statement, "value")) {
    bind(name, {Global::Kind::Other, {}, &statement});
    return;
  }
  const Json& value = get(statement, "value");
  if (std::optional<std::string> alias = path(value)) {  // exp = tl.exp
    bind(name, {Global::Kind::Path, std::move(*alias), &statement});
  } else {
    bind(name, {Global::Kind::Constant, {}, &value});
  }
}

void Scope::add_imports(const Json& statement) {
  std::string prefix;
  if (is(statement, "ImportFrom")) {
    // A relative import is of no module that plumb knows.
    const bool is_relative = has(statement, "level") && get(statement, "level").get<int>() != 0;
    prefix = is_relative ? "." : "";
    if (has(statement, "module")) prefix += name_of(statement, "module");
    prefix += '.';
  }
  for (const Json& alias : list(statement, "names")) {
    const std::string_view name = name_of(alias, "name");
    if (has(alias, "asname")) {
      bind(name_of(alias, "asname"), {Global::Kind::Path, prefix + std::string(name), &statement});
    } else if (is(statement, "ImportFrom")) {
      bind(name, {Global::Kind::Path, prefix + std::string(name), &statement});
    } else {
      const std::string root(name.substr(0, name.find('.')));
      bind(root, {Global::Kind::Path, root, &statement});
    }
  }
}

std::optional<std::string> Scope::path(const Json& expression) const {
  if (is(expression, "Name")) {
    const Global* global = find(name_of(expression, "id"));
    if (global == nullptr || global->kind != Global::Kind::Path) return std::nullopt;
    return global->path;
  }
  if (!is(expression, "Attribute")) return std::nullopt;
  std::optional<std::string> object = path(get(expression, "value"));
  if (!object) return std::nullopt;
  return *object + '.' + std::string(name_of(expression, "attr"));
}

std::optional<std::string> Scope::canonical(std::string_view path) {
  constexpr std::string_view kLanguage = "triton.language";
  if (path == "triton" || path == kLanguage) return std::string();
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
