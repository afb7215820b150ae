// SPDX-License-Identifier: Apache-2.0
// What the checker needs to know about each instruction of an entry, read off the text once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/finding.h"
#include "ptx/module.h"

namespace plumb::check {

struct InstrFacts {
  std::string opcode;  // "ld.shared.b32"
  Place place;
  std::uint32_t line = 0;
  bool is_collective = false;      // ldmatrix, stmatrix: lanes access for each other
  bool is_arrive_only = false;     // bar.arrive: publishes, learns nothing
  bool is_copy_wait = false;       // cp.async.wait_group, cp.async.wait_all
  bool is_schedule_value = false;  // reads %clock, %smid, activemask, ...
  bool is_result_used = false;     // atom whose destination is read
  bool is_float_atomic = false;
  std::uint64_t commuting_op = 0;  // atomics that commute with each other share a non-zero number
};

std::vector<InstrFacts> facts_of(const ptx::Module& module, const ptx::Function& entry);

}  // namespace plumb::check
