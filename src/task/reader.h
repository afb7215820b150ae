// SPDX-License-Identifier: Apache-2.0
// Typed access to a TOML tree, for task.toml and launch headers: a value that is missing or of the wrong type is
// reported where it stands, with the codes of the format that is read.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "base/toml.h"
#include "task/task.h"

namespace plumb::task {

class TomlReader {
 public:
  struct Codes {
    const Code& key;    // a key that the format does not have
    const Code& type;   // a value of the wrong type
    const Code& value;  // a value that means nothing
  };
  TomlReader(const Toml& toml, Codes codes, Findings& findings) : toml_(toml), codes_(codes), findings_(findings) {}

  Place place(const std::string& pointer) const { return toml_.place(pointer); }
  // The value at a pointer, or null.
  const nlohmann::json* find(const std::string& pointer) const;
  // Reports every key of the table at `pointer` that is not in `known`.
  void only(const std::string& pointer, std::initializer_list<std::string_view> known, std::string_view what);
  void wrong_type(const std::string& pointer, std::string_view wanted);
  void wrong_value(const std::string& pointer, std::string message);

  // Absent values give an empty optional and no finding.
  std::optional<std::string> text(const std::string& pointer);
  std::optional<bool> flag(const std::string& pointer);
  std::optional<double> number(const std::string& pointer);
  // An integer or a string: an expression.
  std::optional<std::string> expression(const std::string& pointer);
  // A list of expressions; a single one stands for a list of one.
  std::optional<std::vector<std::string>> expressions(const std::string& pointer);

 private:
  const Toml& toml_;
  Codes codes_;
  Findings& findings_;
};

}  // namespace plumb::task
