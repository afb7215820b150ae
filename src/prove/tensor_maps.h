// SPDX-License-Identifier: Apache-2.0
// The tensor maps that a candidate's launch header asks for, made as the CUDA driver makes them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/finding.h"
#include "machine/tensor_map.h"
#include "task/tensor_map.h"

namespace plumb::prove {

// The bytes of a map over a tensor that lies at `address`; empty after a finding for each rule that it breaks, at the
// key of the header that breaks it. `place_of` gives the place of a key.
std::optional<machine::TensorMapImage> make_tensor_map(const task::BoundTensorMap& bound, std::uint64_t address,
                                                       const std::function<Place(const std::string&)>& place_of,
                                                       Findings& findings);

}  // namespace plumb::prove
