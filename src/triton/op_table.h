// SPDX-License-Identifier: Apache-2.0
// The rows of ops.def as data: what the front end knows of a function (its names and parameters).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace plumb::triton {

enum class Op : std::uint16_t {
#define PLUMB_TRITON_OP(id, names, parameters) id,
#include "triton/ops.def"
#undef PLUMB_TRITON_OP
};

struct OpRow {
  struct Parameter {
    std::string_view name;
    bool is_optional = false;
    bool is_variadic = false;
  };
  Op op{};
  std::vector<std::string_view> names;
  std::vector<Parameter> parameters;
  int parameter(std::string_view name) const;  // -1 when there is none
};

std::span<const OpRow> op_rows();  // by Op
inline const OpRow& row(Op op);
// By canonical name ("exp", ".exp", "python.min"); null when the table has none.
const OpRow* find_op(std::string_view name);

inline const OpRow& row(Op op) { return op_rows()[static_cast<std::size_t>(op)]; }

}  // namespace plumb::triton
