// SPDX-License-Identifier: Apache-2.0
// What the schedule checker can report.
#pragma once

#include <span>

#include "base/finding.h"

namespace plumb::check {

extern const Code kRaceShared;
extern const Code kRaceGlobal;
extern const Code kRaceCrossCta;
extern const Code kRaceCluster;
extern const Code kRaceSameInstr;
extern const Code kDuplicateWrite;
extern const Code kUnwaitedRead;
extern const Code kUnwaitedWrite;
extern const Code kCopyOverwrites;
extern const Code kCopySource;
extern const Code kOverlappingCopies;
extern const Code kUnwaitedExit;
extern const Code kBarrierReentry;
extern const Code kProxyFence;
extern const Code kMapFence;
extern const Code kMbarrierInit;
extern const Code kMbarrierPhase;
extern const Code kMbarrierExpect;
extern const Code kMbarrierLag;
extern const Code kClusterStart;
extern const Code kClusterExit;
extern const Code kTensorRead;
extern const Code kTensorWrite;
extern const Code kTensorOverwrite;
extern const Code kTensorLifetime;
extern const Code kTensorFence;
extern const Code kTensorShift;
extern const Code kAtomicMix;
extern const Code kAtomicResult;
extern const Code kScheduleValue;
extern const Code kOrderUnmodelled;

std::span<const Code* const> codes();

}  // namespace plumb::check
