// SPDX-License-Identifier: Apache-2.0
#include "task/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/scratch.h"
#include "task/codes.h"
#include "task/launch.h"

namespace plumb::task {
namespace {

using testing::HasSubstr;

std::optional<std::int64_t> value(std::string_view text, Findings& findings) {
  const Sizes sizes = {{"n", 1000}, {"BLOCK", 256}, {"zero", 0}, {"big", std::int64_t{1} << 62}};
  return evaluate(text, sizes, {}, findings);
}

TEST(Expression, FollowsPythonOnIntegers) {
  const std::pair<const char*, std::int64_t> cases[] = {{"1 + 2 * 3", 7},
                                                        {"(1 + 2) * 3", 9},
                                                        {"7 // 2", 3},
                                                        {"-7 // 2", -4},
                                                        {"7 // -2", -4},
                                                        {"-7 % 3", 2},
                                                        {"7 % -3", -2},
                                                        {"cdiv(n, BLOCK)", 4},
                                                        {"cdiv(-7, 2)", -3},
                                                        {"min(3, 1, 2)", 1},
                                                        {"max(n, 5)", 1000},
                                                        {"next_power_of_2(n)", 1024},
                                                        {"next_power_of_2(1024)", 1024},
                                                        {"next_power_of_2(0)", 1},
                                                        {"n == 1000", 1},
                                                        {"n < 1000", 0},
                                                        {"n >= BLOCK", 1},
                                                        {"n != 3", 1},
                                                        {"10 - 2 - 3", 5},
                                                        {"--5", 5},
                                                        {"2*-3", -6}};
  for (const auto& [text, wanted] : cases) {
    Findings findings;
    EXPECT_EQ(value(text, findings), wanted) << text << render(findings, false);
  }
}

TEST(Expression, ReportsWhatItCannotCompute) {
  const std::pair<const char*, const Code*> cases[] = {{"n // zero", &kArithmetic},
                                                       {"n % zero", &kArithmetic},
                                                       {"cdiv(n, zero)", &kArithmetic},
                                                       {"big * 2", &kArithmetic},
                                                       {"big + big", &kArithmetic},
                                                       {"99999999999999999999", &kArithmetic},
                                                       {"m", &kUnknownName},
                                                       {"", &kExpression},
                                                       {"1 +", &kExpression},
                                                       {"(1", &kExpression},
                                                       {"1 2", &kExpression},
                                                       {"log(2)", &kExpression},
                                                       {"cdiv(1)", &kExpression},
                                                       {"1x", &kExpression},
                                                       {"n ** 2", &kExpression},
                                                       {"next_power_of_2(9223372036854775807)", &kArithmetic}};
  for (const auto& [text, code] : cases) {
    Findings findings;
    EXPECT_EQ(value(text, findings), std::nullopt) << text;
    ASSERT_EQ(findings.list().size(), 1u) << text;
    EXPECT_EQ(findings.list()[0].code, code) << text;
  }
}

TEST(Expression, EndsOnDeepNesting) {
  Findings findings;
  EXPECT_EQ(value(std::string(100000, '('), findings), std::nullopt);
  EXPECT_EQ(value(std::string(100000, '-'), findings), std::nullopt);
}

class TaskTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    write("kernel.py", "pass\n");
  }

  std::filesystem::path write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  std::optional<Task> load(std::string_view toml, Findings& findings) {
    write("task.toml", toml);
    return load_task(folder_, findings);
  }

  const Scratch scratch_;
  const std::filesystem::path folder_ = scratch_.path() / "row_sum";
};

