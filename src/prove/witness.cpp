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

namespace {

std::vector<Range> data_inputs(const task::Bound& bound) {
  std::vector<Range> ranges;
  std::uint32_t tensor = 0;
  for (const task::BoundArg& arg : bound.args) {
    if (!arg.is_tensor) continue;
    ++tensor;
    if (arg.role != task::Role::Out && !arg.is_metadata) {
      ranges.push_back({arg.name, tensor, 0, arg.elements});
    }
  }
  return ranges;
}

std::function<bool(std::uint32_t, std::uint64_t)> zero_outside(std::vector<Range> ranges) {
  return [ranges = std::move(ranges)](std::uint32_t tensor, std::uint64_t index) {
    for (const Range& range : ranges) {
      if (range.tensor == tensor) return index < range.begin || index >= range.end;
    }
    return false;
  };
}

}  // namespace

Support support_of(const ShapeJob& job, const Mismatch& mismatch, std::chrono::duration<double> limit) {
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
  std::vector<Range> ranges = data_inputs(job.setup.bound);
  const auto probed = [&] {
    ShapeJob sparse = job;
    sparse.field.is_zero = zero_outside(ranges);
    return probe(sparse, mismatch.buffer, mismatch.element);
  };
  // With this range in its place, does the difference stand?
  const auto try_range = [&](Range& range, std::uint64_t first, std::uint64_t last) {
    const Range before = range;
    range.begin = first;
    range.end = last;
    if (probed().differs) return true;
    range = before;
    return false;
  };
  bool has_learnt = false;
  for (Range& range : ranges) {
    if (Clock::now() > end) break;
    if (try_range(range, range.begin, range.begin)) {  // nothing of it is needed
      has_learnt = true;
      continue;
    }
    while (range.end - range.begin > 1 && Clock::now() < end) {
      const std::uint64_t middle = range.begin + (range.end - range.begin) / 2;
      if (!try_range(range, range.begin, middle) && !try_range(range, middle, range.end)) break;
      has_learnt = true;
    }
  }
  Support support;
  if (!has_learnt) return support;
  support.is_zero = zero_outside(ranges);
  for (const Range& range : ranges) {
    const std::uint64_t count = range.end - range.begin;
    if (count == 1) {
      support.elements.push_back(fmt::format("`{}`", element_name(job.setup.bound, range.name, range.begin)));
    } else if (count > 1) {
      support.elements.push_back(fmt::format("`{}` to `{}`", element_name(job.setup.bound, range.name, range.begin),
                                             element_name(job.setup.bound, range.name, range.end - 1)));
    }
  }
  const Probe with = probed();
  for (Range& range : ranges) range.end = range.begin;
  const Probe without = probed();
  if (with.is_good && without.is_good) {
    const bool spec_depends = with.spec != without.spec, candidate_depends = with.candidate != without.candidate;
    support.kind = spec_depends && !candidate_depends   ? Support::Kind::Lacks
                   : candidate_depends && !spec_depends ? Support::Kind::Extra
                                                        : Support::Kind::Differs;
  }
  return support;
}

std::string text(const Support& support, const std::string& output, std::string_view spec) {
  if (support.elements.empty()) return {};
  const std::string inputs = fmt::format("{}", fmt::join(support.elements, ", "));
  switch (support.kind) {
    case Support::Kind::Lacks:
      return fmt::format("`{}` lacks what {} makes of {}", output, spec, inputs);
    case Support::Kind::Extra:
      return fmt::format("`{}` has a part made of {}, which {} has not", output, inputs, spec);
    case Support::Kind::Differs:
    case Support::Kind::Unknown:
      break;
  }
  return fmt::format("with all other inputs zero, the two make different things of {}", inputs);
}

}  // namespace plumb::prove
