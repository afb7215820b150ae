// SPDX-License-Identifier: Apache-2.0
// `plumb fmt`: the same text with even indentation and spacing. Comments and line breaks stay; formatting twice changes
// nothing; the formatted text reads to the same tree.
#pragma once

#include <optional>
#include <string>

#include "base/finding.h"
#include "base/source.h"

namespace plumb::ptx {

std::optional<std::string> format(SourcePtr source, Findings& findings);

}  // namespace plumb::ptx
