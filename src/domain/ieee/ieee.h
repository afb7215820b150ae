// SPDX-License-Identifier: Apache-2.0
// The IEEE domain: a float is its bits, and every result is what the hardware leaves, bit for bit, wherever PTX or a
// measurement (docs/numbers.md) fixes the bits; the approximate functions are correctly rounded instead. With a
// constant format and mode the functions of f32, f16 and bf16 fold to branch-free code that vectorises over lanes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "domain/domain.h"
#include "domain/ieee/bits.h"

namespace plumb::domain {

class Ieee {
 public:
  using Real = std::uint64_t;  // the bits of the format in the low bits, the rest zero
  using Bool = bool;
  static constexpr bool kHasTags = false;

  Real constant(Format, std::uint64_t bits) const { return bits; }

  Real add(Format f, Real a, Real b, FloatMode mode) const {
    if (mode.round == Round::Rn) {
      if (f == Format::F32) {
        return ieee::finish<Format::F32>(ieee::bits_of(ieee::f32(in32(a, mode)) + ieee::f32(in32(b, mode))), mode);
      }
      if (f == Format::F16) return add_small<Format::F16>(a, b, mode);
      if (f == Format::BF16) return add_small<Format::BF16>(a, b, mode);
    }
    return ieee::add(f, a, b, mode);
  }
  Real sub(Format f, Real a, Real b, FloatMode mode) const {
    if (f == Format::F64) return ieee::sub(f, a, b, mode);
    return add(f, a, b ^ ieee::sign_bit(f), mode);  // a NaN's sign is lost in these formats
  }
  Real mul(Format f, Real a, Real b, FloatMode mode) const {
    if (mode.round == Round::Rn) {
      if (f == Format::F32) {
        const float x = ieee::f32(in32(a, mode)), y = ieee::f32(in32(b, mode));
        return flushed32(x * y, (x * kUp) * y, mode);
      }
      if (f == Format::F16) return mul_small<Format::F16>(a, b, mode);
      if (f == Format::BF16) return mul_small<Format::BF16>(a, b, mode);
    }
    return ieee::mul(f, a, b, mode);
  }
  Real fma(Format f, Real a, Real b, Real c, FloatMode mode) const {
    if (mode.round == Round::Rn) {
      if (f == Format::F32) {
        const float x = ieee::f32(in32(a, mode)), y = ieee::f32(in32(b, mode)), z = ieee::f32(in32(c, mode));
        return flushed32(fused(x, y, z), mode.ftz ? fused(x * kUp, y, z * kUp) : 0.0F, mode);
      }
      if (f == Format::F16) return fma_small<Format::F16>(a, b, c, mode);
      if (f == Format::BF16) return fma_small<Format::BF16>(a, b, c, mode);
    }
    return ieee::fma(f, a, b, c, mode);
  }
  Real div(Format f, Real a, Real b, FloatMode mode) const {
    if (mode.approximate) return ieee::div_approx(f, a, b, mode);
    if (f == Format::F32 && mode.round == Round::Rn) {
      const float x = ieee::f32(in32(a, mode)), y = ieee::f32(in32(b, mode));
      return flushed32(x / y, mode.ftz ? (x * kUp) / y : 0.0F, mode);
    }
    return ieee::div(f, a, b, mode);
  }
  Real neg(Format f, Real a, FloatMode mode) const { return sign_changed(f, a, a ^ ieee::sign_bit(f), mode); }
  Real abs(Format f, Real a, FloatMode mode) const { return sign_changed(f, a, ieee::magnitude(f, a), mode); }
  Real min(Format f, Real a, Real b, FloatMode mode) const { return min_max<false>(f, a, b, mode); }
  Real max(Format f, Real a, Real b, FloatMode mode) const { return min_max<true>(f, a, b, mode); }

