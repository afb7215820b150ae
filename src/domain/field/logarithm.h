// SPDX-License-Identifier: Apache-2.0
// Discrete logarithms to the base w modulo p, by baby steps and giant steps. Tables are made on first use: a small one,
// and, once many logarithms were asked for, one whose making takes longer and whose use does not.
#pragma once

#include <array>
#include <atomic>
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
    std::uint32_t giant = 0;               // w to the minus number of baby steps
    std::vector<std::uint32_t> powers;     // open addressing; 0: free
    std::vector<std::uint32_t> exponents;  // of w
    std::once_flag made;
  };
  struct Repetition {
    std::uint32_t p = 0, generator = 0;
    std::atomic<std::uint32_t> asked{0};
    Table small, large;
  };
  static void make(Table& table, unsigned baby_bits, std::uint32_t p, std::uint32_t generator);

  std::array<Repetition, kRepetitions> repetitions_;
};

}  // namespace plumb::domain::field
