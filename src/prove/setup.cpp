// SPDX-License-Identifier: Apache-2.0
#include "prove/setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>
#include <random>

#include "base/hash.h"
#include "domain/ieee/bits.h"
#include "domain/ieee/ieee.h"
#include "prove/codes.h"
#include "prove/tensor_maps.h"
#include "task/float_range.h"

namespace plumb::prove {
using domain::Format;

std::optional<Format> float_format(std::string_view type) {
  if (type.starts_with('*')) type.remove_prefix(1);
  if (type == "fp16") return Format::F16;
  if (type == "bf16") return Format::BF16;
  if (type == "fp32") return Format::F32;
  if (type == "fp64") return Format::F64;
  if (type == "fp8e4nv") return Format::E4M3;
  if (type == "fp8e5") return Format::E5M2;
  return std::nullopt;
}

namespace {

// Round to nearest even, as the processor does, of what is not NaN.
std::uint32_t to_single(double value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }
std::uint32_t upper_half(std::uint32_t single) { return (single + 0x7fff + (single >> 16 & 1)) >> 16; }

}  // namespace

std::uint64_t encode(Format format, double value) {
  if (format == Format::F64) return std::bit_cast<std::uint64_t>(value);
  if (!std::isnan(value) && format == Format::F32) return to_single(value);
  if (!std::isnan(value) && format == Format::BF16) return upper_half(to_single(value));
  const domain::Ieee ieee;
  domain::FloatMode mode;
  mode.satfinite = format == Format::E4M3 || format == Format::E5M2;
  const std::uint64_t single = ieee.convert(Format::F32, Format::F64, std::bit_cast<std::uint64_t>(value), {});
  return format == Format::F32 ? single : ieee.convert(format, Format::F32, single, mode);
}

double largest_number(Format format) {
  const std::uint64_t bits = domain::ieee::layout(format).largest;
  return decode(format, reinterpret_cast<const std::byte*>(&bits));
}

double decode(Format format, const std::byte* element) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, element, domain::byte_size(format));
  if (format == Format::F64) return std::bit_cast<double>(bits);
  if (format == Format::F32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (format == Format::BF16) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  return std::bit_cast<double>(domain::Ieee().convert(Format::F64, format, bits, {}));
}

namespace {

class Filler {
 public:
  Filler(domain::Buffer& buffer, const task::BoundArg& arg, const Setup& setup, std::uint32_t tensor)
      : buffer_(buffer), arg_(arg), setup_(setup), tensor_(tensor), random_(mix64(setup.seed ^ mix64(tensor))) {}

  void floats(Format format) {
    const unsigned size = domain::byte_size(format);
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<int> small(-4, 4), positive(1, 4);
    const std::optional<task::FloatRange> range = task::float_range(arg_.init);
    for (std::uint64_t i = 0; i < arg_.elements; ++i) {
      double value = 0;
      if (setup_.is_zero) {
        value = setup_.is_zero(tensor_, i) ? 0 : positive(random_);
      } else if (range && setup_.data == Data::Normal) {
        value = range->low + (range->high - range->low) * std::generate_canonical<double, 53>(random_);
      } else {
        value = setup_.data == Data::Integers ? small(random_) : setup_.offset + setup_.scale * normal(random_);
      }
      put(i, size, encode(format, value));
    }
  }

  void integers() {
    const unsigned size = task::element_bytes(arg_.type);
    std::string_view init = arg_.init;
    std::int64_t low = 0, high = 0;
    const bool is_range = read_range(init, low, high);
    if (init == "permutation" || init == "arange") {
      std::vector<std::uint64_t> order(arg_.elements);
      std::iota(order.begin(), order.end(), 0);
      if (init == "permutation") std::shuffle(order.begin(), order.end(), random_);
      for (std::uint64_t i = 0; i < arg_.elements; ++i) put(i, size, order[i]);
    } else if (init == "zeros") {
      std::fill_n(buffer_.bytes.get(), buffer_.size, std::byte{0});
    } else {
      for (std::uint64_t i = 0; i < arg_.elements; ++i) {
        put(i, size,
            setup_.is_zero && setup_.is_zero(tensor_, i) ? 0
            : is_range && high > low
                ? static_cast<std::uint64_t>(
                      low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low)))
                : random_());
      }
    }
  }

 private:
  // randint(low, high): high is not drawn.
  bool read_range(std::string_view init, std::int64_t& low, std::int64_t& high) const {
    if (!init.starts_with("randint(") || !init.ends_with(')')) return false;
    init = init.substr(8, init.size() - 9);
    const std::size_t comma = init.find(',');
    if (comma == std::string_view::npos) return false;
    Findings ignored;
    const auto first = task::evaluate(init.substr(0, comma), setup_.bound.sizes, {}, ignored);
    const auto second = task::evaluate(init.substr(comma + 1), setup_.bound.sizes, {}, ignored);
    if (!first || !second) return false;
    low = *first;
    high = *second;
    return true;
  }

  void put(std::uint64_t index, unsigned size, std::uint64_t bits) {
    std::memcpy(buffer_.bytes.get() + index * size, &bits, size);
  }

  domain::Buffer& buffer_;
  const task::BoundArg& arg_;
  const Setup& setup_;
  std::uint32_t tensor_;
  std::mt19937_64 random_;
};

