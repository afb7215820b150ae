// SPDX-License-Identifier: Apache-2.0
// A python3 that answers without Triton or a card stands in for the one that times.
#include "session/gpu_baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/scratch.h"
#include "gpu/codes.h"
#include "task/baseline_forms.h"
#include "task/codes.h"
#include "task/launch.h"

namespace plumb::session {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kTask = R"toml(
grid = ["cdiv(n, BLOCK)"]
[kernel]
file = "kernel.py"
function = "copy"
[constexpr]
BLOCK = 256
[[args]]
name = "x_ptr"
type = "*fp16"
shape = ["n"]
[[args]]
name = "y_ptr"
type = "*fp16"
shape = ["n"]
role = "out"
[[args]]
name = "n"
type = "i32"
value = "n"
[baseline]
num_warps = [4]
num_stages = [2]
BLOCK = [256, 512]
[shapes]
prove = [{ n = 1024 }]
)toml";

constexpr const char* kForms = R"toml(
[[form]]
name = "looped"
file = "kernel.py"
function = "looped"
grid = ["min(CTAS, cdiv(n, BLOCK))"]
where = ["BLOCK * num_warps <= 2048"]
[form.values]
half = "n // 2"
[form.constexpr]
TWICE = "BLOCK * 2"
[form.space]
num_warps = [4, 8]
BLOCK = [256, 512]
CTAS = [3]
[form.descriptors]
x = { tensor = "x_ptr", shape = ["n // 64", 64], block = [4, 64] }
[[form]]
name = "never"
file = "kernel.py"
function = "never"
where = ["n < 0"]
)toml";

class Baseline : public testing::Test {
 protected:
  Baseline() {
    write("task.toml", kTask);
    write("baselines.toml", kForms);
    write("kernel.py", "");
  }

  void write(const char* name, const std::string& text) {
    ASSERT_TRUE(write_file(scratch_.path() / name, text, findings_));
  }

  // Answers with `answer`, and keeps the plan as plan.json.
  BaselineOutcome run(const std::string& answer) {
    write("answer.json", answer);
    const std::string folder = scratch_.path().string();
    write("python3", "#!/bin/sh\ncp \"$2\" " + folder + "/plan.json\ncp " + folder + "/answer.json \"$3\"\n");
    fs::permissions(scratch_.path() / "python3", fs::perms::owner_all);
    fs::remove(scratch_.path() / "plan.json");
    const auto task = task::load_task(scratch_.path(), findings_);
    EXPECT_TRUE(task) << render(findings_, false);
    if (!task) return {};
    BaselineOptions options;
    options.python = scratch_.path() / "python3";
    options.out = scratch_.path() / "kept";
    options.most_configs = most_;
    return make_baseline(*task, task->prove_shapes.front(), options);
  }

  Json plan() {
    const auto text = read_file(scratch_.path() / "plan.json", findings_);
    return text ? Json::parse(*text) : Json();
  }

  static Json form(const char* name, double ms, const char* header) {
    return {{"form", name},
            {"status", "done"},
            {"ms", ms},
            {"ptx", "// PTX\n"},
            {"launch", "{}"},
            {"header", header},
            {"tried", Json::array()},
            {"winner", {{"constexprs", {{"BLOCK", 512}}}, {"num_warps", 4}, {"num_stages", 2}}}};
  }

  static std::string answer_of(const std::vector<Json>& forms) {
    Json out;
    out["status"] = "done";
    out["forms"] = forms;
    return out.dump();
  }

  unsigned most_ = 64;
  const Scratch scratch_;
  Findings findings_;
};

TEST_F(Baseline, PlansEveryFormWithItsOwnNumbersAndLeavesOutThoseWithoutAConfiguration) {
  run("{}");
  const Json forms = plan()["forms"];
  ASSERT_EQ(forms.size(), 2u);
  EXPECT_EQ(forms[0]["configs"].size(), 2u);
  ASSERT_EQ(forms[1]["form"], "looped");
  ASSERT_EQ(forms[1]["configs"].size(), 3u);  // of four, one breaks `where`
  for (const Json& config : forms[1]["configs"]) {
    const std::int64_t block = config["constexprs"]["BLOCK"];
    EXPECT_LE(block * config["num_warps"].get<std::int64_t>(), 2048);
    EXPECT_EQ(config["constexprs"]["TWICE"], 2 * block);
    EXPECT_EQ(config["grid"], Json({block == 512 ? 2 : 3, 1, 1}));
    EXPECT_EQ(config["values"], Json({{"half", 512}}));
    EXPECT_EQ(config["descriptors"]["x"]["strides"], Json({64, 1}));
    EXPECT_EQ(config["descriptors"]["x"]["shape"], Json({16, 64}));
  }
}

