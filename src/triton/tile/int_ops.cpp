// SPDX-License-Identifier: Apache-2.0
#include "triton/tile/int_ops.h"

#include <limits>
#include <type_traits>
#include <vector>

#include "triton/tile/spread.h"

namespace plumb::triton {
namespace {

// Calls f(T{}) with the C type of an integer type; int1 is computed in 8 bits and cut by `cut`.
template <class F>
void with_type(DType type, F f) {
  switch (type) {
    case DType::Int8:
      return f(std::int8_t{});
    case DType::Int16:
      return f(std::int16_t{});
    case DType::Int32:
      return f(std::int32_t{});
    case DType::UInt8:
      return f(std::uint8_t{});
    case DType::UInt16:
      return f(std::uint16_t{});
    case DType::UInt32:
      return f(std::uint32_t{});
    case DType::UInt64:
      return f(std::uint64_t{});
    default:
      return f(std::int64_t{});  // int64, and pointers
  }
}

using U64 = std::uint64_t;

template <class T>
std::int64_t keep(U64 value) {
  return static_cast<std::int64_t>(static_cast<T>(value));
}

// Operations that are always defined.
template <class T>
void defined(IntOp op, const Shape& shape, IntBlock a, IntBlock b, std::int64_t* out) {
  const auto map = [&](auto f) {
    map2(shape, a.shape, a.data, b.shape, b.data, out,
         [f](std::int64_t x, std::int64_t y) { return f(static_cast<U64>(x), static_cast<U64>(y)); });
  };
  switch (op) {
    case IntOp::Add:
      return map([](U64 x, U64 y) { return keep<T>(x + y); });
    case IntOp::Sub:
      return map([](U64 x, U64 y) { return keep<T>(x - y); });
    case IntOp::Mul:
      return map([](U64 x, U64 y) { return keep<T>(x * y); });
    case IntOp::And:
      return map([](U64 x, U64 y) { return keep<T>(x & y); });
    case IntOp::Or:
      return map([](U64 x, U64 y) { return keep<T>(x | y); });
    case IntOp::Xor:
      return map([](U64 x, U64 y) { return keep<T>(x ^ y); });
    case IntOp::Min:
      return map([](U64 x, U64 y) { return keep<T>(static_cast<T>(x) < static_cast<T>(y) ? x : y); });
    case IntOp::Max:
      return map([](U64 x, U64 y) { return keep<T>(static_cast<T>(x) > static_cast<T>(y) ? x : y); });
    default:
      return map([](U64 x, U64 y) {
        using Narrow = std::make_unsigned_t<T>;  // umulhi: unsigned whatever the type's sign
        const auto product = static_cast<unsigned __int128>(static_cast<Narrow>(x)) * static_cast<Narrow>(y);
        return keep<T>(static_cast<U64>(product >> (8 * sizeof(T))));
      });
  }
}

template <class T>
bool is_defined(IntOp op, T x, T y) {
  if (op == IntOp::Shl || op == IntOp::Shr) return static_cast<std::make_unsigned_t<T>>(y) < 8 * sizeof(T);
  if (y == 0) return false;
  return !(std::is_signed_v<T> && x == std::numeric_limits<T>::min() && y == static_cast<T>(-1));
}

template <class T>
bool partial(IntOp op, const Shape& shape, IntBlock a, IntBlock b, std::int64_t* out, std::uint8_t* undefined) {
  bool any = false;
  for_rows(shape, a.shape, b.shape,
           [&](std::size_t o, std::size_t i, std::size_t j, std::size_t n, std::size_t a_step, std::size_t b_step) {
             for (std::size_t k = 0; k < n; ++k) {
               const T x = static_cast<T>(a.data[i + k * a_step]), y = static_cast<T>(b.data[j + k * b_step]);
               const bool is_good = is_defined(op, x, y);
               any |= !is_good;
               undefined[o + k] = !is_good;
               T result = 0;
               if (is_good) {
                 switch (op) {
                   case IntOp::Div:
                     result = static_cast<T>(x / y);
                     break;
                   case IntOp::Rem:
                     result = static_cast<T>(x % y);
                     break;
                   case IntOp::Shl:
                     result = static_cast<T>(static_cast<U64>(x) << y);
                     break;
                   default:
                     result = static_cast<T>(x >> y);
                     break;
                 }
               }
               out[o + k] = static_cast<std::int64_t>(result);
             }
           });
  return any;
}

}  // namespace

bool int_binary(IntOp op, DType type, const Shape& shape, IntBlock a, IntBlock b, std::int64_t* out,
                std::uint8_t* undefined) {
  bool any = false;
  with_type(type, [&](auto tag) {
    using T = decltype(tag);
    if (may_be_undefined(op)) {
      any = partial<T>(op, shape, a, b, out, undefined);
    } else {
      defined<T>(op, shape, a, b, out);
    }
  });
  if (type == DType::Int1) {
    for (std::size_t i = 0; i < shape.size(); ++i) out[i] &= 1;
  }
  return any;
}

void int_compare(CompareOp op, DType type, const Shape& shape, IntBlock a, IntBlock b, std::int64_t* out) {
  const auto map = [&](auto f) { map2(shape, a.shape, a.data, b.shape, b.data, out, f); };
  const auto by_sign = [&](auto f) {
    if (type == DType::UInt64)
      return map(
          [f](std::int64_t x, std::int64_t y) -> std::int64_t { return f(static_cast<U64>(x), static_cast<U64>(y)); });
    return map([f](std::int64_t x, std::int64_t y) -> std::int64_t { return f(x, y); });
  };
  switch (op) {
    case CompareOp::Lt:
      return by_sign([](auto x, auto y) { return x < y; });
    case CompareOp::Le:
      return by_sign([](auto x, auto y) { return x <= y; });
    case CompareOp::Gt:
      return by_sign([](auto x, auto y) { return x > y; });
    case CompareOp::Ge:
      return by_sign([](auto x, auto y) { return x >= y; });
    case CompareOp::Ne:
      return by_sign([](auto x, auto y) { return x != y; });
    default:
      return by_sign([](auto x, auto y) { return x == y; });
  }
}

void int_dot(std::uint32_t m, std::uint32_t n, std::uint32_t k, const std::int64_t* a, const std::int64_t* b,
             std::int64_t* c) {
  std::vector<std::uint32_t> right(std::size_t{k} * n), row(n);
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = static_cast<std::uint32_t>(b[i]);
  for (std::uint32_t i = 0; i < m; ++i) {
    std::int64_t* to = c + std::size_t{i} * n;
    for (std::uint32_t j = 0; j < n; ++j) row[j] = static_cast<std::uint32_t>(to[j]);
    for (std::uint32_t l = 0; l < k; ++l) {
      const auto factor = static_cast<std::uint32_t>(a[std::size_t{i} * k + l]);
      const std::uint32_t* from = right.data() + std::size_t{l} * n;
      for (std::uint32_t j = 0; j < n; ++j) row[j] += factor * from[j];
    }
    for (std::uint32_t j = 0; j < n; ++j) to[j] = static_cast<std::int32_t>(row[j]);
  }
}

}  // namespace plumb::triton
