// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_product.h"

#include <algorithm>
#include <optional>

#include "domain/field/field.h"
#include "domain/ieee/fused.h"
#include "domain/ieee/ieee.h"
#include "machine/exec/tcgen05_narrow.h"
#include "machine/exec/tcgen05_operands.h"
#include "machine/exec/tcgen05_shift.h"

namespace plumb::machine {

namespace {

using domain::Format;
using Element = Tcgen05Element;

std::optional<Format> format_of(Element element) {
  switch (element) {
    case Element::F16:
      return Format::F16;
    case Element::BF16:
      return Format::BF16;
    case Element::Tf32:
      return Format::Tf32;
    case Element::E4M3:
      return Format::E4M3;
    case Element::E5M2:
      return Format::E5M2;
    default:
      return std::nullopt;
  }
}

template <class D>
void multiply_reals(Cluster<D>& cluster, const Tcgen05Product& product, std::uint32_t pc) {
  using Real = typename D::Real;
  const Tcgen05Spec& spec = product.spec;
  D& dom = cluster.dom();
  const Format format_a = *format_of(spec.a), format_b = *format_of(spec.b);
  const Format acc = accumulator_format(spec);
  const unsigned rows = spec.a_rows(), stored = spec.stored_k();
  Reals<D> a(std::size_t{rows} * stored), b(std::size_t{spec.k()} * spec.n), c(std::size_t{rows} * spec.n);
  load_b<Real>(
      product, dom.constant(format_b, 0),
      [&](unsigned cta, const OperandTile& tile, unsigned stride, Real* out) {
        load_reals(dom, view_of(cluster.cta(product.rank + cta).shared()), format_b, product.b_pieces, tile,
                   {1, stride}, out);
      },
      b);
  if (spec.is_b_negated) {
    for (Real& x : b) x = dom.neg(format_b, x, {});
  }
  const domain::DotShape shape{rows, spec.n, spec.k(), format_a, format_b, acc, domain::DotKind::Wgmma};
  for (unsigned index = 0; index < spec.form.group; ++index) {
    const std::optional<SourceA> from = source_a(cluster, product, index, pc);
    if (!from || !prepare_sums(cluster, product, index, pc, c)) return;
    load_reals(dom, from->view, format_a, from->pieces, from->tile, {stored, 1}, a.data());
    if (spec.is_a_negated) {
      for (Real& x : a) x = dom.neg(format_a, x, {});
    }
    if (!spec.form.is_sparse) {
      if constexpr (D::kHasTags) {
        dom.dot(shape, a.data(), b.data(), c.data(), c.data());
      } else {
        domain::ieee::fused_dot(shape, a.data(), b.data(), c.data(), c.data());
      }
    } else {
      const std::optional<SparseIndex> kept = index_of(cluster, product, index, pc);
      if (!kept) return;
      sparse_dot(dom, shape, *kept, a.data(), b.data(), c.data(), c.data());
    }
    store_sums(cluster, product, index, c);
  }
}

template <class D>
void multiply_ints(Cluster<D>& cluster, const Tcgen05Product& product, std::uint32_t pc) {
  const Tcgen05Spec& spec = product.spec;
  const unsigned rows = spec.a_rows(), stored = spec.stored_k(), n = spec.n;
  std::vector<std::int32_t> a(std::size_t{rows} * stored), b(std::size_t{spec.k()} * n), row(n);
  bool is_plain = true;
  load_b<std::int32_t>(
      product, 0,
      [&](unsigned cta, const OperandTile& tile, unsigned stride, std::int32_t* out) {
        is_plain = load_ints<D>(view_of(cluster.cta(product.rank + cta).shared()), spec.b == Element::S8,
                                product.b_pieces, tile, {1, stride}, out) &&
                   is_plain;
      },
      b);
  for (unsigned index = 0; index < spec.form.group; ++index) {
    Cta<D>& cta = cluster.cta(product.rank + index);
    const std::optional<SourceA> from = source_a(cluster, product, index, pc);
    if (!from) return;
    is_plain =
        load_ints<D>(from->view, spec.a == Element::S8, from->pieces, from->tile, {stored, 1}, a.data()) && is_plain;
    std::optional<SparseIndex> kept;
    if (spec.form.is_sparse && !(kept = index_of(cluster, product, index, pc))) return;
    for (unsigned i = 0; i < rows; ++i) {
      std::fill(row.begin(), row.end(), 0);
      for_runs(product, index * rows + i, [&](std::uint32_t lane, std::uint32_t column, unsigned at, unsigned count) {
        for (unsigned j = 0; product.adds && j < count; ++j) {
          const domain::Word word = cta.tensor_memory().read(lane, column + j);
          is_plain = is_plain && !Warp<D>::has_tag(word, kCellBytes);
          row[at + j] = static_cast<std::int32_t>(word.bits);
        }
      });
      if (!is_plain) {
        return cluster.fault(Stop::Kind::Unmodelled, kUnmodelled,
                             "an integer product of bytes that are abstract or were never written", pc);
      }
      int_row(
          {n, stored, false, spec.is_saturating}, a.data() + i * stored, b.data(),
          [&](unsigned s) { return kept ? kept->unit[i * stored + s] : s; }, row.data());
      for_runs(product, index * rows + i, [&](std::uint32_t lane, std::uint32_t column, unsigned at, unsigned count) {
        if (stays(product, index, lane)) return;
        for (unsigned j = 0; j < count; ++j) {
          domain::Word word;
          word.bits = static_cast<std::uint32_t>(row[at + j]);
          cta.tensor_memory().write(lane, column + j, word);
        }
      });
    }
  }
}

}  // namespace

OperandTile b_tile_of(const Tcgen05Product& product) {
  OperandTile tile = product.spec.b_tile();
  // Whole pieces, when they run along the columns.
  if (product.columns.shift != 0) tile.outer += (product.columns.shift + 15) / 16 * 16;
  return tile;
}

namespace {

template <class D>
void multiply_unshifted(Cluster<D>& cluster, const Tcgen05Product& product, std::uint32_t pc) {
  const Tcgen05Spec& spec = product.spec;
  if (!is_collected(cluster, product, pc)) return;
  if (spec.form.kind == Tcgen05Kind::I8) return multiply_ints(cluster, product, pc);
  const bool has_formats = !has_block_scales(spec.form.kind) && format_of(spec.a) && format_of(spec.b);
  // Sparse sums of the domain cut 8-bit floats shorter than tcgen05 does.
  const bool is_cut = !D::kHasTags && spec.form.is_sparse && spec.element_bits() == 8;
  if (!has_formats || is_cut) return multiply_narrow(cluster, product, pc);
  multiply_reals(cluster, product, pc);
}

}  // namespace

template <class D>
void multiply(Cluster<D>& cluster, const Tcgen05Product& product, std::uint32_t pc) {
  multiply_unshifted(cluster, product, pc);
  for (unsigned cta = 0; product.shifts_a && cta < product.spec.form.group; ++cta) {
    for (std::uint32_t lane = 0; lane < kTensorLanes; lane += kShiftLanes) {
      shift_rows(cluster.cta(product.rank + cta).tensor_memory(), lane, product.a.column);
    }
  }
}

template void multiply(Cluster<domain::Ieee>&, const Tcgen05Product&, std::uint32_t);
template void multiply(Cluster<domain::Field>&, const Tcgen05Product&, std::uint32_t);

}  // namespace plumb::machine
