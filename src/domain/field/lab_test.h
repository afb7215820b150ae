// SPDX-License-Identifier: Apache-2.0
// What the tests of the field domain share: a field over one abstract tensor, and short names for its operations on
// f32.
#pragma once

#include <bit>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "domain/field/field.h"

namespace plumb::domain {

struct Lab {
  using Real = Field::Real;
  static constexpr Format kF = Format::F32;

  explicit Lab(FieldOptions options = {.seed = 7}, Format element = Format::F32)
      : context(std::move(options)),
        memory(true),
        buffer(&memory.add("x", 1 << 16, Init::Abstract, element)),
        field(context),
        element_format(element) {
    field.begin_unit();
  }

  Real x(std::uint64_t index) { return field.read(*buffer, index * byte_size(element_format), element_format); }
  static Real c(float value) { return {kNoValue, std::bit_cast<std::uint32_t>(value)}; }

  Real add(Real a, Real b) { return field.add(kF, a, b, {}); }
  Real sub(Real a, Real b) { return field.sub(kF, a, b, {}); }
  Real mul(Real a, Real b) { return field.mul(kF, a, b, {}); }
  Real fma(Real a, Real b, Real d) { return field.fma(kF, a, b, d, {}); }
  Real div(Real a, Real b) { return field.div(kF, a, b, {}); }
  Real neg(Real a) { return field.neg(kF, a, {}); }
  Real abs(Real a) { return field.abs(kF, a, {}); }
  Real max(Real a, Real b) { return field.max(kF, a, b, {}); }
  Real min(Real a, Real b) { return field.min(kF, a, b, {}); }
  Real rcp(Real a) { return field.rcp(kF, a, {}); }
  Real sqrt(Real a) { return field.sqrt(kF, a, {}); }
  Real rsqrt(Real a) { return field.rsqrt(kF, a, {}); }
  Real ex2(Real a) { return field.ex2(kF, a, {}); }
  Real lg2(Real a) { return field.lg2(kF, a, {}); }
  Real exp(Real a) { return field.exp(kF, a); }
  Real log(Real a) { return field.log(kF, a); }
  Real tanh(Real a) { return field.tanh(kF, a, {}); }
  Real select(Field::Bool p, Real a, Real b) { return field.select(kF, p, a, b); }
  Field::Bool less(Real a, Real b) { return field.compare(kF, Compare::Lt, a, b, {}); }
  Field::Bool greater(Real a, Real b) { return field.compare(kF, Compare::Gt, a, b, {}); }

  std::vector<Real> xs(std::uint64_t first, std::uint64_t count) {
    std::vector<Real> values;
    for (std::uint64_t i = 0; i < count; ++i) values.push_back(x(first + i));
    return values;
  }
  Real sum(const std::vector<Real>& values) {
    Real total = c(0);
    for (const Real& v : values) total = add(total, v);
    return total;
  }
  Real largest(const std::vector<Real>& values) {
    Real most = c(-INFINITY);
    for (const Real& v : values) most = max(most, v);
    return most;
  }

  Comparison compare(Real a, Real b) { return field.compare_outputs(kF, a, b); }
  bool same(Real a, Real b) { return compare(a, b) == Comparison::Equal; }

  FieldContext context;
  Memory memory;
  Buffer* buffer;
  Field field;
  Format element_format;
};

}  // namespace plumb::domain
