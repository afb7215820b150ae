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

using field::Deferred;
using field::Line;
using field::Panel;
using field::Value;
using field::Worker;
using Real = Field::Real;

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

// What two lines have at most, put end to end.
void include(Line& line, const Line& other) {
  if (line.is_empty) {
    line = other;
    return;
  }
  const float denominators = line.all_denominators + other.all_denominators;
  const bool is_uniform = other.is_uniform;
  include(line, other.most);
  line.all_denominators = denominators;
  line.is_uniform = line.is_uniform && is_uniform;
}

bool is_alike(const Line& a, const Line& b) { return a.is_uniform && b.is_uniform && is_alike(a.most, b.most); }

// Roundings of one step over the shape's K, by class of the accumulator.
unsigned accumulation_depth(const DotShape& shape) {
  if (shape.a == Format::F32 || shape.a == Format::F64) return shape.k;  // multiply-adds one by one
  if (shape.kind != DotKind::TritonDot) return 2;                        // one fused step and its rounding
  const unsigned chunk = 32 / byte_size(shape.a);  // what one tensor-core step takes: 32 bytes of K
  return 2 * ((shape.k + chunk - 1) / chunk);
}

// Hopper's fp8 product keeps about 13 bits of its sums (measured), and Triton's promise allows for it: counted with
// tf32, the class next above.
bool is_imprecise(const DotShape& shape) {
  return byte_size(shape.a) == 1 && shape.acc == Format::F32 && shape.kind != DotKind::MmaSync;
}

// Roundings of one step that the steps after it do not add to, where partial sums go to f32 in between; 0: they add.
unsigned partial_depth(const DotShape& shape) {
  if (shape.kind != DotKind::TritonDot || !is_imprecise(shape) || shape.promoted_k == 0) return 0;
  DotShape part = shape;
  part.k = std::min(shape.k, std::max(shape.promoted_k, 32U));
  return accumulation_depth(part);
}

RoundingClass accumulation_class(const DotShape& shape) {
  if (shape.acc == Format::F16) return RoundingClass::F16;
  if (is_imprecise(shape)) return RoundingClass::Tf32;
  return shape.a == Format::F32 || shape.a == Format::F64 ? RoundingClass::F32 : RoundingClass::TensorCore;
}

// Ids of the operands; false when one is infinite, NaN or undefined, which a product spreads.
bool collect(Worker& w, Format f, const Real* from, std::size_t count, std::vector<ValueId>& ids) {
  ids.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Real& x = from[i];
    if (x.is_concrete()) {
      if (ieee::is_nan(f, x.bits) || ieee::is_infinite(f, x.bits)) return false;
      ids[i] = w.lift(f, x.bits);
    } else if (x.id < kFirstValue) {
      return false;
    } else {
      ids[i] = x.id;
    }
  }
  return true;
}

// Rows of variables are alike in everything but their residues.
bool is_of_variables(Worker& w, std::span<const ValueId> row) {
  if (w.shared.options.is_zero) return false;
  return std::all_of(row.begin(), row.end(), [&](ValueId id) { return w.shared.arena.is_input(id); });
}

// What a panel's rows have at most, and their fingerprints.
void describe(Worker& w, Panel& panel) {
  if (!panel.lines.empty()) return;
  panel.lines.assign(panel.rows, {});
  panel.fingerprints.clear();
  bool is_permanent = true;
  std::vector<ValueId> named;  // zeros of all formats are one
  for (std::uint32_t i = 0; i < panel.rows; ++i) {
    const std::span<const ValueId> row(panel.ids.data() + std::size_t{i} * panel.k, panel.k);
    if (is_of_variables(w, row)) {
      include(panel.lines[i], w.get(row[0]));
      if (is_permanent) panel.fingerprints.push_back(w.shared.products.fingerprint(row));
      continue;
    }
    named.assign(row.begin(), row.end());
    for (ValueId& id : named) {
      const Value& v = w.get(id);
      include(panel.lines[i], v);
      is_permanent = is_permanent && !w.shared.arena.is_temporary(id);
      if (v.is(field::Kind::Constant) && v.approximation() == 0) id = 0;
    }
    if (is_permanent) panel.fingerprints.push_back(w.shared.products.fingerprint(named));
  }
  if (!is_permanent) panel.fingerprints.clear();
}

