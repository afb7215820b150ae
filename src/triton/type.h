// SPDX-License-Identifier: Apache-2.0
// Triton's element types and block shapes, and how types combine (Triton 3.6).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "domain/format.h"

namespace plumb::triton {

using Int128 = __int128;  // a Python integer of a constexpr; larger ones are refused

enum class DType : std::uint8_t {
  Int1,
  Int8,
  Int16,
  Int32,
  Int64,
  UInt8,
  UInt16,
  UInt32,
  UInt64,
  Fp8E4Nv,
  Fp8E5,
  Fp16,
  BF16,
  Fp32,
  Fp64
};

constexpr bool is_float(DType type) { return type >= DType::Fp8E4Nv; }
constexpr bool is_fp8(DType type) { return type == DType::Fp8E4Nv || type == DType::Fp8E5; }
// Signed integers wider than one bit; int1 counts as unsigned.
constexpr bool is_signed(DType type) { return type >= DType::Int8 && type <= DType::Int64; }
constexpr bool is_unsigned(DType type) { return !is_float(type) && !is_signed(type); }
constexpr unsigned bit_width(DType type) {
  constexpr std::uint8_t kWidths[] = {1, 8, 16, 32, 64, 8, 16, 32, 64, 8, 8, 16, 16, 32, 64};
  return kWidths[static_cast<unsigned>(type)];
}
constexpr unsigned byte_size(DType type) { return (bit_width(type) + 7) / 8; }  // in memory; int1 takes one byte
constexpr domain::Format format(DType type) {                                   // of a float type
  constexpr domain::Format kFormats[] = {domain::Format::E4M3, domain::Format::E5M2, domain::Format::F16,
                                         domain::Format::BF16, domain::Format::F32,  domain::Format::F64};
  return is_float(type) ? kFormats[static_cast<unsigned>(type) - static_cast<unsigned>(DType::Fp8E4Nv)]
                        : domain::Format::F32;
}
std::string_view language_name(DType type);  // "float32", "int1"
std::optional<DType> from_language_name(std::string_view name);
std::optional<DType> from_signature_name(std::string_view name);  // "fp32", "i32", "u1"

// Two's complement at the type's width, as plumb keeps it: sign-extended when signed, else zero-extended.
constexpr std::int64_t wrap(DType type, std::int64_t value) {
  switch (type) {
    case DType::Int1:
      return value & 1;
    case DType::Int8:
      return static_cast<std::int8_t>(value);
    case DType::Int16:
      return static_cast<std::int16_t>(value);
    case DType::Int32:
      return static_cast<std::int32_t>(value);
    case DType::UInt8:
      return static_cast<std::uint8_t>(value);
    case DType::UInt16:
      return static_cast<std::uint16_t>(value);
    case DType::UInt32:
      return static_cast<std::uint32_t>(value);
    default:
      return value;
  }
}
Int128 smallest(DType type);
Int128 largest(DType type);

// A scalar type: an element type, or a pointer to one.
struct Type {
  DType element = DType::Int32;
  bool is_pointer = false;
  friend bool operator==(const Type&, const Type&) = default;
};
std::string name(Type type);  // "pointer<bf16>", "int32"

inline constexpr unsigned kMaxRank = 6;
inline constexpr std::size_t kLargestBlock = std::size_t{1} << 20;  // elements, as in Triton

// Extents of a block, outermost first; rank 0 is a scalar.
struct Shape {
  std::uint8_t rank = 0;
  std::array<std::uint32_t, kMaxRank> dims{};
  std::uint32_t operator[](unsigned axis) const { return dims[axis]; }
  std::size_t size() const;
  void push(std::uint32_t extent) { dims[rank++] = extent; }
  friend bool operator==(const Shape&, const Shape&) = default;
};
std::string text(const Shape& shape);  // "[128, 64]"
// Ranks are padded with 1 on the left; an extent of 1 stretches. Empty when the shapes do not fit.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

// Type of a Python scalar made a tensor; empty when no type holds it.
std::optional<DType> type_of_constant(Int128 value);
DType type_of_constant(double value);

struct Promotion {
  DType type = DType::Int32;
  std::string error;  // when not empty, the operands do not combine
};
// `weak` operands are Python scalars: they follow the tensor unless their kind is higher.
Promotion promote(DType a, bool a_weak, DType b, bool b_weak, bool is_division);
DType promote_integers(DType a, DType b);

}  // namespace plumb::triton
