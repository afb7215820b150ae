// SPDX-License-Identifier: Apache-2.0
#include "gpu/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>

#include "gpu/codes.h"

namespace plumb::gpu {

std::unique_ptr<const Driver> Driver::load(const std::filesystem::path& library, Findings& findings) {
  const std::string path = library.empty() ? "libcuda.so.1" : library.string();
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    findings.add(kNoGpu, fmt::format("there is no CUDA driver here: {} was not found", path));
    return nullptr;
  }
  auto driver = std::make_unique<Driver>();
  const char* missing = nullptr;
#define PLUMB_RESOLVE(name, symbol, parameters)                                     \
  driver->name = reinterpret_cast<decltype(driver->name)>(::dlsym(handle, symbol)); \
  if (driver->name == nullptr) missing = symbol;
  PLUMB_DRIVER_CALLS(PLUMB_RESOLVE)
#undef PLUMB_RESOLVE
  if (missing == nullptr) return driver;
  findings.add(kNoGpu, fmt::format("the CUDA driver is too old: it lacks {}", missing));
  ::dlclose(handle);
  return nullptr;
}

std::string Driver::name_of(Status status) const {
  const char* name = nullptr;
  if (error_name(status, &name) != kSuccess || name == nullptr) return fmt::format("error {}", status);
  return name;
}

std::string Driver::text(Status status) const {
  const char* words = nullptr;
  if (error_string(status, &words) != kSuccess || words == nullptr) words = "no description";
  return fmt::format("{} ({}): {}", name_of(status), status, words);
}

bool is_sticky(Status status) {
  static constexpr Status kDead[] = {214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999};
  return std::find(std::begin(kDead), std::end(kDead), status) != std::end(kDead);
}

}  // namespace plumb::gpu
