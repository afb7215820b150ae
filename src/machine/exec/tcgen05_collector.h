// SPDX-License-Identifier: Apache-2.0
// The collector buffers of a tensor core: A of products (buffer 0), or B of products with `.ws` (four). A product that
// fills one leaves its operand there, and later ones may take it from there; whether they do is nobody's business as
// long as the operand is the same one and its memory did not change. So values do not depend on the hints, and what
// would make them is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "domain/word.h"
#include "machine/exec/operand_tile.h"
#include "machine/exec/tcgen05_descriptor.h"
#include "machine/tensor_memory.h"

namespace plumb::machine {

enum class Collecting : std::uint8_t { Discard, Fill, Use, LastUse };

struct CollectorHint {
  Collecting collecting = Collecting::Discard;
  std::uint8_t buffer = 0;  // of those of B
};
// Of a word such as "collector::b2::lastuse"; empty: not one.
std::optional<CollectorHint> collector_hint(std::string_view word);

// An operand that was left in a buffer: which one it is, and its bytes, from the first product of those that share it
// to take effect.
struct CollectorFill {
  Tcgen05Element element = Tcgen05Element::F16;
  bool is_transposed = false, is_in_memory = false;
  TensorAddress address;  // in tensor memory
  Pieces pieces;          // in shared memory
  std::optional<std::vector<std::byte>> bytes;
  std::vector<domain::Tag> tags;

  bool is_same(const CollectorFill& other) const {
    return element == other.element && is_transposed == other.is_transposed && is_in_memory == other.is_in_memory &&
           address.bits() == other.address.bits() && pieces == other.pieces;
  }
};

}  // namespace plumb::machine
