// SPDX-License-Identifier: Apache-2.0
// From a source text to the JSON tree of its Python, through the child or the cache. Only a source that parses is
// cached. An entry that was damaged is ignored and rebuilt; a cache that cannot be written costs time and nothing else.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "base/finding.h"
#include "triton/kernel.h"

namespace plumb::triton {

// The list of module-level statements, in the form that python_script.cpp describes.
std::optional<nlohmann::json> parse_python(const SourcePtr& source, const PythonConfig& python, Findings& findings);

}  // namespace plumb::triton
