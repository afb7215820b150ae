// SPDX-License-Identifier: Apache-2.0
// A task: a Triton kernel plus how it is called (docs/task.md has the file format). `bind` turns a task and one shape
// into concrete arguments.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/finding.h"
#include "base/toml.h"
#include "task/expression.h"

namespace plumb::task {

enum class Role : std::uint8_t { In, Out, InOut };

// One row of [[args]].
//   tensor: type "*bf16", shape = ["M", "K"] (element counts; the buffer is their product), role = "in" | "out" |
//   "inout",
//           metadata = true with `init` for integer tensors that feed addresses; init = "normal" (default for floats),
//           "arange", "permutation", "randint(lo, hi)", "zeros"
//           block = [...] makes the kernel's parameter a tensor descriptor of that block, made on the host over
//           `extent` (default: `shape`) of the tensor
//   scalar: type "i32" | "i64" | "fp32" ..., value = expression or float literal
struct Arg {
  std::string name;
  std::string type;
  std::vector<std::string> shape;          // expressions; empty for scalars
  std::vector<std::string> block, extent;  // of a tensor that the kernel gets as a descriptor; else empty
  Role role = Role::In;
  bool is_metadata = false;
  std::string init;
  std::string value;  // scalars: an expression, or the text of a float literal
  double real = 0;    // float scalars
  Place place;
  bool is_tensor() const { return !type.empty() && type[0] == '*'; }
};

using Constant = std::variant<std::int64_t, double, bool, std::string>;

struct Tolerance {
  double relative = 0, absolute = 0;
};

struct Shape {
  std::string label;  // "n=1000"
  Sizes sizes;
  Place place;
};

struct Task {
  std::filesystem::path folder;
  std::string name;  // the folder's name
  std::filesystem::path kernel_file;
  std::string function;
  std::vector<Arg> args;  // in the kernel's parameter order where they are parameters
  // [constexpr]: a number or boolean as it stands; a string is an expression over sizes; { text = "..." } is a string.
  struct ConstexprRow {
    std::optional<Constant> constant;
    std::string expression;
    Place place;
  };
  std::map<std::string, ConstexprRow> constexprs;
  std::vector<std::string> grid;  // one to three expressions over sizes and constexprs
  std::vector<Shape> prove_shapes, test_shapes, bench_shapes;
  Tolerance tolerance;
  Toml toml;  // for places
};

struct BoundArg {
  std::string name, type;
  bool is_tensor = false;
  // tensor
  std::vector<std::int64_t> shape;
  std::uint64_t elements = 0;
  std::vector<std::int64_t> block, extent, strides;  // of a descriptor, in elements; else empty
  Role role = Role::In;
  bool is_metadata = false;
  std::string init;
  // scalar
  std::int64_t integer = 0;
  double real = 0;
  bool is_float = false;

  bool is_descriptor() const { return !block.empty(); }
};

struct Bound {
  std::string label;
  Sizes sizes;  // sizes of the shape, integer constexprs and integer scalars
  std::vector<BoundArg> args;
  std::map<std::string, Constant> constexprs;
  std::uint32_t grid[3] = {1, 1, 1};
};

std::string label_of(const Sizes& sizes);
// Bytes of one element, or of a scalar: "*bf16" and "bf16" are 2. Zero for a type that tasks do not have.
unsigned element_bytes(std::string_view type);
bool is_float_type(std::string_view type);
// Bytes that the address of a descriptor's tensor is a multiple of.
inline constexpr std::uint32_t kDescriptorAlignment = 16;

// Reads FOLDER/task.toml, or the file itself. Every wrong key, type or name is a finding with its place, and so is a
// shape of [[shapes.*]] that does not fit its grid. `needs_kernel`: false where no Triton source is asked for; [kernel]
// may then be left out.
std::optional<Task> load_task(const std::filesystem::path& path, Findings& findings, bool needs_kernel = true);
// `overrides` replaces constexprs and makes integer arguments constexpr, as Triton does with those equal to 1 (its
// launch JSON tells which). A value that differs from the argument's own is a finding.
std::optional<Bound> bind(const Task& task, const Shape& shape, const std::map<std::string, Constant>& overrides,
                          Findings& findings);
// "n=1000,k=3" as given on a command line.
std::optional<Shape> parse_shape(std::string_view text, Findings& findings);

}  // namespace plumb::task
