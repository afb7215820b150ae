// SPDX-License-Identifier: Apache-2.0
// A tensor map that a launch asks for: the arguments of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col over one of
// the job's buffers. The driver of the card encodes it, for the address that the buffer has at the launch.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "gpu/driver.h"

namespace plumb::gpu {

inline constexpr std::size_t kTensorMapBytes = 128;
struct alignas(64) TensorMapImage {
  std::array<unsigned char, kTensorMapBytes> bytes{};
};

struct TensorMapPlan {
  std::string type;                          // of elements: "u8", "bf16", "f32.ftz", ...
  std::uint64_t offset = 0;                  // bytes from the buffer's start
  std::vector<std::uint64_t> dims, strides;  // elements, innermost first; bytes, of dimensions 1 and up
  std::vector<std::uint32_t> element_strides, box;
  bool is_im2col = false;
  std::vector<std::int32_t> lower, upper;  // im2col: the corners, W first
  std::uint32_t channels = 0, pixels = 0;
  std::string swizzle = "none", interleave = "none", promotion = "none", fill = "zero";

  bool operator==(const TensorMapPlan&) const = default;
};

nlohmann::json to_json(const TensorMapPlan& plan);
// Throws the JSON library's exceptions on a missing or mistyped field.
TensorMapPlan read_tensor_map(const nlohmann::json& value);

// What the driver says; kInvalidValue also for words that it has no number for and for lists of unequal length.
Status encode(const Driver& driver, const TensorMapPlan& plan, DevicePtr buffer, TensorMapImage& out);

}  // namespace plumb::gpu
