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
  std::uint8_t bits;
  bool is_float, is_signed;
  domain::Format format;
};

// By DType.
constexpr std::array<Row, 15> kRows = {{
    {"int1", "i1", 1, false, false, {}},
    {"int8", "i8", 8, false, true, {}},
    {"int16", "i16", 16, false, true, {}},
    {"int32", "i32", 32, false, true, {}},
    {"int64", "i64", 64, false, true, {}},
    {"uint8", "u8", 8, false, false, {}},
    {"uint16", "u16", 16, false, false, {}},
    {"uint32", "u32", 32, false, false, {}},
    {"uint64", "u64", 64, false, false, {}},
    {"float8e4nv", "fp8e4nv", 8, true, false, domain::Format::E4M3},
    {"float8e5", "fp8e5", 8, true, false, domain::Format::E5M2},
    {"float16", "fp16", 16, true, false, domain::Format::F16},
    {"bfloat16", "bf16", 16, true, false, domain::Format::BF16},
    {"float32", "fp32", 32, true, false, domain::Format::F32},
    {"float64", "fp64", 64, true, false, domain::Format::F64},
}};

const Row& row(DType type) { return kRows[static_cast<unsigned>(type)]; }

int kind(DType type) { return type == DType::Int1 ? 0 : is_float(type) ? 2 : 1; }

}  // namespace

bool is_float(DType type) { return row(type).is_float; }
bool is_fp8(DType type) { return type == DType::Fp8E4Nv || type == DType::Fp8E5; }
bool is_signed(DType type) { return row(type).is_signed; }
bool is_unsigned(DType type) { return !row(type).is_float && !row(type).is_signed; }
unsigned bit_width(DType type) { return row(type).bits; }
unsigned byte_size(DType type) { return (row(type).bits + 7u) / 8u; }
domain::Format format(DType type) { return row(type).format; }
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

std::int64_t wrap(DType type, std::int64_t value) {
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
