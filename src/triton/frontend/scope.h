// SPDX-License-Identifier: Apache-2.0
// What the names of a module mean: imported modules under their aliases, jitted functions, constants. Reads the JSON
// tree of python_script.cpp.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  // Path: dotted, as imported ("triton.language.exp"); a relative import begins with its dots (".utils.exp").
  std::string path;
  const Json* node = nullptr;  // Function: its definition; Constant: the value; Other: the statement
};

// A test of an `if` around a statement, and the truth that it needs; null: a `try` or a loop, which may or may not run.
struct Condition {
  const Json* test = nullptr;
  bool wanted = true;
};
struct Binding {
  Global global;
  std::vector<Condition> conditions;
};

class Scope {
 public:
  explicit Scope(const Json& statements);
  // Everything that a statement of the module binds the name to, in order; null when there is none.
  const std::vector<Binding>* find(std::string_view name) const;
  // Modules of `from module import *`, as paths.
  const std::vector<std::string>& stars() const { return stars_; }
  // How the op table spells a path: "exp" for triton.language.exp and .math.exp, "libdevice.tanh", "triton.cdiv". Empty
  // when the path is not Triton's.
  static std::optional<std::string> canonical(std::string_view path);

 private:
  void add(const Json& statement);
  void add_all(const Json& statements) {
    for (const Json& each : statements) {
      if (each.is_array()) add(each);
    }
  }
  void add_under(const Json& statements, Condition condition);
  void bind(std::string_view name, Global global);
  void add_assignment(const Json& statement);
  void add_imports(const Json& statement);

  std::map<std::string, std::vector<Binding>, std::less<>> globals_;
  std::vector<std::string> stars_;
  std::vector<Condition> conditions_;  // around the statement that is being added
};

}  // namespace plumb::triton
