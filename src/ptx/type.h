// SPDX-License-Identifier: Apache-2.0
// PTX fundamental, packed and sub-word types, as one enumeration: the spelling is the enumerator's name with a dot.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plumb::ptx {

// clang-format off
#define PLUMB_PTX_TYPES(X)                                                                                     \
  X(b8, 1) X(b16, 2) X(b32, 4) X(b64, 8) X(b128, 16)                                                           \
  X(u8, 1) X(u16, 2) X(u32, 4) X(u64, 8) X(s8, 1) X(s16, 2) X(s32, 4) X(s64, 8)                                \
  X(f16, 2) X(f16x2, 4) X(bf16, 2) X(bf16x2, 4) X(tf32, 4) X(f32, 4) X(f32x2, 8) X(f64, 8)                     \
  X(e4m3, 1) X(e5m2, 1) X(e3m2, 1) X(e2m3, 1) X(e2m1, 1) X(ue8m0, 1) X(ue4m3, 1)                               \
  X(e4m3x2, 2) X(e5m2x2, 2) X(e2m1x2, 1) X(e3m2x2, 2) X(e2m3x2, 2) X(ue8m0x2, 2)                               \
  X(e4m3x4, 4) X(e5m2x4, 4) X(e2m1x4, 2) X(e3m2x4, 4) X(e2m3x4, 4)                                             \
  X(u16x2, 4) X(s16x2, 4) X(u8x4, 4) X(s8x4, 4) X(u4, 1) X(s4, 1) X(b1, 1) X(s2, 1) X(u2, 1)                   \
  X(b4x16, 8) X(b4x16_p64, 8) X(b6x16_p32, 16) X(b6p2x16, 16) X(pred, 1) X(texref, 8) X(samplerref, 8) X(surfref, 8)
// clang-format on

enum class Type : std::uint8_t {
  none,
#define X(name, size) name,
  PLUMB_PTX_TYPES(X)
#undef X
};

constexpr unsigned byte_size(Type type) {
  constexpr unsigned kSizes[] = {0,
#define X(name, size) size,
                                 PLUMB_PTX_TYPES(X)
#undef X
  };
  return kSizes[static_cast<unsigned>(type)];
}

std::string_view name(Type type);  // "f32", without the dot
std::optional<Type> type_from_name(std::string_view name);

constexpr bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64 || type == Type::s16x2;
}

}  // namespace plumb::ptx