  // rcp and sqrt without `approximate` are correctly rounded in the mode's direction; the other functions are computed
  // in double and rounded to nearest even, f16 ex2 truncated as measured.
  Real rcp(Format f, Real a, FloatMode mode) const {
    if (mode.approximate) return ieee::apply(ieee::Function::Rcp, f, a, mode);
    return div(f, one(f), a, mode);
  }
  Real sqrt(Format f, Real a, FloatMode mode) const {
    if (mode.approximate) return ieee::apply(ieee::Function::SqrtApprox, f, a, mode);
    return ieee::sqrt(f, a, mode);
  }
  Real rsqrt(Format f, Real a, FloatMode mode) const { return ieee::apply(ieee::Function::Rsqrt, f, a, mode); }
  Real ex2(Format f, Real a, FloatMode mode) const {
    if (f == Format::F32) return from_double(ieee::exp2_near(ieee::f32(in32(a, mode))), mode);
    return ieee::apply(ieee::Function::Ex2, f, a, mode);
  }
  Real lg2(Format f, Real a, FloatMode mode) const { return ieee::apply(ieee::Function::Lg2, f, a, mode); }
  Real exp(Format f, Real a) const {
    constexpr double kLog2E = 0x1.71547652b82fep+0;
    if (f == Format::F32) return from_double(ieee::exp2_near(ieee::f32(a) * kLog2E), {});
    return ieee::apply(ieee::Function::Exp, f, a, {});
  }
  Real log(Format f, Real a) const { return ieee::apply(ieee::Function::Log, f, a, {}); }
  Real sin(Format f, Real a, FloatMode mode) const { return ieee::apply(ieee::Function::Sin, f, a, mode); }
  Real cos(Format f, Real a, FloatMode mode) const { return ieee::apply(ieee::Function::Cos, f, a, mode); }
  Real tanh(Format f, Real a, FloatMode mode) const { return ieee::apply(ieee::Function::Tanh, f, a, mode); }
  Real erf(Format f, Real a) const { return ieee::apply(ieee::Function::Erf, f, a, {}); }

  Real floor(Format f, Real a) const { return ieee::round_to_integral(f, a, Round::Rm); }
  Real ceil(Format f, Real a) const { return ieee::round_to_integral(f, a, Round::Rp); }
  Real rint(Format f, Real a) const { return ieee::round_to_integral(f, a, Round::Rn); }
  Real trunc(Format f, Real a) const { return ieee::round_to_integral(f, a, Round::Rz); }

  Real convert(Format to, Format from, Real a, FloatMode mode) const {
    if (to == Format::F32 && from == Format::F16) {
      return ieee::finish<Format::F32>(ieee::bits_of(ieee::float_from_f16(a)), mode);
    }
    if (to == Format::F32 && from == Format::BF16 && !mode.ftz && !mode.sat && !mode.relu) return a << 16;  // NaN kept
    if (from == Format::F32 && mode.round == Round::Rn && !mode.satfinite) {
      if (to == Format::F16) return narrow<Format::F16>(a, mode);
      if (to == Format::BF16) return narrow<Format::BF16>(a, mode);
    }
    return ieee::convert(to, from, a, mode);
  }
  Real from_int(Format f, std::int64_t value, FloatMode mode) const {
    if (f == Format::F32 && mode.round == Round::Rn) {
      return ieee::finish<Format::F32>(ieee::bits_of(static_cast<float>(value)), mode);
    }
    const std::uint64_t bits = static_cast<std::uint64_t>(value);
    return ieee::from_integer(f, value < 0, value < 0 ? 0 - bits : bits, mode);
  }
  Real from_uint(Format f, std::uint64_t value, FloatMode mode) const {
    if (f == Format::F32 && mode.round == Round::Rn) {
      return ieee::finish<Format::F32>(ieee::bits_of(static_cast<float>(value)), mode);
    }
    return ieee::from_integer(f, false, value, mode);
  }
  // Rounded, then clamped to `width` bits; a signed result is sign-extended to 64 bits. Never empty here.
  std::optional<std::uint64_t> to_int(Format f, Real a, unsigned width, bool is_signed, Round round) const {
    return ieee::to_integer(f, a, width, is_signed, round);
  }