constexpr const char* kGood = R"toml(grid = ["cdiv(n, BLOCK)", 2]
[kernel]
file = "kernel.py"
function = "row_sum"
[constexpr]
BLOCK = "next_power_of_2(n)"
CAUSAL = true
KIND = { text = "tf32" }
[[args]]
name = "x_ptr"
type = "*bf16"
shape = ["n", 3]
[[args]]
name = "out_ptr"
type = "*fp32"
shape = ["n"]
role = "out"
[[args]]
name = "n"
type = "i32"
value = "n"
[[args]]
name = "one"
type = "i32"
value = 1
[[args]]
name = "eps"
type = "fp32"
value = 1e-6
[[shapes.prove]]
n = 1000
[tolerance]
relative = 0.01
)toml";

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(TaskTest, BindsSizesConstexprsArgumentsAndGrid) {
  Findings findings;
  const auto task = load(kGood, findings);
  ASSERT_TRUE(task) << render(findings, false);
  EXPECT_EQ(task->name, "row_sum");
  EXPECT_EQ(task->tolerance.relative, 0.01);
  const auto bound = plumb::task::bind(*task, task->prove_shapes.at(0), {}, findings);
  ASSERT_TRUE(bound) << render(findings, false);
  EXPECT_EQ(bound->label, "n=1000");
  EXPECT_EQ(bound->grid[0], 1u);
  EXPECT_EQ(bound->grid[1], 2u);
  EXPECT_EQ(std::get<std::int64_t>(bound->constexprs.at("BLOCK")), 1024);
  EXPECT_EQ(std::get<std::string>(bound->constexprs.at("KIND")), "tf32");
  EXPECT_EQ(bound->sizes.at("CAUSAL"), 1);
  ASSERT_EQ(bound->args.size(), 5u);
  EXPECT_EQ(bound->args[0].elements, 3000u);
  EXPECT_EQ(bound->args[1].role, Role::Out);
  EXPECT_EQ(bound->args[2].integer, 1000);
  EXPECT_TRUE(bound->args[4].is_float);
  EXPECT_EQ(bound->args[4].real, 1e-6);
}

TEST_F(TaskTest, OverridesReplaceConstexprsAndMakeArgumentsConstexpr) {
  Findings findings;
  const auto task = load(kGood, findings);
  ASSERT_TRUE(task);
  const auto bound = plumb::task::bind(*task, task->prove_shapes.at(0),
                                       {{"BLOCK", std::int64_t{256}}, {"one", std::int64_t{1}}}, findings);
  ASSERT_TRUE(bound) << render(findings, false);
  EXPECT_EQ(bound->grid[0], 4u);
  EXPECT_EQ(bound->args.size(), 4u);
  EXPECT_EQ(std::get<std::int64_t>(bound->constexprs.at("one")), 1);
  EXPECT_FALSE(plumb::task::bind(*task, task->prove_shapes.at(0), {{"one", std::int64_t{2}}}, findings));
  EXPECT_FALSE(plumb::task::bind(*task, task->prove_shapes.at(0), {{"TWO", std::int64_t{2}}}, findings));
}

