// SPDX-License-Identifier: Apache-2.0
// The matrices of a tcgen05.mma: sums, A, B and sparse metadata, read from where they lie and written back.
#pragma once

#include <cstring>
#include <optional>
#include <vector>

#include "machine/cluster.h"
#include "machine/exec/sparse.h"
#include "machine/exec/tcgen05_product.h"

namespace plumb::machine {

template <class D>
using Reals = std::vector<typename D::Real>;

constexpr domain::Format accumulator_format(const Tcgen05Spec& spec) {
  return spec.sum == Tcgen05Sum::F16 ? domain::Format::F16 : domain::Format::F32;
}

// Calls fn(lane, first column, place in the row, count) for the runs of cells that hold a row of sums.
template <class Fn>
void for_runs(const Tcgen05Product& product, unsigned row, Fn&& fn) {
  const unsigned parts = sum_parts(product.spec), count = sum_columns(product.spec);
  for (unsigned part = 0; part < parts; ++part) {
    const TensorPlace place = sum_place(product.spec, product.half(), row, part);
    fn(place.lane, product.sums.column, part * count, count);
  }
}
inline bool stays(const Tcgen05Product& product, unsigned cta, std::uint32_t lane) {
  return (product.disabled[4 * cta + lane / 32] >> (lane % 32) & 1) != 0;
}

// What the products of CTA `index` are added to, row by row: the old sums, scaled, or zeros. False after a finding.
template <class D>
bool prepare_sums(Cluster<D>& cluster, const Tcgen05Product& product, unsigned index, std::uint32_t pc, Reals<D>& c);
template <class D>
void store_sums(Cluster<D>& cluster, const Tcgen05Product& product, unsigned index, const Reals<D>& c);

// Where A's rows of one CTA are; empty after a finding.
struct SourceA {
  ByteView view;
  Pieces pieces;
  OperandTile tile;
};
template <class D>
std::optional<SourceA> source_a(Cluster<D>& cluster, const Tcgen05Product& product, unsigned index, std::uint32_t pc);

// Whether the operand that the product shares through a collector buffer still has the bytes that the first of those
// that share it met; false after a finding.
template <class D>
bool is_collected(Cluster<D>& cluster, const Tcgen05Product& product, std::uint32_t pc);

// Which elements of K A's stored ones are; of 4 bits, which pairs. Empty after a finding.
template <class D>
std::optional<SparseIndex> index_of(Cluster<D>& cluster, const Tcgen05Product& product, unsigned index,
                                    std::uint32_t pc);

// B of all CTAs, k x n. `load` is given a CTA, the tile, the columns of a row, and where to put them.
template <class Number, class Load>
void load_b(const Tcgen05Product& product, Number zero, Load&& load, std::vector<Number>& b) {
  const Tcgen05Spec& spec = product.spec;
  const OperandTile tile = b_tile_of(product);
  const unsigned n = spec.n, k = spec.k();
  if (product.columns.shift == 0) {
    for (unsigned cta = 0; cta < spec.form.group; ++cta) load(cta, tile, n, b.data() + cta * spec.b_rows());
  } else {
    std::vector<Number> wide(std::size_t{k} * tile.outer);
    load(0, tile, tile.outer, wide.data());
    for (unsigned row = 0; row < k; ++row) {
      std::copy_n(wide.begin() + row * tile.outer + product.columns.shift, n, b.begin() + row * n);
    }
  }
  if (product.columns.zeroed.none()) return;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (product.columns.zeroed[i % n]) b[i] = zero;
  }
}

}  // namespace plumb::machine
