// SPDX-License-Identifier: Apache-2.0
// The second side's memory, by copying instead of drawing once more.
#pragma once

#include <memory>

#include "prove/setup.h"

namespace plumb::prove {

// As make_memory. `first` was made from a setup that differs in nothing but the workspace, and nothing ran in it yet.
std::unique_ptr<domain::Memory> make_equal_memory(const Setup& setup, const domain::Memory& first, Findings& findings);

}  // namespace plumb::prove
