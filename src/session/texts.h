// SPDX-License-Identifier: Apache-2.0
// Texts of this repository that a model is shown, built into the binary: how candidates are written, the entries of
// knowledge/, the skeletons of scaffolds/.
#pragma once

#include <span>
#include <string_view>

namespace plumb::session {

struct Text {
  std::string_view name;  // "docs/candidate.md", "knowledge/bf16.md", "scaffolds/row-reduction/task.toml"
  std::string_view text;
};
std::span<const Text> texts();
// Empty when there is none of that name.
std::string_view text_of(std::string_view name);

}  // namespace plumb::session
