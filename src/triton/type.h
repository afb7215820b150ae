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

bool is_float(DType type);
bool is_fp8(DType type);
bool is_signed(DType type);    // signed integer wider than one bit
bool is_unsigned(DType type);  // unsigned integer, int1 included
unsigned bit_width(DType type);
unsigned byte_size(DType type);              // in memory; int1 takes one byte
domain::Format format(DType type);           // of a float type
std::string_view language_name(DType type);  // "float32", "int1"
std::optional<DType> from_language_name(std::string_view name);
std::optional<DType> from_signature_name(std::string_view name);  // "fp32", "i32", "u1"

// Two's complement at the type's width, as plumb keeps it: sign-extended when signed, else zero-extended.
std::int64_t wrap(DType type, std::int64_t value);
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
