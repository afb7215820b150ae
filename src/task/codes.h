// SPDX-License-Identifier: Apache-2.0
// The findings of tasks, shapes, launch headers and their expressions.
#pragma once

#include <span>

#include "base/finding.h"

namespace plumb::task {

extern const Code kExpression;     // an expression that cannot be read
extern const Code kArithmetic;     // division by zero, overflow
extern const Code kUnknownName;    // a name that is neither a size, a constexpr nor an integer argument
extern const Code kTaskMissing;    // a key that a task needs
extern const Code kTaskKey;        // a key that a task does not have
extern const Code kTaskType;       // a value of the wrong type
extern const Code kTaskValue;      // a value of the right type that means nothing
extern const Code kShapeGrid;      // a shape whose grid cannot be launched
extern const Code kShapeSize;      // a shape that makes a tensor negative, empty or too large
extern const Code kShapeText;      // a shape on a command line that cannot be read
extern const Code kLaunchMissing;  // a candidate without a launch header
extern const Code kLaunchValue;    // a launch header that cannot be used
extern const Code kLaunchLimit;    // a launch that no target takes
extern const Code kLaunchPromise;  // a shape outside of what the candidate relies on

std::span<const Code* const> codes();

}  // namespace plumb::task
