// SPDX-License-Identifier: Apache-2.0
// From the JSON tree of a module to the resolved tree of one kernel. What is unsupported in the kernel and in the
// jitted functions that it reaches is a finding; under an `if` or a ternary, which a constexpr may take away, it
// becomes a node that is one when it is reached.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "base/finding.h"
#include "triton/frontend/tree.h"
#include "triton/kernel.h"

namespace plumb::triton {

std::optional<Program> build_program(const SourcePtr& source, const nlohmann::json& statements,
                                     std::string_view function, const PythonConfig& python, Findings& findings);

}  // namespace plumb::triton
