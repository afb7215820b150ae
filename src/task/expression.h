// SPDX-License-Identifier: Apache-2.0
// Arithmetic over a task's sizes, as it stands in task.toml and launch headers: integers, names, + - * // % ( ),
// comparisons, and the functions cdiv(a, b), min, max, next_power_of_2(a). Division by zero, overflow of 63 bits and
// unknown names are findings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/finding.h"

namespace plumb::task {

using Sizes = std::map<std::string, std::int64_t, std::less<>>;

struct Task;
struct Bound;

std::optional<std::int64_t> evaluate(std::string_view expression, const Sizes& sizes, const Place& place,
                                     Findings& findings);

// `[work] operations` of a task at one shape; empty where the task names none, or after a finding.
std::optional<std::int64_t> operations_of(const Task& task, const Bound& bound, Findings& findings);

}  // namespace plumb::task
