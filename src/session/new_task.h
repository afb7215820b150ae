// SPDX-License-Identifier: Apache-2.0
// A task from a kernel and a description of one call of it: task.toml and the kernel's source in a new folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/finding.h"
#include "triton/kernel.h"

namespace plumb::session {

struct NewTask {
  std::filesystem::path kernel_file;
  std::string function;
  std::filesystem::path folder;  // must not hold a task yet
  std::vector<std::string> grid;
  // One for each parameter of the kernel that has no default:
  //   NAME=*bf16[M, K]              a tensor, and after it `out`, `inout`, `metadata`, `init=randint(0, V)`,
  //                                 `block=[BM, BK]` and `extent=[M, K]` where it is a descriptor
  //   NAME=i32 n_cols               a scalar; without a type: i32, or fp32 for a number with a point or an exponent
  //   NAME=next_power_of_2(n_cols)  a constexpr, for a parameter that is one; a string is written 'tf32'
  std::vector<std::string> arguments;
  std::vector<std::string> shapes;  // "M=3,K=8"; all of them to prove, the last one also to test and to time
};

// False with findings; then nothing was written. What is written was read back as a task.
bool write_new_task(const NewTask& wanted, const triton::PythonConfig& python, Findings& findings);

}  // namespace plumb::session
