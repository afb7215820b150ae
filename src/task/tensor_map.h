// SPDX-License-Identifier: Apache-2.0
// Tensor maps that a launch header asks the host to make: `[tensor_maps.NAME]` tables (docs/candidate.md). What values
// are legal together is the driver's to say, and is checked where maps are encoded; here they are read and computed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/finding.h"
#include "task/task.h"

namespace plumb::task {

class TomlReader;

// One table. Expressions are over the task's sizes; empty lists stand for what is usual.
struct TensorMapRow {
  std::string name;
  std::string tensor;                        // the argument that it describes
  std::string offset = "0";                  // bytes from the tensor's start
  std::string type;                          // of elements: "bf16", "u8", ...; empty: the argument's
  std::vector<std::string> dims;             // innermost first; empty: the argument's shape or extent
  std::vector<std::string> strides;          // bytes, of dimensions 1 and up; empty: dense
  std::vector<std::string> element_strides;  // empty: ones
  std::vector<std::string> box;              // tiled maps
  std::vector<std::string> lower, upper;     // im2col maps, W first
  std::string channels, pixels;
  std::string swizzle = "none", interleave = "none", promotion = "none", fill = "zero";

  bool is_im2col() const { return !channels.empty(); }
  // Of this table in the header.
  std::string pointer() const { return "/tensor_maps/" + name; }
};

// The numbers of a row at one shape.
struct BoundTensorMap {
  std::string name, tensor, type;
  std::int64_t offset = 0;
  std::vector<std::int64_t> dims, strides, element_strides, box, lower, upper;
  std::int64_t channels = 0, pixels = 0;
  bool is_im2col = false;
  std::string swizzle, interleave, promotion, fill;
};

// The tables of a header; what is wrong goes to the reader's findings.
std::vector<TensorMapRow> read_tensor_maps(TomlReader& reader);

// Computes a row. `place_of` gives the place of a key of the header.
std::optional<BoundTensorMap> bind_tensor_map(const TensorMapRow& row, const Bound& bound, const Sizes& sizes,
                                              const std::function<Place(const std::string&)>& place_of,
                                              Findings& findings);

}  // namespace plumb::task
