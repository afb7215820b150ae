// SPDX-License-Identifier: Apache-2.0
#include "triton/tile/fold.h"

#include <cmath>

namespace plumb::triton {
namespace {

const char* const kTooLarge = "the integer is larger than plumb keeps";
const char* const kByZero = "division by zero";

bool is_real(const Number& number) { return std::holds_alternative<double>(number); }

Int128 as_integer(const Number& number) {
  if (const bool* boolean = std::get_if<bool>(&number)) return *boolean ? 1 : 0;
  return std::get<Int128>(number);
}

// b is neither 0 nor -1.
Int128 floor_div(Int128 a, Int128 b) {
  const Int128 quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Folded fold_reals(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::Add:
      return {a + b, {}};
    case BinaryOp::Sub:
      return {a - b, {}};
    case BinaryOp::Mul:
      return {a * b, {}};
    case BinaryOp::Pow:
      return {std::pow(a, b), {}};
    case BinaryOp::Div:
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod:
      break;
    default:
      return {a, "this operator needs integers"};
  }
  if (b == 0) return {a, kByZero};
  if (op == BinaryOp::Div) return {a / b, {}};
  if (op == BinaryOp::FloorDiv) return {std::floor(a / b), {}};
  const double remainder = std::fmod(a, b);
  return {remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder, {}};
}

Folded power(Int128 base, Int128 exponent) {
  if (exponent < 0) return {std::pow(static_cast<double>(base), static_cast<double>(exponent)), {}};
  if (exponent > 126 && base != 0 && base != 1 && base != -1) return {base, kTooLarge};
  Int128 result = 1;
  for (Int128 i = 0; i < exponent % (Int128{1} << 20); ++i) {
    if (__builtin_mul_overflow(result, base, &result)) return {base, kTooLarge};
  }
  return {result, {}};
}

Folded shift(BinaryOp op, Int128 a, Int128 b) {
  if (b < 0) return {a, "a negative shift count"};
  if (op == BinaryOp::Shr) return {b > 126 ? (a < 0 ? Int128{-1} : Int128{0}) : a >> static_cast<int>(b), {}};
  Int128 result = 0;
  if (b > 126 || __builtin_mul_overflow(a, Int128{1} << static_cast<int>(b), &result)) {
    return {a, a == 0 ? "" : kTooLarge};
  }
  return {result, {}};
}

Folded fold_integers(BinaryOp op, Int128 a, Int128 b) {
  Int128 result = 0;
  bool is_over = false;
  switch (op) {
    case BinaryOp::Add:
      is_over = __builtin_add_overflow(a, b, &result);
      break;
    case BinaryOp::Sub:
      is_over = __builtin_sub_overflow(a, b, &result);
      break;
    case BinaryOp::Mul:
      is_over = __builtin_mul_overflow(a, b, &result);
      break;
    case BinaryOp::Pow:
      return power(a, b);
    case BinaryOp::Shl:
    case BinaryOp::Shr:
      return shift(op, a, b);
    case BinaryOp::And:
      return {a & b, {}};
    case BinaryOp::Or:
      return {a | b, {}};
    case BinaryOp::Xor:
      return {a ^ b, {}};
    case BinaryOp::Div:
      if (b == 0) return {a, kByZero};
      return {static_cast<double>(a) / static_cast<double>(b), {}};
    case BinaryOp::FloorDiv:
      if (b == 0) return {a, kByZero};
      if (b == -1) return fold_integers(BinaryOp::Sub, 0, a);
      return {floor_div(a, b), {}};
    case BinaryOp::Mod:
      if (b == 0) return {a, kByZero};
      if (b == -1) return {Int128{0}, {}};
      return {a - floor_div(a, b) * b, {}};
  }
  return {result, is_over ? kTooLarge : ""};
}

}  // namespace

double as_double(const Number& number) {
  return is_real(number) ? std::get<double>(number) : static_cast<double>(as_integer(number));
}

Folded fold(BinaryOp op, const Number& a, const Number& b) {
  if (is_real(a) || is_real(b)) return fold_reals(op, as_double(a), as_double(b));
  const bool is_bitwise = op == BinaryOp::And || op == BinaryOp::Or || op == BinaryOp::Xor;
  if (is_bitwise && std::holds_alternative<bool>(a) && std::holds_alternative<bool>(b)) {
    const bool x = std::get<bool>(a), y = std::get<bool>(b);
    return {op == BinaryOp::And ? (x && y) : op == BinaryOp::Or ? (x || y) : x != y, {}};
  }
  return fold_integers(op, as_integer(a), as_integer(b));
}

Folded fold(UnaryOp op, const Number& a) {
  if (op == UnaryOp::Invert) {
    if (is_real(a)) return {a, "`~` needs an integer"};
    return {~as_integer(a), {}};
  }
  if (is_real(a)) return {op == UnaryOp::Neg ? -std::get<double>(a) : std::get<double>(a), {}};
  if (op == UnaryOp::Neg) return fold_integers(BinaryOp::Sub, 0, as_integer(a));
  return {as_integer(a), {}};
}

bool fold(CompareOp op, const Number& a, const Number& b) {
  const auto decide = [op](auto x, auto y) {
    switch (op) {
      case CompareOp::Lt:
        return x < y;
      case CompareOp::Le:
        return x <= y;
      case CompareOp::Gt:
        return x > y;
      case CompareOp::Ge:
        return x >= y;
      case CompareOp::Ne:
        return x != y;
      default:
        return x == y;
    }
  };
  if (is_real(a) || is_real(b)) return decide(as_double(a), as_double(b));
  return decide(as_integer(a), as_integer(b));
}

}  // namespace plumb::triton
