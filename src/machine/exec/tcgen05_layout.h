// SPDX-License-Identifier: Apache-2.0
// Where the operands and results of tcgen05.mma lie in tensor memory: which CTA of a pair, which lane, and which column
// from the base. Rows of M count from 0 over the pair; `half` is the lane of the base where a layout has half of each
// quarter's lanes (0 or 16), and 0 elsewhere.
#pragma once

#include <cstdint>

#include "machine/exec/tcgen05_descriptor.h"

namespace plumb::machine {

struct TensorPlace {
  std::uint32_t cta = 0, lane = 0, column = 0;
  bool operator==(const TensorPlace&) const = default;
};

// M = 64 without `.ws`: 16 lanes of each quarter.
bool takes_half_lanes(const Tcgen05Spec& spec);

// -- The sums: rows lie in lanes, and their columns are cut in so many parts of which each has lanes of its own.
// ---------
unsigned sum_parts(const Tcgen05Spec& spec);
inline unsigned sum_columns(const Tcgen05Spec& spec) { return spec.n / sum_parts(spec); }
// The first column of a part of row `m`; its columns follow.
TensorPlace sum_place(const Tcgen05Spec& spec, unsigned half, unsigned m, unsigned part);

// -- A: each row has 32 bytes in 8 columns, elements along K from the low end.
// -------------------------------------------
inline constexpr unsigned kAColumns = 8;
// Rows are stored more than once when several groups of lanes work on them; all copies must be the same.
unsigned a_copies(const Tcgen05Spec& spec);
TensorPlace a_place(const Tcgen05Spec& spec, unsigned half, unsigned m, unsigned copy);

// -- Block scales: bytes of a cell, from the descriptor's id on; with K = 96 they go on in a second cell.
// ---------------------------------------------------------
unsigned scale_copies(const Tcgen05Spec& spec, bool is_a);
// Of A: row `line` of the pair. Of B: column `line`, which each CTA has for itself; `cta` says which.
TensorPlace scale_place(const Tcgen05Spec& spec, bool is_a, unsigned cta, unsigned line, unsigned copy);
// Columns that hold the first cells of all lines, and how far from a line's first cell its second lies.
unsigned scale_columns(const Tcgen05Spec& spec, bool is_a);
unsigned scale_stride(const Tcgen05Spec& spec, bool is_a);
// Cells of a line.
unsigned scale_cells(const Tcgen05Spec& spec, bool is_a);

// -- Sparse metadata: the nibble that belongs to a row and a chunk of its elements.
// --------------------------------------
struct MetadataPlace {
  TensorPlace cell;
  unsigned bit = 0;  // of the nibble's lowest
};
unsigned metadata_copies(const Tcgen05Spec& spec);
unsigned metadata_chunks(const Tcgen05Spec& spec);
unsigned metadata_columns(const Tcgen05Spec& spec);
// Its lane counts from that of the metadata's address.
MetadataPlace metadata_place(const Tcgen05Spec& spec, unsigned m, unsigned chunk, unsigned copy);

}  // namespace plumb::machine