TEST_F(TaskTest, EveryWrongKeyTypeAndNameIsOneFindingAtItsLine) {
  struct Case {
    const char* from;
    const char* to;
    const Code* code;
    std::uint32_t line;
  };
  const Case cases[] = {
      {"function = \"row_sum\"", "function = \"row sum\"", &kTaskValue, 4},
      {"function = \"row_sum\"", "functoin = \"row_sum\"", &kTaskKey, 4},
      {"file = \"kernel.py\"", "file = \"absent.py\"", &kTaskValue, 3},
      {"file = \"kernel.py\"", "file = 3", &kTaskType, 3},
      {"CAUSAL = true", "CAUSAL = []", &kTaskType, 7},
      {"\"*bf16\"", "\"*float16\"", &kTaskValue, 11},
      {"type = \"*bf16\"", "kind = \"*bf16\"", &kTaskMissing, 9},
      {"role = \"out\"", "role = \"output\"", &kTaskValue, 17},
      {"[\"n\", 3]", "[\"n\", \"m\"]", &kUnknownName, 12},
      {"[\"n\", 3]", "[\"n\", 2.5]", &kTaskType, 12},
      {"[\"n\", 3]", "[\"n\", \"0 - n\"]", &kShapeSize, 30},
      {"[\"n\", 3]", "[\"n\", 0]", &kShapeSize, 30},
      {"[\"n\", 3]", "[\"n\", \"n*n*n*n\"]", &kShapeSize, 30},
      {"cdiv(n, BLOCK)\", 2", "cdiv(n, BLOCK)\", 0", &kShapeGrid, 30},
      {"cdiv(n, BLOCK)\", 2", "cdiv(n, BLOCK)\", 70000", &kShapeGrid, 30},
      {"cdiv(n, BLOCK)\", 2", "cdiv(n, BLOKC)\", 2", &kUnknownName, 1},
      {"value = 1\n", "value = 3000000000\n", &kShapeSize, 30},
      {"value = 1e-6", "value = \"small\"", &kTaskType, 29},
      {"n = 1000", "n = \"1000\"", &kTaskType, 31},
      {"n = 1000", "n = 1000\nBLOCK = 2", &kTaskValue, 32},
      {"relative = 0.01", "relative = -1", &kTaskValue, 32},
      {"relative = 0.01", "relativ = 1", &kTaskKey, 33},
      {"relative = 0.01", "relative = 0.01\n[baseline]\nnum_warps = 4", &kTaskType, 35},
      {"relative = 0.01", "relative = 0.01\n[baseline]\nBLOCK = [256, \"n\"]", &kTaskType, 35},
      {"relative = 0.01", "relative = 0.01\n[baseline]\nWIDTH = [4]", &kTaskValue, 35},
      {"relative = 0.01", "relative = 0.01\n[work]\noperation = \"2 * n\"", &kTaskKey, 35},
      {"relative = 0.01", "relative = 0.01\n[work]\noperations = 5", &kTaskType, 35},
      {"relative = 0.01", "relative = 0.01\n[work]\noperations = \"2 * m\"", &kUnknownName, 35},
      {"role = \"out\"", "init = \"arange\"", &kTaskValue, 17},
      {"role = \"out\"", "init = \"uniform(1, 0)\"", &kTaskValue, 17},
      {"name = \"one\"", "name = \"n\"", &kTaskValue, 23},
  };
  for (const Case& row : cases) {
    Findings findings;
    EXPECT_FALSE(load(replaced(kGood, row.from, row.to), findings)) << row.to;
    ASSERT_FALSE(findings.empty()) << row.to;
    const Finding& first = findings.list()[0];
    EXPECT_EQ(first.code->id, row.code->id) << row.to << render(findings, false);
    ASSERT_TRUE(first.place.source) << row.to;
    EXPECT_EQ(first.place.source->locate(first.place.span.begin).line, row.line) << row.to << render(findings, false);
  }
}

TEST_F(TaskTest, ReadsSizesFromACommandLine) {
  Findings findings;
  const auto shape = parse_shape("n=12,K=-3", findings);
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->sizes, (Sizes{{"n", 12}, {"K", -3}}));
  for (const char* bad : {"", "n", "n=", "=3", "n=3,", "n=3x", "n=99999999999999999999"}) {
    Findings own;
    EXPECT_FALSE(parse_shape(bad, own)) << bad;
    EXPECT_EQ(own.list().size(), 1u) << bad;
  }
}

