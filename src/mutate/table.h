// SPDX-License-Identifier: Apache-2.0
// The operators, by what they break. A row adds its edits of one instruction.
#pragma once

#include <span>

#include "mutate/mutate.h"
#include "mutate/site.h"

namespace plumb::mutate {

struct Row {
  Operator op;
  void (*edits)(const Site& site, Edits& out);
};

std::span<const Row> order_rows();  // who waits for whom: barriers, mbarriers, fences, asynchronous groups
std::span<const Row> value_rows();  // what is computed, and where it is kept

}  // namespace plumb::mutate
