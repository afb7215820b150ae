// SPDX-License-Identifier: Apache-2.0
// Operands of asynchronous matrix products as matrices: the elements of a tile that lies in 16-byte pieces of some
// memory, and the integer sums. Shared by wgmma and tcgen05.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "domain/format.h"
#include "domain/word.h"
#include "machine/exec/descriptor.h"

namespace plumb::machine {

using Pieces = std::vector<std::uint32_t>;
inline constexpr unsigned kPieceBytes = 16;

// Bytes and, in domains with tags, their tags.
struct ByteView {
  const std::byte* bytes = nullptr;
  const domain::Tag* tags = nullptr;
};
template <class Bytes>
ByteView view_of(Bytes& store) {
  return {store.bytes(), store.tags()};
}

// Distances of a matrix in memory: between lines of M or N, and between elements of K.
struct Strides {
  std::size_t outer = 0, inner = 0;
};

// Calls put(position, byte address) for the elements of a tile.
template <unsigned Size, class Put>
void for_elements(const Pieces& pieces, const OperandTile& tile, Strides strides, Put&& put) {
  constexpr unsigned kPer = kPieceBytes / Size;
  const std::size_t lines = tile.is_transposed ? tile.inner : tile.outer, per_line = pieces.size() / lines;
  const std::size_t step = tile.is_transposed ? strides.outer : strides.inner;
  const std::size_t line_step = tile.is_transposed ? strides.inner : strides.outer;
  for (std::size_t line = 0; line < lines; ++line) {
    for (std::size_t piece = 0; piece < per_line; ++piece) {
      const std::uint32_t address = pieces[line * per_line + piece];
      const std::size_t position = line * line_step + piece * kPer * step;
      for (unsigned i = 0; i < kPer; ++i) put(position + i * step, address + i * Size);
    }
  }
}

template <unsigned Size, class D>
void load_reals(D& dom, ByteView from, domain::Format format, const Pieces& pieces, const OperandTile& tile,
                Strides strides, typename D::Real* out) {
  if constexpr (D::kHasTags) {
    for_elements<Size>(pieces, tile, strides, [&](std::size_t position, std::uint32_t address) {
      domain::Word word;
      std::memcpy(&word.bits, from.bytes + address, Size);
      std::memcpy(word.tags, from.tags + address, Size * sizeof(domain::Tag));
      for (unsigned i = 0; i < Size; ++i) {
        if (word.tags[i] != 0) word.bits &= ~(std::uint64_t{0xff} << (8 * i));
      }
      out[position] = dom.from_word(format, word);
    });
  } else {
    using Bits =
        std::conditional_t<Size == 1, std::uint8_t, std::conditional_t<Size == 2, std::uint16_t, std::uint32_t>>;
    for_elements<Size>(pieces, tile, strides, [&](std::size_t position, std::uint32_t address) {
      Bits bits;
      std::memcpy(&bits, from.bytes + address, Size);
      out[position] = bits;
    });
  }
}

template <class D>
void load_reals(D& dom, ByteView from, domain::Format format, const Pieces& pieces, const OperandTile& tile,
                Strides strides, typename D::Real* out) {
  switch (domain::byte_size(format)) {
    case 1:
      return load_reals<1>(dom, from, format, pieces, tile, strides, out);
    case 2:
      return load_reals<2>(dom, from, format, pieces, tile, strides, out);
    default:
      return load_reals<4>(dom, from, format, pieces, tile, strides, out);
  }
}

inline std::int32_t widened(bool is_signed, std::uint8_t byte) {
  return is_signed ? static_cast<std::int8_t>(byte) : static_cast<std::int32_t>(byte);
}

// Integer operands as numbers; false when a byte is not concrete.
template <class D>
bool load_ints(ByteView from, bool is_signed, const Pieces& pieces, const OperandTile& tile, Strides strides,
               std::int32_t* out) {
  bool is_plain = true;
  for_elements<1>(pieces, tile, strides, [&](std::size_t position, std::uint32_t address) {
    if constexpr (D::kHasTags) is_plain = is_plain && from.tags[address] == 0;
    out[position] = widened(is_signed, static_cast<std::uint8_t>(from.bytes[address]));
  });
  return is_plain;
}

struct IntRow {
  unsigned n = 0, stored = 0;  // columns; elements of A
  bool is_bits = false;        // products are counts of common bits
  bool is_saturating = false;
};
// One row of sums; `met` gives the element of K that the s-th stored one meets.
template <class Met>
void int_row(const IntRow& shape, const std::int32_t* a, const std::int32_t* b, Met&& met, std::int32_t* c) {
  std::vector<std::uint32_t> sum(shape.n);
  for (unsigned s = 0; s < shape.stored; ++s) {
    const auto x = static_cast<std::uint32_t>(a[s]);
    const std::int32_t* row = b + std::size_t{met(s)} * shape.n;
    if (shape.is_bits) {
      for (unsigned j = 0; j < shape.n; ++j)
        sum[j] += static_cast<unsigned>(std::popcount(x & static_cast<std::uint32_t>(row[j])));
    } else {
      for (unsigned j = 0; j < shape.n; ++j) sum[j] += x * static_cast<std::uint32_t>(row[j]);
    }
  }
  for (unsigned j = 0; j < shape.n; ++j) {
    // The products alone never leave 32 bits.
    const std::int64_t exact = std::int64_t{c[j]} + static_cast<std::int32_t>(sum[j]);
    using Limits = std::numeric_limits<std::int32_t>;
    c[j] = shape.is_saturating
               ? static_cast<std::int32_t>(std::clamp<std::int64_t>(exact, Limits::min(), Limits::max()))
               : static_cast<std::int32_t>(static_cast<std::uint32_t>(exact));
  }
}

}  // namespace plumb::machine
