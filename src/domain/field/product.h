// SPDX-License-Identifier: Apache-2.0
// The inner loop of the matrix product: blocks of residues, eight to a number.
#pragma once

#include <cstdint>
#include <span>

#include "domain/field/residue.h"

namespace plumb::domain::field {

// `k` columns of the left operand and as many rows of the right one: `a` has m rows, `b` has n rows (the right
// operand's columns), each of k numbers, contiguous.
struct Segment {
  const Residues* a = nullptr;
  const Residues* b = nullptr;
  std::uint32_t k = 0;
};

// out[i * n + j] = sum over segments and l of a[i * k + l] * b[j * k + l], reduced; all in Montgomery form.
void block_product(const Modulus& modulus, std::span<const Segment> segments, std::uint32_t m, std::uint32_t n,
                   Residues* out);

}  // namespace plumb::domain::field
