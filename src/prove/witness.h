// SPDX-License-Identifier: Apache-2.0
// Why two outputs differ: the smallest set of inputs, found by zeroing the rest, on which the difference still stands.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "prove/shape_run.h"

namespace plumb::prove {

// "a_ptr[3, 64], b_ptr[64, 17]": the input elements that the difference needs; empty when it stands on none or the time
// ran out before anything was learnt.
std::vector<std::string> support_of(const ShapeJob& job, const Mismatch& mismatch, std::chrono::duration<double> limit);

// "c_ptr[3, 17]" by the argument's shape.
std::string element_name(const task::Bound& bound, const std::string& buffer, std::uint64_t element);

}  // namespace plumb::prove
