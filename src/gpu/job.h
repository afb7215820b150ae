// SPDX-License-Identifier: Apache-2.0
// What a worker is asked, and in which words: one JSON object per line (docs/gpu.md has the format). The judge builds
// jobs from tasks and candidates; the worker knows neither, it knows buffers, launches and steps.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "gpu/tensor_map.h"

namespace plumb::gpu {

enum class Role : std::uint8_t { In, Out, InOut };

struct BufferPlan {
  std::string name;
  std::uint64_t bytes = 0;
  Role role = Role::In;
  std::uint32_t alignment = 16;  // of its start, in bytes
};

struct ParamValue {
  enum class Kind : std::uint8_t { Buffer, Workspace, Bytes, TensorMap } kind = Kind::Bytes;
  std::uint32_t buffer = 0;  // index of a BufferPlan; of a tensor map: what it describes
  std::string bytes;         // little-endian; longer than the parameter: cut
  TensorMapPlan map = {};
};

struct KernelLaunch {
  std::string ptx, entry;
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
  std::uint32_t shared = 0;
  std::uint64_t workspace = 0;
  std::vector<ParamValue> params;
  std::vector<std::string> variables;  // of the module, which must hold after a launch what they held before
};

// One launch of a test, and what is done around it.
struct Step {
  std::uint32_t inputs = 0;    // which of TestJob::inputs
  bool is_reloaded = false;    // load the module anew before it
  std::uint8_t poison = 0xff;  // what outputs hold before
  std::uint8_t scrub = 0xff;   // what shared memory holds before
  bool is_at_end = true;       // buffers end at an unmapped zone; else they begin at one
  std::string outputs;         // shared memory for what Out and InOut buffers hold after; empty: not fetched
};

struct TestJob {
  KernelLaunch launch;
  std::vector<BufferPlan> buffers;
  std::vector<std::string> inputs;  // shared memories: what In and InOut buffers hold, one after another
  std::vector<Step> steps;
  double launch_seconds = 10;  // a launch that takes longer does not end
};

struct BenchJob {
  std::vector<KernelLaunch> sides;
  std::vector<BufferPlan> buffers;
  std::string inputs;           // one set; further ones hold the same elements, turned round
  std::vector<bool> is_turned;  // per buffer: whether its elements may change places (not where they are indices)
  std::uint64_t seed = 1;       // of the order of sides
  double seconds = 4;           // of measuring, per cache state
  double launch_seconds = 20;
  std::uint32_t checked_sets = 2;
  std::vector<std::string> outputs;  // per side: shared memory for the outputs of the checked sets
};

nlohmann::json to_json(const KernelLaunch& launch);
nlohmann::json to_json(const TestJob& job);
nlohmann::json to_json(const BenchJob& job);
// Null with a finding where a field is missing or of another type.
std::optional<KernelLaunch> read_launch(const nlohmann::json& value, Findings& findings);
std::optional<TestJob> read_test_job(const nlohmann::json& value, Findings& findings);
std::optional<BenchJob> read_bench_job(const nlohmann::json& value, Findings& findings);

// Bytes of all buffers with one of the roles, one after another.
std::uint64_t input_bytes(const std::vector<BufferPlan>& buffers);
std::uint64_t output_bytes(const std::vector<BufferPlan>& buffers);

std::string to_hex(const std::string& bytes);
std::optional<std::string> from_hex(const std::string& text);

}  // namespace plumb::gpu
