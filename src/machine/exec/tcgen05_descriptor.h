// SPDX-License-Identifier: Apache-2.0
// The three descriptors of tcgen05.mma, decoded and checked: where an operand lies in shared memory, what the
// instruction multiplies, and which columns of B `.ws` zeroes. `ptxas` looks into none of them, so every rule is
// checked here. A refusal is a misuse, or a case on which what is published disagrees (`is_open`): that one has no
// meaning here.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>

#include "base/finding.h"
#include "machine/exec/descriptor.h"

namespace plumb::machine {

// Beside kDescriptor, which is for the descriptors of matrices in shared memory.
extern const Code kInstructionDescriptor;  // an instruction descriptor or column mask that no product has
extern const Code kTensorOperand;          // an operand of a product that does not lie in tensor memory as it must
extern const Code kTensorIssue;            // several threads issue an operation that one should

enum class Tcgen05Kind : std::uint8_t { F16, Tf32, F8f6f4, I8, Mxf8f6f4, Mxf4, Mxf4nvf4 };
enum class Tcgen05Element : std::uint8_t { F16, BF16, Tf32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8 };
enum class Tcgen05Sum : std::uint8_t { F16, F32, S32 };

constexpr bool has_block_scales(Tcgen05Kind kind) { return kind >= Tcgen05Kind::Mxf8f6f4; }
constexpr bool has_six_bits(Tcgen05Element element) {
  return element == Tcgen05Element::E2M3 || element == Tcgen05Element::E3M2;
}
// Two elements in each byte.
constexpr bool is_packed(Tcgen05Kind kind) { return kind >= Tcgen05Kind::Mxf4; }

// Whether a product of 4-bit elements may take K = 96: the target has it, and the text names the block of a scale. It
// is unclear where the manual and NVIDIA's library differ on the target, or where the text names scales by their number
// in a row, for which the manual counts as many as with K = 64.
enum class Tcgen05Wide : std::uint8_t { No, Unclear, Yes };

// What the instruction's text says.
struct Tcgen05Form {
  Tcgen05Kind kind = Tcgen05Kind::F16;
  bool is_sparse = false;
  bool is_stationary = false;   // .ws
  bool is_a_in_memory = false;  // A in tensor memory
  std::uint8_t group = 1;       // CTAs
  std::uint8_t scales = 0;      // of each row of 32 bytes, with block scales
  Tcgen05Wide wide = Tcgen05Wide::No;
};

// One product: the text and the instruction descriptor together. With two CTAs, `m` and `n` are those of the pair.
struct Tcgen05Spec {
  Tcgen05Form form;
  std::uint16_t m = 0, n = 0;
  Tcgen05Element a = Tcgen05Element::F16, b = Tcgen05Element::F16;
  Tcgen05Sum sum = Tcgen05Sum::F32;
  bool is_saturating = false;
  bool is_a_negated = false, is_b_negated = false;
  bool is_a_transposed = false, is_b_transposed = false;  // MN-major
  bool is_scale_ue4m3 = false;
  bool is_wide = false;                         // K = 96: rows of 48 bytes
  std::uint8_t selector = 0;                    // of sparse metadata
  std::uint8_t scale_a_id = 0, scale_b_id = 0;  // the first byte of the scales' cells

  unsigned element_bits() const;  // in memory, holders included
  unsigned stored_k() const {
    return (is_wide ? 384 : 256) / element_bits();
  }  // elements of a row of A that are stored
  unsigned k() const { return form.is_sparse ? 2 * stored_k() : stored_k(); }
  unsigned a_rows() const { return m / form.group; }                                     // in each CTA
  unsigned b_rows() const { return n / form.group; }                                     // in each CTA
  unsigned line_scales() const { return is_wide ? 3U * form.scales / 2 : form.scales; }  // of a row of A, a column of B
  OperandTile a_tile() const;
  OperandTile b_tile() const;
};

struct Refusal {
  std::string text;
  bool is_open = false;  // not a misuse: nobody is known to say what happens
};

// Empty: `refusal` says why.
std::optional<Tcgen05Spec> decode_instruction(std::uint32_t bits, const Tcgen05Form& form, Refusal& refusal);

// The swizzles of a tcgen05 descriptor are wgmma's and one more, so that the pieces of a tile are found in the same
// way.
std::optional<MatrixDescriptor> decode_tcgen05_descriptor(std::uint64_t bits, Refusal& refusal);
// Whether a product may read this tile so. `is_k_major_only`: elements of 4 bits.
bool may_read_tile(const MatrixDescriptor& descriptor, const OperandTile& tile, Refusal& refusal);

// Columns of B: which of the product's are zeroed, and how far the first one lies in B's tile.
struct ColumnMask {
  std::bitset<256> zeroed;
  unsigned shift = 0;
};
std::optional<ColumnMask> decode_column_mask(std::uint64_t bits, unsigned m, unsigned n, Refusal& refusal);

}  // namespace plumb::machine
