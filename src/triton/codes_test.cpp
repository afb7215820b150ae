// SPDX-License-Identifier: Apache-2.0
#include "triton/codes.h"

#include <gtest/gtest.h>

#include <set>

#include "triton/op_table.h"

namespace plumb::triton {
namespace {

TEST(Codes, AreUniqueNamedAfterTheFolderAndExplained) {
  std::set<std::string_view> ids;
  for (const Code* code : codes()) {
    EXPECT_TRUE(ids.insert(code->id).second) << code->id;
    EXPECT_TRUE(code->id.starts_with("triton.")) << code->id;
    EXPECT_FALSE(code->summary.empty()) << code->id;
    EXPECT_GT(code->explanation.size(), 40U) << code->id;
  }
}

TEST(OpTable, NamesNoFunctionTwice) {
  std::set<std::string_view> names;
  for (const OpRow& row : op_rows()) {
    EXPECT_FALSE(row.names.empty());
    for (const std::string_view name : row.names) EXPECT_TRUE(names.insert(name).second) << name;
    for (const OpRow::Parameter& parameter : row.parameters) EXPECT_FALSE(parameter.name.empty());
  }
}

TEST(OpTable, ReadsParametersAsWritten) {
  const OpRow& reshape = row(Op::reshape);
  ASSERT_EQ(reshape.parameters.size(), 3U);
  EXPECT_TRUE(reshape.parameters[1].is_variadic);
  EXPECT_TRUE(reshape.parameters[2].is_optional);
  EXPECT_EQ(reshape.parameter("can_reorder"), 2);
  EXPECT_EQ(reshape.parameter("other"), -1);
  EXPECT_EQ(find_op(".to"), &row(Op::cast));
  EXPECT_EQ(find_op("to"), nullptr);
}

}  // namespace
}  // namespace plumb::triton