std::uint64_t scalar_bits(const task::BoundArg& arg) {
  if (arg.is_float) return encode(float_format(arg.type).value_or(Format::F32), arg.real);
  return static_cast<std::uint64_t>(arg.integer);
}

const task::BoundArg* find(const task::Bound& bound, std::string_view name) {
  for (const task::BoundArg& arg : bound.args) {
    if (arg.name == name) return &arg;
  }
  return nullptr;
}

constexpr std::string_view kWorkspace = "workspace";

std::uint32_t misalignment(const Setup& setup, const task::BoundArg& arg, std::uint32_t tensor, std::uint32_t size) {
  if (arg.is_descriptor()) return 0;  // the host makes descriptors of aligned tensors only
  switch (setup.alignment) {
    case Alignment::Whole:
      return 0;
    case Alignment::OneElement:
      return size;
    case Alignment::EightBytes:
      return std::max<std::uint32_t>(8, size);
    case Alignment::Outputs:
      return arg.role == task::Role::In ? 0 : size;
    case Alignment::One:
      return tensor == setup.odd_tensor ? size : 0;
    case Alignment::Drawn:
      break;
  }
  const std::uint32_t places = size < 16 ? 16 / size : 1;
  return static_cast<std::uint32_t>(mix64(setup.seed ^ mix64(~std::uint64_t{tensor})) % places) * size;
}

// `filled`: what was drawn already is copied from it.
std::unique_ptr<domain::Memory> make_memory(const Setup& setup, const domain::Memory* filled, Findings& findings) {
  const bool is_abstract = setup.data == Data::Abstract;
  auto memory = std::make_unique<domain::Memory>(is_abstract);
  std::uint32_t tensor = 0;
  for (const task::BoundArg& arg : setup.bound.args) {
    if (!arg.is_tensor) continue;
    ++tensor;
    const std::optional<Format> format = float_format(arg.type);
    const unsigned size = task::element_bytes(arg.type);
    if (size == 0) {
      findings.add(kArgument, fmt::format("`{}` has the type `{}`, which has no size", arg.name, arg.type));
      return nullptr;
    }
    domain::Init init = domain::Init::Concrete;
    if (arg.role == task::Role::Out) {
      init = domain::Init::Undefined;
    } else if (is_abstract && (format || (setup.has_integer_data && !arg.is_metadata))) {
      init = domain::Init::Abstract;
    }
    domain::Buffer& buffer = memory->add(arg.name, arg.elements * size, init, format.value_or(Format::F32),
                                         misalignment(setup, arg, tensor, size));
    buffer.tensor = tensor;
    if (!format) buffer.integer_bytes = static_cast<std::uint8_t>(size);
    if (init != domain::Init::Concrete) continue;
    if (filled != nullptr) {
      std::memcpy(buffer.bytes.get(), filled->find(std::string_view(arg.name))->bytes.get(), buffer.size);
      continue;
    }
    Filler filler(buffer, arg, setup, tensor);
    if (format) {
      filler.floats(*format);
    } else {
      filler.integers();
    }
  }
  if (setup.has_workspace && setup.launch.workspace != 0) {
    memory->add(std::string(kWorkspace), setup.launch.workspace, domain::Init::Concrete, Format::F32);
  }
  return memory;
}

}  // namespace

std::unique_ptr<domain::Memory> make_memory(const Setup& setup, Findings& findings) {
  return make_memory(setup, nullptr, findings);
}

std::unique_ptr<domain::Memory> make_equal_memory(const Setup& setup, const domain::Memory& first, Findings& findings) {
  return make_memory(setup, &first, findings);
}

namespace {

// Puts a tensor map into the parameter block; false after a finding.
bool put_tensor_map(const Setup& setup, const Candidate& candidate, const domain::Memory& memory,
                    const std::string& name, const machine::ParamLayout& layout, std::size_t index,
                    std::vector<std::byte>& params, Findings& findings) {
  const auto place_of = [&](const std::string& pointer) { return candidate.launch.place_of(pointer); };
  for (const task::BoundTensorMap& map : setup.launch.tensor_maps) {
    if (map.name != name) continue;
    if (layout.sizes[index] != machine::kTensorMapBytes) {
      findings.add(kArgument,
                   fmt::format("parameter {} is {} bytes and cannot hold the tensor map `{}`, which has {}", index,
                               layout.sizes[index], name, machine::kTensorMapBytes),
                   place_of("/tensor_maps/" + name));
      return false;
    }
    const domain::Buffer* tensor = memory.find(std::string_view(map.tensor));
    const auto image = make_tensor_map(map, tensor != nullptr ? tensor->address : 0, place_of, findings);
    if (image) std::memcpy(params.data() + layout.offsets[index], image->data(), image->size());
    return image.has_value();
  }
  return false;
}

}  // namespace

