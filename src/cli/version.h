// SPDX-License-Identifier: Apache-2.0
// What `plumb --version` says; the same as project(VERSION) in CMakeLists.txt.
#pragma once

#include <string_view>

namespace plumb::cli {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace plumb::cli
