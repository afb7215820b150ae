// SPDX-License-Identifier: Apache-2.0
// How a candidate is launched: the TOML header in leading `//!` lines of the PTX, or the launch JSON that Triton's
// compiler leaves beside its PTX (docs/candidate.md). Expressions are over the task's sizes and constexprs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "task/task.h"
#include "task/tensor_map.h"

namespace plumb::task {

struct LaunchHeader {
  std::string entry;              // empty: the only entry of the module
  std::vector<std::string> grid;  // empty: the task's own grid
  std::vector<std::string> block = {"128"};
  std::vector<std::string> cluster = {"1"};
  std::string shared = "0";     // dynamic shared bytes
  std::string workspace = "0";  // bytes, zeroed, passed where a parameter says "workspace"
  // One per entry parameter: an argument's name, a tensor map's, an integer expression, or "workspace", "null". Absent:
  // the task's arguments in order.
  std::optional<std::vector<std::string>> params;
  std::map<std::string, Constant> constexprs;  // Triton's launch JSON; replaces the task's
  // Divisibility that the code relies on, as Triton's launch promises: pointers and integers.
  bool divisible_by_16 = false;
  std::vector<TensorMapRow> tensor_maps;
  std::vector<std::string> conditions;  // `requires`: expressions that hold wherever the candidate claims anything
  std::string function;                 // Triton's launch JSON: the source function; empty otherwise
  Place place;
  std::shared_ptr<const Toml> toml;  // of `//!` lines; null for Triton's launch JSON
  // Where a value stands, by its key ("/grid").
  Place place_of(const std::string& pointer) const;
};

// Finds `//!` lines in the PTX text; without them, FILE with the suffix .json.
std::optional<LaunchHeader> load_launch(const SourcePtr& ptx, const std::filesystem::path& ptx_path,
                                        Findings& findings);

// What an expression of a launch calls an extent or a stride of an argument that is a descriptor ("extent", "stride").
std::string descriptor_size(std::string_view argument, std::string_view what, std::size_t axis);

struct BoundLaunch {
  std::string entry;
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
  std::uint32_t shared = 0;
  std::uint64_t workspace = 0;
  struct Param {
    enum class Kind : std::uint8_t { Tensor, Scalar, Integer, Workspace, Null, TensorMap } kind = Kind::Null;
    std::string arg;  // or the tensor map's name
    std::int64_t integer = 0;
  };
  std::vector<Param> params;
  std::vector<BoundTensorMap> tensor_maps;
};
// What of the header's promises the shape breaks, as a note; empty when the candidate claims this shape. Such a shape
// is skipped: the proof says nothing about it.
std::optional<Finding> broken_promise(const LaunchHeader& header, const Bound& bound, Findings& findings);
// A broken promise is an error here. Expressions may also use grid_x, grid_y and grid_z, except in `grid` itself.
std::optional<BoundLaunch> bind_launch(const LaunchHeader& header, const Task& task, const Bound& bound,
                                       Findings& findings);

}  // namespace plumb::task
