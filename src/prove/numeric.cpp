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
// There may be one such pair for so many elements that the source drives out of the format's range.
constexpr std::size_t kEdgeShare = 8;

// What two correct programs may differ by, relative to the element and to the tensor's largest.
double rounding_of(Format format) {
  switch (format) {
    case Format::F16:
      return 0x1p-9;
    case Format::BF16:
      return 0x1p-6;
    case Format::Tf32:
    case Format::F32:
      return 0x1p-14;
    case Format::F64:
      return 0x1p-40;
    case Format::E4M3:
      return 0x1p-2;
    case Format::E5M2:
      return 0x1p-1;
  }
  return 0;
}

// Magnitudes from here on are in the format's last three octaves.
double brink_of(Format format) {
  switch (format) {
    case Format::F16:
    case Format::E5M2:
      return 0x1p13;
    case Format::E4M3:
      return 0x1p6;
    case Format::BF16:
    case Format::Tf32:
    case Format::F32:
      return 0x1p125;
    case Format::F64:
      return 0x1p1021;
  }
  return 0;
}

// Whether a number and an infinity lie on the two sides of the format's last finite number, at most `allowed` apart.
bool is_at_the_edge(Format format, double number, double infinity, double allowed) {
  if (std::isnan(infinity) || std::signbit(number) != std::signbit(infinity)) return false;
  const bool is_narrow = format == Format::F16 || format == Format::BF16;
  return is_narrow && std::abs(number) + allowed >= largest_number(format);
}

std::vector<Ieee*> pointers(std::vector<Ieee>& fields) {
  std::vector<Ieee*> out;
  out.reserve(fields.size());
  for (Ieee& field : fields) out.push_back(&field);
  return out;
}

// Integers are the same or they differ.
void compare_integers(const domain::Buffer& a, const domain::Buffer& b, unsigned size, NumericResult& result) {
  const auto value_of = [&](const domain::Buffer& buffer, std::uint64_t at) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, buffer.bytes.get() + at, size);
    return static_cast<double>(static_cast<std::int64_t>(bits << (64 - 8 * size)) >> (64 - 8 * size));
  };
  for (std::uint64_t at = 0; at + size <= a.size && result.differences.size() < kMostDifferences; at += size) {
    if (std::memcmp(a.bytes.get() + at, b.bytes.get() + at, size) == 0) continue;
    result.differences.push_back({a.name, at / size, value_of(a, at), value_of(b, at), false});
  }
}

double value_at(Format format, const domain::Buffer& buffer, std::uint64_t element) {
  return decode(format, buffer.bytes.get() + element * domain::byte_size(format));
}

// The most by which one element of the source changes, beyond the output's own rounding, where its roundings to narrow
// formats go the other way.
double room_of(Format format, const domain::Buffer& source, const domain::Buffer& flipped, std::uint64_t elements) {
  const double rounding = rounding_of(format);
  double room = 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    const double x = value_at(format, source, i), y = value_at(format, flipped, i);
    if (std::isfinite(x) && std::isfinite(y)) room = std::max(room, std::abs(x - y) - rounding * std::abs(x));
  }
  return room;
}

