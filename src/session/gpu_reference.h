// SPDX-License-Identifier: Apache-2.0
// What the Triton source leaves, evaluated on the CPU: whole where that is quick, else for some of its programs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "session/gpu_setup.h"
#include "triton/kernel.h"

namespace plumb::session {

struct Reference {
  std::unique_ptr<domain::Memory> memory;  // outputs that no evaluated program wrote hold the poison, or their inputs
  std::uint64_t programs = 0, all_programs = 0;
  bool is_partial() const { return programs < all_programs; }
};

// At most about `seconds`; null when not even one program could be evaluated, with the reason as a finding. A source
// with atomics is evaluated whole or not at all.
std::optional<Reference> evaluate_reference(const GpuShape& shape, const triton::Kernel& kernel,
                                            const gpu::SharedMemory& inputs, unsigned char poison, bool has_atomics,
                                            double seconds, std::uint64_t seed, unsigned workers, Findings& findings);

}  // namespace plumb::session
