// SPDX-License-Identifier: Apache-2.0
// The program that the Python child runs: it reads a source on stdin, parses it with `ast`, and prints the tree as one
// JSON line. It never compiles, executes or imports the source.
#pragma once

#include <string_view>

namespace plumb::triton {

extern const std::string_view kPythonScript;

}  // namespace plumb::triton
