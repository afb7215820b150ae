// SPDX-License-Identifier: Apache-2.0
#include "triton/codes.h"

#include <array>

namespace plumb::triton {

extern constexpr Code kPythonMissing{
    "triton.python-missing", "no Python interpreter to parse the source with",
    "A Triton source is parsed by the `ast` module of a `python3` (3.8 or later) found on PATH. The source is parsed "
    "only, never run; no package is needed."};
extern constexpr Code kPythonFailed{
    "triton.python-failed", "the Python child that parses the source failed",
    "The child process ended by a signal, took longer than its time limit, wrote more than its output limit, or "
    "answered something that is not a tree. The message says which."};
extern constexpr Code kNotText{"triton.not-text", "the Triton source is not a text that Python can read",
                               "A Triton source is UTF-8 text without NUL bytes, at most 4 MiB long."};
extern constexpr Code kSyntax{"triton.syntax", "the source is not valid Python",
                              "The message is CPython's own; line and column are where its parser stopped."};
extern constexpr Code kNoFunction{
    "triton.no-function", "the named kernel is not in the source",
    "The function must be defined at module level and decorated with `@triton.jit` (alone or under "
    "`@triton.autotune` and `@triton.heuristics`)."};
extern constexpr Code kUnsupported{
    "triton.unsupported", "a Triton or Python construct that plumb does not evaluate",
    "Every construct of a kernel and of the jitted functions it calls must have an exact meaning in plumb before "
    "anything is evaluated. docs/triton.md lists what is supported; Triton itself rejects some of the rest."};
extern constexpr Code kCall{"triton.call", "the call does not fit the kernel's parameters",
                            "Every parameter without a default needs an argument, a parameter annotated "
                            "`tl.constexpr` a constexpr one, and no argument may be left over."};
extern constexpr Code kName{
    "triton.name", "a name has no value here",
    "As in Triton's compiler, a name first assigned inside a loop, or in one branch of a run-time `if`, is not visible "
    "after it."};
extern constexpr Code kType{
    "triton.type", "operands do not fit together",
    "Types, shapes and broadcasting follow Triton 3.6's own rules; the message names the types."};
extern constexpr Code kConstexpr{
    "triton.constexpr", "a value must be known at compile time",
    "Shapes, axes, `tl.arange` bounds, `tl.static_range` bounds and options are constexprs: "
    "literals, `tl.constexpr` parameters and what is computed from them."};
extern constexpr Code kOutOfBounds{
    "triton.out-of-bounds", "the kernel accesses memory outside its tensors",
    "A lane whose mask is true, or an access without a mask, must lie inside one tensor."};
extern constexpr Code kUndefined{"triton.undefined", "an unspecified value is used",
                                 "A masked lane of a load without `other` has no specified value, and memory that was "
                                 "never written has none. Such a "
                                 "value may be computed with and dropped by a mask; it may not be stored, become an "
                                 "address, a mask or a condition."};
extern constexpr Code kArithmetic{
    "triton.arithmetic", "an integer operation without a defined result",
    "Division and remainder by zero, the overflowing division of the smallest integer by -1, "
    "and shifts by the width or more are undefined in Triton."};
extern constexpr Code kDescriptor{
    "triton.descriptor", "a tensor descriptor breaks its rules",
    "The base is 16-byte aligned, the last stride is 1, the other strides are multiples of 16 bytes, and sizes are "
    "positive."};
extern constexpr Code kAssert{
    "triton.assert", "an assertion of the source does not hold",
    "`tl.static_assert`, and `assert` over constexprs, are decided while the source is evaluated."};
extern constexpr Code kHint{"triton.hint", "a promise of the source to its compiler is false",
                            "`tl.multiple_of`, `tl.max_contiguous` and `tl.assume` are promises; a false one is "
                            "undefined behaviour in Triton."};
extern constexpr Code kMetadata{
    "triton.metadata", "an integer tensor has abstract values",
    "Integers are concrete in every domain. A tensor of integers that feeds addresses, masks or arithmetic (labels, "
    "tables, packed weights) is declared `metadata = true` in the task, made concrete and drawn afresh per trial."};
extern constexpr Code kData{
    "triton.data", "a decision depends on abstract data",
    "A mask, a branch, an address or an integer depends on the values of float tensors, which are "
    "abstract in this domain."};
extern constexpr Code kBudget{
    "triton.budget", "the evaluation used up its step budget",
    "The budget counts element operations over all programs; raise it, or choose a smaller shape."};
extern constexpr Code kCancelled{"triton.cancelled", "the evaluation was cancelled",
                                 "The progress callback of the evaluation answered that it should stop."};

std::span<const Code* const> codes() {
  static constexpr std::array<const Code*, 20> kAll = {
      &kPythonMissing, &kPythonFailed, &kNotText,   &kSyntax,      &kNoFunction, &kUnsupported, &kCall,
      &kName,          &kType,         &kConstexpr, &kOutOfBounds, &kUndefined,  &kArithmetic,  &kDescriptor,
      &kAssert,        &kHint,         &kMetadata,  &kData,        &kBudget,     &kCancelled};
  return kAll;
}

}  // namespace plumb::triton
