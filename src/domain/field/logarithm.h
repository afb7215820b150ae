// SPDX-License-Identifier: Apache-2.0
// Discrete logarithms to the base w modulo p, by baby steps and giant steps. The table is large and made on first use.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <vector>

#include "domain/field/field.h"

namespace plumb::domain::field {

class Logarithms {
 public:
  // `generator` has order q = (p - 1) / 2, both in plain form.
  void set(unsigned repetition, std::uint32_t p, std::uint32_t generator);
  // The exponent e < q with w^e = a or -a, for a not zero, plain form. Safe from any thread.
  std::uint32_t operator()(unsigned repetition, std::uint32_t a);

 private:
  struct Table {
    std::uint32_t p = 0, generator = 0, giant = 0;  // giant: w^-kBaby
    std::vector<std::uint32_t> powers;              // open addressing; 0: free
    std::vector<std::uint32_t> exponents;
    std::once_flag made;
  };
  static void make(Table& table);

  std::array<Table, kRepetitions> tables_;
};

}  // namespace plumb::domain::field
