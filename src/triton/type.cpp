// SPDX-License-Identifier: Apache-2.0
#include "triton/type.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace plumb::triton {
namespace {

struct Row {
  std::string_view language, signature;
};

// By DType.
constexpr std::array<Row, 15> kRows = {{
    {"int1", "i1"},
    {"int8", "i8"},
    {"int16", "i16"},
    {"int32", "i32"},
    {"int64", "i64"},
    {"uint8", "u8"},
    {"uint16", "u16"},
    {"uint32", "u32"},
    {"uint64", "u64"},
    {"float8e4nv", "fp8e4nv"},
    {"float8e5", "fp8e5"},
    {"float16", "fp16"},
    {"bfloat16", "bf16"},
    {"float32", "fp32"},
    {"float64", "fp64"},
}};

const Row& row(DType type) { return kRows[static_cast<unsigned>(type)]; }

int kind(DType type) { return type == DType::Int1 ? 0 : is_float(type) ? 2 : 1; }

}  // namespace

std::string_view language_name(DType type) { return row(type).language; }

std::optional<DType> from_language_name(std::string_view name) {
  const auto* found = std::ranges::find(kRows, name, &Row::language);
  if (found == kRows.end()) return std::nullopt;
  return static_cast<DType>(found - kRows.begin());
}

std::optional<DType> from_signature_name(std::string_view name) {
  if (name == "u1") return DType::Int1;
  const auto* found = std::ranges::find(kRows, name, &Row::signature);
  if (found == kRows.end()) return std::nullopt;
  return static_cast<DType>(found - kRows.begin());
}

Int128 smallest(DType type) { return is_signed(type) ? -(Int128{1} << (bit_width(type) - 1)) : Int128{0}; }
Int128 largest(DType type) { return (Int128{1} << (bit_width(type) - (is_signed(type) ? 1 : 0))) - 1; }

std::string name(Type type) {
  return type.is_pointer ? fmt::format("pointer<{}>", language_name(type.element))
                         : std::string(language_name(type.element));
}

std::size_t Shape::size() const {
  std::size_t product = 1;
  for (unsigned axis = 0; axis < rank; ++axis) product *= dims[axis];
  return product;
}

std::string text(const Shape& shape) {
  std::string out = "[";
  for (unsigned axis = 0; axis < shape.rank; ++axis) out += fmt::format("{}{}", axis == 0 ? "" : ", ", shape[axis]);
  return out + "]";
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out;
  out.rank = std::max(a.rank, b.rank);
  for (unsigned i = 1; i <= out.rank; ++i) {
    const std::uint32_t x = i <= a.rank ? a.dims[a.rank - i] : 1, y = i <= b.rank ? b.dims[b.rank - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out.dims[out.rank - i] = x == 1 ? y : x;
  }
  return out;
}

std::optional<DType> type_of_constant(Int128 value) {
  for (const DType type : {DType::Int32, DType::UInt32, DType::Int64, DType::UInt64}) {
    if (value >= smallest(type) && value <= largest(type)) return type;
  }
  return std::nullopt;
}

DType type_of_constant(double value) {
  const double magnitude = std::fabs(value);
  const bool is_single = magnitude == 0 || std::isinf(magnitude) || std::isnan(magnitude) ||
                         (magnitude >= 0x1p-126 && magnitude <= 0x1.fffffep127);
  return is_single ? DType::Fp32 : DType::Fp64;
}

DType promote_integers(DType a, DType b) {
  const bool a_signed = is_signed(a), b_signed = is_signed(b);
  if (a_signed == b_signed) return bit_width(a) > bit_width(b) ? a : b;
  const DType with_sign = a_signed ? a : b, without = a_signed ? b : a;
  return bit_width(without) >= bit_width(with_sign) ? without : with_sign;
}

Promotion promote(DType a, bool a_weak, DType b, bool b_weak, bool is_division) {
  if (a_weak != b_weak) {
    const DType scalar = a_weak ? a : b, tensor = a_weak ? b : a;
    if (kind(scalar) <= kind(tensor)) {
      const bool is_half = tensor == DType::Fp16 || tensor == DType::BF16;
      return {is_division && is_half ? DType::Fp32 : tensor, {}};
    }
  }
  const auto either = [&](DType type) { return a == type || b == type; };
  if (either(DType::Fp64)) return {DType::Fp64, {}};
  if (either(DType::Fp32)) return {DType::Fp32, {}};
  if (either(DType::Fp16)) return {is_division ? DType::Fp32 : DType::Fp16, {}};
  if (either(DType::BF16)) return {a == b && !is_division ? DType::BF16 : DType::Fp32, {}};
  if (is_fp8(a) && is_fp8(b)) return {a == b ? a : DType::Fp16, {}};
  if (is_fp8(a) || is_fp8(b)) {
    return {a, fmt::format("{} and {} do not combine: fp8 mixes with no integer", language_name(a), language_name(b))};
  }
  if (is_division && is_signed(a) != is_signed(b)) {
    return {a, fmt::format("{} and {} do not divide: their signedness differs", language_name(a), language_name(b))};
  }
  return {promote_integers(a, b), {}};
}

}  // namespace plumb::triton
