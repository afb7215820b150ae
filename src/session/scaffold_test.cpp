// SPDX-License-Identifier: Apache-2.0
#include "session/scaffold.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "prove/prove.h"
#include "session/session.h"
#include "task/task.h"

namespace plumb::session {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

TEST(Scaffold, EveryFolderIsListedAndBuiltInAsItStands) {
  std::set<std::string> folders, kinds;
  for (const auto& entry : fs::directory_iterator(fs::path(PLUMB_SOURCE_DIR) / "scaffolds")) {
    if (entry.is_directory()) folders.insert(entry.path().filename().string());
  }
  for (const Scaffold& each : scaffolds()) {
    kinds.insert(std::string(each.kind));
    const fs::path folder = fs::path(PLUMB_SOURCE_DIR) / "scaffolds" / each.kind;
    EXPECT_EQ(each.ptx(), content(folder / (std::string(each.kind) + ".ptx")));
    EXPECT_EQ(each.task(), content(folder / "task.toml"));
    EXPECT_EQ(each.kernel(), content(folder / "kernel.py"));
    EXPECT_FALSE(each.ptx().empty());
  }
  EXPECT_EQ(kinds, folders);
}

TEST(Scaffold, EachIsProvedAgainstItsOwnTask) {
  for (const Scaffold& each : scaffolds()) {
    const fs::path folder = fs::path(PLUMB_SOURCE_DIR) / "scaffolds" / each.kind;
    Findings findings;
    const auto task = task::load_task(folder, findings);
    const auto candidate = prove::load_candidate(folder / (std::string(each.kind) + ".ptx"), findings);
    ASSERT_TRUE(task && candidate) << render(findings, false);
    prove::Options options;
    options.seed = 1;
    const prove::Outcome outcome = prove::prove(*task, *candidate, options);
    EXPECT_TRUE(outcome.holds()) << each.kind << ": " << prove::to_text(outcome, false);
  }
}

TEST(Scaffold, IsFoundForTheTargetsThatItRunsOn) {
  Findings findings;
  EXPECT_NE(find_scaffold("mma-loop", "sm_89", findings), nullptr);
  EXPECT_NE(find_scaffold("row-reduction", "sm_100a", findings), nullptr);
  EXPECT_TRUE(findings.empty());
  EXPECT_EQ(find_scaffold("wgmma-loop", "sm_89", findings), nullptr);
  EXPECT_EQ(find_scaffold("absent", "sm_90a", findings), nullptr);
  ASSERT_EQ(findings.list().size(), 2u);
  EXPECT_EQ(findings.list()[0].hint, "for sm_89: row-reduction, fragment-map, mma-loop");
  // What is listed for a target runs there.
  for (const char* target : {"sm_80", "sm_89", "sm_90a", "sm_100a"}) {
    for (const Scaffold& each : scaffolds()) {
      Findings none;
      if (find_scaffold(each.kind, target, none) == nullptr) continue;
      const auto candidate = prove::load_candidate(
          fs::path(PLUMB_SOURCE_DIR) / "scaffolds" / each.kind / (std::string(each.kind) + ".ptx"), none);
      ASSERT_TRUE(candidate);
      EXPECT_TRUE(holds_target(*candidate, target, none)) << each.kind << " " << target;
    }
  }
}

}  // namespace
}  // namespace plumb::session
