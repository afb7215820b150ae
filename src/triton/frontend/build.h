// SPDX-License-Identifier: Apache-2.0
// From the JSON tree of a module to the resolved tree of one kernel. Everything unsupported in the kernel and in the
// jitted functions that it reaches is a finding, dead branches included: what a constexpr will be is not known yet.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "base/finding.h"
#include "triton/frontend/tree.h"

namespace plumb::triton {

std::optional<Program> build_program(const SourcePtr& source, const nlohmann::json& statements,
                                     std::string_view function, Findings& findings);

}  // namespace plumb::triton
