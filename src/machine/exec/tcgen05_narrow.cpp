// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_narrow.h"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "domain/ieee/scaled.h"
#include "machine/exec/narrow.h"
#include "machine/exec/tcgen05_operands.h"

namespace plumb::machine {

namespace {

using domain::Format;
using domain::ieee::Narrow;
using domain::ieee::Term;

// In the IEEE domain a number is its parts; over the reals, a number of f32.
template <class D>
using Number = std::conditional_t<D::kHasTags, typename D::Real, Term>;

Narrow narrow_of(Tcgen05Element element) {
  switch (element) {
    case Tcgen05Element::E5M2:
      return Narrow::E5M2;
    case Tcgen05Element::E2M3:
      return Narrow::E2M3;
    case Tcgen05Element::E3M2:
      return Narrow::E3M2;
    case Tcgen05Element::E2M1:
      return Narrow::E2M1;
    default:
      return Narrow::E4M3;
  }
}

// How the elements of a piece of 16 bytes lie in it.
enum class Packing : std::uint8_t {
  Bytes,
  Pairs,    // two elements a byte, 32 in a piece
  Four,     // 16 elements of 4 bits, then 8 bytes of padding
  Six,      // 16 elements of 6 bits, then 4 bytes of padding
  Holders,  // 4 bits in the middle of each byte
};

Packing packing_of(const Tcgen05Spec& spec, Tcgen05Element element, bool is_in_tensor_memory) {
  if (is_packed(spec.form.kind)) return Packing::Pairs;
  if (element == Tcgen05Element::E2M1) return is_in_tensor_memory ? Packing::Holders : Packing::Four;
  return has_six_bits(element) && !is_in_tensor_memory ? Packing::Six : Packing::Bytes;
}

// Element i of the piece at an address: its bits, or the byte with a tag.
struct Found {
  std::uint32_t bits = 0;
  domain::Word byte;
  bool is_concrete = true;
  bool is_undefined() const { return domain::tag_value(byte.tags[0]) == domain::kUndefined; }
};
template <class D>
Found find(ByteView view, std::uint32_t address, Packing packing, unsigned i) {
  const unsigned width = packing == Packing::Six ? 6 : packing == Packing::Pairs || packing == Packing::Four ? 4 : 8;
  const std::uint32_t first = address + i * width / 8, last = address + (i * width + width - 1) / 8;
  Found out;
  std::uint32_t bytes = 0;
  for (std::uint32_t at = first; at <= last; ++at) {
    bytes |= static_cast<std::uint32_t>(view.bytes[at]) << (8 * (at - first));
    if constexpr (D::kHasTags) {
      if (view.tags[at] == 0) continue;
      out.is_concrete = false;
      if (!out.is_undefined()) out.byte.tags[0] = view.tags[at];
    }
  }
  out.bits = bytes >> (i * width % 8);
  if (packing == Packing::Holders) out.bits >>= 2;
  return out;
}

// The scales of an operand's lines, block after block of K.
struct Scales {
  std::vector<Term> terms;
  unsigned per_line = 0;
  const Term* at(unsigned line, unsigned block) const {
    return per_line == 0 ? nullptr : &terms[line * per_line + block];
  }
};

template <class D>
bool find_scales(Cluster<D>& cluster, const Tcgen05Product& product, bool is_a, unsigned index, std::uint32_t pc,
                 Scales& out) {
  const Tcgen05Spec& spec = product.spec;
  out.per_line = spec.line_scales();
  if (out.per_line == 0) return true;
  const auto fail = [&](std::string text) {
    cluster.fault(Stop::Kind::Defect, kTensorOperand, std::move(text), pc);
    return false;
  };
  const char* const name = is_a ? "A" : "B";
  TensorMemory<D>& memory = cluster.cta(product.rank + index).tensor_memory();
  const Narrow format = spec.is_scale_ue4m3 ? Narrow::UE4M3 : Narrow::UE8M0;
  const unsigned first = is_a ? spec.scale_a_id : spec.scale_b_id, lines = is_a ? spec.a_rows() : spec.n;
  const std::uint32_t base = (is_a ? product.scales_a : product.scales_b).column;
  for (unsigned line = 0; line < lines; ++line) {
    std::array<std::uint8_t, 6> bytes{};
    for (unsigned copy = 0; copy < scale_copies(spec, is_a); ++copy) {
      const TensorPlace place = scale_place(spec, is_a, index, is_a ? index * lines + line : line, copy);
      domain::Word word;
      for (unsigned i = 0; i < out.per_line; ++i) {
        const unsigned in_cell = (first + i) % 4;
        const std::uint32_t column = base + place.column + (first + i) / 4 * scale_stride(spec, is_a);
        if (i == 0 || in_cell == 0) word = memory.read(place.lane, column);
        const auto byte = static_cast<std::uint8_t>(word.bits >> (8 * in_cell));
        if (word.tags[in_cell] != 0) {
          return fail(std::string("a scale of ") + name + " that was never written or is abstract, of line " +
                      std::to_string(line) + ": lane " + std::to_string(place.lane) + ", column " +
                      std::to_string(column));
        }
        if (copy != 0 && byte != bytes[i]) {
          return fail(std::string("the copies of the scales of ") + name + " differ, of line " + std::to_string(line) +
                      ": each group of 32 lanes that works on the line has its own");
        }
        bytes[i] = byte;
      }
    }
    for (unsigned i = 0; i < out.per_line; ++i) out.terms.push_back(decode(format, bytes[i]));
  }
  return true;
}

// An operand as rows: of A, its stored elements; of B, k rows of n. False: some number has no meaning.
struct Loading {
  Narrow format = Narrow::E4M3;
  Packing packing = Packing::Bytes;
  bool is_negated = false;
  unsigned k = 0;  // elements of a line
  const Scales* scales = nullptr;
  unsigned first_line = 0;  // of the scales
};
template <class D>
bool load_numbers(D& dom, ByteView view, const Pieces& pieces, const OperandTile& tile, const Loading& how,
                  Strides strides, Number<D>* out) {
  const unsigned per_piece = how.packing == Packing::Pairs ? 32 : 16;
  const std::size_t lines = tile.is_transposed ? tile.inner : tile.outer, per_line = pieces.size() / lines;
  const unsigned block = how.scales->per_line == 0 ? how.k : how.k / how.scales->per_line;
  for (std::size_t i = 0; i < pieces.size() * per_piece; ++i) {
    const std::size_t line = i / per_piece / per_line, along = i - line * per_line * per_piece;
    const auto outer = static_cast<unsigned>(tile.is_transposed ? along : line);
    const auto inner = static_cast<unsigned>(tile.is_transposed ? line : along);
    const Found found = find<D>(view, pieces[i / per_piece], how.packing, static_cast<unsigned>(i % per_piece));
    const Term* const scale = how.scales->at(how.first_line + outer, inner / block);
    Number<D>& to = out[outer * strides.outer + inner * strides.inner];
    Term term = decode(how.format, found.bits);
    if (how.is_negated) term.is_negative = !term.is_negative;
    if (scale != nullptr) term = domain::ieee::product(term, *scale);
    if constexpr (!D::kHasTags) {
      to = term;
    } else if (found.is_undefined()) {
      domain::Word nothing;
      std::fill_n(nothing.tags, domain::byte_size(Format::F32), domain::kUndefinedTag);
      to = dom.from_word(Format::F32, nothing);
    } else {
      const std::optional<typename D::Real> number =
          found.is_concrete ? f32_of(dom, term) : f32_of(dom, how.format, found.byte, scale);
      if (!number) return false;
      to = how.is_negated && !found.is_concrete ? dom.neg(Format::F32, *number, {}) : *number;
    }
  }
  return true;
}

template <class D>
bool load_operands(Cluster<D>& cluster, const Tcgen05Product& product, const SourceA& from, const Scales& scales_a,
                   const Scales& scales_b, std::vector<Number<D>>& a, std::vector<Number<D>>& b) {
  const Tcgen05Spec& spec = product.spec;
  D& dom = cluster.dom();
  Number<D> zero{};
  if constexpr (D::kHasTags) zero = dom.constant(Format::F32, 0);
  const Loading how_a{narrow_of(spec.a), packing_of(spec, spec.a, spec.form.is_a_in_memory),
                      spec.is_a_negated, spec.stored_k(),
                      &scales_a,         0};
  if (!load_numbers(dom, from.view, from.pieces, from.tile, how_a, {spec.stored_k(), 1}, a.data())) return false;
  bool is_good = true;
  load_b<Number<D>>(
      product, zero,
      [&](unsigned cta, const OperandTile& tile, unsigned stride, Number<D>* out) {
        const Loading how{narrow_of(spec.b),  packing_of(spec, spec.b, false), spec.is_b_negated, spec.k(), &scales_b,
                          cta * spec.b_rows()};
        is_good = load_numbers(dom, view_of(cluster.cta(product.rank + cta).shared()), product.b_pieces, tile, how,
                               {1, stride}, out) &&
                  is_good;
      },
      b);
  return is_good;
}

// The largest exponent of a pair of scales of a row and a column.
int largest_exponent(const Scales& a, unsigned row, const Scales& b, unsigned column) {
  int out = a.at(row, 0)->exponent + b.at(column, 0)->exponent;
  for (unsigned i = 1; i < a.per_line; ++i) out = std::max(out, a.at(row, i)->exponent + b.at(column, i)->exponent);
  return out;
}

// The element of K that a stored one meets.
struct Meeting {
  const std::optional<SparseIndex>* index = nullptr;
  bool is_paired = false;
  unsigned stored = 0;
  unsigned operator()(unsigned row, unsigned s) const {
    if (!*index) return s;
    if (is_paired) return 2U * (*index)->unit[row * (stored / 2) + s / 2] + s % 2;
    return (*index)->unit[row * stored + s];
  }
};

void multiply_terms(const Tcgen05Product& product, const std::vector<Term>& a, const std::vector<Term>& b,
                    const Meeting& met, const Scales& scales_a, const Scales& scales_b, std::vector<std::uint64_t>& c) {
  const Tcgen05Spec& spec = product.spec;
  const unsigned n = spec.n, stored = met.stored;
  std::vector<Term> products(stored);
  for (std::size_t i = 0; i < c.size(); ++i) {
    const auto row = static_cast<unsigned>(i / n);
    for (unsigned s = 0; s < stored; ++s) {
      products[s] = domain::ieee::product(a[row * stored + s], b[std::size_t{met(row, s)} * n + i % n]);
    }
    if (is_packed(spec.form.kind)) {
      const int top = largest_exponent(scales_a, row, scales_b, static_cast<unsigned>(i % n));
      c[i] = domain::ieee::four_bit_sum(products, top, spec.is_scale_ue4m3, c[i]);
    } else {
      c[i] = domain::ieee::fused_sum(products, accumulator_format(spec), c[i]);
    }
  }
}

template <class D>
void multiply_numbers(D& dom, const Tcgen05Product& product, const std::vector<Number<D>>& a,
                      const std::vector<Number<D>>& b, const Meeting& met, Reals<D>& c) {
  // Zeros stand for what is not stored.
  const Tcgen05Spec& spec = product.spec;
  const unsigned rows = spec.a_rows(), stored = met.stored;
  Reals<D> dense(std::size_t{rows} * spec.k(), dom.constant(Format::F32, 0));
  for (unsigned row = 0; row < rows; ++row) {
    for (unsigned s = 0; s < stored; ++s) dense[row * spec.k() + met(row, s)] = a[row * stored + s];
  }
  dom.dot({rows, spec.n, spec.k(), Format::F32, Format::F32, accumulator_format(spec), domain::DotKind::Wgmma},
          dense.data(), b.data(), c.data(), c.data());
}

}  // namespace

template <class D>
void multiply_narrow(Cluster<D>& cluster, const Tcgen05Product& product, std::uint32_t pc) {
  const Tcgen05Spec& spec = product.spec;
  D& dom = cluster.dom();
  std::vector<Number<D>> a(std::size_t{spec.a_rows()} * spec.stored_k()), b(std::size_t{spec.k()} * spec.n);
  Reals<D> c(std::size_t{spec.a_rows()} * spec.n);
  for (unsigned index = 0; index < spec.form.group; ++index) {
    const std::optional<SourceA> from = source_a(cluster, product, index, pc);
    Scales scales_a, scales_b;
    if (!from || !find_scales(cluster, product, true, index, pc, scales_a) ||
        !find_scales(cluster, product, false, index, pc, scales_b) || !prepare_sums(cluster, product, index, pc, c)) {
      return;
    }
    std::optional<SparseIndex> kept;
    if (spec.form.is_sparse && !(kept = index_of(cluster, product, index, pc))) return;
    if (!load_operands(cluster, product, *from, scales_a, scales_b, a, b)) {
      return cluster.fault(Stop::Kind::Unmodelled, kUnmodelled,
                           "narrow operands that are abstract, infinite or NaN, or leave the range of f32", pc);
    }
    const Meeting met{&kept, is_packed(spec.form.kind), spec.stored_k()};
    if constexpr (D::kHasTags) {
      multiply_numbers(dom, product, a, b, met, c);
    } else {
      multiply_terms(product, a, b, met, scales_a, scales_b, c);
    }
    store_sums(cluster, product, index, c);
  }
}

template void multiply_narrow(Cluster<domain::Ieee>&, const Tcgen05Product&, std::uint32_t);
template void multiply_narrow(Cluster<domain::Field>&, const Tcgen05Product&, std::uint32_t);

}  // namespace plumb::machine
