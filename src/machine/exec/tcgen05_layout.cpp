// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_layout.h"

namespace plumb::machine {

namespace {

// Sixteen rows to each quarter of the lanes.
constexpr unsigned spread(unsigned row) { return 32 * (row / 16) + row % 16; }

// Two CTAs with 64 rows each, which two halves of the lanes work on.
bool is_two_by_two(const Tcgen05Spec& spec) { return spec.form.group == 2 && spec.m == 128 && !spec.form.is_sparse; }

}  // namespace

bool takes_half_lanes(const Tcgen05Spec& spec) {
  return !spec.form.is_stationary && spec.form.group == 1 && spec.m == 64;
}

unsigned sum_parts(const Tcgen05Spec& spec) {
  if (spec.form.is_stationary) return 128 / spec.m;
  return is_two_by_two(spec) ? 2 : 1;
}

TensorPlace sum_place(const Tcgen05Spec& spec, unsigned half, unsigned m, unsigned part) {
  const unsigned rows = spec.a_rows(), row = m % rows;
  if (takes_half_lanes(spec)) return {m / rows, spread(row) + half, 0};
  return {m / rows, row + rows * part, 0};
}

unsigned a_copies(const Tcgen05Spec& spec) { return sum_parts(spec); }

TensorPlace a_place(const Tcgen05Spec& spec, unsigned half, unsigned m, unsigned copy) {
  return sum_place(spec, half, m, copy);
}

unsigned scale_copies(const Tcgen05Spec& spec, bool is_a) { return !is_a && is_two_by_two(spec) ? 2 : 4; }

TensorPlace scale_place(const Tcgen05Spec& spec, bool is_a, unsigned cta, unsigned line, unsigned copy) {
  if (is_a) {
    const unsigned row = line % spec.a_rows();
    return {line / spec.a_rows(), row % 32 + 32 * copy, row / 32};
  }
  if (!is_two_by_two(spec)) return {cta, line % 32 + 32 * copy, line / 32};
  const unsigned part = line / (spec.n / 2U);
  return {cta, line % 32 + 64 * part + 32 * copy, line % (spec.n / 2U) / 32};
}

unsigned scale_columns(const Tcgen05Spec& spec, bool is_a) {
  const unsigned lines = is_a ? spec.a_rows() : is_two_by_two(spec) ? spec.n / 2 : spec.n;
  return (lines + 31) / 32;
}

// As copies of 128 lines with four scales each lay them down, one after the other; lines of B above 128 take two.
unsigned scale_stride(const Tcgen05Spec& spec, bool is_a) { return !is_a && spec.n > 128 ? 8 : 4; }

unsigned scale_cells(const Tcgen05Spec& spec, bool is_a) {
  return ((is_a ? spec.scale_a_id : spec.scale_b_id) + spec.line_scales() + 3) / 4;
}

// With half of the lanes, what the text says of M = 128 may hold for the rows as they count or for the lanes that their
// sums take: both places are copies.
unsigned metadata_copies(const Tcgen05Spec& spec) { return 128 / spec.a_rows(); }

unsigned metadata_chunks(const Tcgen05Spec& spec) {
  // Two numbers of tf32, four of 16 and 8 bits, four pairs of 4 bits.
  const unsigned elements = spec.form.kind == Tcgen05Kind::Tf32 ? 2 : is_packed(spec.form.kind) ? 8 : 4;
  return spec.k() / elements;
}

unsigned metadata_columns(const Tcgen05Spec& spec) { return spec.element_bits() >= 16 ? 1 : 2; }

MetadataPlace metadata_place(const Tcgen05Spec& spec, unsigned m, unsigned chunk, unsigned copy) {
  const unsigned rows = spec.a_rows(), row = m % rows, cta = m / rows;
  const unsigned group = !takes_half_lanes(spec) ? 16 * (row / 16) + rows * copy : (copy == 0 ? 16 : 32) * (row / 16);
  if (spec.element_bits() >= 16) {
    // Two rows share a lane's cell, and two lanes a row.
    return {{cta, row % 8 + 8 * (chunk / 4) + group, spec.selector}, 4 * (chunk % 4) + 16 * (row / 8 % 2)};
  }
  return {{cta, row % 16 + group, chunk / 8}, 4 * (chunk % 8)};
}

}  // namespace plumb::machine
