// SPDX-License-Identifier: Apache-2.0
// What the checker needs to know about each instruction of an entry, read off the text once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "ptx/module.h"

namespace plumb::check {

struct InstrFacts {
  std::string opcode;  // "ld.shared.b32"
  Place place;
  std::uint32_t line = 0;
  std::uint32_t loop_line = 0;      // where the outermost loop that it is in begins; 0: it is in none
  bool is_collective = false;       // ldmatrix, stmatrix: lanes access for each other
  bool is_arrive_only = false;      // bar.arrive: publishes, learns nothing
  bool is_copy_wait = false;        // cp.async.wait_group, cp.async.wait_all
  bool is_schedule_value = false;   // reads %clock, %smid, activemask, ...; a poll whose outcome is used
  bool is_async_proxy = false;      // works through the async proxy: bulk and tensor copies, wgmma
  bool is_product = false;          // wgmma
  bool is_plain_copy = false;       // cp.async, not bulk
  bool is_pair = false;             // cta_group::2
  bool is_init_fence = false;       // fence.mbarrier_init
  bool is_mbarrier_word = false;    // mbarrier.init, mbarrier.inval
  bool is_map_release = false;      // tensormap.cp_fenceproxy: writes a tensor map for others to acquire
  bool is_async_reduction = false;  // cp.reduce.async.bulk, red.async
  bool is_result_used = false;      // atom whose destination is read
  bool is_float_atomic = false;
  std::uint64_t commuting_op = 0;  // atomics that commute with each other share a non-zero number
};

// By the numbers that an observer hears: the entry's instructions first, then those of the functions that it calls,
// whose places `place` gives (machine::Program::place; an empty span ends them). Empty `place`: the entry's only.
std::vector<InstrFacts> facts_of(const ptx::Module& module, const ptx::Function& entry,
                                 const std::function<Place(std::uint32_t)>& place);

}  // namespace plumb::check