TEST_F(Baseline, GivesWhatWasNotDrawnFromASpaceForASearchAroundTheBest) {
  run("{}");
  EXPECT_FALSE(plan()["forms"][0].contains("rest"));
  most_ = 1;
  run("{}");
  for (const Json& form : plan()["forms"]) {
    ASSERT_EQ(form["configs"].size(), 1u);
    EXPECT_EQ(form["rest"].size(), form["form"] == "" ? 1u : 2u);
    for (const Json& other : form["rest"]) EXPECT_NE(other, form["configs"][0]);
  }
}

TEST_F(Baseline, KeepsAFormAsACandidateAndTheQuickestIsFound) {
  const std::string answer = answer_of({form("", 3, ""), form("looped", 2, "//! block = [128]\n")});
  const BaselineOutcome outcome = run(answer);
  ASSERT_FALSE(outcome.findings.has_error()) << render(outcome.findings, false);
  ASSERT_EQ(outcome.kept.size(), 2u);
  ASSERT_NE(outcome.quickest(), nullptr);
  EXPECT_EQ(outcome.quickest()->form, "looped");
  const fs::path ptx = outcome.quickest()->ptx;
  EXPECT_THAT(ptx.filename().string(), testing::StartsWith("n_1024-looped-"));
  const SourcePtr source = read_source(ptx, findings_);
  ASSERT_TRUE(source);
  const auto header = task::load_launch(source, ptx, findings_);
  ASSERT_TRUE(header) << render(findings_, false);
  EXPECT_TRUE(header->function.empty());
  EXPECT_TRUE(fs::exists(fs::path(outcome.kept.front().ptx).replace_extension(".json")));
}

TEST_F(Baseline, TimesAgainOnlyWhatHasChanged) {
  const std::string answer = answer_of({form("", 3, ""), form("looped", 2, "//! block = [128]\n")});
  run(answer);
  EXPECT_FALSE(run("{}").findings.has_error());
  EXPECT_TRUE(plan().is_null());  // nothing was asked
  std::string forms = kForms;
  forms.replace(forms.find("CTAS = [3]"), 10, "CTAS = [5]");
  write("baselines.toml", forms);
  const BaselineOutcome outcome = run(answer);
  ASSERT_EQ(outcome.kept.size(), 2u);
  EXPECT_TRUE(outcome.kept[0].is_cached);
  EXPECT_FALSE(outcome.kept[1].is_cached);
  ASSERT_EQ(plan()["forms"][0]["configs"].size(), 1u);  // the source's winner, to compare with
  EXPECT_EQ(plan()["forms"][0]["configs"][0]["constexprs"]["BLOCK"], 512);
}

TEST_F(Baseline, AFormThatDoesNotRunIsNoFailureAndTheSourceIs) {
  const Json failed = {{"form", "looped"}, {"status", "failed"}, {"message", "differs"}, {"tried", Json::array()}};
  const BaselineOutcome outcome = run(answer_of({form("", 3, ""), failed}));
  ASSERT_FALSE(outcome.findings.has_error());
  EXPECT_EQ(outcome.quickest()->form, "");
  EXPECT_EQ(outcome.kept[1].record["message"], "differs");
  Json source = failed;
  source["form"] = "";
  fs::remove_all(scratch_.path() / "kept");
  const BaselineOutcome none = run(answer_of({source}));
  ASSERT_TRUE(none.findings.has_error());
  EXPECT_EQ(none.findings.list().front().code, &gpu::kBaselineFailed);
}

TEST_F(Baseline, WrongFormsAreFindingsWhereTheyStand) {
  const std::pair<const char*, const char*> changes[] = {{"tensor = \"x_ptr\"", "tensor = \"z_ptr\""},
                                                         {"block = [4, 64]", "block = [4]"},
                                                         {"name = \"never\"", "name = \"looped\""},
                                                         {"file = \"kernel.py\"", "file = \"other.py\""},
                                                         {"[form.values]", "[form.valves]"},
                                                         {"CTAS = [3]", "CTAS = [\"3\"]"},
                                                         {"n < 0", "m < 0"}};
  for (const auto& [from, to] : changes) {
    std::string forms = kForms;
    forms.replace(forms.find(from), std::string_view(from).size(), to);
    write("baselines.toml", forms);
    const BaselineOutcome outcome = run("{}");
    EXPECT_TRUE(outcome.is_bad_input) << to;
    ASSERT_TRUE(outcome.findings.has_error()) << to;
    EXPECT_THAT(render(outcome.findings, false), testing::HasSubstr("baselines.toml:")) << to;
  }
}

}  // namespace
}  // namespace plumb::session
