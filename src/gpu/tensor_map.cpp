// SPDX-License-Identifier: Apache-2.0
#include "gpu/tensor_map.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace plumb::gpu {
namespace {

using Json = nlohmann::json;

// The position of a word in the driver's enumeration (cuda.h, CUtensorMap*).
std::optional<int> number_of(std::string_view word, std::initializer_list<std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<int>(found - words.begin());
}

std::optional<int> type_number(std::string_view name) {
  return number_of(
      name, {"u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz"});
}

}  // namespace

Json to_json(const TensorMapPlan& plan) {
  Json out = {{"type", plan.type},
              {"offset", plan.offset},
              {"dims", plan.dims},
              {"strides", plan.strides},
              {"element_strides", plan.element_strides},
              {"swizzle", plan.swizzle},
              {"interleave", plan.interleave},
              {"promotion", plan.promotion},
              {"fill", plan.fill}};
  if (plan.is_im2col) {
    out["lower"] = plan.lower;
    out["upper"] = plan.upper;
    out["channels"] = plan.channels;
    out["pixels"] = plan.pixels;
  } else {
    out["box"] = plan.box;
  }
  return out;
}

TensorMapPlan read_tensor_map(const Json& value) {
  TensorMapPlan out;
  out.type = value.at("type");
  out.offset = value.at("offset");
  value.at("dims").get_to(out.dims);
  value.at("strides").get_to(out.strides);
  value.at("element_strides").get_to(out.element_strides);
  out.is_im2col = !value.contains("box");
  if (out.is_im2col) {
    value.at("lower").get_to(out.lower);
    value.at("upper").get_to(out.upper);
    out.channels = value.at("channels");
    out.pixels = value.at("pixels");
  } else {
    value.at("box").get_to(out.box);
  }
  out.swizzle = value.at("swizzle");
  out.interleave = value.at("interleave");
  out.promotion = value.at("promotion");
  out.fill = value.at("fill");
  return out;
}

Status encode(const Driver& driver, const TensorMapPlan& plan, DevicePtr buffer, TensorMapImage& out) {
  const auto type = type_number(plan.type);
  const auto interleave = number_of(plan.interleave, {"none", "16B", "32B"});
  const auto swizzle = number_of(plan.swizzle, {"none", "32B", "64B", "128B"});
  const auto promotion = number_of(plan.promotion, {"none", "64B", "128B", "256B"});
  const auto fill = number_of(plan.fill, {"zero", "nan"});
  const std::size_t rank = plan.dims.size();
  const bool is_sound = rank != 0 && plan.strides.size() + 1 == rank && plan.element_strides.size() == rank &&
                        (plan.is_im2col ? rank > 2 && plan.lower.size() == rank - 2 && plan.upper.size() == rank - 2
                                        : plan.box.size() == rank);
  if (!type || !interleave || !swizzle || !promotion || !fill || !is_sound) return kInvalidValue;
  const auto rank_word = static_cast<std::uint32_t>(rank);
  const DevicePtr address = buffer + plan.offset;
  if (plan.is_im2col) {
    return driver.encode_im2col(&out, *type, rank_word, address, plan.dims.data(), plan.strides.data(),
                                plan.lower.data(), plan.upper.data(), plan.channels, plan.pixels,
                                plan.element_strides.data(), *interleave, *swizzle, *promotion, *fill);
  }
  return driver.encode_tiled(&out, *type, rank_word, address, plan.dims.data(), plan.strides.data(), plan.box.data(),
                             plan.element_strides.data(), *interleave, *swizzle, *promotion, *fill);
}

}  // namespace plumb::gpu
