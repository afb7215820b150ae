// SPDX-License-Identifier: Apache-2.0
// One tcgen05.mma as it was issued, and what it does when it takes effect: sums in the tensor memory of one CTA or a
// pair become A * B + sums.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "machine/exec/operand_tile.h"
#include "machine/exec/tcgen05_collector.h"
#include "machine/exec/tcgen05_descriptor.h"
#include "machine/exec/tcgen05_layout.h"
#include "machine/tensor_memory.h"

namespace plumb::machine {

template <class D>
class Cluster;

struct Tcgen05Product {
  Tcgen05Spec spec;
  std::uint32_t rank = 0;     // of the CTA, or of the pair's first
  Pieces a_pieces, b_pieces;  // in shared memory, at the same places in both CTAs; of A: none when it is elsewhere
  TensorAddress sums, a, metadata, scales_a, scales_b;
  bool adds = true;                          // to what the sums are
  bool shifts_a = false;                     // afterwards, in tensor memory
  std::uint8_t scale_d = 0;                  // after multiplying that by 2^-scale_d
  std::array<std::uint32_t, 8> disabled{};   // lanes of both CTAs whose sums stay
  ColumnMask columns;                        // with .ws
  std::shared_ptr<CollectorFill> collected;  // the operand that it shares with others; null: it shares none

  unsigned half() const { return sums.lane; }
};

// With a shift, B's tile has the columns before and after those that take part.
OperandTile b_tile_of(const Tcgen05Product& product);

// Effects, now. What the numbers do not allow is told to the cluster as a finding at `pc`.
template <class D>
void multiply(Cluster<D>& cluster, const Tcgen05Product& product, std::uint32_t pc);

}  // namespace plumb::machine
