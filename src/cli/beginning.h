// SPDX-License-Identifier: Apache-2.0
// Options of the commands that begin a run: what it starts from beside the Triton source.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "agent/given.h"
#include "base/finding.h"

namespace plumb::cli {

struct Beginning {
  std::string seed_ptx, scaffold;
  bool is_source() const { return seed_ptx.empty() && scaffold.empty(); }
};

void add_beginning(CLI::App& command, Beginning& beginning);

// The text that the options name; empty where they name none, or with findings where it is not to be had.
std::optional<agent::Given> read_beginning(const Beginning& beginning, const std::string& target, Findings& findings);

}  // namespace plumb::cli
