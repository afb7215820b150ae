// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/tcgen05_operands.h"

#include <algorithm>
#include <string>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"

namespace plumb::machine {

namespace {

using domain::Format;

template <class D>
ByteView cells_of(Cta<D>& cta) {
  TensorMemory<D>& memory = cta.tensor_memory();
  if constexpr (D::kHasTags) return {memory.bytes(0, 0), memory.tags(0, 0)};
  return {memory.bytes(0, 0), nullptr};
}

// The 16-byte pieces of a row of A in tensor memory, as bytes of it.
void add_row(Pieces& out, TensorPlace place, std::uint32_t column) {
  const std::uint32_t at = (place.lane * kTensorColumns + column) * kCellBytes;
  out.push_back(at);
  out.push_back(at + kPieceBytes);
}

// -- Sums: rows of n numbers. -----------------------------------------------------------------------------------------

template <class D>
void load_sums(Cta<D>& cta, const Tcgen05Product& product, unsigned index, Reals<D>& c) {
  const unsigned n = product.spec.n, rows = product.spec.a_rows();
  const Format acc = accumulator_format(product.spec);
  const unsigned size = domain::byte_size(acc);
  D& dom = cta.dom();
  for (unsigned row = 0; row < rows; ++row) {
    for_runs(product, index * rows + row, [&](std::uint32_t lane, std::uint32_t column, unsigned at, unsigned count) {
      typename D::Real* out = c.data() + std::size_t{row} * n + at;
      if constexpr (!D::kHasTags) {
        const std::byte* in = cta.tensor_memory().bytes(lane, column);
        for (unsigned i = 0; i < count; ++i) {
          std::uint32_t bits;
          std::memcpy(&bits, in + i * kCellBytes, kCellBytes);
          out[i] = size == 2 ? bits & 0xffff : bits;
        }
      } else {
        const std::byte* bytes = cta.tensor_memory().bytes(lane, column);
        const domain::Tag* tags = cta.tensor_memory().tags(lane, column);
        for (unsigned i = 0; i < count; ++i) {
          domain::Word word;
          std::memcpy(&word.bits, bytes + i * kCellBytes, size);
          std::memcpy(word.tags, tags + i * kCellBytes, size * sizeof(domain::Tag));
          for (unsigned byte = 0; byte < size; ++byte) {
            if (word.tags[byte] != 0) word.bits &= ~(std::uint64_t{0xff} << (8 * byte));
          }
          out[i] = dom.from_word(acc, word);
        }
      }
    });
  }
}

// Every copy of A's rows must be the same bytes.
template <class D>
bool has_equal_copies(Cta<D>& cta, const Tcgen05Product& product, unsigned index) {
  const unsigned rows = product.spec.a_rows();
  TensorMemory<D>& memory = cta.tensor_memory();
  for (unsigned row = 0; row < rows; ++row) {
    const TensorPlace first = a_place(product.spec, product.half(), index * rows + row, 0);
    for (unsigned copy = 1; copy < a_copies(product.spec); ++copy) {
      const TensorPlace other = a_place(product.spec, product.half(), index * rows + row, copy);
      const std::uint32_t column = product.a.column;
      if (std::memcmp(memory.bytes(first.lane, column), memory.bytes(other.lane, column), kAColumns * kCellBytes) !=
          0) {
        return false;
      }
      if constexpr (D::kHasTags) {
        if (!std::equal(memory.tags(first.lane, column), memory.tags(first.lane, column) + kAColumns * kCellBytes,
                        memory.tags(other.lane, column))) {
          return false;
        }
      }
    }
  }
  return true;
}

}  // namespace

template <class D>
bool prepare_sums(Cluster<D>& cluster, const Tcgen05Product& product, unsigned index, std::uint32_t pc, Reals<D>& c) {
  Cta<D>& cta = cluster.cta(product.rank + index);
  D& dom = cta.dom();
  const Format acc = accumulator_format(product.spec);
  if (!product.adds) {
    std::fill(c.begin(), c.end(), dom.constant(acc, 0));
    return true;
  }
  load_sums(cta, product, index, c);
  if (product.scale_d == 0) return true;
  const std::uint32_t power = acc == Format::F16 ? (product.scale_d < 15 ? (15U - product.scale_d) << 10 : 1U << 9)
                                                 : (127U - product.scale_d) << 23;
  for (typename D::Real& x : c) {
    const typename D::Real scaled = dom.mul(acc, x, dom.constant(acc, power), {});
    if constexpr (!D::kHasTags) {
      // Whether a subnormal result is rounded is said nowhere.
      const auto size = domain::ieee::magnitude(acc, scaled);
      if (size < domain::ieee::magnitude(acc, x) && size < std::uint64_t{1} << (acc == Format::F16 ? 10 : 23)) {
        cluster.fault(Stop::Kind::Unmodelled, kUnmodelled, "scaled sums that are subnormal", pc);
        return false;
      }
    }
    x = scaled;
  }
  return true;
}

template <class D>
void store_sums(Cluster<D>& cluster, const Tcgen05Product& product, unsigned index, const Reals<D>& c) {
  Cta<D>& cta = cluster.cta(product.rank + index);
  const unsigned n = product.spec.n, rows = product.spec.a_rows();
  const bool is_half = product.spec.sum == Tcgen05Sum::F16;
  TensorMemory<D>& memory = cta.tensor_memory();
  for (unsigned row = 0; row < rows; ++row) {
    for_runs(product, index * rows + row, [&](std::uint32_t lane, std::uint32_t column, unsigned at, unsigned count) {
      if (stays(product, index, lane)) return;
      const typename D::Real* in = c.data() + std::size_t{row} * n + at;
      if constexpr (!D::kHasTags) {
        std::byte* const out = memory.bytes(lane, column);
        for (unsigned i = 0; i < count; ++i) {
          const auto bits = static_cast<std::uint32_t>(in[i]);
          std::memcpy(out + i * kCellBytes, &bits, kCellBytes);
        }
        // Apart, for the loop above to be fast.
        const bool had_six = memory.count_six(lane, 1, column, count) != 0;
        for (unsigned i = 0; had_six && i < count; ++i) memory.mark_six(lane, column + i, false);
      } else {
        for (unsigned i = 0; i < count; ++i) {
          memory.write(lane, column + i, cluster.dom().to_word(accumulator_format(product.spec), in[i]));
        }
      }
      // What a result of 16 bits leaves above it is said nowhere.
      for (unsigned i = 0; is_half && i < count; ++i) memory.forget(lane, column + i, 2);
    });
  }
}

template <class D>
std::optional<SourceA> source_a(Cluster<D>& cluster, const Tcgen05Product& product, unsigned index, std::uint32_t pc) {
  Cta<D>& cta = cluster.cta(product.rank + index);
  if (!product.spec.form.is_a_in_memory) {
    return SourceA{view_of(cta.shared()), product.a_pieces, product.spec.a_tile()};
  }
  if (!has_equal_copies(cta, product, index)) {
    cluster.fault(Stop::Kind::Defect, kTensorOperand,
                  "the copies of A's rows differ: with M = 128 over two CTAs, lanes r and r + 64 hold the same row",
                  pc);
    return std::nullopt;
  }
  SourceA out{cells_of(cta), {}, product.spec.a_tile()};
  const unsigned rows = product.spec.a_rows();
  for (unsigned row = 0; row < rows; ++row) {
    add_row(out.pieces, a_place(product.spec, product.half(), index * rows + row, 0), product.a.column);
  }
  return out;
}

template <class D>
bool is_collected(Cluster<D>& cluster, const Tcgen05Product& product, std::uint32_t pc) {
  if (product.collected == nullptr) return true;
  std::vector<std::byte> bytes;
  std::vector<domain::Tag> tags;
  const auto add = [&](ByteView view, const Pieces& pieces) {
    for (const std::uint32_t at : pieces) {
      bytes.insert(bytes.end(), view.bytes + at, view.bytes + at + kPieceBytes);
      if constexpr (D::kHasTags) tags.insert(tags.end(), view.tags + at, view.tags + at + kPieceBytes);
    }
  };
  if (product.spec.form.is_stationary) {
    add(view_of(cluster.cta(product.rank).shared()), product.b_pieces);
  } else {
    for (unsigned index = 0; index < product.spec.form.group; ++index) {
      const std::optional<SourceA> from = source_a(cluster, product, index, pc);
      if (!from) return false;
      add(from->view, from->pieces);
    }
  }
  CollectorFill& fill = *product.collected;
  if (!fill.bytes) {
    fill.bytes = std::move(bytes), fill.tags = std::move(tags);
    return true;
  }
  if (*fill.bytes == bytes && fill.tags == tags) return true;
  cluster.fault(Stop::Kind::Defect, kTensorOperand,
                std::string("the memory of ") + (product.spec.form.is_stationary ? "B" : "A") +
                    " changed while a collector buffer held it: another product that shares it met other bytes",
                pc);
  return false;
}

template <class D>
std::optional<SparseIndex> index_of(Cluster<D>& cluster, const Tcgen05Product& product, unsigned index,
                                    std::uint32_t pc) {
  const Tcgen05Spec& spec = product.spec;
  Cta<D>& cta = cluster.cta(product.rank + index);
  const unsigned rows = spec.a_rows(), units = is_packed(spec.form.kind) ? spec.k() / 2 : spec.k();
  const bool is_tf32 = spec.form.kind == Tcgen05Kind::Tf32;
  std::string wrong;
  bool is_plain = true;
  const auto nibble_at = [&](unsigned row, unsigned chunk, unsigned copy) {
    const MetadataPlace place = metadata_place(spec, index * rows + row, chunk, copy);
    const domain::Word word =
        cta.tensor_memory().read(product.metadata.lane + place.cell.lane, product.metadata.column + place.cell.column);
    is_plain = is_plain && word.tags[place.bit / 8] == 0;
    return static_cast<unsigned>(word.bits >> place.bit & 15);
  };
  SparseIndex out = sparse_index(rows, units, is_tf32, [&](unsigned row, unsigned chunk) {
    const unsigned nibble = nibble_at(row, chunk, 0);
    for (unsigned copy = 1; copy < metadata_copies(spec); ++copy) {
      if (nibble_at(row, chunk, copy) != nibble)
        wrong =
            "the copies of the sparse metadata of row " + std::to_string(row) + " differ" +
            (takes_half_lanes(spec) ? "; with M = 64 nobody says whether groups of 16 rows are 16 lanes apart or 32, "
                                      "and both places must hold the same"
                                    : "");
    }
    const bool is_good = is_tf32 ? nibble == 0x4 || nibble == 0xe : (nibble & 3) < nibble >> 2;
    if (!is_good) {
      wrong = "sparse metadata " + std::to_string(nibble) + " of row " + std::to_string(row) + ", chunk " +
              std::to_string(chunk) + ": the elements that it names must be two, in order";
    }
    return nibble;
  });
  if (!is_plain) {
    cluster.fault(Stop::Kind::Defect, kTensorOperand, "sparse metadata that was never written or is abstract", pc);
    return std::nullopt;
  }
  if (!wrong.empty()) {
    cluster.fault(Stop::Kind::Defect, kTensorOperand, wrong, pc);
    return std::nullopt;
  }
  return out;
}

#define PLUMB_INSTANTIATE(D)                                                                             \
  template bool prepare_sums(Cluster<D>&, const Tcgen05Product&, unsigned, std::uint32_t, Reals<D>&);    \
  template void store_sums(Cluster<D>&, const Tcgen05Product&, unsigned, const Reals<D>&);               \
  template std::optional<SourceA> source_a(Cluster<D>&, const Tcgen05Product&, unsigned, std::uint32_t); \
  template bool is_collected(Cluster<D>&, const Tcgen05Product&, std::uint32_t);                         \
  template std::optional<SparseIndex> index_of(Cluster<D>&, const Tcgen05Product&, unsigned, std::uint32_t);

PLUMB_INSTANTIATE(domain::Ieee)
PLUMB_INSTANTIATE(domain::Field)
#undef PLUMB_INSTANTIATE

}  // namespace plumb::machine
