// SPDX-License-Identifier: Apache-2.0
// How far an output may lie from the reference, and whether it does. The tolerance of an element is derived from the
// types, the reduction's length and the size of the numbers beside it (docs/gpu.md); no absolute constant enters, since
// one that is larger than the answer accepts anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "session/gpu_setup.h"

namespace plumb::session {

// What the source's text and types say about its arithmetic.
struct ErrorModel {
  double accumulate = 0x1p-24;  // unit roundoff of sums
  double operands = 0;          // of operands that are rounded again (tf32, P of attention), summed
  double functions = 0;         // relative error of exp, log, division and the like
  bool has_exponential = false, has_logarithm = false;
  bool has_reduction = false;
  bool has_atomics = false;  // sums in any order: bits differ from run to run
  double declared = 0;       // the task's own relative tolerance
};
ErrorModel error_model(const task::Task& task, const GpuShape& shape, std::string_view kernel_source);

struct Judgement {
  std::string output;
  std::uint64_t elements = 0, compared = 0;
  std::uint64_t unwritten = 0, overwritten = 0, special = 0, wrong = 0;
  std::string first_unwritten, first_overwritten, first_special, worst;  // with element, both values, tolerance, ulps
  double worst_part = 0;  // |difference| / tolerance of the worst finite element
  double largest_ulps = 0;
  bool holds() const { return unwritten + overwritten + special + wrong == 0; }
};

struct Compared {
  const std::byte* candidate = nullptr;
  const std::byte* reference = nullptr;
  const std::byte* before = nullptr;  // what the output held before the launch; null: `poison` everywhere
  unsigned char poison = 0xff;
  // Only elements that the reference has written: the others were not evaluated.
  bool is_partial = false;
};
// `largest_input` is the largest finite magnitude among the float inputs.
Judgement judge(const GpuShape& shape, const task::BoundArg& arg, const ErrorModel& model, double largest_input,
                const Compared& compared);

// The largest finite magnitude among the float inputs of a drawn set.
double largest_magnitude(const GpuShape& shape, const gpu::SharedMemory& inputs);

}  // namespace plumb::session
