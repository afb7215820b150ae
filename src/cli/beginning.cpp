// SPDX-License-Identifier: Apache-2.0
#include "cli/beginning.h"

#include "base/file.h"
#include "session/scaffold.h"

namespace plumb::cli {

void add_beginning(CLI::App& command, Beginning& beginning) {
  CLI::Option* seed =
      command.add_option("--seed-ptx", beginning.seed_ptx, "start from this PTX; the run is marked as such");
  command
      .add_option("--from-scaffold", beginning.scaffold, "start from a skeleton of `plumb scaffold`; marked as such")
      ->excludes(seed);
}

std::optional<agent::Given> read_beginning(const Beginning& beginning, const std::string& target, Findings& findings) {
  if (!beginning.seed_ptx.empty()) {
    std::optional<std::string> text = read_file(beginning.seed_ptx, findings);
    if (!text) return std::nullopt;
    return agent::Given{"seed", std::move(*text)};
  }
  if (beginning.scaffold.empty()) return std::nullopt;
  const session::Scaffold* scaffold = session::find_scaffold(beginning.scaffold, target, findings);
  if (scaffold == nullptr) return std::nullopt;
  return agent::Given{"scaffold", std::string(scaffold->ptx()), beginning.scaffold};
}

}  // namespace plumb::cli
