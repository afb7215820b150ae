// SPDX-License-Identifier: Apache-2.0
#include "agent/answer_parts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace plumb::agent {

using Json = nlohmann::json;

std::optional<double> number_at(const Json& value, const std::string& pointer) {
  const Json::json_pointer at(pointer);
  if (!value.contains(at) || !value[at].is_number()) return std::nullopt;
  return value[at].get<double>();
}

double share_of_bound(const Json& shape) {
  return std::max(number_at(shape, "/share_of_copy_bandwidth").value_or(0),
                  number_at(shape, "/share_of_known_rate").value_or(0));
}

}  // namespace plumb::agent
