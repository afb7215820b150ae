// SPDX-License-Identifier: Apache-2.0
// The operations of atomics and of asynchronous reductions, on one element.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/finding.h"
#include "domain/word.h"
#include "ptx/module.h"

namespace plumb::machine {

enum class ReduceOp : std::uint8_t { And, Or, Xor, Exch, Cas, Add, Inc, Dec, Min, Max };

struct Reduction {
  ReduceOp op = ReduceOp::Add;
  ptx::Type type = ptx::Type::b32;
  bool flushes = false;  // subnormal floats become zero of their sign
};

// Why a reduction has no result: a defect (code kUndefined), or unmodelled (code kUnmodelled).
struct ReduceError {
  const Code* code = nullptr;
  std::string text;
};

// The operation that an instruction names; Add when it names none.
ReduceOp reduce_op_of(const ptx::Instr& instr);

// The element's new value; empty after an error. `c` is the swap value of Cas.
template <class D>
std::optional<domain::Word> reduced(D& dom, const Reduction& reduction, const domain::Word& old, const domain::Word& b,
                                    const domain::Word& c, ReduceError& error);

}  // namespace plumb::machine