machine::Launch make_launch(const Setup& setup, const Candidate& candidate, const domain::Memory& memory,
                            Findings& findings) {
  machine::Launch out;
  const task::BoundLaunch& from = setup.launch;
  out.entry = from.entry;
  if (out.entry.empty()) {
    for (const ptx::Function& function : candidate.module->functions) {
      if (function.is_entry && out.entry.empty()) out.entry = function.name;
    }
  }
  out.grid = {from.grid[0], from.grid[1], from.grid[2]};
  out.block = {from.block[0], from.block[1], from.block[2]};
  out.cluster = {from.cluster[0], from.cluster[1], from.cluster[2]};
  out.dynamic_shared = from.shared;
  const ptx::Function* entry = candidate.module->find_entry(out.entry);
  if (entry == nullptr) {
    findings.add(kArgument, fmt::format("the module has no entry `{}`", out.entry), {candidate.module->source, {}});
    return out;
  }
  const machine::ParamLayout layout = machine::param_layout(*candidate.module, *entry);
  if (layout.offsets.size() != from.params.size()) {
    findings.add(kArgument,
                 fmt::format("the entry `{}` has {} parameters and the launch gives {}", out.entry,
                             layout.offsets.size(), from.params.size()),
                 {candidate.module->source, entry->span});
    return out;
  }
  out.params.resize(layout.size);
  for (std::size_t i = 0; i < from.params.size(); ++i) {
    const task::BoundLaunch::Param& param = from.params[i];
    std::uint64_t bits = 0;
    std::uint32_t size = 8;
    switch (param.kind) {
      case task::BoundLaunch::Param::Kind::Tensor:
        if (const domain::Buffer* buffer = memory.find(std::string_view(param.arg))) bits = buffer->address;
        break;
      case task::BoundLaunch::Param::Kind::Workspace:
        if (const domain::Buffer* buffer = memory.find(kWorkspace)) bits = buffer->address;
        break;
      case task::BoundLaunch::Param::Kind::Scalar:
        if (const task::BoundArg* arg = find(setup.bound, param.arg)) bits = scalar_bits(*arg);
        size = layout.sizes[i];
        break;
      case task::BoundLaunch::Param::Kind::Integer:
        bits = static_cast<std::uint64_t>(param.integer);
        size = layout.sizes[i];
        break;
      case task::BoundLaunch::Param::Kind::Null:
        break;
      case task::BoundLaunch::Param::Kind::TensorMap:
        if (!put_tensor_map(setup, candidate, memory, param.arg, layout, i, out.params, findings)) return out;
        continue;
    }
    if (size > 8 || size > layout.sizes[i]) {
      findings.add(kArgument,
                   fmt::format("parameter {} of `{}` is {} bytes and cannot hold `{}`", i, out.entry, layout.sizes[i],
                               param.arg),
                   {candidate.module->source, entry->span});
      return out;
    }
    std::memcpy(out.params.data() + layout.offsets[i], &bits, std::min<std::uint32_t>(8, layout.sizes[i]));
  }
  return out;
}

triton::Call make_call(const Setup& setup, const triton::Kernel& kernel, const domain::Memory& memory,
                       Findings& findings) {
  triton::Call call;
  std::copy(std::begin(setup.bound.grid), std::end(setup.bound.grid), std::begin(call.grid));
  for (const triton::Kernel::Parameter& parameter : kernel.parameters()) {
    triton::Argument argument;
    if (const task::BoundArg* arg = find(setup.bound, parameter.name)) {
      argument.type = arg->type;
      const domain::Buffer* buffer = arg->is_tensor ? memory.find(std::string_view(arg->name)) : nullptr;
      argument.bits = buffer != nullptr ? buffer->address : scalar_bits(*arg);
      if (arg->is_descriptor()) {
        argument.type =
            fmt::format("tensordesc<{}[{}]>", std::string_view(arg->type).substr(1), fmt::join(arg->block, ", "));
        argument.shape = arg->extent;
        argument.strides = arg->strides;
      }
    } else if (const auto constant = setup.bound.constexprs.find(parameter.name);
               constant != setup.bound.constexprs.end()) {
      argument.type = "constexpr";
      std::visit([&](const auto& value) { argument.constant = value; }, constant->second);
    } else if (parameter.default_value) {
      continue;
    } else {
      findings.add(kArgument, fmt::format("the task gives no value for the kernel's parameter `{}`", parameter.name));
      continue;
    }
    call.arguments.emplace(parameter.name, std::move(argument));
  }
  return call;
}

}  // namespace plumb::prove
