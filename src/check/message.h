// SPDX-License-Identifier: Apache-2.0
// Turns conflicts into findings: both places, threads, bytes, and the line that would mend it.
#pragma once

#include <vector>

#include "base/finding.h"
#include "check/facts.h"
#include "check/log.h"
#include "domain/memory.h"
#include "machine/machine.h"

namespace plumb::check {

struct Scene {
  const std::vector<InstrFacts>& facts;
  machine::Dim3 grid, block;
  const domain::Memory* memory = nullptr;
  bool is_cluster = false;  // shared addresses hold the rank of a CTA
};

Finding describe(const Scene& scene, const Conflict& conflict);

}  // namespace plumb::check
