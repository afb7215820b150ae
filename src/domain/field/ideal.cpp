// SPDX-License-Identifier: Apache-2.0
// Constants that literals round: a fixed table, printed wherever it is used.
#include <fmt/format.h>

#include <cmath>

#include "domain/field/number.h"
#include "domain/field/shared.h"

namespace plumb::domain::field {
namespace {

// A literal may be an ulp off beside its own rounding: products folded by a compiler.
double tolerance(Format f) { return f == Format::F64 ? 0x1.8p-52 : 0x1.8p-23; }
constexpr double kNearMiss = 0x1p-10;
// Significands this short are meant as they are.
constexpr double kShortSignificand = 0x1p12;

bool is_short(double value) {
  int exponent = 0;
  const double scaled = std::frexp(value, &exponent) * kShortSignificand;
  return scaled == std::floor(scaled);
}

bool is_integer(double value) { return std::abs(value) < 0x1p31 && value == std::floor(value) && value != 0; }

}  // namespace

void Shared::add_ideal(double value, std::string name, const Residues& residues, float numerator, float denominator) {
  ideals.push_back({value, std::move(name), residues, numerator, denominator});
}

void Shared::make_ideals() {
  const auto symbol = [&](double value, const std::string& name) {
    add_ideal(value, name, random_of(std::bit_cast<std::uint64_t>(value), Purpose::Symbol), 1, 0);
  };
  const auto ratio = [&](std::uint64_t above, std::uint64_t below, const std::string& name) {
    const Residues residues =
        mul(modulus, from_integer(modulus, above), inverse(modulus, from_integer(modulus, below)));
    add_ideal(static_cast<double>(above) / static_cast<double>(below), name, residues, 0, 0);
  };
  const double log2e = 1 / std::log(2.0);
  add_ideal(log2e, "log2(e)", kappa, 1, 0);
  add_ideal(std::log(2.0), "ln(2)", kappa_inverse, 0, 1);
  symbol(std::sqrt(2 / std::acos(-1.0)), "sqrt(2/pi)");
  symbol(std::sqrt(2.0), "sqrt(2)");
  symbol(std::acos(-1.0), "pi");
  ratio(44715, 1'000'000, "0.044715");
  ratio(1702, 1000, "1.702");
  ratio(1, 3, "1/3");
  for (const auto& [value, name] : options.ideals) {
    const double reciprocal = std::round(1 / value);
    if (is_short(value)) continue;
    if (is_integer(reciprocal) && std::abs(value * reciprocal - 1) < 1e-14 && reciprocal > 0) {
      ratio(1, static_cast<std::uint64_t>(reciprocal), name);
    } else if (value > 0) {
      symbol(value, name);
      const IdealConstant made = ideals.back();
      add_ideal(value * log2e, name + " * log2(e)", mul(modulus, made.residues, kappa), 2, 0);
    }
  }
}

// Puts the ideal constant that `value` rounds in v, when there is exactly one.
bool Shared::substitute(Format f, double value, Value& v) {
  if ((f != Format::F32 && f != Format::F64) || value == 0 || is_short(value)) return false;
  const double magnitude = std::abs(value);
  const IdealConstant* match = nullptr;
  Residues residues;
  int exponent = 0;
  double deviation = 0;
  for (const IdealConstant& ideal : ideals) {
    const int power = static_cast<int>(std::lround(std::log2(magnitude / ideal.value)));
    const double off = std::ldexp(magnitude, -power) / ideal.value - 1;
    if (std::abs(off) <= tolerance(f)) {
      const Residues scaled = mul(modulus, ideal.residues, from_dyadic(modulus, value < 0 ? -1 : 1, power));
      if (match != nullptr && key(scaled) != key(residues)) return false;  // ambiguous
      match = &ideal;
      residues = scaled;
      exponent = power;
      deviation = off;
    } else if (std::abs(off) < kNearMiss && power == 0) {
      near_misses.insert(
          {"constant", fmt::format("{:.9g} is {:.1e} from {}, and not equal to it", value, std::abs(off), ideal.name)});
    }
  }
  if (match == nullptr || options.constants == Constants::Exact) return false;
  v.residues = residues;
  v.numerator = match->numerator;
  v.denominator = match->denominator;
  const std::string scale = exponent == 0 ? "" : fmt::format(" * 2^{}", exponent);
  assumptions.insert({"constant", fmt::format("{:.9g} stands for {}{}{} (relative deviation {:.1e})", value,
                                              value < 0 ? "-" : "", match->name, scale, deviation)});
  return true;
}

}  // namespace plumb::domain::field
