// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "task/task.h"

namespace plumb::task {
namespace {

TEST(Suite, EveryTaskReadsAndEveryShapeFits) {
  unsigned tasks = 0;
  for (const auto& folder : std::filesystem::directory_iterator(PLUMB_SOURCE_DIR "/suite")) {
    if (!folder.is_directory()) continue;
    Findings findings;
    const auto task = load_task(folder.path(), findings);
    ASSERT_TRUE(task) << render(findings, false);
    EXPECT_GE(task->prove_shapes.size(), 3u) << task->name;
    EXPECT_FALSE(task->test_shapes.empty()) << task->name;
    EXPECT_FALSE(task->bench_shapes.empty()) << task->name;
    EXPECT_GT(task->tolerance.relative, 0) << task->name;
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "reference.py")) << task->name;
    ++tasks;
  }
  EXPECT_GE(tasks, 33u);
}

}  // namespace
}  // namespace plumb::task
