// SPDX-License-Identifier: Apache-2.0
// Runs another program (ptxas, nvdisasm, python3) and collects what it says. The program gets no shell, an empty
// standard input, and is killed with everything that it started when its time is over.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::session {

struct ProcessResult {
  bool has_started = false;
  bool is_timeout = false;
  int exit_code = -1;  // of a program that ended by itself; -1 otherwise
  std::string output;  // standard output and error together, at most 1 MiB
};

ProcessResult run_process(const std::vector<std::string>& command, double seconds);

// The first executable file of that name in a PATH-like list ("/usr/bin:/bin"); empty when there is none.
std::filesystem::path find_program(std::string_view name, std::string_view search_path);

}  // namespace plumb::session
