// SPDX-License-Identifier: Apache-2.0
// `plumb worker`, `test` and `bench` around a driver without a card: what is told, killed, restarted, and left behind.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/hash.h"
#include "base/scratch.h"
#include "gpu/job.h"
#include "gpu/process.h"
#include "gpu/shared_memory.h"

namespace plumb::gpu {
namespace {

using Json = nlohmann::json;

constexpr std::uint32_t kCount = 1000;

std::string ptx(const std::string& word) {
  return "// fake: " + word +
         "\n.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry add(.param .u64 x, .param .u64 y, .param "
         ".u64 "
         "out, .param .u32 n)\n{\n  ret;\n}\n";
}

std::vector<std::string> command() { return {PLUMB_BINARY, "worker", "--driver", FAKE_DRIVER}; }

// A job with two launches of a kernel that the fake driver plays.
struct Fixture {
  std::unique_ptr<SharedMemory> inputs = SharedMemory::make(8 * kCount), outputs = SharedMemory::make(4 * kCount);
  TestJob job;

  explicit Fixture(const std::string& word) {
    auto* values = reinterpret_cast<float*>(inputs->data());
    for (std::uint32_t i = 0; i < 2 * kCount; ++i) values[i] = static_cast<float>(i);
    job.launch.ptx = ptx(word);
    job.launch.entry = "add";
    job.launch.params = {{ParamValue::Kind::Buffer, 0, {}},
                         {ParamValue::Kind::Buffer, 1, {}},
                         {ParamValue::Kind::Buffer, 2, {}},
                         {ParamValue::Kind::Bytes, 0, std::string("\xe8\x03\0\0\0\0\0\0", 8)}};
    job.buffers = {{"x", 4 * kCount, Role::In, 4}, {"y", 4 * kCount, Role::In, 4}, {"out", 4 * kCount, Role::Out, 4}};
    job.inputs = {inputs->path()};
    job.steps = {{0, true, 0xff, 0xff, true, outputs->path()}, {0, false, 0x7d, 0xff, true, outputs->path()}};
    job.launch_seconds = 0.3;
  }
  Json ask(WorkerProcess& worker) const { return worker.ask(to_json(job), 20); }
};

TEST(Worker, RunsAJobAndHandsTheOutputsBack) {
  WorkerProcess worker(command());
  const Fixture fixture("add");
  const Json answer = fixture.ask(worker);
  ASSERT_EQ(answer["status"], "done") << answer.dump();
  EXPECT_EQ(answer["steps"].size(), 2u);
  const auto* sums = reinterpret_cast<const float*>(fixture.outputs->data());
  for (std::uint32_t i = 0; i < kCount; ++i) EXPECT_EQ(sums[i], static_cast<float>(kCount + 2 * i));
  for (const Json& step : answer["steps"]) {
    EXPECT_TRUE(step["guard"].empty());
    EXPECT_TRUE(step["mutated"].empty());
  }
}

TEST(Worker, TheDriverEncodesTensorMapsForTheAddressOfTheLaunch) {
  WorkerProcess worker(command());
  Fixture fixture("map");
  const std::string param = ".param .u64 x";
  fixture.job.launch.ptx.replace(fixture.job.launch.ptx.find(param), param.size(), ".param .align 64 .b8 x[128]");
  fixture.job.buffers[0].alignment = 16;
  fixture.job.launch.params[3].bytes[0] = '\xe4';  // 996 elements: those behind the map's offset
  TensorMapPlan map{"bf16", 16, {40, 7}, {80}, {1, 2}, {8, 5}};
  map.swizzle = "64B", map.promotion = "256B", map.fill = "nan";
  fixture.job.launch.params[0] = {ParamValue::Kind::TensorMap, 0, {}, map};
  const Json answer = fixture.ask(worker);
  ASSERT_EQ(answer["status"], "done") << answer.dump();
  const auto* out = reinterpret_cast<const float*>(fixture.outputs->data());
  EXPECT_EQ(out[20], static_cast<float>(20 + 4 + kCount + 20)) << "x begins 16 bytes into its buffer";
  // The driver's numbers: CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 is 9, SWIZZLE_64B 2, L2_PROMOTION_L2_256B 3, NaN fill 1.
  const std::vector<float> words(out + 1, out + 14), expected = {9, 2, 40, 7, 8, 5, 1, 2, 80, 0, 2, 3, 1};
  EXPECT_EQ(words, expected);

  fixture.job.launch.params[0].map.offset = 4;
  EXPECT_EQ(fixture.ask(worker)["status"], "launch") << "the driver refuses an address that is no multiple of 16";
  fixture.job.launch.params[0].map.type = "f13";
  EXPECT_EQ(fixture.ask(worker)["status"], "launch");
  EXPECT_EQ(Fixture("add").ask(worker)["status"], "done");
  EXPECT_EQ(worker.starts(), 1u);
}

TEST(Worker, OutputsThatNothingWritesKeepThePoisonOfTheirLaunch) {
  WorkerProcess worker(command());
  const Fixture fixture("nothing");
  ASSERT_EQ(fixture.ask(worker)["status"], "done");
  for (std::uint32_t i = 0; i < 4 * kCount; ++i) EXPECT_EQ(fixture.outputs->data()[i], std::byte{0x7d});
}

TEST(Worker, SaysWhichInputWasWrittenAndWhichGuard) {
  WorkerProcess worker(command());
  const Json mutated = Fixture("mutate").ask(worker);
  // The first element of x is 0 already, so that writing 0 changes nothing; with another input it shows.
  Fixture other("mutate");
  reinterpret_cast<float*>(other.inputs->data())[0] = 5;
  const Json seen = other.ask(worker);
  EXPECT_TRUE(mutated["steps"][0]["mutated"].empty());
  ASSERT_EQ(seen["steps"][0]["mutated"].size(), 1u);
  EXPECT_EQ(seen["steps"][0]["mutated"][0]["buffer"], "x");
  const Json before = Fixture("before").ask(worker);
  ASSERT_EQ(before["steps"][0]["guard"].size(), 1u);
  EXPECT_EQ(before["steps"][0]["guard"][0]["offset"], -4);
}

TEST(Worker, AHangAFaultAndACrashEndItAndTheNextJobPasses) {
  WorkerProcess worker(command());
  for (const auto& [word, status] : {std::pair{"hang", "timeout"}, {"fault", "fault"}, {"abort", "worker"}}) {
    EXPECT_EQ(Fixture(word).ask(worker)["status"], status) << word;
    EXPECT_EQ(Fixture("add").ask(worker)["status"], "done") << "after " << word;
  }
  EXPECT_EQ(worker.starts(), 4u);
}

TEST(Worker, ARefusedLaunchIsToldAndTheWorkerStays) {
  WorkerProcess worker(command());
  EXPECT_EQ(Fixture("refuse").ask(worker)["status"], "launch");
  EXPECT_EQ(Fixture("invalid").ask(worker)["status"], "compile");
  Fixture fewer("add");
  fewer.job.launch.params.pop_back();
  EXPECT_EQ(fewer.ask(worker)["status"], "params");
  EXPECT_EQ(Fixture("add").ask(worker)["status"], "done");
  EXPECT_EQ(worker.starts(), 1u);
}

TEST(Worker, WhatAKernelPrintsIsNoAnswer) {
  WorkerProcess worker(command());
  const Json answer = Fixture("spam").ask(worker);
  EXPECT_EQ(answer["status"], "done");
  EXPECT_EQ(answer["steps"].size(), 2u);
  EXPECT_EQ(Fixture("add").ask(worker)["steps"].size(), 2u);
}

TEST(Worker, JobsThatCannotBeReadAreRefusedAndTheWorkerStays) {
  WorkerProcess worker(command());
  EXPECT_EQ(worker.ask({{"op", "dance"}}, 10)["status"], "protocol");
  EXPECT_EQ(worker.ask({{"op", "test"}}, 10)["status"], "protocol");
  EXPECT_EQ(worker.ask({{"op", "facts"}}, 10)["card"]["name"], "fake card");
  EXPECT_EQ(worker.starts(), 1u);
}

TEST(Worker, WithoutADriverItSaysSo) {
  WorkerProcess worker({PLUMB_BINARY, "worker", "--driver", "/nowhere/libcuda.so"});
  EXPECT_EQ(worker.ask({{"op", "facts"}}, 10)["status"], "none");
}

struct Ended {
  int code = -1;
  std::string output;
};

Ended run(const std::string& arguments) {
  Ended out;
  std::FILE* pipe = ::popen((std::string(PLUMB_BINARY) + " " + arguments + " 2>&1").c_str(), "r");
  std::array<char, 4096> block{};
  for (std::size_t got; (got = std::fread(block.data(), 1, block.size(), pipe)) > 0;)
    out.output.append(block.data(), got);
  out.code = WEXITSTATUS(::pclose(pipe));
  return out;
}

// A candidate file for suite/vector_add that the fake driver plays as `word`.
class Candidate {
 public:
  explicit Candidate(const std::string& word) : path_((scratch_.path() / "fake.ptx").string()) {
    std::ostringstream text;
    text << "//! entry = \"add\"\n//! grid = [\"cdiv(n, 256)\"]\n//! block = [256]\n"
            "//! params = [\"x_ptr\", \"y_ptr\", \"out_ptr\", \"n\"]\n"
         << ptx(word);
    text_ = text.str();
    std::ofstream(path_) << text_;
  }
  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  std::string arguments(const std::string& command) const {
    return command + " " + PLUMB_SOURCE_DIR + "/suite/vector_add " + path_ + " --driver " + FAKE_DRIVER;
  }

