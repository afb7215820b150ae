// SPDX-License-Identifier: Apache-2.0
// What the names of a module mean: imported modules under their aliases, jitted functions, constants. Reads the JSON
// tree of python_script.cpp.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/finding.h"

namespace plumb::triton {

using Json = nlohmann::json;

// Access to a node ["Name", [line, column, end line, end column], {fields}].
inline std::string_view kind(const Json& node) { return node.at(0).get_ref<const std::string&>(); }
inline bool is(const Json& node, std::string_view name) { return node.is_array() && kind(node) == name; }
inline bool has(const Json& node, const char* field) { return node.at(2).contains(field); }
inline const Json& get(const Json& node, const char* field) { return node.at(2).at(field); }
const Json& list(const Json& node, const char* field);  // an absent list is empty
std::string_view name_of(const Json& node, const char* field);
Span span_of(const Json& node, const Source& source);

struct Global {
  enum class Kind { Path, Function, Constant, Other } kind = Kind::Other;
  std::string path;            // Path: dotted, as imported ("triton.language.exp")
  const Json* node = nullptr;  // Function: its definition; Constant: the value; Other: the statement
};

class Scope {
 public:
  explicit Scope(const Json& statements);
  const Global* find(std::string_view name) const;
  // The dotted path that `a.b.c` means by its imports, when `a` is a module-level name; `name` is a bare name.
  std::optional<std::string> path(const Json& expression) const;
  // How the op table spells a path: "exp" for triton.language.exp and .math.exp, "libdevice.tanh", "triton.cdiv". Empty
  // when the path is not Triton's.
  static std::optional<std::string> canonical(std::string_view path);

 private:
  void add(const Json& statement, bool is_conditional);
  void bind(std::string_view name, Global global);
  void add_assignment(const Json& statement, bool is_conditional);
  void add_imports(const Json& statement);

  std::map<std::string, Global, std::less<>> globals_;
};

}  // namespace plumb::triton
