// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "gpu/codes.h"
#include "gpu/driver.h"
#include "gpu/job.h"
#include "gpu/nvml.h"
#include "gpu/process.h"
#include "gpu/shared_memory.h"
#include "gpu/statistics.h"

namespace plumb::gpu {
namespace {

TEST(Statistics, MedianIsTheMiddleAndQuantilesInterpolate) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(quantile({0, 10}, 0.05), 0.5);
  EXPECT_EQ(median({}), 0);
}

TEST(Statistics, IntervalsCoverTheTrueMedianAboutAsOftenAsTheySay) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(5, 1);
  unsigned covered = 0;
  constexpr unsigned kRuns = 200;
  for (unsigned run = 0; run < kRuns; ++run) {
    std::vector<double> values(41);
    for (double& value : values) value = normal(random);
    const Interval interval = median_interval(values, run, 500);
    EXPECT_LE(interval.low, interval.value);
    EXPECT_GE(interval.high, interval.value);
    covered += interval.low <= 5 && 5 <= interval.high;
  }
  EXPECT_GT(covered, 0.88 * kRuns);
  EXPECT_LT(covered, kRuns);
}

TEST(Job, WhatIsWrittenIsReadAgain) {
  TestJob job;
  job.launch.ptx = "text \"with\" \n lines";
  job.launch.entry = "add";
  job.launch.grid[0] = 7;
  job.launch.cluster[1] = 2;
  job.launch.workspace = 1ULL << 33;
  job.launch.params = {{ParamValue::Kind::Buffer, 1, {}},
                       {ParamValue::Kind::Workspace, 0, {}},
                       {ParamValue::Kind::Bytes, 0, std::string("\x00\xff\x10", 3)}};
  TensorMapPlan tiled{"f32.ftz", 32, {1ULL << 32, 3}, {64}, {1, 2}, {8, 1}}, pixels = tiled;
  pixels.is_im2col = true, pixels.box.clear();
  pixels.dims = {64, 7, 7, 2}, pixels.strides = {128, 896, 6272}, pixels.element_strides = {1, 1, 1, 1};
  pixels.lower = {-1, -1}, pixels.upper = {1, 2}, pixels.channels = 64, pixels.pixels = 128;
  job.launch.params.push_back({ParamValue::Kind::TensorMap, 0, {}, tiled});
  job.launch.params.push_back({ParamValue::Kind::TensorMap, 1, {}, pixels});
  job.launch.variables = {"a"};
  job.buffers = {{"x", 12, Role::In, 4}, {"out", 16, Role::Out, 16}};
  job.inputs = {"/somewhere"};
  job.steps = {{0, true, 0x7d, 0x3c, false, "/elsewhere"}};
  Findings findings;
  const auto read = read_test_job(nlohmann::json::parse(to_json(job).dump()), findings);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_json(*read), to_json(job));
  EXPECT_EQ(read->launch.params[2].bytes, std::string("\x00\xff\x10", 3));
  EXPECT_EQ(read->launch.params[3].map, tiled);
  EXPECT_EQ(read->launch.params[4].map, pixels);
}

TEST(Job, MissingFieldsAndStrayIndicesAreFindings) {
  TestJob job;
  job.launch.params = {{ParamValue::Kind::Buffer, 3, {}}};
  Findings findings;
  EXPECT_FALSE(read_test_job(to_json(job), findings));
  nlohmann::json broken = to_json(TestJob{});
  broken.erase("steps");
  EXPECT_FALSE(read_test_job(broken, findings));
  broken = to_json(TestJob{});
  broken["launch"]["grid"] = "wide";
  EXPECT_FALSE(read_test_job(broken, findings));
  ASSERT_EQ(findings.list().size(), 3u);
  for (const Finding& finding : findings.list()) EXPECT_EQ(finding.code, &kProtocol);
}

TEST(Job, HexadecimalTextThatIsNoneIsRefused) {
  EXPECT_EQ(from_hex("00ff"), std::string("\x00\xff", 2));
  EXPECT_FALSE(from_hex("0"));
  EXPECT_FALSE(from_hex("0g"));
}

TEST(SharedMemory, BothSidesSeeTheSameBytes) {
  const auto made = SharedMemory::make(4096);
  ASSERT_TRUE(made);
  const auto opened = SharedMemory::open(made->path(), 4096);
  ASSERT_TRUE(opened);
  made->data()[17] = std::byte{42};
  EXPECT_EQ(opened->data()[17], std::byte{42});
  EXPECT_FALSE(SharedMemory::open(made->path(), 4097));
  EXPECT_FALSE(SharedMemory::open("/nowhere", 1));
}

TEST(Driver, AMissingLibraryIsAFinding) {
  Findings findings;
  EXPECT_EQ(Driver::load("/nowhere/libcuda.so", findings), nullptr);
  ASSERT_EQ(findings.list().size(), 1u);
  EXPECT_EQ(findings.list()[0].code, &kNoGpu);
}

TEST(Driver, FaultsEndTheContextAndRefusalsDoNot) {
  EXPECT_TRUE(is_sticky(700));
  EXPECT_TRUE(is_sticky(719));
  EXPECT_FALSE(is_sticky(kInvalidValue));
  EXPECT_FALSE(is_sticky(kOutOfMemory));
}

TEST(Nvml, IdleIsNoSlowdownAndAPowerCapIs) {
  EXPECT_EQ(slowdown_names(1), "");
  EXPECT_EQ(slowdown_names(0x4 | 0x40), "power cap, hardware heat limit");
}

TEST(WorkerProcess, AProgramThatIsNotThereIsAnAnswer) {
  WorkerProcess worker({"/nowhere/plumb"});
  const nlohmann::json answer = worker.ask({{"op", "facts"}}, 5);
  EXPECT_EQ(answer["status"], "worker");
}

TEST(WorkerProcess, ALateAnswerEndsTheWorkerAndTheNextCallStartsAnother) {
  WorkerProcess worker({"/bin/sleep", "100"});
  EXPECT_EQ(worker.ask({{"op", "facts"}}, 0.2)["status"], "timeout");
  EXPECT_EQ(worker.ask({{"op", "facts"}}, 0.2)["status"], "timeout");
  EXPECT_EQ(worker.starts(), 2u);
}

TEST(WorkerProcess, WhatIsNoJsonIsNoAnswer) {
  WorkerProcess worker({"/bin/cat"});
  EXPECT_EQ(worker.ask({{"op", "facts"}}, 5)["status"], "worker");
  EXPECT_EQ(worker.ask({{"status", "echo"}}, 5)["status"], "echo");
}

}  // namespace
}  // namespace plumb::gpu
