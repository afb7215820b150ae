// SPDX-License-Identifier: Apache-2.0
// The address windows of the state spaces. A generic address in a window means that space; all others are global. In
// its own space an address counts from the window's base. Local memory has the same addresses in every lane.
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/module.h"

namespace plumb::machine {

// Shared memory has one window for each CTA of a cluster, in the order of ranks.
inline constexpr std::uint64_t kSharedWindows = 16;
inline constexpr std::uint64_t kWindowSize = std::uint64_t{1} << 24;
inline constexpr std::uint64_t kSharedWindow = 0x0000'7e00'0000'0000;
inline constexpr std::uint64_t kLocalWindow = 0x0000'7e01'0000'0000;
inline constexpr std::uint64_t kConstWindow = 0x0000'7e02'0000'0000;
inline constexpr std::uint64_t kParamWindow = 0x0000'7e03'0000'0000;
// A function's address is its index in the module, in steps of kFunctionStep, from here on. No access reaches it.
inline constexpr std::uint64_t kFunctions = 0x0000'7c00'0000'0000;
inline constexpr std::uint64_t kFunctionStep = 256;
// Variables of the module's .global space live here, apart from the launch's buffers.
inline constexpr std::uint64_t kModuleGlobals = 0x0000'7d00'0000'0000;
// In the param space, parameters of device functions and calls start here; the entry's start at 0.
inline constexpr std::uint64_t kCallParams = 0x80'0000;

// The next multiple; an alignment of 0 asks for none.
constexpr std::uint64_t aligned(std::uint64_t value, std::uint64_t alignment) {
  return alignment == 0 ? value : (value + alignment - 1) / alignment * alignment;
}

constexpr std::uint64_t window(ptx::Space space) {
  switch (space) {
    case ptx::Space::shared:
      return kSharedWindow;
    case ptx::Space::local:
      return kLocalWindow;
    case ptx::Space::constant:
      return kConstWindow;
    case ptx::Space::param:
      return kParamWindow;
    default:
      return 0;
  }
}

// The space of a generic address.
constexpr ptx::Space space_of(std::uint64_t address) {
  if (address - kSharedWindow < kSharedWindows * kWindowSize) return ptx::Space::shared;
  if (address - kLocalWindow < kWindowSize) return ptx::Space::local;
  if (address - kConstWindow < kWindowSize) return ptx::Space::constant;
  if (address - kParamWindow < kWindowSize) return ptx::Space::param;
  return ptx::Space::global;
}

}  // namespace plumb::machine
