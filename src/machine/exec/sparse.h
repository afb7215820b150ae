// SPDX-License-Identifier: Apache-2.0
// Sparse operands of mma.sp and wgmma.sp: A holds half of its K elements, and a nibble of metadata for each chunk says
// which elements of the chunk they are. Where the nibbles lie was measured (docs/numbers.md). A nibble's low two bits
// are the unit of the chunk that the first stored element meets, the high two bits that of the second, whatever their
// order. A chunk has four units: elements of 16 and 8 bits, pairs of 4 bits, halves of the two tf32 numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "domain/domain.h"
#include "domain/ieee/bits.h"
#include "machine/warp.h"

namespace plumb::machine {

// Which lanes give the metadata, by the number of chunks in a row and the width of an element.
enum class SparseLayout : std::uint8_t {
  FourChunks,       // 16-bit k16, tf32 k8
  EightWideChunks,  // 16-bit k32, tf32 k16
  EightChunks,      // 8-bit k32, 4-bit k64
  SixteenChunks     // 8-bit k64, 4-bit k128
};

constexpr unsigned chunk_count(SparseLayout layout) {
  return layout == SparseLayout::FourChunks ? 4 : layout == SparseLayout::SixteenChunks ? 16 : 8;
}

// The nibble of a row (of 16) and chunk; `words` are the lanes' metadata, `selector` the instruction's.
template <class Words>
constexpr unsigned sparse_nibble(SparseLayout layout, const Words& words, unsigned selector, unsigned row,
                                 unsigned chunk) {
  unsigned lane = 4 * (row % 8), nibble = chunk;
  switch (layout) {
    case SparseLayout::FourChunks:
      lane += selector;
      nibble = chunk + 4 * (row / 8);
      break;
    case SparseLayout::EightWideChunks:
      lane += 2 * selector + chunk / 4;
      nibble = chunk % 4 + 4 * (row / 8);
      break;
    case SparseLayout::EightChunks:
      lane += 2 * selector + row / 8;
      break;
    case SparseLayout::SixteenChunks:
      lane += row / 8 + 2 * (chunk / 8);
      nibble = chunk % 8;
      break;
  }
  return words[lane] >> (4 * nibble) & 15;
}

// For each row and stored element, the elements of B's column that it meets: `first` and, for tf32 alone, the halves
// `low` and `high` that make the number up, in units of 16 bits.
struct SparseIndex {
  std::vector<std::uint8_t> unit;  // [row * stored + s]: the element of K; of tf32: low half | high half << 4 of its
                                   // chunk
  bool is_plain = true;            // no element of K is met twice in a row, and no tf32 is made of two
};

template <class Nibble>  // nibble(row, chunk)
SparseIndex sparse_index(unsigned rows, unsigned k, bool is_tf32, Nibble&& nibble) {
  SparseIndex out;
  out.unit.resize(std::size_t{rows} * k / 2);
  std::size_t at = 0;
  for (unsigned row = 0; row < rows; ++row) {
    if (is_tf32) {
      for (unsigned chunk = 0; chunk < k / 2; ++chunk) {
        const unsigned n = nibble(row, chunk);
        out.unit[at++] = static_cast<std::uint8_t>((n & 3) | (n >> 2) << 4);
        out.is_plain = out.is_plain && (n == 0b0100 || n == 0b1110);
      }
      continue;
    }
    for (unsigned chunk = 0; chunk < k / 4; ++chunk) {
      const unsigned n = nibble(row, chunk);
      out.unit[at++] = static_cast<std::uint8_t>(4 * chunk + (n & 3));
      out.unit[at++] = static_cast<std::uint8_t>(4 * chunk + (n >> 2));
      out.is_plain = out.is_plain && (n & 3) != n >> 2;
    }
  }
  return out;
}

// The element of K that a stored one meets, when the index is plain.
inline unsigned sparse_element(const SparseIndex& index, std::size_t at, unsigned stored, bool is_tf32) {
  if (!is_tf32) return index.unit[at];
  return 2 * static_cast<unsigned>(at % stored) + (index.unit[at] == 0x10 ? 0 : 1);
}

// out = A * B + C with A [m x k/2] as stored. False when the domain has no meaning for the numbers that are met.
template <class D>
bool sparse_dot(D& dom, const domain::DotShape& shape, const SparseIndex& index, const typename D::Real* a,
                const typename D::Real* b, const typename D::Real* c, typename D::Real* out) {
  using Real = typename D::Real;
  const unsigned stored = shape.k / 2;
  const bool is_tf32 = shape.a == domain::Format::Tf32;
  const auto is_number = [&](const Real& x) {
    if constexpr (D::kHasTags) {
      if (!x.is_concrete()) return x.id >= domain::kFirstValue;
      return !domain::ieee::is_nan(shape.b, x.bits) && !domain::ieee::is_infinite(shape.b, x.bits);
    } else {
      return !domain::ieee::is_nan(shape.b, x) && !domain::ieee::is_infinite(shape.b, x);
    }
  };
  // mma.sp on 8-bit floats goes by the places of the stored elements, not by those that they stand for.
  const bool is_split = shape.kind == domain::DotKind::MmaSync && domain::byte_size(shape.a) == 1;
  if (!is_split && index.is_plain && std::all_of(b, b + std::size_t{shape.k} * shape.n, is_number)) {
    // Zeros stand for what is not stored: a term of zero changes nothing.
    std::vector<Real> dense(std::size_t{shape.m} * shape.k, dom.constant(shape.a, 0));
    for (std::size_t i = 0; i < std::size_t{shape.m} * stored; ++i) {
      dense[i / stored * shape.k + sparse_element(index, i, stored, is_tf32)] = a[i];
    }
    dom.dot(shape, dense.data(), b, c, out);
    return true;
  }
  domain::DotShape row_shape = shape;
  row_shape.m = 1;
  row_shape.k = stored;
  std::vector<Real> met(std::size_t{stored} * shape.n);
  for (unsigned row = 0; row < shape.m; ++row) {
    for (unsigned s = 0; s < stored; ++s) {
      const unsigned unit = index.unit[row * stored + s];
      for (unsigned column = 0; column < shape.n; ++column) {
        Real& to = met[s * shape.n + column];
        if (!is_tf32) {
          to = b[unit * shape.n + column];
          continue;
        }
        const Real &first = b[2 * s * shape.n + column], &second = b[(2 * s + 1) * shape.n + column];
        if (unit == 0x10 || unit == 0x32) {
          to = unit == 0x10 ? first : second;
        } else if constexpr (D::kHasTags) {
          if (!first.is_concrete() || !second.is_concrete()) return false;
          const std::uint64_t both = first.bits | second.bits << 32;
          to = dom.constant(shape.b, (both >> (16 * (unit & 15)) & 0xffff) | (both >> (16 * (unit >> 4)) & 0xffff)
                                                                                 << 16);
        } else {
          const std::uint64_t both = first | second << 32;
          to = (both >> (16 * (unit & 15)) & 0xffff) | (both >> (16 * (unit >> 4)) & 0xffff) << 16;
        }
      }
    }
    dom.dot(row_shape, a + row * stored, met.data(), c + row * shape.n, out + row * shape.n);
  }
  return true;
}

}  // namespace plumb::machine
