// SPDX-License-Identifier: Apache-2.0
// Further Triton kernels that compute what a task computes, for autotuning only: `baselines.toml` beside task.toml
// (docs/task.md). Nothing here is part of what a task means: no proof, test or shape depends on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "base/toml.h"
#include "task/task.h"

namespace plumb::task {

// A parameter that is a tensor descriptor which the host makes. Lists are outermost first, in elements.
struct DescriptorRow {
  std::string tensor;
  std::vector<std::string> shape, strides, block;  // strides: empty means dense
};

struct BaselineForm {
  std::string name;
  std::filesystem::path file;
  std::string function;
  std::vector<std::string> grid;
  std::vector<std::string> where;  // configurations for which one of these is 0 are not tried
  std::optional<std::int64_t> most;
  std::map<std::string, Task::ConstexprRow> constexprs;    // beside the task's, and in place of those
  std::map<std::string, std::vector<std::int64_t>> space;  // num_warps, num_stages, constexprs
  std::map<std::string, std::string> values;               // integer parameters that the task does not have
  std::map<std::string, DescriptorRow> descriptors;
  std::string pointer;  // of its table
};

struct BaselineForms {
  Toml toml;  // for places
  std::vector<BaselineForm> list;
};

using FormConfig = std::map<std::string, std::int64_t>;

struct BoundDescriptor {
  std::string tensor;
  std::vector<std::int64_t> shape, strides, block;
};

// A form with the numbers of one shape and one configuration. `constexprs` holds all that are known: the task's too,
// whether the kernel has such a parameter or not.
struct BoundForm {
  std::map<std::string, Constant> constexprs;
  std::uint32_t grid[3] = {1, 1, 1};
  std::map<std::string, std::int64_t> values;
  std::map<std::string, BoundDescriptor> descriptors;
};

// No forms where the task has no baselines.toml; empty after a finding.
std::optional<BaselineForms> load_baseline_forms(const Task& task, Findings& findings);

// Empty where the form does not try the configuration, and after a finding. `bound` is the task at the shape.
std::optional<BoundForm> bind_form(const BaselineForms& forms, const BaselineForm& form, const Bound& bound,
                                   const FormConfig& config, Findings& findings);

}  // namespace plumb::task