  // Obeys mode.ftz. Ordered comparisons are false when an operand is a NaN, the `u` ones true.
  Bool compare(Format f, Compare op, Real a, Real b, FloatMode mode) const {
    if (mode.ftz) a = ieee::flush(f, a), b = ieee::flush(f, b);
    if (f == Format::F32) return compare_values(op, ieee::f32(a), ieee::f32(b));
    return compare_values(op, ieee::to_double(f, a), ieee::to_double(f, b));
  }
  Real select(Format, Bool p, Real a, Real b) const { return p ? a : b; }

  Bool boolean(bool value) const { return value; }
  Bool logical_and(Bool a, Bool b) const { return a && b; }
  Bool logical_or(Bool a, Bool b) const { return a || b; }
  Bool logical_xor(Bool a, Bool b) const { return a != b; }
  Bool logical_not(Bool a) const { return !a; }
  std::optional<bool> decide(Bool p) const { return p; }

  // MmaSync and Wgmma: the tensor-core model, bit for bit. TritonDot: k rising, each product rounded to f32 (exact for
  // 16-bit and tf32 operands within range) and added to an f32 accumulator, rounded once to `acc` at the end; f64 in
  // f64.
  void dot(const DotShape& shape, const Real* a, const Real* b, const Real* c, Real* out) const;
  // Halves of the array are summed apart and added, so that the error grows with log n. +0 for n = 0.
  Real sum(Format f, const Real* in, std::size_t n) const;

  void load(const Buffer& buffer, std::uint64_t offset, unsigned n, std::byte* bytes, Tag*) const {
    std::memcpy(bytes, buffer.bytes.get() + offset, n);
  }
  void store(Buffer& buffer, std::uint64_t offset, unsigned n, const std::byte* bytes, const Tag*) const {
    std::memcpy(buffer.bytes.get() + offset, bytes, n);
  }
  Real from_word(Format f, const Word& word) const { return word.bits & ((ieee::sign_bit(f) << 1) - 1); }
  Word to_word(Format, Real a) const { return Word{.bits = a}; }

  void begin_unit() {}
  void end_unit() {}
  static constexpr bool wants_room() { return false; }
  bool faulted() const { return fault_.code != nullptr; }
  Fault take_fault() { return std::exchange(fault_, Fault{}); }
  void fault(const Code& code, std::string text) {
    if (fault_.code == nullptr) fault_ = Fault{&code, std::move(text)};
  }

 private:
  static Real one(Format f) { return static_cast<Real>(ieee::layout(f).bias) << ieee::layout(f).fraction; }
  // The f32 result r of an operation, of which `scaled` is the result with its operand 2^64 times as large: rounded as
  // if r's exponent were unbounded, which is what `ftz` looks at. An overflow or a NaN of `scaled` says that r is
  // large.
  static constexpr float kUp = 0x1p64F;
  static Real flushed32(float r, float scaled, FloatMode mode) {
    Real bits = ieee::bits_of(r);
    if (mode.ftz) bits = scaled < 0x1p-62F && scaled > -0x1p-62F ? bits & 0x80000000 : bits;
    return ieee::finish<Format::F32>(bits, mode);
  }
  static Real from_double(double value, FloatMode mode) {
    if (mode.ftz) value = flushed<Format::F32>(value);
    return ieee::finish<Format::F32>(ieee::bits_of(static_cast<float>(value)), mode);
  }
  static Real in32(Real a, FloatMode mode) { return mode.ftz ? ieee::flush(Format::F32, a) : a; }

  // a * b + c with one rounding. The product of two f32 is exact in double.
  static float fused(float a, float b, float c) {
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return static_cast<float>(ieee::odd_sum(static_cast<double>(a) * b, c));
#endif
  }

