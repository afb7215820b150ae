// SPDX-License-Identifier: Apache-2.0
// The modules that a kernel's source reaches by its imports, found as files beside it and in the package it is part of,
// parsed and never executed. What a module-level name means is decided as Python would with an empty environment,
// Triton 3.6 installed and CUDA as its back end; what that leaves open is not decided.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "triton/frontend/scope.h"
#include "triton/kernel.h"

namespace plumb::triton {

struct Module {
  SourcePtr source;
  Json statements;
  Scope scope;
  std::filesystem::path folder;
  Module(SourcePtr source_, Json statements_);
};

// What a name or a dotted path means: something of Triton ("triton.language.exp"), or a global of a module.
struct Meaning {
  std::string path;  // of Triton, or of a module that is no file here
  const Module* module = nullptr;
  Global global;  // when `module` is not null: Function, Constant or Other
  bool is_triton() const { return module == nullptr && (path == "triton" || path.starts_with("triton.")); }
};

class Modules {
 public:
  Modules(SourcePtr main, Json statements, const PythonConfig& python);
  ~Modules();

  const Module& main() const { return *modules_.begin()->second; }
  // Every source that was read, the kernel's first.
  std::vector<SourcePtr> sources() const;

  // A module-level name of a module; empty when it has none.
  std::optional<Meaning> find(const Module& module, std::string_view name);
  // An attribute chain of module-level names and modules (`tl.exp`, `ops.utils.exp`); empty when it is none.
  std::optional<Meaning> resolve(const Module& module, const Json& expression);

 private:
  // A value that a condition at module level is decided with; empty: not known.
  using Known = std::optional<std::variant<None, bool, std::int64_t, std::string>>;

  std::optional<Meaning> from_path(const Module& module, std::string_view path);
  std::optional<Meaning> in_folder(const std::filesystem::path& folder, std::string_view rest);
  std::optional<Meaning> attribute(const Module& module, std::string_view rest);
  std::optional<Meaning> bound(const Module& module, const std::vector<Binding>& bindings);
  std::optional<Meaning> meaning(const Module& module, const Binding& binding);
  const Module* load(const std::filesystem::path& file);
  // Whether the conditions of a binding hold; empty: not known.
  std::optional<bool> holds(const Module& module, const Binding& binding);
  std::optional<bool> truth(const Module& module, const Json& expression);
  Known value(const Module& module, const Json& expression);
  Known call_value(const Module& module, const Json& expression);
  Known compare_value(const Module& module, const Json& expression);

  PythonConfig python_;
  std::map<std::string, std::unique_ptr<Module>> modules_;  // by file; "" is the main one
  std::vector<SourcePtr> order_;
  std::map<std::pair<const Module*, std::string>, std::optional<Meaning>> known_;
  unsigned depth_ = 0;
};

}  // namespace plumb::triton