void pack(Worker& w, Panel& panel) {
  if (panel.packed != nullptr) return;
  field::Residues* const packed = w.deferred.room(panel.ids.size());
  for (std::size_t i = 0; i < panel.ids.size(); ++i) packed[i] = w.get(panel.ids[i]).residues;
  panel.packed = packed;
}

// Fingerprints of the chain's rows and columns; empty: some have none.
struct ChainNames {
  std::vector<field::Fingerprint> rows, columns;
};
ChainNames names_of(Worker& w, const std::vector<std::uint32_t>& chain, std::uint32_t m, std::uint32_t n) {
  ChainNames names{std::vector<field::Fingerprint>(m), std::vector<field::Fingerprint>(n)};
  std::uint64_t place = 0;
  for (const std::uint32_t index : chain) {
    const Panel &a = w.deferred.panel(w.deferred.step(index).left), &b = w.deferred.panel(w.deferred.step(index).right);
    if (a.fingerprints.empty() || b.fingerprints.empty()) return {};
    const field::Fingerprint power = w.shared.products.power(place);
    for (std::uint32_t i = 0; i < m; ++i) field::ProductCache::add(names.rows[i], a.fingerprints[i], power);
    for (std::uint32_t j = 0; j < n; ++j) field::ProductCache::add(names.columns[j], b.fingerprints[j], power);
    place += a.k;
  }
  return names;
}