 private:
  const Scratch scratch_;
  const std::string path_;
  std::string text_;
};

// The lowering of vector_add, which the fake driver plays as `word`.
class Lowering {
 public:
  explicit Lowering(const std::string& word) : path_((scratch_.path() / "vector_add.ptx").string()) {
    std::ifstream from(std::string(PLUMB_SOURCE_DIR) + "/suite/vector_add/sm_89/vector_add.ptx");
    std::ofstream(path_) << from.rdbuf() << "// fake: " << word << "\n";
  }
  std::string run() const {
    return std::string("run ") + PLUMB_SOURCE_DIR + "/suite/vector_add " + path_ + " --gpu --shape n=1000 --driver " +
           FAKE_DRIVER;
  }

 private:
  const Scratch scratch_;
  const std::string path_;
};

TEST(RunCommand, ComparesTheBitsOfTheMachineWithThoseOfTheCard) {
  const Ended same = run(Lowering("add").run());
  EXPECT_EQ(same.code, 0) << same.output;
  EXPECT_NE(same.output.find("on the card: 0 of 1000 elements have other bits"), std::string::npos) << same.output;
  const Ended other = run(Lowering("wrong").run());
  EXPECT_EQ(other.code, 1) << other.output;
  EXPECT_NE(other.output.find("1 of 1000 elements have other bits, first out_ptr[0]"), std::string::npos)
      << other.output;
  const Ended fault = run(Lowering("fault").run());
  EXPECT_EQ(fault.code, 1) << fault.output;
}

TEST(TestCommand, HoldsForTheSumAndRejectsEachDefectForItsReason) {
  const std::string shapes = " --shape n=1000 --shape n=7";
  const Ended good = run(Candidate("add").arguments("test") + shapes);
  EXPECT_EQ(good.code, 0) << good.output;
  for (const auto& [word, code] : {std::pair{"nothing", "gpu.unwritten"},
                                   {"wrong", "gpu.wrong"},
                                   {"mutate", "gpu.mutated"},
                                   {"fault", "gpu.fault"},
                                   {"refuse", "gpu.launch"},
                                   {"abort", "gpu.worker"}}) {
    const Ended bad = run(Candidate(word).arguments("test") + shapes);
    EXPECT_EQ(bad.code, 1) << word;
    EXPECT_NE(bad.output.find(std::string("[") + code + "]"), std::string::npos) << bad.output;
  }
  const Ended hung = run(Candidate("hang").arguments("test") + shapes + " --launch-seconds 0.2");
  EXPECT_EQ(hung.code, 1);
  EXPECT_NE(hung.output.find("[gpu.timeout]"), std::string::npos) << hung.output;
}

TEST(TestCommand, WithoutACardItSaysSoInOneLineWithItsOwnExitCode) {
  for (const char* command : {"test", "bench"}) {
    const Ended none = run(std::string(command) + " " + PLUMB_SOURCE_DIR + "/suite/vector_add " + PLUMB_SOURCE_DIR +
                           "/tests/cheats/honest_add.ptx --driver /nowhere/libcuda.so");
    EXPECT_EQ(none.code, 4) << none.output;
    EXPECT_NE(none.output.find("[gpu.none]"), std::string::npos) << none.output;
    EXPECT_EQ(std::count(none.output.begin(), none.output.end(), '\n'), 1) << none.output;
  }
}

TEST(BenchCommand, JudgesWhatTheTimedLaunchesLeft) {
  // The fake card's events are a millisecond apart whatever runs between them, and its graphs do nothing.
  const Ended bench = run(Candidate("add").arguments("bench") + " --shape n=1000 --seconds 0.05 --json");
  const Json answer = Json::parse(bench.output, nullptr, false);
  ASSERT_TRUE(answer.is_object()) << bench.output;
  ASSERT_EQ(answer["shapes"].size(), 1u) << bench.output;
  EXPECT_EQ(answer["shapes"][0]["cold"]["self_ratio"]["value"], 1.0);
  EXPECT_EQ(bench.code, 1);
  ASSERT_EQ(answer["findings"].size(), 1u) << bench.output;
  EXPECT_EQ(answer["findings"][0]["code"], "gpu.timed-wrong");
}

TEST(BenchCommand, SaysHowFastTheCandidateIsAgainstTheLibraryThatWasTimedBesideTheBaseline) {
  const Candidate candidate("add\n// fake-us: 20"), baseline("add\n// fake-us: 40");
  const auto arguments = [&] {
    return candidate.arguments("bench") + " --baseline " + baseline.path() + " --shape n=1000 --seconds 0.05 --json";
  };
  EXPECT_FALSE(Json::parse(run(arguments()).output, nullptr, false)["shapes"][0].contains("library"));
  // The library took an eighth of the baseline's time then: a quarter of the candidate's.
  const Json record = {
      {"ptx_sha256", sha256(baseline.text())},
      {"library", {{"name", "cuSomething"}, {"ms", 0.005}, {"speedup", {{"value", 8}, {"low", 4}, {"high", 10}}}}}};
  std::ofstream(std::filesystem::path(baseline.path()).replace_extension(".record.json")) << record;
  const Json library = Json::parse(run(arguments()).output, nullptr, false)["shapes"][0]["library"];
  EXPECT_EQ(library["name"], "cuSomething");
  EXPECT_DOUBLE_EQ(library["ns"].get<double>(), 5000);
  EXPECT_NEAR(library["speedup"]["value"].get<double>(), 2.0 / 8, 1e-3);
  EXPECT_NEAR(library["speedup"]["low"].get<double>(), 2.0 / 10, 1e-3);
  EXPECT_NEAR(library["speedup"]["high"].get<double>(), 2.0 / 4, 1e-3);
}

}  // namespace
}  // namespace plumb::gpu
