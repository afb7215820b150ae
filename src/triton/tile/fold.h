// SPDX-License-Identifier: Apache-2.0
// Python arithmetic on compile-time numbers: unbounded integers are kept in 128 bits and refused beyond, `//` and `%`
// floor, `/` gives a float.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "triton/frontend/tree.h"

namespace plumb::triton {

using Number = std::variant<bool, Int128, double>;

struct Folded {
  Number value;
  std::string error;  // when not empty, Python would raise, or the result is not representable
};

Folded fold(BinaryOp op, const Number& a, const Number& b);
Folded fold(UnaryOp op, const Number& a);  // Not is the caller's
bool fold(CompareOp op, const Number& a, const Number& b);
double as_double(const Number& number);

}  // namespace plumb::triton
