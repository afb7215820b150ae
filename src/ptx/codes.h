// SPDX-License-Identifier: Apache-2.0
// Every finding about a PTX text.
#pragma once

#include <span>

#include "base/finding.h"

namespace plumb::ptx {

extern const Code kNotText;
extern const Code kEmpty;
extern const Code kSyntax;
extern const Code kTruncated;
extern const Code kHeader;
extern const Code kUnknownInstr;
extern const Code kModifier;
extern const Code kUndeclared;
extern const Code kRedeclared;
extern const Code kOperandCount;
extern const Code kOperandKind;
extern const Code kOperandType;
extern const Code kVectorLength;
extern const Code kOperandRange;
extern const Code kTarget;
extern const Code kVersion;
extern const Code kGuard;
extern const Code kTooFewRegisters;
extern const Code kLimit;

// Advice (lint.h).
extern const Code kUnwritten;
extern const Code kMaybeUnwritten;
extern const Code kUnreachable;
extern const Code kNoEnd;
extern const Code kUnusedResult;
extern const Code kUnusedName;
extern const Code kRegisterPressure;
extern const Code kSharedSize;

std::span<const Code* const> codes();

}  // namespace plumb::ptx
