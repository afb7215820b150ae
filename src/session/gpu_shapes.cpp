// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <set>

#include "base/hash.h"
#include "gpu/codes.h"
#include "session/gpu_testing.h"

namespace plumb::session {
namespace {

// What all listed shapes have in common, apart from the values.
struct Ranges {
  std::vector<std::string> names;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> range;
  std::map<std::string, std::int64_t> divisor;  // of all listed values: tiles that a source takes for granted
  std::vector<std::pair<std::string, std::string>> equal, at_most;
  // a * b <= c: a row of `a` elements, `b` apart, fits the stride `c`.
  std::vector<std::array<std::string, 3>> products;
  // a elements s apart beside b elements t apart: one dimension fits into the stride of the other, so that no two
  // elements are one.
  std::vector<std::array<std::string, 4>> grids;

  explicit Ranges(const std::vector<const task::Shape*>& shapes) {
    for (const auto& [size, value] : shapes.front()->sizes) {
      names.push_back(size);
      range[size] = {value, value};
      for (const task::Shape* shape : shapes) {
        const std::int64_t other = value_of(shape->sizes, size);
        range[size] = {std::min(range[size].first, other), std::max(range[size].second, other)};
        divisor[size] = std::gcd(divisor[size], other);
      }
    }
    for (const std::string& a : names) {
      for (const std::string& b : names) {
        if (a == b) continue;
        const auto holds = [&](auto relation) {
          return std::all_of(shapes.begin(), shapes.end(), [&](const task::Shape* shape) {
            return relation(value_of(shape->sizes, a), value_of(shape->sizes, b));
          });
        };
        if (a < b && holds([](auto x, auto y) { return x == y; })) equal.emplace_back(a, b);
        if (holds([](auto x, auto y) { return x <= y; })) at_most.emplace_back(a, b);
        for (const std::string& c : names) {
          const auto fits = [&](const task::Shape* shape) {
            return value_of(shape->sizes, a) * value_of(shape->sizes, b) <= value_of(shape->sizes, c);
          };
          if (c == a || c == b) continue;
          if (a < b && std::all_of(shapes.begin(), shapes.end(), fits)) products.push_back({a, b, c});
          for (const std::string& d : names) {
            const std::array<std::string, 4> grid = {a, b, c, d};
            if (a >= c || d == a || d == b || d == c) continue;
            if (std::all_of(shapes.begin(), shapes.end(),
                            [&](const task::Shape* shape) { return is_apart(grid, shape->sizes); })) {
              grids.push_back(grid);
            }
          }
        }
      }
    }
  }

  static std::int64_t value_of(const task::Sizes& sizes, const std::string& size) {
    const auto at = sizes.find(size);
    return at == sizes.end() ? 0 : at->second;
  }

  static bool is_apart(const std::array<std::string, 4>& grid, const task::Sizes& sizes) {
    const std::int64_t a = value_of(sizes, grid[0]), s = value_of(sizes, grid[1]), b = value_of(sizes, grid[2]),
                       t = value_of(sizes, grid[3]);
    return a * s <= t || b * t <= s;
  }

  bool holds(const task::Sizes& sizes) const {
    const auto value = [&](const std::string& size) { return value_of(sizes, size); };
    return std::all_of(equal.begin(), equal.end(),
                       [&](const auto& pair) { return value(pair.first) == value(pair.second); }) &&
           std::all_of(at_most.begin(), at_most.end(),
                       [&](const auto& pair) { return value(pair.first) <= value(pair.second); }) &&
           std::all_of(products.begin(), products.end(),
                       [&](const auto& each) { return value(each[0]) * value(each[1]) <= value(each[2]); }) &&
           std::all_of(grids.begin(), grids.end(), [&](const auto& grid) { return is_apart(grid, sizes); });
  }
};

constexpr std::uint64_t kMostElements = 1ULL << 24;  // of a drawn shape: it must be judged on the CPU

bool is_small(const task::Task& task, const task::Shape& shape) {
  Findings ignored;
  const auto bound = task::bind(task, shape, {}, ignored);
  if (!bound) return false;
  std::uint64_t elements = 0;
  for (const task::BoundArg& arg : bound->args) elements += arg.is_tensor ? arg.elements : 0;
  return elements <= kMostElements;
}

bool is_forbidden(ptx::Special special) {
  using ptx::Special;
  switch (special) {
    case Special::clock:
    case Special::clock_hi:
    case Special::clock64:
    case Special::globaltimer:
    case Special::globaltimer_lo:
    case Special::globaltimer_hi:
    case Special::smid:
    case Special::gridid:
    case Special::pm:
    case Special::pm64:
    case Special::envreg:
    case Special::current_graph_exec:
      return true;
    default:
      return false;
  }
}

const ptx::Operand* find_special(const std::vector<ptx::Operand>& operands) {
  for (const ptx::Operand& operand : operands) {
    if (operand.kind == ptx::Operand::Kind::Special && is_forbidden(operand.special)) return &operand;
    if (const ptx::Operand* inner = find_special(operand.elements)) return inner;
  }
  return nullptr;
}

}  // namespace

std::vector<task::Shape> draw_hidden_shapes(const task::Task& task, unsigned count, std::uint64_t seed) {
  constexpr unsigned kTriesEach = 60;
  std::vector<const task::Shape*> listed;
  std::set<std::string> labels;
  for (const auto* list : {&task.prove_shapes, &task.test_shapes}) {
    for (const task::Shape& shape : *list) {
      listed.push_back(&shape);
      labels.insert(shape.label);
    }
  }
  std::vector<task::Shape> out;
  if (listed.empty()) return out;
  const Ranges ranges(listed);
  std::mt19937_64 random(mix64(seed));
  for (unsigned i = 0; i < count * kTriesEach && out.size() < count; ++i) {
    // Every second one keeps the multiples of 16 that faster code relies on.
    const bool is_even = out.size() % 2 == 1;
    task::Shape shape;
    shape.sizes = listed[random() % listed.size()]->sizes;
    for (const std::string& size : ranges.names) {
      if (random() % 3 == 0) continue;
      const auto [low, high] = ranges.range.at(size);
      std::int64_t value = low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
      const std::int64_t unit = std::lcm(std::max<std::int64_t>(1, ranges.divisor.at(size)), is_even ? 16 : 1);
      value = value / unit * unit;
      if (value < low) value = low;
      shape.sizes[size] = value;
    }
    for (const auto& [a, b] : ranges.equal) shape.sizes[b] = shape.sizes[a];
    shape.label = task::label_of(shape.sizes);
    if (!ranges.holds(shape.sizes) || !is_small(task, shape) || !labels.insert(shape.label).second) continue;
    out.push_back(std::move(shape));
  }
  return out;
}

void find_forbidden(const prove::Candidate& candidate, Findings& findings) {
  for (const ptx::Function& function : candidate.module->functions) {
    if (function.is_extern) {
      findings.add(gpu::kForbidden, fmt::format("the function `{}` is not part of the file", function.name),
                   {candidate.module->source, function.span});
    }
    for (const ptx::Instr& instr : function.instrs) {
      if (const ptx::Operand* operand = find_special(instr.operands)) {
        findings.add(gpu::kForbidden,
                     fmt::format("a candidate may not read {}", candidate.module->source->slice(operand->span)),
                     {candidate.module->source, operand->span});
        return;
      }
    }
  }
}

}  // namespace plumb::session
