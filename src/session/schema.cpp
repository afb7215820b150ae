// SPDX-License-Identifier: Apache-2.0
#include "session/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "session/codes.h"

namespace plumb::session {
namespace {

using Json = nlohmann::json;

bool is_of_type(const Json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  return type == "boolean" && value.is_boolean();
}

class Validator {
 public:
  explicit Validator(Findings& findings) : findings_(findings) {}

  bool check(const Json& value, const Json& schema, const std::string& pointer) {
    const std::string type = schema.value("type", "");
    if (!type.empty() && !is_of_type(value, type)) {
      return fail(pointer, fmt::format("it is {}, it must be {}", value.type_name(), type));
    }
    if (const auto allowed = schema.find("enum"); allowed != schema.end()) {
      if (std::find(allowed->begin(), allowed->end(), value) == allowed->end()) {
        return fail(pointer, fmt::format("it must be one of {}", allowed->dump()));
      }
    }
    if (const auto least = schema.find("minimum"); least != schema.end() && value.is_number() && value < *least) {
      return fail(pointer, fmt::format("it must be at least {}", least->dump()));
    }
    if (value.is_object()) return object(value, schema, pointer);
    bool is_good = true;
    if (value.is_array() && schema.contains("items")) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        is_good = check(value[i], schema["items"], fmt::format("{}/{}", pointer, i)) && is_good;
      }
    }
    return is_good;
  }

 private:
  bool fail(const std::string& pointer, const std::string& message) {
    findings_.add(kInput, fmt::format("input `{}`: {}", pointer.empty() ? "/" : pointer, message));
    return false;
  }

  bool object(const Json& value, const Json& schema, const std::string& pointer) {
    bool is_good = true;
    for (const Json& name : schema.value("required", Json::array())) {
      if (!value.contains(name.get<std::string>())) {
        is_good = fail(pointer, fmt::format("field `{}` is missing", name.get<std::string>()));
      }
    }
    const Json properties = schema.value("properties", Json::object());
    const Json rest = schema.value("additionalProperties", Json(false));
    for (const auto& [name, field] : value.items()) {
      const std::string at = pointer + "/" + name;
      if (const auto known = properties.find(name); known != properties.end()) {
        is_good = check(field, *known, at) && is_good;
      } else if (rest.is_object()) {
        is_good = check(field, rest, at) && is_good;
      } else {
        is_good = fail(at, "there is no such field");
      }
    }
    return is_good;
  }

  Findings& findings_;
};

}  // namespace

bool conforms(const Json& value, const Json& schema, Findings& findings) {
  return Validator(findings).check(value, schema, "");
}

}  // namespace plumb::session
