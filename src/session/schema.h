// SPDX-License-Identifier: Apache-2.0
// Checks a JSON value against the part of JSON Schema that the tool table uses: type, properties, required,
// additionalProperties, items, enum, minimum. Every violation names the field as a JSON pointer.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/finding.h"

namespace plumb::session {

bool conforms(const nlohmann::json& value, const nlohmann::json& schema, Findings& findings);

}  // namespace plumb::session
