// SPDX-License-Identifier: Apache-2.0
// From a bound task to what the engines take: equal memories, the machine's launch, Triton's call. Both sides of a
// proof, and `plumb run`, are set up here, so that they cannot disagree about where an argument lies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "domain/memory.h"
#include "machine/machine.h"
#include "prove/prove.h"
#include "task/launch.h"
#include "task/task.h"
#include "triton/kernel.h"

namespace plumb::prove {

enum class Data : std::uint8_t {
  Abstract,  // field domain: inputs are free variables; metadata is drawn
  Integers,  // small integers that every float type holds exactly
  Normal,    // normal, see Setup::offset and Setup::scale
};

enum class Alignment : std::uint8_t {
  Whole,       // at 256-byte boundaries
  OneElement,  // one element past them
  EightBytes,  // eight bytes past them
  Outputs,     // what is written one element past them, inputs at them
  One,         // Setup::odd_tensor alone one element past them
  Drawn,       // each at its own multiple of its element, drawn from the seed
};

struct Setup {
  task::Bound bound;
  task::BoundLaunch launch;
  std::uint64_t seed = 1;  // of drawn tensors
  Data data = Data::Abstract;
  double offset = 0, scale = 1;  // Data::Normal
  // Where tensors lie: a code path may be chosen by the low bits of any pointer.
  Alignment alignment = Alignment::Whole;
  std::uint32_t odd_tensor = 0;    // Alignment::One: which, counted from 1 in the order of the arguments
  std::uint32_t shared_start = 0;  // where the shared variables of PTX begin
  // Abstract data: integer inputs that are not metadata are data too. Off: they are drawn.
  bool has_integer_data = true;
  // Inputs for which this is true are zero, and the float ones among the others are not; empty: as `data` says.
  // Concrete data only.
  std::function<bool(std::uint32_t tensor, std::uint64_t index)> is_zero;
  bool has_workspace = true;  // false: the spec's memory, whose buffers lie at the same addresses
};

// Buffers in the order of the bound arguments, then the candidate's workspace.
std::unique_ptr<domain::Memory> make_memory(const Setup& setup, Findings& findings);
// The same by copying instead of drawing once more: `first` was made from a setup that differs in nothing but the
// workspace, and nothing ran in it yet.
std::unique_ptr<domain::Memory> make_equal_memory(const Setup& setup, const domain::Memory& first, Findings& findings);
// The domain's format of a task's float type, with or without its star: "*bf16". Empty for integers.
std::optional<domain::Format> float_format(std::string_view type);
// A number in a format, rounded to nearest even; fp8 saturates.
std::uint64_t encode(domain::Format format, double value);
// The largest finite number of a format.
double largest_number(domain::Format format);
// One element of a float buffer.
double decode(domain::Format format, const std::byte* element);

machine::Launch make_launch(const Setup& setup, const Candidate& candidate, const domain::Memory& memory,
                            Findings& findings);
triton::Call make_call(const Setup& setup, const triton::Kernel& kernel, const domain::Memory& memory,
                       Findings& findings);

}  // namespace plumb::prove
