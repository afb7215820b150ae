// SPDX-License-Identifier: Apache-2.0
// The functions of `Field`: roots, exponentials, logarithms, conversions, and free atoms for the rest.
#include <cmath>

#include "domain/field/arithmetic.h"
#include "domain/field/fixed.h"
#include "domain/field/number.h"
#include "domain/field/worker.h"

namespace plumb::domain {
namespace {

using field::Purpose;
using field::to_double;
using field::Worker;
using Real = Field::Real;

bool is_finite_number(Format f, std::uint64_t bits) { return !ieee::is_nan(f, bits) && !ieee::is_infinite(f, bits); }

// A function of one operand. `exact` says whether the IEEE result of a finite concrete operand is the real one.
template <class OnBits, class Exact, class OnValue>
Real unary(Worker& w, Format f, Real a, FloatMode mode, OnBits&& on_bits, Exact&& exact, OnValue&& on_value) {
  w.fresh = kNoValue;
  if (a.is_concrete()) {
    const std::uint64_t result = on_bits(a.bits);
    if (!is_finite_number(f, a.bits) || !is_finite_number(f, result)) return {kNoValue, result};
    if (exact(to_double(f, a.bits), to_double(f, result))) return {kNoValue, result};
  }
  return w.finish(f, on_value(w.operand(f, a)), mode);
}

constexpr auto kOnlyAtZero = [](double a, double) { return a == 0; };

// tanh.approx is good to eleven bits, and sin.approx and cos.approx only near zero (floating-point-instructions-tanh,
// -sin, -cos): for the contract, as if rounded to f16.
ValueId coarse(Worker& w, Format f, ValueId id, FloatMode mode) {
  if (!mode.narrow || w.peek(id).is_broken()) return id;
  if (id != w.fresh) id = w.copy(f, id);
  std::uint16_t& count = w.peek(id).counts[static_cast<unsigned>(RoundingClass::F16)];
  if (count < 0x7fff) ++count;
  return id;
}

// Records an argument that should be positive (or not negative) and is not known to be.
void oblige(Worker& w, std::unordered_set<field::Key, field::KeyHash>& list, ValueId a, bool is_zero_allowed) {
  field::Value& x = w.get(a);
  if (x.is_broken() || x.is(field::Kind::Constant)) return;
  if (field::is_positive(x.sign()) || (is_zero_allowed && field::is_at_least_zero(x.sign()))) return;
  list.insert(field::key(x.residues));
}

}  // namespace

Real Field::rcp(Format f, Real a, FloatMode mode) {
  Inner& w = *inner_;
  return unary(
      w, f, a, mode, [&](std::uint64_t bits) { return w.ieee.rcp(f, bits, mode); },
      [](double x, double r) { return std::fma(r, x, -1.0) == 0; },
      [&](ValueId id) { return w.div_by(f, field::kOneId, id, mode); });
}

Real Field::sqrt(Format f, Real a, FloatMode mode) {
  Inner& w = *inner_;
  return unary(
      w, f, a, mode, [&](std::uint64_t bits) { return w.ieee.sqrt(f, bits, mode); },
      [](double x, double r) { return std::fma(r, r, -x) == 0; },
      [&](ValueId id) {
        oblige(w, w.radicands, id, true);
        return w.root(f, id);
      });
}

Real Field::rsqrt(Format f, Real a, FloatMode mode) {
  Inner& w = *inner_;
  return unary(
      w, f, a, mode, [&](std::uint64_t bits) { return w.ieee.rsqrt(f, bits, mode); },
      [](double x, double r) { return r * r * x == 1 && std::fma(r, r, -r * r) == 0; },
      [&](ValueId id) {
        oblige(w, w.radicands, id, false);
        const ValueId root = w.root(f, id);
        return w.div(f, field::kOneId, root);
      });
}

Real Field::ex2(Format f, Real a, FloatMode mode) {
  Inner& w = *inner_;
  return unary(
      w, f, a, mode, [&](std::uint64_t bits) { return w.ieee.ex2(f, bits, mode); },
      [](double x, double r) { return x == std::floor(x) && r == std::exp2(x); },
      [&](ValueId id) { return w.exponential(f, id, true); });
}

// Triton's: in f32 it is the approximate instruction's.
Real Field::exp(Format f, Real a) {
  Inner& w = *inner_;
  return unary(
      w, f, a, {.approximate = f == Format::F32}, [&](std::uint64_t bits) { return w.ieee.exp(f, bits); }, kOnlyAtZero,
      [&](ValueId id) { return w.exponential(f, w.mul(f, id, field::kKappaId), true); });
}

Real Field::lg2(Format f, Real a, FloatMode mode) {
  Inner& w = *inner_;
  return unary(
      w, f, a, mode, [&](std::uint64_t bits) { return w.ieee.lg2(f, bits, mode); },
      [](double x, double r) { return r == std::floor(r) && x == std::exp2(r); },
      [&](ValueId id) {
        oblige(w, w.log_arguments, id, false);
        return w.logarithm(f, id, field::kOneId);
      });
}

Real Field::log(Format f, Real a) {
  Inner& w = *inner_;
  return unary(
      w, f, a, {}, [&](std::uint64_t bits) { return w.ieee.log(f, bits); }, [](double x, double) { return x == 1; },
      [&](ValueId id) {
        oblige(w, w.log_arguments, id, false);
        return w.logarithm(f, id, field::kKappaInverseId);
      });
}

// 1 - 2 / (1 + e^(2x))
Real Field::tanh(Format f, Real a, FloatMode mode) {
  Inner& w = *inner_;
  return unary(
      w, f, a, mode, [&](std::uint64_t bits) { return w.ieee.tanh(f, bits, mode); }, kOnlyAtZero,
      [&](ValueId id) {
        const ValueId exponent = w.mul(f, w.add(f, id, id), field::kKappaId);
        // The function itself is bounded: no exponential of the program.
        const ValueId power = w.exponential(f, exponent, false);
        const ValueId below = w.add(f, field::kOneId, power);
        return coarse(w, f, w.sub(f, field::kOneId, w.div(f, w.add(f, field::kOneId, field::kOneId), below)), mode);
      });
}

Real Field::sin(Format f, Real a, FloatMode mode) {
  Inner& w = *inner_;
  return unary(
      w, f, a, mode, [&](std::uint64_t bits) { return w.ieee.sin(f, bits, mode); }, kOnlyAtZero,
      [&](ValueId id) { return coarse(w, f, w.odd_atom(f, id, Purpose::Sine), mode); });
}

Real Field::cos(Format f, Real a, FloatMode mode) {
  Inner& w = *inner_;
  return unary(
      w, f, a, mode, [&](std::uint64_t bits) { return w.ieee.cos(f, bits, mode); }, kOnlyAtZero,
      [&](ValueId id) { return coarse(w, f, w.even_atom(f, id, Purpose::Cosine), mode); });
}

Real Field::erf(Format f, Real a) {
  Inner& w = *inner_;
  return unary(
      w, f, a, {}, [&](std::uint64_t bits) { return w.ieee.erf(f, bits); }, kOnlyAtZero,
      [&](ValueId id) { return w.odd_atom(f, id, Purpose::Erf); });
}

namespace {

constexpr auto kAlways = [](double, double) { return true; };

// Rounding to an integer is a function of the reals; the result is exact.
template <class OnBits, class OnValue>
Real integral(Worker& w, Format f, Real a, OnBits&& on_bits, OnValue&& on_value) {
  return unary(w, f, a, {}, on_bits, kAlways, [&](ValueId id) {
    const ValueId result = on_value(id);
    return result;
  });
}

}  // namespace

Real Field::floor(Format f, Real a) {
  Inner& w = *inner_;
  return integral(
      w, f, a, [&](std::uint64_t bits) { return w.ieee.floor(f, bits); },
      [&](ValueId id) { return w.atom(f, id, Purpose::Floor); });
}

Real Field::ceil(Format f, Real a) {
  Inner& w = *inner_;
  return integral(
      w, f, a, [&](std::uint64_t bits) { return w.ieee.ceil(f, bits); },
      [&](ValueId id) { return w.neg(f, w.atom(f, w.neg(f, id), Purpose::Floor)); });
}

Real Field::rint(Format f, Real a) {
  Inner& w = *inner_;
  return integral(
      w, f, a, [&](std::uint64_t bits) { return w.ieee.rint(f, bits); },
      [&](ValueId id) { return w.odd_atom(f, id, Purpose::Rint); });
}

Real Field::trunc(Format f, Real a) {
  Inner& w = *inner_;
  return integral(
      w, f, a, [&](std::uint64_t bits) { return w.ieee.trunc(f, bits); },
      [&](ValueId id) { return w.odd_atom(f, id, Purpose::Trunc); });
}

namespace {

// Every number of `from` is a number of `to`.
bool is_widening(Format to, Format from) {
  if (to == from || to == Format::F64) return true;
  switch (from) {
    case Format::E4M3:
    case Format::E5M2:
      return to != Format::E4M3 && to != Format::E5M2;
    case Format::F16:
      return to == Format::F32 || to == Format::Tf32;
    case Format::BF16:
      return to == Format::F32 || to == Format::Tf32;
    case Format::Tf32:
      return to == Format::F32;
    case Format::F32:
    case Format::F64:
      return false;
  }
  return false;
}

}  // namespace

Real Field::convert(Format to, Format from, Real a, FloatMode mode) {
  Inner& w = *inner_;
  w.fresh = kNoValue;
  if (a.is_concrete()) {
    const std::uint64_t result = w.ieee.convert(to, from, a.bits, mode);
    FloatMode plain = mode;
    plain.sat = plain.relu = plain.satfinite = false;
    const double value = to_double(from, a.bits), rounded = to_double(to, w.ieee.convert(to, from, a.bits, plain));
    if (!std::isfinite(value) || !std::isfinite(rounded) || value == rounded) return {kNoValue, result};
  }
  return field::converted(w, to, from, w.operand(from, a), mode, !is_widening(to, from));
}

namespace {

Real lifted_integer(Worker& w, Format f, std::uint64_t magnitude, bool is_negative, std::uint64_t bits,
                    FloatMode mode) {
  w.fresh = kNoValue;
  const double rounded = std::abs(to_double(f, bits));
  // 2^64 is a double but no integer of 64 bits.
  if (rounded < 0x1p64 && static_cast<std::uint64_t>(rounded) == magnitude) return {kNoValue, bits};
  ValueId id;
  field::Value& r = w.allocate(id);
  r = field::Value{};
  r.residues = field::from_integer(w.shared.modulus, magnitude);
  if (is_negative) r.residues = field::neg(w.shared.modulus, r.residues);
  r.kind = static_cast<std::uint8_t>(field::Kind::Constant);
  r.set_approximation(is_negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude));
  r.set(f, field::sign_of(r.approximation()));
  return w.finish(f, id, mode);
}

}  // namespace

Real Field::from_int(Format f, std::int64_t integer, FloatMode mode) {
  const bool is_negative = integer < 0;
  const std::uint64_t magnitude = is_negative ? 0 - static_cast<std::uint64_t>(integer) : integer;
  return lifted_integer(*inner_, f, magnitude, is_negative, inner_->ieee.from_int(f, integer, mode), mode);
}

Real Field::from_uint(Format f, std::uint64_t integer, FloatMode mode) {
  return lifted_integer(*inner_, f, integer, false, inner_->ieee.from_uint(f, integer, mode), mode);
}

std::optional<std::uint64_t> Field::to_int(Format f, Real a, unsigned width, bool is_signed, Round round) {
  if (a.is_concrete()) return inner_->ieee.to_int(f, a.bits, width, is_signed, round);
  inner_->raise(kFieldToInteger, "an abstract float becomes an integer");
  return std::nullopt;
}

}  // namespace plumb::domain
