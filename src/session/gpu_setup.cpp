// SPDX-License-Identifier: Apache-2.0
#include "session/gpu_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "base/hash.h"
#include "base/parallel.h"
#include "prove/setup.h"
#include "prove/tensor_maps.h"
#include "session/codes.h"
#include "task/float_range.h"

namespace plumb::session {
namespace {

using domain::Format;

double unit(std::uint64_t bits) { return (static_cast<double>(bits) + 0.5) * 0x1p-32; }

double normal(std::uint64_t bits) {
  return std::sqrt(-2 * std::log(unit(bits >> 32))) * std::cos(2 * std::numbers::pi * unit(bits & 0xffffffff));
}

// Of f32, that of bf16: a source may round to it.
double largest(Format format) {
  const bool is_single = format == Format::F32 || format == Format::Tf32;
  return prove::largest_number(is_single ? Format::BF16 : format);
}

double smallest_normal(Format format) {
  switch (format) {
    case Format::F16:
    case Format::E5M2:
      return 0x1p-14;
    case Format::E4M3:
      return 0x1p-6;
    case Format::F64:
      return std::numeric_limits<double>::min();
    default:
      return 0x1p-126;
  }
}

double special(Format format, std::uint64_t bits) {
  switch (bits % 5) {
    case 0:
      return std::numeric_limits<double>::quiet_NaN();
    case 1:
      return std::numeric_limits<double>::infinity();
    case 2:
      return -std::numeric_limits<double>::infinity();
    case 3:
      return -0.0;
    default:
      return smallest_normal(format) / 2;
  }
}

// Floats with a range of their own are drawn from it in every family; special values stand in for some.
double draw(Family family, const std::optional<task::FloatRange>& range, Format format, std::uint64_t bits) {
  constexpr std::uint64_t kSpecialEvery = 50;
  const std::uint64_t other = mix64(bits);
  const double value = range ? range->low + (range->high - range->low) * unit(bits >> 32) : normal(bits);
  if (range && family != Family::Special) return value;
  switch (family) {
    case Family::Normal:
      return value;
    case Family::Integers:
      return static_cast<double>(bits % 9) - 4;
    case Family::Wide:
      return std::clamp(value * std::pow(10, 4 * unit(other >> 32) - 2), -largest(format), largest(format));
    case Family::Large:
      // Products of two such numbers and sums of those stay finite in most outputs of the same type.
      return std::clamp((largest(format) < 1e6 ? 60 : 1000) * value, -largest(format), largest(format));
    case Family::Offset:
      return std::clamp(100 + value, -largest(format), largest(format));
    case Family::Zeros:
      return 0;
    case Family::Special:
      return other % kSpecialEvery == 0 ? special(format, other / kSpecialEvery) : value;
  }
  return 0;
}

void fill_floats(std::byte* to, const task::BoundArg& arg, Format format, Family family, std::uint64_t seed,
                 unsigned workers) {
  const std::optional<task::FloatRange> range = task::float_range(arg.init);
  const std::uint64_t elements = arg.elements;
  constexpr std::uint64_t kChunk = 1 << 16;
  const unsigned size = domain::byte_size(format);
  parallel_for(worker_count(workers), (elements + kChunk - 1) / kChunk, [&](unsigned, std::size_t chunk) {
    const std::uint64_t end = std::min(elements, (chunk + 1) * kChunk);
    for (std::uint64_t i = chunk * kChunk; i < end; ++i) {
      const std::uint64_t bits = prove::encode(format, draw(family, range, format, mix64(seed ^ mix64(i))));
      std::memcpy(to + i * size, &bits, size);
    }
    return true;
  });
}

std::string little_endian(std::uint64_t bits) {
  std::string out(sizeof bits, '\0');
  std::memcpy(out.data(), &bits, sizeof bits);
  return out;
}

constexpr std::uint32_t kPromise = 16;  // bytes, of `divisible_by_16`

const task::BoundArg* find_arg(const task::Bound& bound, std::string_view name) {
  for (const task::BoundArg& arg : bound.args) {
    if (arg.name == name) return &arg;
  }
  return nullptr;
}

std::uint64_t scalar_bits(const task::BoundArg& arg) {
  if (arg.is_float) return prove::encode(prove::float_format(arg.type).value_or(Format::F32), arg.real);
  return static_cast<std::uint64_t>(arg.integer);
}

// The tensor's index among the task's tensors, which is its buffer's.
std::uint32_t buffer_of(const GpuShape& shape, const std::string& tensor) {
  std::uint32_t out = 0;
  for (const task::BoundArg& arg : shape.bound.args) {
    if (arg.name == tensor) break;
    out += arg.is_tensor ? 1 : 0;
  }
  return out;
}

template <class T>
std::vector<T> cast_all(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

// False after a finding for each rule of the driver that the map breaks, at the header's key. The worker then has the
// card's own driver encode it.
bool put_tensor_map(const prove::Candidate& candidate, const GpuShape& shape, const std::string& name,
                    gpu::ParamValue& value, Findings& findings) {
  const auto found = std::find_if(shape.launch.tensor_maps.begin(), shape.launch.tensor_maps.end(),
                                  [&](const task::BoundTensorMap& map) { return map.name == name; });
  const task::BoundArg* tensor =
      found == shape.launch.tensor_maps.end() ? nullptr : find_arg(shape.bound, found->tensor);
  if (tensor == nullptr) return false;  // the header's reader allows no such name
  const std::uint64_t address =
      candidate.launch.divisible_by_16 || tensor->is_descriptor() ? kPromise : task::element_bytes(tensor->type);
  const auto place_of = [&](const std::string& pointer) { return candidate.launch.place_of(pointer); };
  if (!prove::make_tensor_map(*found, address, place_of, findings)) return false;
  value.kind = gpu::ParamValue::Kind::TensorMap;
  value.buffer = buffer_of(shape, found->tensor);
  gpu::TensorMapPlan& plan = value.map;
  plan.type = found->type;
  plan.offset = static_cast<std::uint64_t>(found->offset);
  plan.dims = cast_all<std::uint64_t>(found->dims);
  plan.strides = cast_all<std::uint64_t>(found->strides);
  plan.element_strides = cast_all<std::uint32_t>(found->element_strides);
  plan.box = cast_all<std::uint32_t>(found->box);
  plan.is_im2col = found->is_im2col;
  plan.lower = cast_all<std::int32_t>(found->lower);
  plan.upper = cast_all<std::int32_t>(found->upper);
  plan.channels = static_cast<std::uint32_t>(found->channels);
  plan.pixels = static_cast<std::uint32_t>(found->pixels);
  plan.swizzle = found->swizzle;
  plan.interleave = found->interleave;
  plan.promotion = found->promotion;
  plan.fill = found->fill;
  return true;
}

std::string entry_of(const prove::Candidate& candidate, const task::BoundLaunch& launch) {
  if (!launch.entry.empty()) return launch.entry;
  for (const ptx::Function& function : candidate.module->functions) {
    if (function.is_entry) return function.name;
  }
  return {};
}

}  // namespace

std::string_view name(Family family) {
  static constexpr std::string_view kNames[] = {"normal", "integers", "wide", "large", "offset", "zeros", "special"};
  return kNames[static_cast<unsigned>(family)];
}

std::optional<GpuShape> bind_gpu_shape(const task::Task& task, const prove::Candidate& candidate,
                                       const task::Shape& shape, Findings& findings, Findings& skipped) {
  Findings own;
  std::optional<task::Bound> bound = task::bind(task, shape, candidate.launch.constexprs, own);
  std::optional<task::BoundLaunch> launch;
  if (bound) {
    if (std::optional<Finding> broken = task::broken_promise(candidate.launch, *bound, own)) {
      skipped.add(std::move(*broken));
      findings.append(std::move(own));
      return std::nullopt;
    }
    launch = task::bind_launch(candidate.launch, task, *bound, own);
  }
  findings.append(std::move(own));
  if (!launch) return std::nullopt;
  return GpuShape{std::move(*bound), std::move(*launch)};
}

std::vector<gpu::BufferPlan> make_buffers(const GpuShape& shape, bool is_aligned) {
  std::vector<gpu::BufferPlan> out;
  for (const task::BoundArg& arg : shape.bound.args) {
    if (!arg.is_tensor) continue;
    const unsigned size = task::element_bytes(arg.type);
    const auto role = static_cast<gpu::Role>(arg.role);
    out.push_back({arg.name, arg.elements * size, role, is_aligned || arg.is_descriptor() ? kPromise : size});
  }
  return out;
}

std::optional<gpu::KernelLaunch> make_gpu_launch(const prove::Candidate& candidate, const GpuShape& shape,
                                                 Findings& findings) {
  using Kind = task::BoundLaunch::Param::Kind;
  gpu::KernelLaunch out;
  out.ptx = std::string(candidate.module->source->text());
  out.entry = entry_of(candidate, shape.launch);
  if (candidate.module->find_entry(out.entry) == nullptr) {
    findings.add(kEntry, fmt::format("the module has no entry `{}`", out.entry), {candidate.module->source, {}});
    return std::nullopt;
  }
  std::copy(std::begin(shape.launch.grid), std::end(shape.launch.grid), std::begin(out.grid));
  std::copy(std::begin(shape.launch.block), std::end(shape.launch.block), std::begin(out.block));
  std::copy(std::begin(shape.launch.cluster), std::end(shape.launch.cluster), std::begin(out.cluster));
  out.shared = shape.launch.shared;
  out.workspace = shape.launch.workspace;
  for (const task::BoundLaunch::Param& param : shape.launch.params) {
    gpu::ParamValue value;
    if (param.kind == Kind::Tensor) {
      value.kind = gpu::ParamValue::Kind::Buffer;
      value.buffer = buffer_of(shape, param.arg);
    } else if (param.kind == Kind::Workspace) {
      value.kind = gpu::ParamValue::Kind::Workspace;
    } else if (param.kind == Kind::TensorMap) {
      if (!put_tensor_map(candidate, shape, param.arg, value, findings)) return std::nullopt;
    } else {
      const task::BoundArg* arg = param.kind == Kind::Scalar ? find_arg(shape.bound, param.arg) : nullptr;
      const std::uint64_t integer = param.kind == Kind::Integer ? static_cast<std::uint64_t>(param.integer) : 0;
      value.bytes = little_endian(arg != nullptr ? scalar_bits(*arg) : integer);
    }
    out.params.push_back(std::move(value));
  }
  for (const ptx::Variable& variable : candidate.module->variables) {
    if (variable.space == ptx::Space::global && !variable.is_extern) out.variables.push_back(variable.name);
  }
  return out;
}

std::unique_ptr<gpu::SharedMemory> draw_inputs(const GpuShape& shape, Family family, std::uint64_t seed,
                                               unsigned workers, Findings& findings) {
  // Integer tensors are drawn as proofs draw them; float ones are left to this file, so they count as outputs there.
  prove::Setup setup;
  setup.bound = shape.bound;
  setup.seed = seed;
  setup.data = prove::Data::Integers;
  setup.has_workspace = false;
  for (task::BoundArg& arg : setup.bound.args) {
    if (arg.is_tensor && prove::float_format(arg.type)) arg.role = task::Role::Out;
  }
  const std::unique_ptr<domain::Memory> memory = prove::make_memory(setup, findings);
  std::unique_ptr<gpu::SharedMemory> out = gpu::SharedMemory::make(gpu::input_bytes(make_buffers(shape, true)));
  if (!memory || !out) {
    if (!out) findings.add(kInput, "there is no memory for the inputs");
    return nullptr;
  }
  std::byte* at = out->data();
  std::uint64_t tensor = 0;
  for (const task::BoundArg& arg : shape.bound.args) {
    if (!arg.is_tensor) continue;
    ++tensor;
    if (arg.role == task::Role::Out) continue;
    const std::uint64_t bytes = arg.elements * task::element_bytes(arg.type);
    if (const auto format = prove::float_format(arg.type)) {
      // What an in-out tensor held must not look like an answer: no zeros, no NaN.
      const bool is_plain = arg.role == task::Role::InOut && (family == Family::Zeros || family == Family::Special);
      fill_floats(at, arg, *format, is_plain ? Family::Normal : family, mix64(seed ^ mix64(tensor)), workers);
    } else {
      std::memcpy(at, memory->find(std::string_view(arg.name))->bytes.get(), bytes);
    }
    at += bytes;
  }
  return out;
}

std::unique_ptr<domain::Memory> make_spec_memory(const GpuShape& shape, const gpu::SharedMemory& inputs,
                                                 unsigned char poison, Findings& findings) {
  prove::Setup setup;
  setup.bound = shape.bound;
  setup.data = prove::Data::Integers;
  setup.has_workspace = false;
  for (task::BoundArg& arg : setup.bound.args) {
    if (arg.is_tensor) arg.role = task::Role::Out;  // nothing is drawn: the bytes are there
  }
  std::unique_ptr<domain::Memory> memory = prove::make_memory(setup, findings);
  if (!memory) return nullptr;
  const std::byte* at = inputs.data();
  for (const task::BoundArg& arg : shape.bound.args) {
    if (!arg.is_tensor) continue;
    domain::Buffer& buffer = *memory->find(std::string_view(arg.name));
    if (arg.role == task::Role::Out) {
      std::memset(buffer.bytes.get(), poison, buffer.size);
      continue;
    }
    buffer.init = domain::Init::Concrete;
    std::memcpy(buffer.bytes.get(), at, buffer.size);
    at += buffer.size;
  }
  return memory;
}

}  // namespace plumb::session