// The sides agree on which elements leave the format's range, but for some where rounding decides.
// `room` is what the source's own roundings leave open.
void compare_floats(Format format, const domain::Buffer& a, const domain::Buffer& b, const task::BoundArg& arg,
                    const task::Tolerance& tolerance, double room, NumericResult& result) {
  const auto value_of = [&](const domain::Buffer& buffer, std::uint64_t element) {
    return value_at(format, buffer, element);
  };
  const double rounding = rounding_of(format);
  double largest = 0;
  std::uint64_t beyond = 0;
  for (std::uint64_t i = 0; i < arg.elements; ++i) {
    const double value = std::abs(value_of(a, i));
    if (std::isfinite(value)) largest = std::max(largest, value);
    else ++beyond;
  }
  const bool overflows = beyond > 0 && largest >= brink_of(format);
  const double relative = std::max(rounding, tolerance.relative);
  std::vector<NumericDifference> edge;
  for (std::uint64_t i = 0; i < arg.elements && result.differences.size() < kMostDifferences; ++i) {
    const double x = value_of(a, i), y = value_of(b, i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const bool is_range = std::isfinite(x) != std::isfinite(y);
    // Where other elements of the source left the format's range, what this one cancelled is not known.
    if (overflows && !is_range) continue;
    const double number = is_range && std::isfinite(y) ? y : x;  // the one that is finite
    const double magnitude = is_range ? std::abs(number) : std::max(std::abs(x), std::abs(y));
    const double allowed = relative * magnitude + 0.25 * rounding * largest + tolerance.absolute + room;
    if (!is_range && std::abs(x - y) <= allowed) continue;
    const bool is_edge = overflows && is_range && is_at_the_edge(format, number, x + y, allowed);
    (is_edge ? edge : result.differences).push_back({arg.name, i, x, y, is_range});
  }
  // A candidate that saturates is at the edge wherever the source is beyond it.
  if (edge.size() * kEdgeShare <= beyond) return;
  edge.resize(std::min(edge.size(), kMostDifferences - result.differences.size()));
  result.differences.insert(result.differences.end(), edge.begin(), edge.end());
}

// `flipped`, where it is given, is what the source leaves with its roundings the other way.
void compare_outputs(const Setup& setup, const task::Task& task, domain::Memory& spec, domain::Memory& candidate,
                     domain::Memory* flipped, NumericResult& result) {
  for (const task::BoundArg& arg : setup.bound.args) {
    if (!arg.is_tensor || arg.role == task::Role::In) continue;
    const std::optional<Format> format = float_format(arg.type);
    const std::string_view name = arg.name;
    const domain::Buffer &a = *spec.find(name), &b = *candidate.find(name);
    if (!format) {
      compare_integers(a, b, task::element_bytes(arg.type), result);
      continue;
    }
    const double room = flipped != nullptr ? room_of(*format, a, *flipped->find(name), arg.elements) : 0;
    compare_floats(*format, a, b, arg, task.tolerance, room, result);
  }
}

}  // namespace

NumericResult run_numeric(const Setup& setup, const task::Task& task, const Candidate& candidate, const Spec& spec,
                          unsigned workers, std::uint64_t step_budget) {
  NumericResult result;
  Findings findings;
  const Setup spec_setup = spec.setup(setup);
  const std::unique_ptr<domain::Memory> first = make_memory(spec_setup, findings);
  const std::unique_ptr<domain::Memory> other = first ? make_equal_memory(setup, *first, findings) : nullptr;
  if (!first || !other) return result;
  std::vector<Ieee> domains(workers);
  const auto run_ptx = [&](const Candidate& kernel, const Setup& own, domain::Memory& memory) -> std::optional<Stop> {
    const machine::Launch launch = make_launch(own, kernel, memory, findings);
    const auto program = machine::Program<Ieee>::decode(kernel.module, launch.entry, findings, own.shared_start);
    if (!program || findings.has_error()) return std::nullopt;
    machine::Options options;
    options.workers = workers;
    options.step_budget = step_budget;
    return program->run(launch, pointers(domains), memory, options).stop;
  };
  const auto run_source = [&](domain::Memory& memory, bool flips) {
    triton::Options options;
    options.workers = workers;
    options.step_budget = step_budget;
    options.flips_roundings = flips;
    const triton::Call call = make_call(spec_setup, *spec.kernel, memory, findings);
    return spec.kernel->evaluate(call, pointers(domains), memory, options).stop;
  };
  result.spec_stop = spec.ptx != nullptr ? run_ptx(*spec.ptx, spec_setup, *first) : run_source(*first, false);
  if (result.spec_stop || findings.has_error()) return result;
  result.candidate_stop = run_ptx(candidate, setup, *other);
  if (result.candidate_stop || findings.has_error()) return result;
  compare_outputs(setup, task, *first, *other, nullptr, result);
  if (result.differences.empty() || spec.kernel == nullptr) return result;
  // The second look costs another run of the source, and is seldom needed.
  const std::unique_ptr<domain::Memory> flipped = make_memory(spec_setup, findings);
  if (!flipped || run_source(*flipped, true)) return result;
  result.differences.clear();
  compare_outputs(setup, task, *first, *other, flipped.get(), result);
  return result;
}

}  // namespace plumb::prove
