// SPDX-License-Identifier: Apache-2.0
// Integers of data as words of bits, each a decision diagram over bits of the input. Every operation here gives exactly
// the function of the input's bits that the integer operation is, or nothing.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "domain/field/fixed.h"
#include "domain/field/predicate.h"
#include "domain/field/worker.h"

namespace plumb::domain::field {

// Operations without a name here are tabulated over all bits that their operands depend on, up to this many; a sum's
// bit may depend on as many.
inline constexpr unsigned kMostBits = 12;

struct BitWord {
  std::array<Predicates::Id, 64> bit{};  // kFalse above the word
};

std::string_view name(BitOp op);
// The permutations and merges of bytes (bit_op.cpp); false, without a fault, for anything else.
bool byte_op(Field& field, Worker& w, BitOp op, unsigned width, const Word& a, const Word& b, const Word& c,
             std::uint32_t immediate, Word& out);

bool has_tags(const Word& word);
// Whether every abstract byte of the word is an integer's.
bool is_integral(Worker& w, const Word& word);
// Empty when some byte is a float's or of a sum of products.
std::optional<BitWord> bits_of(Worker& w, const Word& word);
Word word_of(Worker& w, const BitWord& bits, unsigned bytes);

// The named operations on `width` bits; empty when a bit would depend on too much, or the operation has no rule.
std::optional<BitWord> bit_word_op(Worker& w, BitOp op, unsigned width, const BitWord& a, const BitWord& b,
                                   const BitWord& c, std::uint32_t immediate);
// Any function of words, by its table. Empty when they depend on more than kMostBits bits.
std::optional<BitWord> tabulate(Worker& w, unsigned result, const BitWord& a, const BitWord& b, const BitWord& c,
                                const IntFunction& fn);
// Whether a is below b, and whether they are equal.
Predicates::Id below(Worker& w, unsigned width, bool is_signed, const BitWord& a, const BitWord& b);
Predicates::Id equal(Worker& w, unsigned width, const BitWord& a, const BitWord& b);
// The float whose bits these are, just made and not finished. False when it depends on too many bits or is an infinity
// or NaN for some of them.
struct Decoded {
  ValueId id = kNoValue;
  std::optional<Fixed> known;
};
bool decoded(Worker& w, Format f, const BitWord& bits, Decoded& out);

}  // namespace plumb::domain::field