TEST_F(TaskTest, ReadsALaunchHeaderFromLeadingComments) {
  Findings findings;
  const auto task = load(kGood, findings);
  ASSERT_TRUE(task);
  const auto path = write("a.ptx",
                          "// written by hand\n//! block = [128, 2]\n//! shared = \"4 * BLOCK\"\n"
                          "//! params = [\"x_ptr\", \"n + 1\", \"workspace\", \"null\", \"eps\"]\n"
                          "//! workspace = \"8 * grid_x * grid_y\"\n//! requires = [\"n % 8 == 0\"]\n.version 8.0\n");
  const auto source = std::make_shared<Source>(
      path.string(),
      std::string("// written by hand\n//! block = [128, 2]\n//! shared = \"4 * BLOCK\"\n"
                  "//! params = [\"x_ptr\", \"n + 1\", \"workspace\", \"null\", \"eps\"]\n"
                  "//! workspace = \"8 * grid_x * grid_y\"\n//! requires = [\"n % 8 == 0\"]\n.version 8.0\n"));
  const auto header = load_launch(source, path, findings);
  ASSERT_TRUE(header) << render(findings, false);
  const auto bound = plumb::task::bind(*task, task->prove_shapes[0], {}, findings);
  ASSERT_TRUE(bound);
  EXPECT_FALSE(broken_promise(*header, *bound, findings));
  const auto launch = bind_launch(*header, *task, *bound, findings);
  ASSERT_TRUE(launch) << render(findings, false);
  EXPECT_EQ(launch->block[0], 128u);
  EXPECT_EQ(launch->block[1], 2u);
  EXPECT_EQ(launch->shared, 4096u);
  EXPECT_EQ(launch->workspace, 16u);
  using Kind = BoundLaunch::Param::Kind;
  ASSERT_EQ(launch->params.size(), 5u);
  EXPECT_EQ(launch->params[0].kind, Kind::Tensor);
  EXPECT_EQ(launch->params[1].kind, Kind::Integer);
  EXPECT_EQ(launch->params[1].integer, 1001);
  EXPECT_EQ(launch->params[2].kind, Kind::Workspace);
  EXPECT_EQ(launch->params[3].kind, Kind::Null);
  EXPECT_EQ(launch->params[4].kind, Kind::Scalar);

  const auto odd = parse_shape("n=1001", findings);
  const auto odd_bound = plumb::task::bind(*task, *odd, {}, findings);
  ASSERT_TRUE(odd_bound);
  const auto broken = broken_promise(*header, *odd_bound, findings);
  ASSERT_TRUE(broken);
  EXPECT_EQ(broken->place.source->locate(broken->place.span.begin).line, 6u);
  EXPECT_FALSE(bind_launch(*header, *task, *odd_bound, findings));
}

TEST_F(TaskTest, AWrongLaunchHeaderIsReportedAtItsLine) {
  const std::pair<const char*, std::uint32_t> cases[] = {{"//! block = [128]\n//! gird = [1]\n", 2},
                                                         {"//! entry = \"f\"\n", 1},
                                                         {"//! block = [128\n.version 8.0\n", 2},
                                                         {"//! block = true\n", 1},
                                                         {"//! block = [1, 1, 1, 1]\n", 1}};
  for (const auto& [text, line] : cases) {
    Findings findings;
    const auto source = std::make_shared<Source>("a.ptx", std::string(text) + ".version 8.0\n");
    EXPECT_FALSE(load_launch(source, folder_ / "a.ptx", findings)) << text;
    ASSERT_EQ(findings.list().size(), 1u) << text << render(findings, false);
    const Place& place = findings.list()[0].place;
    EXPECT_EQ(place.source->locate(place.span.begin).line, line) << render(findings, false);
  }
  Findings findings;
  EXPECT_FALSE(load_launch(std::make_shared<Source>("a.ptx", ".version 8.0\n"), folder_ / "a.ptx", findings));
  EXPECT_EQ(findings.list().at(0).code->id, kLaunchMissing.id);
}

TEST_F(TaskTest, LaunchLimitsAreFindings) {
  Findings findings;
  const auto task = load(kGood, findings);
  ASSERT_TRUE(task);
  const auto bound = plumb::task::bind(*task, task->prove_shapes[0], {}, findings);
  for (const char* text :
       {"//! block = [2048]\n", "//! block = [64, 32]\n", "//! block = [0]\n", "//! block = [\"m\"]\n",
        "//! block = [128]\n//! cluster = [3]\n", "//! block = [128]\n//! shared = 300000\n",
        "//! block = [128]\n//! workspace = \"0-1\"\n", "//! block = [128]\n//! params = [\"y_ptr\"]\n",
        "//! block = [128]\n//! grid = [\"n - n\"]\n"}) {
    Findings own;
    const auto header = load_launch(std::make_shared<Source>("a.ptx", text), folder_ / "a.ptx", own);
    ASSERT_TRUE(header) << text << render(own, false);
    EXPECT_FALSE(bind_launch(*header, *task, *bound, own)) << text;
    ASSERT_EQ(own.list().size(), 1u) << text;
    EXPECT_TRUE(own.list()[0].place.source) << text;
  }
}

