// SPDX-License-Identifier: Apache-2.0
// The findings of the tool table, and every finding of the folders below, for `explain`.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/finding.h"

namespace plumb::session {

extern const Code kTool;       // a tool that the table does not have
extern const Code kInput;      // a tool's input that its schema does not allow
extern const Code kFileName;   // a file outside of the run folder
extern const Code kPatch;      // a patch that does not apply
extern const Code kTarget;     // a candidate for another target
extern const Code kEntry;      // an entry that the module does not have
extern const Code kArray;      // a .npy file that cannot be read
extern const Code kArrayType;  // an array that does not suit the argument
extern const Code kNoTask;     // a tool that needs a task
extern const Code kUnknownCode;
extern const Code kUnknownForm;
extern const Code kNewTask;             // a description that makes no task
extern const Code kSuite;               // no such task in the suite, or results that are none
extern const Code kPtxasError;          // ptxas refuses the text
extern const Code kScaffold;            // a scaffold that there is not
extern const Code kKnowledge;           // an entry of the knowledge base that is none, or that there is not
extern const Code kMutationOperator;    // a kind of fault that there is not
extern const Code kMutationOfUnproved;  // mutants of a candidate that does not hold
extern const Code kPtxasWarning;        // what ptxas warns of
extern const Code kSpills;              // registers that ptxas keeps in local memory

std::span<const Code* const> codes();
// Of this folder and all below it, sorted by id.
std::vector<const Code*> all_codes();

}  // namespace plumb::session
