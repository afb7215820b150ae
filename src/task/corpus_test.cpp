// SPDX-License-Identifier: Apache-2.0
// Every task of tests/corpus reads, and every PTX beside it has a launch that fits three of its shapes or more, one of
// them ragged.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "task/launch.h"
#include "task/task.h"

namespace plumb::task {
namespace {

TEST(Corpus, EveryTaskLaunchesAtThreeShapesOrMore) {
  unsigned tasks = 0, candidates = 0;
  for (const auto& folder : std::filesystem::directory_iterator(PLUMB_SOURCE_DIR "/tests/corpus")) {
    Findings findings;
    const auto task = load_task(folder.path(), findings);
    ASSERT_TRUE(task) << render(findings, false);
    ++tasks;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (entry.path().extension() != ".ptx") continue;
      ++candidates;
      const SourcePtr ptx = read_source(entry.path(), findings);
      const auto header = load_launch(ptx, entry.path(), findings);
      ASSERT_TRUE(header) << render(findings, false);
      unsigned launched = 0;
      for (const Shape& shape : task->prove_shapes) {
        const auto bound = bind(*task, shape, header->constexprs, findings);
        ASSERT_TRUE(bound) << render(findings, false);
        if (broken_promise(*header, *bound, findings)) continue;
        const auto launch = bind_launch(*header, *task, *bound, findings);
        ASSERT_TRUE(launch) << render(findings, false);
        // As many parameters as the entry has.
        const std::string_view text = ptx->text();
        const std::string_view list =
            text.substr(text.find(".entry"), text.find(")", text.find(".entry")) - text.find(".entry"));
        std::size_t count = 0;
        for (std::size_t at = list.find(".param"); at != std::string_view::npos; at = list.find(".param", at + 1))
          ++count;
        EXPECT_EQ(launch->params.size(), count) << entry.path();
        ++launched;
      }
      EXPECT_GE(launched, 3u) << entry.path();
    }
  }
  EXPECT_EQ(tasks, 26u);
  EXPECT_EQ(candidates, 207u);
}

}  // namespace
}  // namespace plumb::task
