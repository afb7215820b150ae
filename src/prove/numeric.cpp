// SPDX-License-Identifier: Apache-2.0
#include "prove/numeric.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "domain/ieee/ieee.h"

namespace plumb::prove {
namespace {

using domain::Format;
using domain::Ieee;

constexpr std::size_t kMostDifferences = 4;

struct Type {
  Format format = Format::F32;
  double rounding = 0;  // what two correct programs may differ by, relative to the element and to the tensor's largest
};

std::optional<Type> type_of(std::string_view type) {
  if (type == "*fp16") return Type{Format::F16, 0x1p-9};
  if (type == "*bf16") return Type{Format::BF16, 0x1p-6};
  if (type == "*fp32") return Type{Format::F32, 0x1p-14};
  if (type == "*fp64") return Type{Format::F64, 0x1p-40};
  if (type == "*fp8e4nv") return Type{Format::E4M3, 0x1p-2};
  if (type == "*fp8e5") return Type{Format::E5M2, 0x1p-1};
  return std::nullopt;
}

std::vector<Ieee*> pointers(std::vector<Ieee>& fields) {
  std::vector<Ieee*> out;
  for (Ieee& field : fields) out.push_back(&field);
  return out;
}

}  // namespace

double to_double(std::string_view type, const domain::Buffer& buffer, std::uint64_t element) {
  const Format format = type_of(type).value_or(Type{}).format;
  const unsigned size = domain::byte_size(format);
  std::uint64_t bits = 0;
  std::memcpy(&bits, buffer.bytes.get() + element * size, size);
  const Ieee ieee;
  return std::bit_cast<double>(format == Format::F64 ? bits : ieee.convert(Format::F64, format, bits, {}));
}

NumericResult run_numeric(const Setup& setup, const task::Task& task, const Candidate& candidate,
                          const triton::Kernel& kernel, unsigned workers, std::uint64_t step_budget) {
  NumericResult result;
  Findings findings;
  Setup spec_setup = setup;
  spec_setup.has_workspace = false;
  const std::unique_ptr<domain::Memory> spec = make_memory(spec_setup, findings);
  const std::unique_ptr<domain::Memory> other = make_memory(setup, findings);
  if (!spec || !other) return result;
  std::vector<Ieee> domains(workers);
  triton::Options triton_options;
  triton_options.workers = workers;
  triton_options.step_budget = step_budget;
  result.spec_stop =
      kernel.evaluate(make_call(spec_setup, kernel, *spec, findings), pointers(domains), *spec, triton_options).stop;
  const machine::Launch launch = make_launch(setup, candidate, *other, findings);
  const auto program = machine::Program<Ieee>::decode(candidate.module, launch.entry, findings);
  if (!program || result.spec_stop || findings.has_error()) return result;
  machine::Options options;
  options.workers = workers;
  options.step_budget = step_budget;
  result.candidate_stop = program->run(launch, pointers(domains), *other, options).stop;
  if (result.candidate_stop) return result;
  for (const task::BoundArg& arg : setup.bound.args) {
    const std::optional<Type> type = arg.is_tensor ? type_of(arg.type) : std::nullopt;
    if (!type || arg.role == task::Role::In) continue;
    const domain::Buffer* a = spec->find(std::string_view(arg.name));
    const domain::Buffer* b = other->find(std::string_view(arg.name));
    double largest = 0;
    for (std::uint64_t i = 0; i < arg.elements; ++i) {
      const double value = std::abs(to_double(arg.type, *a, i));
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
    const double relative = std::max(type->rounding, task.tolerance.relative);
    for (std::uint64_t i = 0; i < arg.elements && result.differences.size() < kMostDifferences; ++i) {
      const double x = to_double(arg.type, *a, i), y = to_double(arg.type, *b, i);
      if (x == y || (std::isnan(x) && std::isnan(y))) continue;
      const bool is_range = std::isfinite(x) != std::isfinite(y);
      const double allowed =
          relative * std::max(std::abs(x), std::abs(y)) + 0.25 * type->rounding * largest + task.tolerance.absolute;
      if (is_range || std::abs(x - y) > allowed) result.differences.push_back({arg.name, i, x, y, is_range});
    }
  }
  return result;
}

}  // namespace plumb::prove
