// SPDX-License-Identifier: Apache-2.0
// The findings of run logs, providers and the lowering loop.
#pragma once

#include <span>

#include "base/finding.h"

namespace plumb::agent {

extern const Code kRunLog;     // a run log that cannot be read
extern const Code kRunLogCut;  // a line of it was cut off by a kill (a remark)
extern const Code kProviderUnknown;
extern const Code kProviderSetting;  // a setting that a provider needs
extern const Code kProviderKey;      // a key that is missing, or not safe to send
extern const Code kProviderFailed;   // a service that gives no answer, whatever was tried
extern const Code kReplayDiffers;    // a tool answers differently from the log
extern const Code kReplayTask;       // the log is of another task, or another state of it
extern const Code kReplayTools;      // the tool table has changed since (a remark)
extern const Code kNoCandidate;      // the run wrote no candidate
extern const Code kBudget;           // a budget that cannot be read, or not be held
extern const Code kPrices;           // a price table that cannot be read
extern const Code kArguments;        // a call that is not executed: no JSON, or too long
extern const Code kRunOther;         // a run to resume that is of something else
extern const Code kRunInUse;         // two programs would write one run log
extern const Code kMcpToken;         // others could call, and nothing keeps them out
extern const Code kMcpListen;
extern const Code kProposal;   // an entry for the knowledge base that the lowering does not show
extern const Code kNotProved;  // the final candidate is no lowering

std::span<const Code* const> codes();

}  // namespace plumb::agent
