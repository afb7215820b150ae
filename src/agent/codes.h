// SPDX-License-Identifier: Apache-2.0
// The findings of run logs, providers and the lowering loop.
#pragma once

#include <span>

#include "base/finding.h"

namespace plumb::agent {

extern const Code kRunLog;     // a run log that cannot be read
extern const Code kRunLogCut;  // a line of it was cut off by a kill (a remark)
extern const Code kProviderUnknown;
extern const Code kProviderNotBuilt;
extern const Code kReplayDiffers;  // a tool answers differently from the log
extern const Code kReplayTask;     // the log is of another task, or another state of it
extern const Code kReplayTools;    // the tool table has changed since (a remark)
extern const Code kNoCandidate;    // the run wrote no candidate
extern const Code kRunInUse;       // two programs would write one run log
extern const Code kMcpToken;       // others could call, and nothing keeps them out
extern const Code kMcpListen;
extern const Code kNotProved;  // the final candidate is no lowering

std::span<const Code* const> codes();

}  // namespace plumb::agent
