// SPDX-License-Identifier: Apache-2.0
// Texts of this repository that a model is shown, built into the binary: how candidates are written, and the entries of
// knowledge/.
#pragma once

#include <span>
#include <string_view>

namespace plumb::agent {

struct Text {
  std::string_view name;  // "docs/candidate.md", "knowledge/bf16.md"
  std::string_view text;
};
std::span<const Text> texts();

}  // namespace plumb::agent
