// SPDX-License-Identifier: Apache-2.0
#include "task/reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumb::task {
namespace {

std::string type_word(const nlohmann::json& value) {
  switch (value.type()) {
    case nlohmann::json::value_t::object:
      return "a table";
    case nlohmann::json::value_t::array:
      return "a list";
    case nlohmann::json::value_t::string:
      return "a string";
    case nlohmann::json::value_t::boolean:
      return "a boolean";
    case nlohmann::json::value_t::number_integer:
    case nlohmann::json::value_t::number_unsigned:
      return "an integer";
    case nlohmann::json::value_t::number_float:
      return "a float";
    default:
      return "a date or time";
  }
}

std::string last_key(const std::string& pointer) {
  const std::string key = pointer.substr(pointer.rfind('/') + 1);
  const bool is_index =
      !key.empty() && std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_index ? pointer.substr(1) : key;
}

}  // namespace

const nlohmann::json* TomlReader::find(const std::string& pointer) const {
  const nlohmann::json* at = &toml_.value;
  std::size_t begin = 1;
  while (begin <= pointer.size()) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    const std::string key = pointer.substr(begin, end - begin);
    if (at->is_object()) {
      const auto found = at->find(key);
      if (found == at->end()) return nullptr;
      at = &*found;
    } else if (at->is_array()) {
      const std::size_t index = std::strtoull(key.c_str(), nullptr, 10);
      if (index >= at->size()) return nullptr;
      at = &(*at)[index];
    } else {
      return nullptr;
    }
    begin = end + 1;
  }
  return at;
}

void TomlReader::only(const std::string& pointer, std::initializer_list<std::string_view> known,
                      std::string_view what) {
  const nlohmann::json* table = find(pointer);
  if (table == nullptr || !table->is_object()) return;
  for (const auto& [key, value] : table->items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    findings_.add(codes_.key, fmt::format("unknown key `{}` in {}", key, what), place(pointer + "/" + key)).hint =
        fmt::format("known keys: {}", fmt::join(known, ", "));
  }
}

void TomlReader::wrong_type(const std::string& pointer, std::string_view wanted) {
  const nlohmann::json* value = find(pointer);
  findings_.add(codes_.type,
                fmt::format("`{}` is {}, it must be {}", last_key(pointer),
                            value != nullptr ? type_word(*value) : "missing", wanted),
                place(pointer));
}

void TomlReader::wrong_value(const std::string& pointer, std::string message) {
  findings_.add(codes_.value, std::move(message), place(pointer));
}

std::optional<std::string> TomlReader::text(const std::string& pointer) {
  const nlohmann::json* value = find(pointer);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  wrong_type(pointer, "a string");
  return std::nullopt;
}

std::optional<bool> TomlReader::flag(const std::string& pointer) {
  const nlohmann::json* value = find(pointer);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  wrong_type(pointer, "true or false");
  return std::nullopt;
}

std::optional<double> TomlReader::number(const std::string& pointer) {
  const nlohmann::json* value = find(pointer);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  wrong_type(pointer, "a number");
  return std::nullopt;
}

std::optional<std::string> TomlReader::expression(const std::string& pointer) {
  const nlohmann::json* value = find(pointer);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  if (value->is_number_integer()) return fmt::format("{}", value->get<std::int64_t>());
  wrong_type(pointer, "an integer or an expression");
  return std::nullopt;
}

std::optional<std::vector<std::string>> TomlReader::expressions(const std::string& pointer) {
  const nlohmann::json* value = find(pointer);
  if (value == nullptr) return std::nullopt;
  std::vector<std::string> out;
  if (!value->is_array()) {
    std::optional<std::string> single = expression(pointer);
    if (!single) return std::nullopt;
    out.push_back(std::move(*single));
    return out;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    std::optional<std::string> entry = expression(fmt::format("{}/{}", pointer, i));
    if (!entry) return std::nullopt;
    out.push_back(std::move(*entry));
  }
  return out;
}

}  // namespace plumb::task
