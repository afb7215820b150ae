// SPDX-License-Identifier: Apache-2.0
#include "base/toml.h"

#include <fmt/format.h>
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace plumb {

namespace toml_codes {
extern constexpr Code kSyntax{"toml.syntax", "a TOML text cannot be read", "See https://toml.io for the language."};
}

namespace {

class Reader {
 public:
  explicit Reader(Toml& out) : out_(out) {}

  nlohmann::json read(const toml::node& node, const std::string& pointer) {
    mark(pointer, node.source());
    if (const auto* table = node.as_table()) {
      nlohmann::json object = nlohmann::json::object();
      for (const auto& [key, value] : *table) {
        const std::string name(key.str());
        object[name] = read(value, pointer + "/" + name);
      }
      return object;
    }
    if (const auto* array = node.as_array()) {
      nlohmann::json list = nlohmann::json::array();
      for (std::size_t i = 0; i < array->size(); ++i) {
        list.push_back(read(*array->get(i), fmt::format("{}/{}", pointer, i)));
      }
      return list;
    }
    if (const auto* integer = node.as_integer()) return integer->get();
    if (const auto* real = node.as_floating_point()) return real->get();
    if (const auto* flag = node.as_boolean()) return flag->get();
    if (const auto* text = node.as_string()) return text->get();
    return nullptr;
  }

 private:
  void mark(const std::string& pointer, const toml::source_region& region) {
    const std::uint32_t begin = out_.source->offset_of(region.begin.line, region.begin.column);
    const std::uint32_t end = out_.source->offset_of(region.end.line, region.end.column);
    out_.places[pointer] = {begin, std::max(begin, end)};
  }

  Toml& out_;
};

}  // namespace

Place Toml::place(const std::string& pointer) const {
  std::string at = pointer;
  while (true) {
    if (const auto found = places.find(at); found != places.end()) return {source, found->second};
    if (at.empty()) return {source, {}};
    at.resize(at.rfind('/'));
  }
}

std::optional<Toml> parse_toml(SourcePtr source, std::string_view text, Findings& findings) {
  toml::parse_result result = toml::parse(text);
  if (!result) {
    const toml::parse_error& error = result.error();
    const std::uint32_t at = source->offset_of(error.source().begin.line, error.source().begin.column);
    findings.add(toml_codes::kSyntax, std::string(error.description()), {source, {at, at + 1}});
    return std::nullopt;
  }
  Toml out;
  out.source = std::move(source);
  out.value = Reader(out).read(result.table(), "");
  return out;
}

}  // namespace plumb
