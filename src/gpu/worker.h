// SPDX-License-Identifier: Apache-2.0
// The process that owns a card: reads one job per line, answers with one line each, and ends itself when the card's
// context is dead. It judges nothing and knows no expected result, so that nothing a kernel could reach holds one.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace plumb::gpu {

class Card;
struct TestJob;
struct BenchJob;

// Reads jobs from `input` until it ends; answers go to `output`. The return value is the process' exit code: 0 after
// the last job, kNoGpuExit without a card, kDeadExit when a job broke the context.
inline constexpr int kNoGpuExit = 4, kDeadExit = 5;
int serve(int input, int output, const std::filesystem::path& driver);

// "status": "done", or a Failure's kind with "message", "step" or "side", and "dead" when the context is.
nlohmann::json run_test_job(Card& card, const TestJob& job);
nlohmann::json run_bench_job(Card& card, const BenchJob& job);

}  // namespace plumb::gpu
