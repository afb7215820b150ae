// SPDX-License-Identifier: Apache-2.0
#include "prove/witness.h"

#include <fmt/format.h>

namespace plumb::prove {
namespace {

using Clock = std::chrono::steady_clock;

// The elements [begin, end) of one tensor may be anything; those outside are zero.
struct Range {
  std::string name;
  std::uint32_t tensor = 0;
  std::uint64_t begin = 0, end = 0;
};

const task::BoundArg* find(const task::Bound& bound, const std::string& name) {
  for (const task::BoundArg& arg : bound.args) {
    if (arg.name == name) return &arg;
  }
  return nullptr;
}

}  // namespace

std::string element_name(const task::Bound& bound, const std::string& buffer, std::uint64_t element) {
  const task::BoundArg* arg = find(bound, buffer);
  if (arg == nullptr || arg->shape.empty()) return fmt::format("{}[{}]", buffer, element);
  std::vector<std::uint64_t> index(arg->shape.size());
  for (std::size_t i = arg->shape.size(); i-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(std::max<std::int64_t>(1, arg->shape[i]));
    index[i] = element % extent;
    element /= extent;
  }
  return fmt::format("{}[{}]", buffer, fmt::join(index, ", "));
}

std::vector<std::string> support_of(const ShapeJob& job, const Mismatch& mismatch,
                                    std::chrono::duration<double> limit) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
  std::vector<Range> ranges;
  std::uint32_t tensor = 0;
  for (const task::BoundArg& arg : job.setup.bound.args) {
    if (!arg.is_tensor) continue;
    ++tensor;
    if (arg.role != task::Role::Out && arg.type.find('f') != std::string::npos) {
      ranges.push_back({arg.name, tensor, 0, arg.elements});
    }
  }
  const auto differs = [&] {
    ShapeJob probe = job;
    probe.field.is_zero = [ranges](std::uint32_t which, std::uint64_t index) {
      for (const Range& range : ranges) {
        if (range.tensor == which) return index < range.begin || index >= range.end;
      }
      return false;
    };
    return still_differs(probe, mismatch.buffer, mismatch.element);
  };
  bool is_out_of_time = false;
  for (Range& range : ranges) {
    while (range.end - range.begin > 0 && !is_out_of_time) {
      const Range before = range;
      const std::uint64_t middle = range.begin + (range.end - range.begin) / 2;
      range.end = middle;
      if (range.end > range.begin && differs()) continue;
      range = before;
      range.begin = middle;
      if (range.begin < range.end && range.begin != before.begin && differs()) continue;
      range = before;
      if (range.end - range.begin == 1) {
        range.end = range.begin;  // is this one needed at all?
        if (!differs()) range = before;
      }
      is_out_of_time = Clock::now() > end;
      break;
    }
  }
  std::vector<std::string> out;
  for (const Range& range : ranges) {
    const std::uint64_t count = range.end - range.begin;
    if (count == 1) {
      out.push_back(element_name(job.setup.bound, range.name, range.begin));
    } else if (count > 1) {
      out.push_back(fmt::format("{} to {} ({} elements)", element_name(job.setup.bound, range.name, range.begin),
                                element_name(job.setup.bound, range.name, range.end - 1), count));
    }
  }
  return out;
}

}  // namespace plumb::prove
