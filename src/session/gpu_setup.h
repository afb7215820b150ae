// SPDX-License-Identifier: Apache-2.0
// From a task, a candidate and a shape to what a GPU worker takes: buffers, parameters, drawn inputs. The spec's memory
// gets the same bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "domain/memory.h"
#include "gpu/job.h"
#include "gpu/shared_memory.h"
#include "prove/prove.h"
#include "task/launch.h"
#include "task/task.h"

namespace plumb::session {

// What float inputs are drawn from.
enum class Family : std::uint8_t {
  Normal,    // mean 0, variance 1
  Integers,  // -4 to 4, exact in every type
  Wide,      // normal times 10^u, u even in -2 to 2
  Large,     // normal times 1000, times 60 in types of narrow range
  Offset,    // 100 plus normal
  Zeros,
  Special,  // normal, with one in 50 NaN, an infinity, -0 or subnormal
};
std::string_view name(Family family);

// A shape that the candidate claims, bound.
struct GpuShape {
  task::Bound bound;
  task::BoundLaunch launch;
};
// Null without a finding where the candidate does not claim the shape; `skipped` then says why.
std::optional<GpuShape> bind_gpu_shape(const task::Task& task, const prove::Candidate& candidate,
                                       const task::Shape& shape, Findings& findings, Findings& skipped);

std::vector<gpu::BufferPlan> make_buffers(const GpuShape& shape, bool is_aligned);
std::optional<gpu::KernelLaunch> make_gpu_launch(const prove::Candidate& candidate, const GpuShape& shape,
                                                 Findings& findings);

// Inputs as the worker takes them: In and InOut tensors one after another.
std::unique_ptr<gpu::SharedMemory> draw_inputs(const GpuShape& shape, Family family, std::uint64_t seed,
                                               unsigned workers, Findings& findings);
// Memory for the Triton evaluator, without a workspace: inputs as above, outputs filled with `poison`.
std::unique_ptr<domain::Memory> make_spec_memory(const GpuShape& shape, const gpu::SharedMemory& inputs,
                                                 unsigned char poison, Findings& findings);

}  // namespace plumb::session
