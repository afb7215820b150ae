// SPDX-License-Identifier: Apache-2.0
// Why two outputs differ: the smallest set of inputs, found by zeroing the rest, on which the difference still stands.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "prove/shape_run.h"

namespace plumb::prove {

struct Support {
  enum class Kind : std::uint8_t {
    Unknown,
    Lacks,    // the candidate is the same without these inputs, the source is not
    Extra,    // the other way round
    Differs,  // both depend on them, differently
  };
  Kind kind = Kind::Unknown;
  std::vector<std::string> elements;  // "a_ptr[3, 64]"; empty when nothing was learnt in time
  // Of the inputs that may be zero.
  std::function<bool(std::uint32_t tensor, std::uint64_t index)> is_zero;
};
Support support_of(const ShapeJob& job, const Mismatch& mismatch, std::chrono::duration<double> limit);
// "the candidate lacks what the source makes of `a_ptr[3, 64]`, `b_ptr[64, 17]`"; empty without elements. `spec` is
// what the spec is called.
std::string text(const Support& support, const std::string& output, std::string_view spec);

// "c_ptr[3, 17]" by the argument's shape.
std::string element_name(const task::Bound& bound, const std::string& buffer, std::uint64_t element);

}  // namespace plumb::prove
