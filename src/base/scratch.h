// SPDX-License-Identifier: Apache-2.0
// A folder for files that another program is to read; it goes with its owner.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace plumb {

class Scratch {
 public:
  explicit Scratch(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    // mkdtemp takes six X at the end and puts letters of its own there.
    std::string name = (parent / ("plumb-" + std::string(6, 'X'))).string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Scratch() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  Scratch(const Scratch&) = delete;  // owns a folder
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }  // empty when there is none

 private:
  std::filesystem::path path_;
};

}  // namespace plumb
