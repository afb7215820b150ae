// SPDX-License-Identifier: Apache-2.0
// Why a candidate is as fast as it is: what the driver's compiler made of it, its machine code by classes, and hardware
// counters where they can be read, boiled down to a few lines.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"
#include "gpu/process.h"
#include "session/gpu_setup.h"

namespace plumb::session {

struct ProfileOptions {
  task::Shape shape;
  std::filesystem::path ptxas, cuobjdump, ncu;  // empty: not here
  std::vector<std::string> bench_command;       // starts a short `plumb bench` of this candidate, for ncu to watch
  double ncu_seconds = 120;
};

struct ProfileOutcome {
  bool has_gpu = true, is_bad_input = false;
  Findings findings;
  nlohmann::json code = nlohmann::json::object();      // registers, spills, shared memory, occupancy
  nlohmann::json machine = nlohmann::json::object();   // instruction counts by class; empty without a disassembler
  nlohmann::json counters = nlohmann::json::object();  // empty where they cannot be read
  std::vector<std::string> lines;                      // at most 30
  bool holds() const { return has_gpu && !is_bad_input && !findings.has_error(); }
};

ProfileOutcome profile_on_gpu(const task::Task& task, const prove::Candidate& candidate, gpu::WorkerProcess& worker,
                              const ProfileOptions& options);

// Instructions of a disassembly (cuobjdump -sass), by opcode with its first modifiers: "LDG.E.128" -> 4.
std::map<std::string, unsigned> count_instructions(std::string_view sass);
// Of ncu's CSV: the counters that `profile` asks for, of its first kernel.
std::map<std::string, double> read_counters(std::string_view csv);

nlohmann::json to_json(const ProfileOutcome& outcome);
std::string to_text(const ProfileOutcome& outcome, bool colour);

}  // namespace plumb::session
