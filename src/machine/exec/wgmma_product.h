// SPDX-License-Identifier: Apache-2.0
// What a wgmma instruction multiplies, and the product itself, over the registers of all four warps.
#pragma once

#include <bit>
#include <cstdint>

#include "machine/exec/descriptor.h"
#include "machine/warpgroup.h"

namespace plumb::machine {

enum class WgmmaElement : std::uint8_t { F16, BF16, Tf32, E4M3, E5M2, S8, U8, B1 };
enum class WgmmaSum : std::uint8_t { F32, F16, S32 };

// One instruction's shape and types; travels in Op::imm.
struct WgmmaSpec {
  std::uint16_t n = 0;
  WgmmaElement a = WgmmaElement::F16, b = WgmmaElement::F16;
  WgmmaSum sum = WgmmaSum::F32;
  std::uint8_t flags = 0;
  std::uint8_t selector = 0;
  std::uint8_t padding = 0;

  static constexpr std::uint8_t kRegisterA = 1, kSparse = 2, kSaturating = 4, kTransposedA = 8, kTransposedB = 16,
                                kNegated = 32;
  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }

  static WgmmaSpec of(std::uint64_t imm) { return std::bit_cast<WgmmaSpec>(imm); }
  std::uint64_t bits() const { return std::bit_cast<std::uint64_t>(*this); }

  bool is_integer() const { return a >= WgmmaElement::S8; }
  unsigned element_bytes() const {  // b1 counts in bytes
    return a <= WgmmaElement::BF16 ? 2 : a == WgmmaElement::Tf32 ? 4 : 1;
  }
  // Elements of K (bytes of b1) that are stored of A, and that B has.
  unsigned stored_k() const { return 32 / element_bytes(); }
  unsigned k() const { return has(kSparse) ? 2 * stored_k() : stored_k(); }
  unsigned results() const { return sum == WgmmaSum::F16 ? n / 4U : n / 2U; }  // registers
  OperandTile a_tile() const {
    return has(kTransposedA) ? OperandTile{64, stored_k(), true} : OperandTile{64, 32, false};
  }
  OperandTile b_tile() const {
    return has(kTransposedB) ? OperandTile{n, k(), true} : OperandTile{n, k() * element_bytes(), false};
  }
};
static_assert(sizeof(WgmmaSpec) == 8);

// Registers of an operation: its results, then those of A when it is in registers.
inline constexpr unsigned kWgmmaSources = 4;

// Products that follow each other on one accumulator leave it in the scratch, not in the registers.
struct SumsAtHand {
  bool before = false, after = false;
};
// For all four warps; `waiting` is the one that runs.
template <class D>
void multiply(WarpRun<D>& waiting, const WarpgroupProduct<D>& product, SumsAtHand sums,
              typename Warpgroup<D>::Scratch& scratch);

}  // namespace plumb::machine
