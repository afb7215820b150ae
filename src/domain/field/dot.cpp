// SPDX-License-Identifier: Apache-2.0
// Matrix products. Residues are packed and multiplied as blocks; degrees, signs and rounding counts of a result follow
// from what its row and its column have at most.
#include <algorithm>
#include <cstring>

#include "domain/field/arithmetic.h"
#include "domain/field/product.h"
#include "domain/field/worker.h"

namespace plumb::domain {
namespace {

using field::Kind;
using field::Value;
using field::Worker;
using Real = Field::Real;

// What a row of the left operand, or a column of the right one, has at most.
struct Line {
  Value most;                  // counts, flags, valid, degrees; residues unused
  float all_denominators = 0;  // their sum, for lines that do not share one
  bool is_uniform = true;      // one denominator throughout
  bool is_empty = true;
};

// Whether two values agree in all that a line keeps. Most operands are inputs, which do.
bool is_alike(const Value& a, const Value& b) {
  return a.numerator == b.numerator && a.denominator == b.denominator && a.key_of_denominator == b.key_of_denominator &&
         std::memcmp(a.counts, b.counts, 16) == 0;
}

void include(Line& line, const Value& v) {
  Value& most = line.most;
  line.all_denominators += v.denominator;
  if (line.is_empty) {
    std::memcpy(&most.numerator, &v.numerator, sizeof(Value) - sizeof(field::Residues));
    most.kind = 0;
    most.key_of_denominator = field::denominator_key(v);
    line.is_empty = false;
    return;
  }
  if (is_alike(most, v)) return;
  const std::uint32_t k = field::denominator_key(v);
  line.is_uniform = line.is_uniform && k == most.key_of_denominator && v.denominator == most.denominator;
  most.numerator = std::max(most.numerator, v.numerator);
  most.denominator = std::max(most.denominator, v.denominator);
  const std::uint8_t flags = most.flags | v.flags, valid = most.valid & v.valid;
  const bool is_same_sign = most.sign() == v.sign();
  const bool is_non_negative = field::is_at_least_zero(most.sign()) && field::is_at_least_zero(v.sign());
  const std::uint8_t traits = most.traits;
  field::detail::store_tail(most, _mm_max_epi16(field::detail::load_tail(most), field::detail::load_tail(v)));
  most.kind = 0;
  most.flags = flags;
  most.valid = valid;
  most.traits = traits;
  if (!is_same_sign) most.set(is_non_negative ? Sign::NonNegative : Sign::Unknown);
}

bool is_alike(const Line& a, const Line& b) { return a.is_uniform && b.is_uniform && is_alike(a.most, b.most); }

// Roundings of one step over the shape's K, by class of the accumulator.
unsigned accumulation_depth(const DotShape& shape) {
  if (shape.a == Format::F32 || shape.a == Format::F64) return shape.k;  // multiply-adds one by one
  if (shape.kind != DotKind::TritonDot) return 2;                        // one fused step and its rounding
  const unsigned chunk = 32 / byte_size(shape.a);  // what one tensor-core step takes: 32 bytes of K
  return 2 * ((shape.k + chunk - 1) / chunk);
}

RoundingClass accumulation_class(const DotShape& shape) {
  if (shape.acc == Format::F16) return RoundingClass::F16;
  return shape.a == Format::F32 || shape.a == Format::F64 ? RoundingClass::F32 : RoundingClass::TensorCore;
}

// The value of each operand, packed; false when one is infinite, NaN or undefined, which a product spreads.
bool pack(Worker& w, Format f, const Real* from, std::size_t count, const Value** values) {
  for (std::size_t i = 0; i < count; ++i) {
    const Real& x = from[i];
    if (x.is_concrete() && (ieee::is_nan(f, x.bits) || ieee::is_infinite(f, x.bits))) return false;
    const Value& v = x.is_concrete() ? w.get(w.lift(f, x.bits)) : w.get(x.id);
    if (v.is_broken()) return false;
    values[i] = &v;
  }
  return true;
}

// Everything but the residues of a row's product with a column.
void multiply(const Line& row, const Line& column, Format f, const field::Residues& residues, Value& product) {
  const Sign s = field::sign_of_product(row.most.sign(), column.most.sign());
  field::derive_product(product, row.most, column.most, f, s);
  if (row.is_uniform && column.is_uniform) return;
  product.denominator = row.all_denominators + column.all_denominators;
  product.numerator += product.denominator;
  product.key_of_denominator = field::denominator_key_of(residues);
}

Real one_by_one(Field& field, const DotShape& shape, const Real* a, const Real* b, Real c) {
  for (std::uint32_t l = 0; l < shape.k; ++l) {
    const Real x = field.convert(shape.acc, shape.a, a[l], {}),
               y = field.convert(shape.acc, shape.b, b[l * shape.n], {});
    c = field.fma(shape.acc, x, y, c, {});
  }
  return c;
}

}  // namespace

void Field::dot(const DotShape& shape, const Real* a, const Real* b, const Real* c, Real* out) {
  Inner& w = *inner_;
  const field::Modulus& modulus = w.shared.modulus;
  const std::uint32_t m = shape.m, n = shape.n, k = shape.k;
  const std::size_t left = std::size_t{m} * k, right = std::size_t{k} * n, results = std::size_t{m} * n;
  w.pointers.resize(left + right + results);
  const Value **const x = w.pointers.data(), **const y = x + left, **const z = y + right;
  if (!pack(w, shape.a, a, left, x) || !pack(w, shape.b, b, right, y) || !pack(w, shape.acc, c, results, z)) {
    std::vector<Real> made(results);
    for (std::size_t i = 0; i < results; ++i) made[i] = one_by_one(*this, shape, a + i / n * k, b + i % n, c[i]);
    std::copy(made.begin(), made.end(), out);
    return;
  }
  w.packed.resize(left + right + results);
  field::Residues *const p = w.packed.data(), *const q = p + left, *const r = q + right;
  std::vector<Line> lines(m + n);
  Line *const rows = lines.data(), *const columns = rows + m;
  for (std::uint32_t i = 0; i < m; ++i) {
    for (std::uint32_t l = 0; l < k; ++l) {
      const Value& v = *x[i * k + l];
      p[i * k + l] = v.residues;
      include(rows[i], v);
    }
  }
  for (std::uint32_t l = 0; l < k; ++l) {
    for (std::uint32_t j = 0; j < n; ++j) {
      const Value& v = *y[l * n + j];
      q[j * k + l] = v.residues;
      include(columns[j], v);
    }
  }
  field::block_product(modulus, p, q, m, n, k, r);
  const auto depth = static_cast<std::uint16_t>(std::min(accumulation_depth(shape), 0x7fffU));
  const auto rounded = static_cast<unsigned>(accumulation_class(shape));
  // What follows from operands alike is worked out once.
  const Line *last_row = nullptr, *last_column = nullptr;
  const Value* last_sum = nullptr;
  Value product, result;
  for (std::uint32_t i = 0; i < m; ++i) {
    for (std::uint32_t j = 0; j < n; ++j) {
      const Line &row = rows[i], &column = columns[j];
      const std::size_t at = std::size_t{i} * n + j;
      if (last_row == nullptr || !is_alike(row, *last_row) || !is_alike(column, *last_column)) {
        multiply(row, column, shape.acc, r[at], product);
        last_sum = nullptr;
      }
      if (last_sum == nullptr || !is_alike(*z[at], *last_sum)) {
        field::derive_sum(result, product, *z[at], shape.acc, field::sign_of_sum(product.sign(), z[at]->sign()));
        result.counts[rounded] = static_cast<std::uint16_t>(std::min(result.counts[rounded] + depth, 0x7fff));
      }
      last_row = &row;
      last_column = &column;
      last_sum = z[at];
      result.residues = field::add(modulus, r[at], z[at]->residues);
      ValueId id;
      w.allocate(id) = result;
      out[at] = {id};
    }
  }
}

}  // namespace plumb::domain