  template <Format f>
  static float widen(Real a, FloatMode mode) {
    if (mode.ftz) a = ieee::flush(f, a);
    return f == Format::F16 ? ieee::float_from_f16(a) : ieee::float_from_bf16(a);
  }
  template <Format f>
  static double flushed(double value) {
    constexpr double kKept = ieee::smallest_kept(f);
    return value < kKept && value > -kKept ? std::copysign(0.0, value) : value;
  }
  template <Format f>
  static Real rounded(double value, FloatMode mode) {
    if (f == Format::F16 && mode.ftz) value = flushed<f>(value);
    const Real bits = value == value ? ieee::round_small<f>(value) : ieee::layout(f).canonical;
    return ieee::finish<f>(bits, mode);
  }
  // The f32 sum of two f16 or bf16 has more than 2p + 1 bits, so that rounding it again is harmless; see
  // docs/numbers.md.
  template <Format f>
  static Real add_small(Real a, Real b, FloatMode mode) {
    return rounded<f>(widen<f>(a, mode) + widen<f>(b, mode), mode);
  }
  template <Format f>
  static Real mul_small(Real a, Real b, FloatMode mode) {
    return rounded<f>(static_cast<double>(widen<f>(a, mode)) * widen<f>(b, mode), mode);  // exact before rounding
  }
  template <Format f>
  static Real fma_small(Real a, Real b, Real c, FloatMode mode) {
    const double product = static_cast<double>(widen<f>(a, mode)) * widen<f>(b, mode);
    return rounded<f>(ieee::odd_sum(product, widen<f>(c, mode)), mode);
  }
  template <Format f>
  static Real narrow(Real a, FloatMode mode) {
    const float value = ieee::f32(in32(a, mode));
    mode.ftz = false;  // cvt's `ftz` is about its f32 side alone
    return rounded<f>(value, mode);
  }

  static Real sign_changed(Format f, Real a, Real changed, FloatMode mode) {
    if (f == Format::F64) return ieee::is_nan(f, a) ? a | 0x0008000000000000 : changed;
    const Real flushed = mode.ftz ? ieee::flush(f, changed) : changed;
    return ieee::is_nan(f, a) ? ieee::layout(f).canonical : flushed;
  }
  template <bool is_max>
  static Real min_max(Format f, Real a, Real b, FloatMode mode) {
    if (f == Format::F32) return min_max_short<Format::F32, is_max>(a, b, mode);
    if (f == Format::F16) return min_max_short<Format::F16, is_max>(a, b, mode);
    if (f == Format::BF16) return min_max_short<Format::BF16, is_max>(a, b, mode);
    return ieee::min_max(f, a, b, is_max, mode);
  }
  template <Format f, bool is_max>
  static Real min_max_short(Real a, Real b, FloatMode mode) {
    if (mode.ftz) a = ieee::flush(f, a), b = ieee::flush(f, b);
    // Integers in the order of the numbers, -0 below +0.
    const auto key = [](Real bits) {
      const auto x = static_cast<std::int32_t>(bits << (32 - ieee::layout(f).width));
      return x ^ static_cast<std::int32_t>(static_cast<std::uint32_t>(x >> 31) >> 1);
    };
    const bool a_nan = ieee::is_nan(f, a), b_nan = ieee::is_nan(f, b);
    const Real ordered = (key(a) > key(b)) == is_max ? a : b;
    const Real number = a_nan ? b : b_nan ? a : ordered;
    const bool nan = mode.nan ? a_nan || b_nan : a_nan && b_nan;
    return ieee::finish<f>(nan ? ieee::layout(f).canonical : number, mode);
  }
  template <class Value>
  static bool compare_values(Compare op, Value a, Value b) {
    const bool unordered = a != a || b != b;
    switch (op) {
      case Compare::Eq:
        return a == b;
      case Compare::Ne:
        return !unordered && a != b;
      case Compare::Lt:
        return a < b;
      case Compare::Le:
        return a <= b;
      case Compare::Gt:
        return a > b;
      case Compare::Ge:
        return a >= b;
      case Compare::Equ:
        return unordered || a == b;
      case Compare::Neu:
        return a != b;
      case Compare::Ltu:
        return !(a >= b);
      case Compare::Leu:
        return !(a > b);
      case Compare::Gtu:
        return !(a <= b);
      case Compare::Geu:
        return !(a < b);
      case Compare::Num:
        return !unordered;
      case Compare::Nan:
        return unordered;
    }
    return false;
  }

  Fault fault_;
};

static_assert(Domain<Ieee>);

}  // namespace plumb::domain
