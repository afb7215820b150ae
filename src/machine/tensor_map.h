// SPDX-License-Identifier: Apache-2.0
// A tensor map: what cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col are given, the rules by which the driver
// refuses it, and the 128 bytes that it becomes. Rules and bits are those of an H200 and driver 580.159, read back for
// thousands of maps (tests/vectors/tensor_map.vec, tensor_replace.vec); docs/machine.md draws the bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb::machine {

inline constexpr unsigned kMaxTensorRank = 5;
inline constexpr unsigned kTensorMapBytes = 128;
inline constexpr unsigned kTensorMapAlignment = 64;
using TensorMapImage = std::array<std::byte, kTensorMapBytes>;

// Numbered as `tensormap.replace` numbers them; the driver's enumeration has another order.
enum class TensorType : std::uint8_t { U8, U16, U32, S32, U64, S64, F16, F32, F32Ftz, F64, Bf16, Tf32, Tf32Ftz };
inline constexpr unsigned kTensorTypes = 13;
enum class Interleave : std::uint8_t { None, Bytes16, Bytes32 };
enum class Swizzle : std::uint8_t { None, Bytes32, Bytes64, Bytes128 };

unsigned byte_size(TensorType type);
bool is_float(TensorType type);
// "u8", "bf16", "f32.ftz", ...
std::string_view name_of(TensorType type);
std::optional<TensorType> tensor_type_of(std::string_view name);
// Bytes of a row of the pattern; 0 without one.
unsigned span_of(Swizzle swizzle);

struct TensorMap {
  bool is_im2col = false;
  TensorType type = TensorType::U8;
  unsigned rank = 1;
  std::uint64_t address = 0;
  std::array<std::uint64_t, kMaxTensorRank> dims{1, 1, 1, 1, 1};      // elements, innermost first
  std::array<std::uint64_t, kMaxTensorRank - 1> strides{0, 0, 0, 0};  // bytes, of dimensions 1 and up
  std::array<std::uint32_t, kMaxTensorRank> element_strides{1, 1, 1, 1, 1};
  Interleave interleave = Interleave::None;
  Swizzle swizzle = Swizzle::None;
  std::uint8_t promotion = 0;  // of L2 sectors: 0 none, 1 64, 2 128, 3 256 bytes
  bool fills_nan = false;
  // Tiled maps.
  std::array<std::uint32_t, kMaxTensorRank> box{1, 1, 1, 1, 1};
  // im2col maps: the corners of the box of pixels, W first, and what one copy takes.
  std::array<std::int32_t, kMaxTensorRank - 2> lower{0, 0, 0}, upper{0, 0, 0};
  std::uint32_t channels = 1, pixels = 1;

  bool operator==(const TensorMap&) const = default;
};

// A rule that a map breaks: the field, and a sentence without a full stop.
struct TensorMapProblem {
  std::string_view field;  // "address", "dims", "strides", "box", "element_strides", "interleave", ...
  std::string text;
};

// Every rule of the driver that a map breaks; empty when it would encode the map.
std::vector<TensorMapProblem> problems_of(const TensorMap& map);

// The driver's bytes. The map must have no problems, or its fields are cut to their bits.
TensorMapImage encode(const TensorMap& map);
// The map that bytes stand for; empty, and why, when they hold something that no map of this driver holds.
std::optional<TensorMap> decode(const TensorMapImage& image, std::string& why);

enum class TensorMapField : std::uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElemType,
  InterleaveLayout,
  SwizzleMode,
  FillMode
};

// What `tensormap.replace` does to the bytes. `ordinal` is the dimension, for fields that have one (strides: 0 to 3).
void replace(TensorMapImage& image, TensorMapField field, unsigned ordinal, std::uint64_t value);
// Why a value is cut when it is put into a field; empty when the field holds it.
std::string loss_of(TensorMapField field, unsigned ordinal, std::uint64_t value);

}  // namespace plumb::machine
