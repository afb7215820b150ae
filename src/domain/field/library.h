// SPDX-License-Identifier: Apache-2.0
// Bodies of library routines, which compute on the bits of a float, recognised step by step as they run: each step must
// be the routine's own, with its constants. The single-precision logarithms of libdevice split y = m * 2^k, with m from
// 2/3 to 4/3 (of the binary one: from sqrt(1/2) to sqrt(2)), and add a polynomial in m - 1 to k log(2). Here k and m
// are variables named by y; a value that is that polynomial of that m becomes log(y) - k log(2), and k drops out of the
// sum. That the polynomial is the logarithm, to its stated error of one unit in the last place, is an assumption, and
// is printed.
#pragma once

#include <optional>

#include "domain/field/worker.h"

namespace plumb::domain::field {

// A step on bits; empty when it is none of a routine's.
std::optional<Word> library_op(Field& field, Worker& w, BitOp op, const Word& a, const Word& b);
// k * 2^23 as a number, of the word that holds it.
std::optional<ValueId> library_integer(Worker& w, const Word& word);
// What a sum just made stands for.
Field::Real recognised(Field& field, Worker& w, Field::Real sum);
// Notes that `result` is p ? 2^23 x : x, as the routine begins for subnormal x.
void note_rescaled(Worker& w, ValueId result, Predicates::Id p, ValueId scaled, ValueId x);
// Whether a word is a float that is not below zero: its bits, as an unsigned number, are below those of infinity.
bool is_non_negative_float(Worker& w, const Word& word);

}  // namespace plumb::domain::field
