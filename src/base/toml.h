// SPDX-License-Identifier: Apache-2.0
// TOML read into a JSON tree, with the place of every value, so that a wrong value is reported where it stands. The
// only file that includes toml++ is toml.cpp.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/finding.h"

namespace plumb {

struct Toml {
  nlohmann::json value;
  SourcePtr source;
  // JSON pointer ("/args/0/type") -> place. Missing pointers fall back to the nearest parent.
  std::map<std::string, Span> places;
  Place place(const std::string& pointer) const;
};

// `offset` bytes of `source` are skipped and `text` stands for the rest; it lets a TOML header inside another file keep
// that file's places: `text` must have the same line structure and length as what it stands for.
std::optional<Toml> parse_toml(SourcePtr source, std::string_view text, Findings& findings);

namespace toml_codes {
extern const Code kSyntax;
}

}  // namespace plumb