// The products of a chain's steps, added. Those of the spec's blocks are kept for the other side.
void multiply(Worker& w, const std::vector<std::uint32_t>& chain, const DotShape& shape, field::Residues* sums) {
  const std::uint32_t m = shape.m, n = shape.n;
  const ChainNames names = names_of(w, chain, m, n);
  if (!names.rows.empty() && w.shared.products.find(names.rows, names.columns, sums)) return;
  std::vector<field::Segment> segments;
  for (const std::uint32_t index : chain) {
    Panel &a = w.deferred.panel(w.deferred.step(index).left), &b = w.deferred.panel(w.deferred.step(index).right);
    pack(w, a);
    pack(w, b);
    segments.push_back({a.packed, b.packed, a.k});
  }
  field::block_product(w.shared.modulus, segments, m, n, sums);
  if (names.rows.empty() || shape.kind != DotKind::TritonDot) return;
  w.shared.products.keep(names.rows, names.columns, {sums, std::size_t{m} * n});
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

// Rows of a matrix whose ids are given by columns.
void transpose(const std::vector<ValueId>& from, std::uint32_t rows, std::uint32_t columns, std::vector<ValueId>& to) {
  to.resize(from.size());
  for (std::uint32_t i = 0; i < rows; ++i) {
    for (std::uint32_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
}

// Computes a step with the steps before it, back to one that is computed.
void compute(Worker& w, std::uint32_t last) {
  Deferred& deferred = w.deferred;
  std::vector<std::uint32_t> chain;
  std::uint32_t at = last;
  while (at != Deferred::kNone && deferred.step(at).made.empty()) {
    chain.push_back(at);
    at = deferred.step(at).previous;
  }
  std::reverse(chain.begin(), chain.end());
  const std::vector<ValueId> addends = at != Deferred::kNone ? deferred.step(at).made : deferred.step(chain[0]).addends;
  for (const ValueId id : addends) w.get(id);
  const DotShape shape = deferred.step(last).shape;
  const std::uint32_t m = shape.m, n = shape.n;
  std::vector<Line> rows(m), columns(n);
  unsigned depth = 0, partial = 0;
  for (const std::uint32_t index : chain) {
    Panel &a = deferred.panel(deferred.step(index).left), &b = deferred.panel(deferred.step(index).right);
    describe(w, a);
    describe(w, b);
    for (std::uint32_t i = 0; i < m; ++i) include(rows[i], a.lines[i]);
    for (std::uint32_t j = 0; j < n; ++j) include(columns[j], b.lines[j]);
    depth += accumulation_depth(deferred.step(index).shape);
    partial = std::max(partial, partial_depth(deferred.step(index).shape));
  }
  std::vector<field::Residues> sums(std::size_t{m} * n);
  const field::Modulus& modulus = w.shared.modulus;
  multiply(w, chain, shape, sums.data());
  // What follows from operands alike is worked out once.
  const Line *last_row = nullptr, *last_column = nullptr;
  const Value* last_addend = nullptr;
  const auto rounded = static_cast<unsigned>(accumulation_class(shape));
  Value product, result;
  std::vector<ValueId> made(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Line &row = rows[i / n], &column = columns[i % n];
    const Value& addend = addends.empty() ? w.peek(field::kZeroId) : w.peek(addends[i]);
    if (last_row == nullptr || !is_alike(row, *last_row) || !is_alike(column, *last_column)) {
      multiply(row, column, shape.acc, sums[i], product);
      last_addend = nullptr;
    }
    if (last_addend == nullptr || !is_alike(addend, *last_addend)) {
      const Sign s = field::sign_of_sum(product.sign(), addend.sign());
      field::derive_sum(result, product, addend, shape.acc, s);
      const unsigned count = partial != 0
                                 ? std::max<unsigned>(product.counts[rounded] + partial, result.counts[rounded])
                                 : result.counts[rounded] + depth;
      result.counts[rounded] = static_cast<std::uint16_t>(std::min(count, 0x7fffU));
    }
    last_row = &row;
    last_column = &column;
    last_addend = &addend;
    result.residues = field::add(modulus, sums[i], addend.residues);
    w.allocate(made[i]) = result;
  }
  deferred.step(last).made = std::move(made);
}

}  // namespace

void field::Worker::compute_product(std::uint32_t step) { compute(*this, step); }

field::Value& field::Worker::materialise(ValueId id) {
  if (shared.arena.is_input(id)) {
    if (shared.make_input_again(id)) return shared.arena.at(id);
    raise(kFieldMemory, "no room for more abstract values");
    return shared.arena.at(scratch);
  }
  const std::uint32_t index = deferred.step_of(id);
  if (deferred.step(index).made.empty()) {
    const ValueId saved = fresh;
    compute(*this, index);
    fresh = saved;
  }
  const Deferred::Step& step = deferred.step(index);
  return shared.arena.at(step.made[id - step.first]);
}

void Field::dot(const DotShape& shape, const Real* a, const Real* b, const Real* c, Real* out) {
  Inner& w = *inner_;
  const std::uint32_t m = shape.m, n = shape.n, k = shape.k;
  const std::size_t results = std::size_t{m} * n;
  std::vector<ValueId>&left = w.left_ids, &right = w.right_ids, &addends = w.addend_ids;
  const bool is_finite = collect(w, shape.a, a, std::size_t{m} * k, left) &&
                         collect(w, shape.b, b, std::size_t{k} * n, right) &&
                         collect(w, shape.acc, c, results, addends);
  if (!is_finite) {
    std::vector<Real> made(results);
    for (std::size_t i = 0; i < results; ++i) made[i] = one_by_one(*this, shape, a + i / n * k, b + i % n, c[i]);
    std::copy(made.begin(), made.end(), out);
    return;
  }
  const bool adds_nothing = std::all_of(
      c, c + results, [&](const Real& x) { return x.is_concrete() && ieee::magnitude(shape.acc, x.bits) == 0; });
  if (adds_nothing) addends.clear();
  const std::uint32_t left_panel = w.deferred.panel(left, m, k);
  transpose(right, k, n, w.column_ids);
  const std::uint32_t right_panel = w.deferred.panel(w.column_ids, n, k);
  const std::uint32_t step = w.deferred.add(shape, left_panel, right_panel, addends);
  const ValueId first = w.deferred.step(step).first;
  if (first == kNoValue) compute(w, step);
  for (std::size_t i = 0; i < results; ++i) {
    out[i] = {first != kNoValue ? first + static_cast<ValueId>(i) : w.deferred.step(step).made[i]};
  }
}

}  // namespace plumb::domain
