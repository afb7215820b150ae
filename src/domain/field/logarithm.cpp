// SPDX-License-Identifier: Apache-2.0
#include "domain/field/logarithm.h"

#include "domain/field/prime.h"

namespace plumb::domain::field {
namespace {

constexpr unsigned kSmallBits = 16, kLargeBits = 20;
// Logarithms from the small table that take as long as making the large one.
constexpr std::uint32_t kFromSmall = 1U << 12;

std::uint32_t times(std::uint32_t a, std::uint32_t b, std::uint32_t p) {
  return static_cast<std::uint32_t>(std::uint64_t{a} * b % p);
}
// Twice as many slots as baby steps.
std::uint32_t slot(std::uint32_t a, unsigned baby_bits) { return a * 0x9e3779b1U >> (31 - baby_bits); }

}  // namespace

void Logarithms::set(unsigned repetition, std::uint32_t p, std::uint32_t generator) {
  repetitions_[repetition].p = p;
  repetitions_[repetition].generator = generator;
}

void Logarithms::make(Table& table, unsigned baby_bits, std::uint32_t p, std::uint32_t generator) {
  const std::uint32_t slots = 2U << baby_bits;
  table.powers.assign(slots, 0);
  table.exponents.resize(slots);
  std::uint32_t a = 1;
  for (std::uint32_t e = 0; e < 1U << baby_bits; ++e) {
    std::uint32_t at = slot(a, baby_bits);
    while (table.powers[at] != 0) at = (at + 1) % slots;
    table.powers[at] = a;
    table.exponents[at] = e;
    a = times(a, generator, p);
  }
  table.giant = power(a, p - 2, p);
}

std::uint32_t Logarithms::operator()(unsigned repetition, std::uint32_t a) {
  Repetition& own = repetitions_[repetition];
  const std::uint32_t p = own.p, q = (p - 1) / 2;
  const bool is_small = own.asked.fetch_add(1, std::memory_order_relaxed) < kFromSmall;
  const unsigned baby_bits = is_small ? kSmallBits : kLargeBits;
  Table& table = is_small ? own.small : own.large;
  std::call_once(table.made, [&] { make(table, baby_bits, p, own.generator); });
  if (power(a, q, p) != 1) a = p - a;  // exactly one of a and -a is a square, p being 3 modulo 4
  for (std::uint32_t giant = 0;; giant += 1U << baby_bits) {
    for (std::uint32_t at = slot(a, baby_bits); table.powers[at] != 0; at = (at + 1) % (2U << baby_bits)) {
      if (table.powers[at] == a) return (giant + table.exponents[at]) % q;
    }
    a = times(a, table.giant, p);
  }
}

}  // namespace plumb::domain::field
