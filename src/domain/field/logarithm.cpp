// SPDX-License-Identifier: Apache-2.0
#include "domain/field/logarithm.h"

#include "domain/field/prime.h"

namespace plumb::domain::field {
namespace {

constexpr std::uint32_t kBaby = 1U << 20;
constexpr std::uint32_t kSlots = kBaby << 1;

std::uint32_t times(std::uint32_t a, std::uint32_t b, std::uint32_t p) {
  return static_cast<std::uint32_t>(std::uint64_t{a} * b % p);
}
std::uint32_t slot(std::uint32_t a) { return a * 0x9e3779b1U >> 11; }
static_assert(kSlots == 1U << (32 - 11));

}  // namespace

void Logarithms::set(unsigned repetition, std::uint32_t p, std::uint32_t generator) {
  tables_[repetition].p = p;
  tables_[repetition].generator = generator;
}

void Logarithms::make(Table& table) {
  const std::uint32_t p = table.p;
  table.powers.assign(kSlots, 0);
  table.exponents.resize(kSlots);
  std::uint32_t a = 1;
  for (std::uint32_t e = 0; e < kBaby; ++e) {
    std::uint32_t at = slot(a);
    while (table.powers[at] != 0) at = (at + 1) % kSlots;
    table.powers[at] = a;
    table.exponents[at] = e;
    a = times(a, table.generator, p);
  }
  table.giant = power(a, p - 2, p);
}

std::uint32_t Logarithms::operator()(unsigned repetition, std::uint32_t a) {
  Table& table = tables_[repetition];
  std::call_once(table.made, [&] { make(table); });
  const std::uint32_t p = table.p, q = (p - 1) / 2;
  if (power(a, q, p) != 1) a = p - a;  // exactly one of a and -a is a square, p being 3 modulo 4
  for (std::uint32_t giant = 0;; giant += kBaby) {
    for (std::uint32_t at = slot(a); table.powers[at] != 0; at = (at + 1) % kSlots) {
      if (table.powers[at] == a) return (giant + table.exponents[at]) % q;
    }
    a = times(a, table.giant, p);
  }
}

}  // namespace plumb::domain::field
