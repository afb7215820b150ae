// SPDX-License-Identifier: Apache-2.0
#include "task/codes.h"

namespace plumb::task {

extern constexpr Code kExpression{
    "task.expression", "an expression over sizes cannot be read",
    "Expressions are integers, names, + - * // % ( ), comparisons, and cdiv(a, b), min(a, ...), max(a, ...),\n"
    "next_power_of_2(a). Division and remainder round as Python's do. Example: grid = [\"cdiv(n, BLOCK)\"]."};
extern constexpr Code kArithmetic{
    "task.arithmetic", "an expression over sizes has no value",
    "The expression divides by zero, or leaves the range of 64-bit signed integers, at the sizes of this shape."};
extern constexpr Code kUnknownName{
    "task.unknown-name", "an expression names something that the shape does not give",
    "Names in expressions are the sizes of the shape, the integer and boolean constexprs, and the integer arguments\n"
    "of the task. Add the size to the shape, or mend the name."};
extern constexpr Code kTaskMissing{
    "task.missing", "a task lacks a key that it needs",
    "A task needs grid, [kernel] with file and function, at least one [[args]], and at least one [[shapes.prove]].\n"
    "docs/task.md has the whole format."};
extern constexpr Code kTaskKey{"task.key", "a task has a key that is not part of the format",
                               "The key is misspelt or belongs elsewhere; docs/task.md lists every key."};
extern constexpr Code kTaskType{"task.type", "a value in a task has the wrong type",
                                "docs/task.md gives the type of every key."};
extern constexpr Code kTaskValue{
    "task.value", "a value in a task cannot be used",
    "The value has the right type but no meaning there; docs/task.md says what may stand."};
extern constexpr Code kShapeGrid{
    "task.shape-grid", "a shape does not fit the grid",
    "Every grid dimension must be at least 1; x at most 2147483647, y and z at most 65535 (the limits of a launch).\n"
    "Change the sizes of the shape or the grid expression."};
extern constexpr Code kShapeSize{
    "task.shape-size", "a shape gives a tensor that cannot be made",
    "Extents must not be negative, a tensor needs at least one element and may have at most 2^40 bytes, and integer\n"
    "arguments must fit their type."};
extern constexpr Code kShapeText{"task.shape-text", "a shape on the command line cannot be read",
                                 "Write sizes as name=integer, separated by commas: --shape M=128,N=64,K=32."};
extern constexpr Code kLaunchMissing{
    "launch.missing", "a candidate does not say how it is launched",
    "Put a launch header in leading comment lines, `//! block = [128]` for instance, or keep Triton's launch JSON\n"
    "beside the PTX under the same name. docs/candidate.md has the keys."};
extern constexpr Code kLaunchValue{
    "launch.value", "a launch header cannot be used",
    "A key is unknown, has the wrong type, or names something that the task does not have.\n"
    "docs/candidate.md has the keys."};
extern constexpr Code kLaunchLimit{
    "launch.limit", "a launch is outside of what a GPU takes",
    "A block has 1 to 1024 threads (x and y at most 1024, z at most 64), a grid at most 2147483647 x 65535 x 65535\n"
    "CTAs, a cluster at most 16 CTAs and divides the grid, dynamic shared memory is at most 232448 bytes."};
extern constexpr Code kLaunchPromise{"launch.promise", "a shape is outside of what the candidate relies on",
                                     "The launch header says divisible_by_16 or requires = [...], and this shape "
                                     "breaks it. The candidate claims nothing\n"
                                     "there: the shape is skipped, and a launcher must take another kernel for it."};

std::span<const Code* const> codes() {
  static constexpr const Code* kAll[] = {&kExpression,    &kArithmetic,  &kUnknownName, &kTaskMissing,  &kTaskKey,
                                         &kTaskType,      &kTaskValue,   &kShapeGrid,   &kShapeSize,    &kShapeText,
                                         &kLaunchMissing, &kLaunchValue, &kLaunchLimit, &kLaunchPromise};
  return kAll;
}

}  // namespace plumb::task
