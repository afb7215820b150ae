// SPDX-License-Identifier: Apache-2.0
// Arguments that are tensor descriptors: what tasks say of them, and how Triton's launch JSON passes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/scratch.h"
#include "task/codes.h"
#include "task/launch.h"
#include "task/task.h"

namespace plumb::task {
namespace {

constexpr const char* kTask = R"toml(
grid = [1]
[kernel]
file = "kernel.py"
function = "f"
[constexpr]
BM = 32
[[args]]
name = "x"
type = "*bf16"
shape = ["M", "stride"]
extent = ["M", "N"]
block = ["BM", 64]
[[args]]
name = "y"
type = "*fp32"
shape = ["M", "N"]
block = [4, 8]
role = "out"
[shapes]
prove = [{ M = 10, N = 40, stride = 48 }]
)toml";

class Descriptor : public testing::Test {
 protected:
  std::optional<Task> load(std::string text) {
    EXPECT_TRUE(write_file(scratch_.path() / "task.toml", text, findings_));
    EXPECT_TRUE(write_file(scratch_.path() / "kernel.py", "", findings_));
    return load_task(scratch_.path(), findings_);
  }

  std::optional<BoundLaunch> launch(const Task& task, const std::string& json) {
    EXPECT_TRUE(write_file(scratch_.path() / "f.ptx", ".version 8.7\n", findings_));
    EXPECT_TRUE(write_file(scratch_.path() / "f.json", json, findings_));
    const SourcePtr ptx = read_source(scratch_.path() / "f.ptx", findings_);
    const auto header = load_launch(ptx, scratch_.path() / "f.ptx", findings_);
    const auto bound = bind(task, task.prove_shapes.front(), {}, findings_);
    return header && bound ? bind_launch(*header, task, *bound, findings_) : std::nullopt;
  }

  const Scratch scratch_;
  Findings findings_;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST_F(Descriptor, LiesOverAPartOfADenseTensor) {
  const auto task = load(kTask);
  ASSERT_TRUE(task) << render(findings_, false);
  const auto bound = bind(*task, task->prove_shapes.front(), {}, findings_);
  ASSERT_TRUE(bound);
  const BoundArg &x = bound->args[0], &y = bound->args[1];
  EXPECT_EQ(x.elements, 480u);
  EXPECT_THAT(x.extent, testing::ElementsAre(10, 40));
  EXPECT_THAT(x.strides, testing::ElementsAre(48, 1));
  EXPECT_THAT(x.block, testing::ElementsAre(32, 64));
  EXPECT_THAT(y.extent, testing::ElementsAre(10, 40));
  EXPECT_THAT(y.strides, testing::ElementsAre(40, 1));
}

TEST_F(Descriptor, MustBeOneThatAHostCanMake) {
  const std::tuple<const char*, const char*, const char*> changes[] = {
      {"block = [\"BM\", 64]", "block = [64]", "one length"},
      {"block = [\"BM\", 64]\n", "", "`extent` is of a descriptor"},
      {"stride = 48 }", "stride = 44 }", "88 bytes"},
      {"extent = [\"M\", \"N\"]", "extent = [\"M\", \"stride + 1\"]", "49 of 48"},
      {"block = [4, 8]", "block = [4, 0]", "would be 0"}};
  for (const auto& [from, to, message] : changes) {
    findings_ = {};
    EXPECT_FALSE(load(replaced(kTask, from, to))) << to;
    EXPECT_THAT(render(findings_, false), testing::HasSubstr(message));
  }
}

constexpr const char* kJson = R"({"entry": "f", "function": "f", "num_warps": 4, "num_ctas": 1, "shared": 0,
 "global_scratch": 0, "constexprs": {"BM": 32},
 "signature": {"x": "tensordesc<bf16[32, 64]>", "y": "tensordesc<fp32[4, 8]>", "BM": "constexpr"}MAPS})";

TEST_F(Descriptor, IsPassedAsMapExtentsAndStridesWhereTheTargetHasMaps) {
  const auto task = load(kTask);
  ASSERT_TRUE(task) << render(findings_, false);
  const auto bound = launch(*task, replaced(kJson, "MAPS",
                                            R"(, "tensor_maps": {"x": {"swizzle": "128B", "box": [64, 32]},
                                                                 "y": {"swizzle": "none", "box": [8, 4]}})"));
  ASSERT_TRUE(bound) << render(findings_, false);
  using Kind = BoundLaunch::Param::Kind;
  std::vector<std::int64_t> integers;
  for (std::size_t i = 1; i < 5; ++i) integers.push_back(bound->params.at(i).integer);
  ASSERT_EQ(bound->params.size(), 12u);  // two descriptors of five, two scratch pointers
  EXPECT_EQ(bound->params[0].kind, Kind::TensorMap);
  EXPECT_THAT(integers, testing::ElementsAre(10, 40, 48, 1));
  ASSERT_EQ(bound->tensor_maps.size(), 2u);
  const BoundTensorMap& map = bound->tensor_maps[0];
  EXPECT_EQ(map.tensor, "x");
  EXPECT_EQ(map.type, "bf16");
  EXPECT_EQ(map.swizzle, "128B");
  EXPECT_THAT(map.dims, testing::ElementsAre(40, 10));
  EXPECT_THAT(map.strides, testing::ElementsAre(96));
  EXPECT_THAT(map.box, testing::ElementsAre(64, 32));
}

TEST_F(Descriptor, IsPassedInPartsElsewhere) {
  const auto task = load(kTask);
  ASSERT_TRUE(task) << render(findings_, false);
  const auto bound = launch(*task, replaced(kJson, "MAPS", ""));
  ASSERT_TRUE(bound) << render(findings_, false);
  ASSERT_EQ(bound->params.size(), 22u);
  EXPECT_EQ(bound->params[0].kind, BoundLaunch::Param::Kind::Tensor);
  std::vector<std::int64_t> integers;
  for (std::size_t i = 1; i < 10; ++i) integers.push_back(bound->params[i].integer);
  EXPECT_THAT(integers, testing::ElementsAre(10, 40, 48, 1, 0, 10, 40, 48, 1));
  EXPECT_EQ(bound->params[10].arg, "y");
}

}  // namespace
}  // namespace plumb::task