TEST_F(TaskTest, ReadsTritonsLaunchJson) {
  Findings findings;
  const auto task = load(kGood, findings);
  ASSERT_TRUE(task);
  write("a.json",
        R"({"entry": "row_sum", "num_warps": 4, "shared": 256, "num_ctas": 1, "function": "row_sum",
            "signature": {"x_ptr": "*bf16", "out_ptr": "*fp32", "n": "i32", "one": "constexpr", "eps": "fp32",
                          "BLOCK": "constexpr", "CAUSAL": "constexpr", "KIND": "constexpr"},
            "constexprs": {"one": 1, "BLOCK": 1024, "CAUSAL": true, "KIND": "tf32"}, "divisible_by_16": true,
            "global_scratch": 512})");
  const auto ptx = std::make_shared<Source>("a.ptx", ".version 8.0\n.visible .entry row_sum() .reqntid 384\n");
  const auto header = load_launch(ptx, folder_ / "a.ptx", findings);
  ASSERT_TRUE(header) << render(findings, false);
  EXPECT_EQ(*header->params, (std::vector<std::string>{"x_ptr", "out_ptr", "n", "eps", "workspace", "null"}));
  const auto odd = plumb::task::bind(*task, task->prove_shapes[0], header->constexprs, findings);
  ASSERT_TRUE(odd) << render(findings, false);
  const auto broken = broken_promise(*header, *odd, findings);
  ASSERT_TRUE(broken);
  EXPECT_THAT(broken->message, HasSubstr("`n % 16 == 0`"));
  const auto even = plumb::task::bind(*task, *parse_shape("n=1008", findings), header->constexprs, findings);
  const auto launch = bind_launch(*header, *task, *even, findings);
  ASSERT_TRUE(launch) << render(findings, false);
  EXPECT_EQ(launch->block[0], 384u);
  EXPECT_EQ(launch->shared, 256u);
  EXPECT_EQ(launch->workspace, 1024u);
}

// Pointers are aligned wherever the host allocates; which integers are multiples depends on the sizes.
TEST_F(TaskTest, TritonsSpecialisationIsReadArgumentByArgument) {
  Findings findings;
  const auto task = load(kGood, findings);
  ASSERT_TRUE(task);
  const auto odd = plumb::task::bind(*task, *parse_shape("n=1000", findings), {}, findings);
  ASSERT_TRUE(odd);
  const auto read = [&](const std::string& relied) {
    write("a.json", R"({"entry": "row_sum", "num_warps": 4, "shared": 0, "num_ctas": 1, "function": "row_sum",
                        "signature": {"x_ptr": "*bf16", "out_ptr": "*fp32", "n": "i32", "eps": "fp32"}, "constexprs": {},
                        "divisible_by_16": false, "global_scratch": 0, "relies_on_divisibility": [)" +
                        relied + "]}");
    return load_launch(std::make_shared<Source>("a.ptx", ".version 8.0\n"), folder_ / "a.ptx", findings);
  };
  const auto pointers = read(R"("x_ptr", "out_ptr")"), all = read(R"("x_ptr", "out_ptr", "n")"),
             one = read(R"("x_ptr")");
  ASSERT_TRUE(pointers && all && one) << render(findings, false);
  EXPECT_TRUE(pointers->divisible_by_16);
  EXPECT_FALSE(broken_promise(*pointers, *odd, findings));
  EXPECT_TRUE(all->divisible_by_16);
  EXPECT_TRUE(broken_promise(*all, *odd, findings));
  EXPECT_FALSE(one->divisible_by_16);
}

}  // namespace
}  // namespace plumb::task
