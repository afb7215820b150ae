// SPDX-License-Identifier: Apache-2.0
// The inner loop of the matrix product: blocks of residues, eight to a number.
#pragma once

#include <cstdint>

#include "domain/field/residue.h"

namespace plumb::domain::field {

// out[i * n + j] = sum over k of a[i * k + l] * b[j * k + l], reduced; all in Montgomery form. `a` has m rows, `b` has
// n rows (the columns of the right operand), each of k numbers, contiguous.
void block_product(const Modulus& modulus, const Residues* a, const Residues* b, std::uint32_t m, std::uint32_t n,
                   std::uint32_t k, Residues* out);

}  // namespace plumb::domain::field
