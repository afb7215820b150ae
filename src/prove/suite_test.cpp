// SPDX-License-Identifier: Apache-2.0
// What Triton 3.6 makes of tasks of the suite, for sm_80 or for the target that a file's name ends with, at each task's
// first prove shape and with 4 warps, is proved against their sources: scans with a user's combine function, stores
// that several threads make of one value, exponentials that nothing approximate follows, windows, online sums, tensor
// descriptors made on the host.
#include <gtest/gtest.h>

#include <filesystem>

#include "prove/prove.h"

namespace plumb::prove {
namespace {

namespace fs = std::filesystem;

TEST(Suite, TritonsCodeIsProvedAtTheFirstShape) {
  unsigned files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(PLUMB_SOURCE_DIR "/tests/suite/triton")) {
    if (entry.path().extension() != ".ptx") continue;
    Findings findings;
    const std::string stem = entry.path().stem().string(), task_name = stem.substr(0, stem.find('.'));
    const auto task = task::load_task(fs::path(PLUMB_SOURCE_DIR "/suite") / task_name, findings);
    const auto candidate = load_candidate(entry.path(), findings);
    ASSERT_TRUE(task && candidate) << render(findings, false);
    Options options;
    options.shapes = {task->prove_shapes.front()};
    const Outcome outcome = prove(*task, *candidate, options);
    EXPECT_TRUE(outcome.holds()) << entry.path() << "\n" << to_text(outcome, false);
    ++files;
  }
  EXPECT_GE(files, 9U);
}

}  // namespace
}  // namespace plumb::prove
