// SPDX-License-Identifier: Apache-2.0
#include "gpu/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plumb::gpu {

std::unique_ptr<SharedMemory> SharedMemory::map(int file, std::size_t bytes) {
  std::unique_ptr<SharedMemory> out(new SharedMemory());
  out->file_ = file;
  out->size_ = bytes;
  if (bytes == 0) return out;
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) return nullptr;
  out->data_ = static_cast<std::byte*>(at);
  return out;
}

std::unique_ptr<SharedMemory> SharedMemory::make(std::size_t bytes) {
  const int file = ::memfd_create("plumb", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  if (::ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    ::close(file);
    return nullptr;
  }
  std::unique_ptr<SharedMemory> out = map(file, bytes);
  if (out) out->path_ = fmt::format("/proc/{}/fd/{}", ::getpid(), file);
  return out;
}

std::unique_ptr<SharedMemory> SharedMemory::open(const std::string& path, std::size_t bytes) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat facts {};
  if (::fstat(file, &facts) != 0 || static_cast<std::size_t>(facts.st_size) < bytes) {
    ::close(file);
    return nullptr;
  }
  return map(file, bytes);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
  if (file_ >= 0) ::close(file_);
}

}  // namespace plumb::gpu
