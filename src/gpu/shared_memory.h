// SPDX-License-Identifier: Apache-2.0
// Bytes that the judge and the worker both see, without a file that could be left behind: an anonymous memory file of
// the judge, which the worker opens through the judge's process entry.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace plumb::gpu {

class SharedMemory {
 public:
  // Zeroed; null when the system gives none.
  static std::unique_ptr<SharedMemory> make(std::size_t bytes);
  // What another process made; null when it cannot be opened, or is smaller than `bytes`.
  static std::unique_ptr<SharedMemory> open(const std::string& path, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;  // owns a mapping
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  SharedMemory() = default;
  static std::unique_ptr<SharedMemory> map(int file, std::size_t bytes);

  int file_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::string path_;
};

}  // namespace plumb::gpu
