// SPDX-License-Identifier: Apache-2.0
// The contract by signature: does the candidate round through narrower formats than the source, or truncate, or guard
// its exponentials less (equivalence theory, range and precision contracts)?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "prove/shape_run.h"

namespace plumb::prove {

std::vector<Finding> contract_findings(const ShapeResult& result, std::string_view spec_name, const std::string& label,
                                       const Place& place);

}  // namespace plumb::prove
