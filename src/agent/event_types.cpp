// SPDX-License-Identifier: Apache-2.0
#include "agent/event_types.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

namespace plumb::agent {
namespace {

using Json = nlohmann::json;

enum class Type : std::uint8_t { Text, TextOrNull, Number, Flag, Object, Array };

struct Row {
  std::string_view path;  // `*` is every element of an array
  Type type;
};
constexpr Row kRows[] = {{"/at", Type::Number},
                         {"/seconds", Type::Number},
                         {"/usd", Type::Number},
                         {"/is_answer", Type::Flag},
                         {"/restarts", Type::Flag},
                         {"/gives_up", Type::Flag},
                         {"/wait_seconds", Type::Number},
                         {"/role", Type::Text},
                         {"/text", Type::Text},
                         {"/note", Type::Text},
                         {"/id", Type::Text},
                         {"/file", Type::Text},
                         {"/sha256", Type::Text},
                         {"/verdict", Type::Text},
                         {"/contract", Type::Text},
                         {"/usage", Type::Object},
                         {"/output", Type::Object},
                         {"/output/verdict", Type::Text},
                         {"/output/contract", Type::TextOrNull},
                         {"/output/file", Type::Text},
                         {"/output/sha256", Type::Text},
                         {"/output/candidate_sha256", Type::Text},
                         {"/output/accepts", Type::Flag},
                         {"/output/holds", Type::Flag},
                         {"/output/findings", Type::Array},
                         {"/output/findings/*", Type::Object},
                         {"/output/findings/*/severity", Type::Text},
                         {"/output/findings/*/code", Type::Text},
                         {"/output/findings/*/message", Type::Text},
                         {"/output/shapes", Type::Array},
                         {"/output/shapes/*", Type::Object},
                         {"/output/shapes/*/is_cold", Type::Flag},
                         {"/output/outputs", Type::Array},
                         {"/output/outputs/*", Type::Object},
                         {"/output/outputs/*/against_triton", Type::Object}};

bool is_of(const Json& value, Type type) {
  switch (type) {
    case Type::Text:
      return value.is_string();
    case Type::TextOrNull:
      return value.is_string() || value.is_null();
    case Type::Number:
      return value.is_number();
    case Type::Flag:
      return value.is_boolean();
    case Type::Object:
      return value.is_object();
    case Type::Array:
      return value.is_array();
  }
  return false;
}

std::string_view name(Type type) {
  constexpr std::string_view kNames[] = {"text", "text", "number", "boolean", "object", "array"};
  return kNames[static_cast<std::size_t>(type)];
}

// Where below `value` the rest of a row's path leads to something of another type; `at` is the path so far.
std::string wrong_below(const Json& value, std::string_view path, Type type, const std::string& at) {
  if (path.empty()) return is_of(value, type) ? "" : fmt::format("`{}` is no {}", at, name(type));
  path.remove_prefix(1);
  const std::string key(path.substr(0, path.find('/')));
  path.remove_prefix(key.size());
  if (key == "*") {
    if (!value.is_array()) return {};
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (std::string wrong = wrong_below(value[i], path, type, fmt::format("{}/{}", at, i)); !wrong.empty())
        return wrong;
    }
    return {};
  }
  if (!value.is_object() || !value.contains(key)) return {};
  return wrong_below(value[key], path, type, at + "/" + key);
}

}  // namespace

std::string wrong_type(const Json& event) {
  for (const Row& row : kRows) {
    if (std::string wrong = wrong_below(event, row.path, row.type, ""); !wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace plumb::agent
