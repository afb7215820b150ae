// SPDX-License-Identifier: Apache-2.0
// Concrete bits as exact doubles.
#pragma once

#include <cstdint>
#include <optional>

#include "domain/field/field.h"
#include "domain/format.h"

namespace plumb::domain::field {

// Exact; infinities and NaN included. The bits of tf32 that hardware ignores are dropped.
double to_double(Format f, std::uint64_t bits);
// Class of the roundings that an operation in this format makes; none for f64.
std::optional<RoundingClass> rounding_class(Format f);

}  // namespace plumb::domain::field
