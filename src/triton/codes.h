// SPDX-License-Identifier: Apache-2.0
// The codes of findings about Triton sources and their evaluation.
#pragma once

#include <span>

#include "base/finding.h"

namespace plumb::triton {

extern const Code kPythonMissing;  // no interpreter to parse with
extern const Code kPythonFailed;   // the parsing child ended otherwise than it should
extern const Code kNotText;        // the source is no UTF-8 text, or too large
extern const Code kSyntax;         // Python's own parser refuses the source
extern const Code kNoFunction;     // the named function is not there or no @triton.jit function
extern const Code kUnsupported;    // a construct that plumb does not evaluate
extern const Code kCall;           // arguments that do not fit the kernel's parameters
extern const Code kName;           // a name without a value
extern const Code kType;           // operands or arguments of a wrong type or shape
extern const Code kConstexpr;      // a value that must be known at compile time
extern const Code kOutOfBounds;    // an access outside every buffer
extern const Code kUndefined;      // an unspecified value reached a place where it matters
extern const Code kArithmetic;     // division by zero, shift past the width
extern const Code kDescriptor;     // a tensor descriptor that breaks its alignment rules
extern const Code kAssert;         // a compile-time assertion does not hold
extern const Code kHint;           // a false `tl.multiple_of`, `tl.assume`, ...
extern const Code kMetadata;       // an integer tensor whose values are abstract
extern const Code kData;           // data decides where a decision must be known
extern const Code kBudget;         // the step budget is used up
extern const Code kCancelled;      // the caller asked to stop

std::span<const Code* const> codes();

}  // namespace plumb::triton
