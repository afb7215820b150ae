// SPDX-License-Identifier: Apache-2.0
// Runs one child process to its end: input on stdin, output and errors collected, both bounded, and a time limit after
// which the child is killed. Nothing is inherited but the three pipes and the environment.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::triton {

struct ChildLimits {
  std::chrono::milliseconds time{60'000};
  std::size_t output = std::size_t{64} << 20;
};

struct ChildResult {
  enum class End { Exited, Signalled, NotStarted, TimedOut, TooMuchOutput };
  End end = End::NotStarted;
  int code = 0;  // exit status, signal, or errno of the start
  std::string output, errors;
};

ChildResult run_child(const std::vector<std::string>& argv, std::string_view input, const ChildLimits& limits);

}  // namespace plumb::triton
