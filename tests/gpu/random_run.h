// SPDX-License-Identifier: Apache-2.0
// Runs a random program on the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "random_program.h"

namespace plumb::random_program {

struct Left {
  std::string stop;  // the finding that the run ended with; empty when it ended well
  std::vector<std::uint32_t> words;
};
// `schedule`: as machine::Options has it.
Left run(const Program& program, std::optional<std::uint64_t> schedule = std::nullopt);

}  // namespace plumb::random_program
