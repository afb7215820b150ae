// SPDX-License-Identifier: Apache-2.0
#include "triton/op_table.h"

#include <map>

namespace plumb::triton {
namespace {

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    if (end != 0) out.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

OpRow make_row(Op op, std::string_view names, std::string_view parameters) {
  OpRow row{op, words(names), {}};
  for (std::string_view word : words(parameters)) {
    OpRow::Parameter parameter;
    parameter.is_variadic = word.starts_with('*');
    parameter.is_optional = word.ends_with('?');
    if (parameter.is_variadic) word.remove_prefix(1);
    if (parameter.is_optional) word.remove_suffix(1);
    parameter.name = word;
    row.parameters.push_back(parameter);
  }
  return row;
}

}  // namespace

int OpRow::parameter(std::string_view name) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::span<const OpRow> op_rows() {
  static const std::vector<OpRow> rows = {
#define PLUMB_TRITON_OP(id, names, parameters) make_row(Op::id, names, parameters),
#include "triton/ops.def"
#undef PLUMB_TRITON_OP
  };
  return rows;
}

const OpRow* find_op(std::string_view name) {
  static const std::map<std::string_view, const OpRow*> by_name = [] {
    std::map<std::string_view, const OpRow*> map;
    for (const OpRow& row : op_rows()) {
      for (const std::string_view each : row.names) map.emplace(each, &row);
    }
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace plumb::triton
