// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "task/codes.h"
#include "task/task.h"

namespace plumb::task {
namespace {

constexpr std::uint64_t kMostBytes = 1ULL << 40;
constexpr std::int64_t kMostGrid[3] = {2147483647, 65535, 65535};

// Whether `value` fits an integer type of Triton's spelling.
bool fits(std::int64_t value, std::string_view type) {
  const unsigned bits = type == "i1" || type == "u1" ? 1 : 8 * element_bytes(type);
  if (type[0] == 'u' || bits == 1) return value >= 0 && (bits >= 63 || value < std::int64_t{1} << bits);
  return bits == 64 || (value >= -(std::int64_t{1} << (bits - 1)) && value < std::int64_t{1} << (bits - 1));
}

std::optional<std::int64_t> integer_of(const Constant& constant) {
  if (const auto* integer = std::get_if<std::int64_t>(&constant)) return *integer;
  if (const auto* flag = std::get_if<bool>(&constant)) return *flag ? 1 : 0;
  return std::nullopt;
}

class Binder {
 public:
  Binder(const Task& task, const Shape& shape, const std::map<std::string, Constant>& overrides, Findings& findings)
      : task_(task), shape_(shape), overrides_(overrides), findings_(findings) {
    bound_.label = shape.label;
    bound_.sizes = shape.sizes;
  }

  std::optional<Bound> run() {
    if (!constexprs() || !args() || !grid()) return std::nullopt;
    return std::move(bound_);
  }

 private:
  // Findings about an expression get the shape as a note: the same expression is fine at others.
  std::optional<std::int64_t> value(const std::string& expression, const Place& place) {
    Findings own;
    const std::optional<std::int64_t> out = evaluate(expression, bound_.sizes, place, own);
    for (Finding finding : own.list()) {
      finding.notes.push_back({fmt::format("at the shape {}", shape_.label), shape_.place});
      findings_.add(std::move(finding));
    }
    return out;
  }

  // A finding at the shape, with the expression that it does not suit as a note.
  bool misfit(const Code& code, std::string message, const Place& expression) {
    Finding& finding = findings_.add(code, std::move(message), shape_.place);
    finding.notes.push_back({"from this", expression});
    return false;
  }

  bool set_constexpr(const std::string& name, const Constant& constant) {
    bound_.constexprs[name] = constant;
    if (const auto integer = integer_of(constant)) bound_.sizes[name] = *integer;
    return true;
  }

  bool constexprs() {
    for (const auto& [name, row] : task_.constexprs) {
      if (const auto override = overrides_.find(name); override != overrides_.end()) {
        set_constexpr(name, override->second);
      } else if (row.constant) {
        set_constexpr(name, *row.constant);
      }
    }
    for (const auto& [name, row] : task_.constexprs) {
      if (bound_.constexprs.contains(name)) continue;
      const auto computed = value(row.expression, row.place);
      if (!computed) return false;
      set_constexpr(name, *computed);
    }
    return true;
  }

  bool args() {
    // Scalars first: extents may name them.
    for (std::size_t i = 0; i < task_.args.size(); ++i) {
      const Arg& arg = task_.args[i];
      if (arg.is_tensor() || is_float_type(arg.type)) continue;
      const Place place = task_.toml.place(fmt::format("/args/{}/value", i));
      const auto integer = value(arg.value, place);
      if (!integer) return false;
      if (!fits(*integer, arg.type)) {
        return misfit(kShapeSize, fmt::format("`{}` would be {}, which {} cannot hold", arg.name, *integer, arg.type),
                      place);
      }
      if (const auto size = shape_.sizes.find(arg.name); size != shape_.sizes.end() && size->second != *integer) {
        return misfit(kShapeSize,
                      fmt::format("the shape says {} = {}, the argument is {}", arg.name, size->second, *integer),
                      place);
      }
      bound_.sizes[arg.name] = *integer;
    }
    for (std::size_t i = 0; i < task_.args.size(); ++i) {
      const Arg& arg = task_.args[i];
      if (const auto override = overrides_.find(arg.name); override != overrides_.end()) {
        if (!overridden(arg, override->second)) return false;
        continue;
      }
      BoundArg out;
      out.name = arg.name;
      out.type = arg.type;
      out.is_tensor = arg.is_tensor();
      out.role = arg.role;
      out.is_metadata = arg.is_metadata;
      out.init = arg.init;
      out.is_float = is_float_type(arg.type);
      out.real = arg.real;
      if (arg.is_tensor() && !extents(i, out)) return false;
      if (!arg.is_tensor() && !out.is_float) out.integer = bound_.sizes.find(arg.name)->second;
      bound_.args.push_back(std::move(out));
    }
    return true;
  }

  bool overridden(const Arg& arg, const Constant& constant) {
    const auto own = bound_.sizes.find(arg.name);
    const bool is_same = arg.is_tensor() ? false
                         : is_float_type(arg.type)
                             ? std::holds_alternative<double>(constant) && std::get<double>(constant) == arg.real
                             : integer_of(constant) == own->second;
    if (!is_same) {
      return misfit(kLaunchValue,
                    fmt::format("the candidate was compiled for another value of `{}` than this shape has", arg.name),
                    arg.place);
    }
    bound_.constexprs[arg.name] = constant;
    return true;
  }

  bool extents(std::size_t index, BoundArg& out) {
    const Arg& arg = task_.args[index];
    std::uint64_t elements = 1;
    bool is_too_large = false;
    if (!values(index, "shape", arg.shape, 0, out.shape)) return false;
    for (const std::int64_t extent : out.shape) {
      if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(extent), &elements)) is_too_large = true;
    }
    const Place place = task_.toml.place(fmt::format("/args/{}/shape", index));
    if (elements == 0) return misfit(kShapeSize, fmt::format("tensor `{}` would have no elements", arg.name), place);
    if (is_too_large || elements > kMostBytes / element_bytes(arg.type)) {
      return misfit(kShapeSize, fmt::format("tensor `{}` would have more than 2^40 bytes", arg.name), place);
    }
    out.elements = elements;
    return arg.block.empty() || descriptor(index, out);
  }

  bool descriptor(std::size_t index, BoundArg& out) {
    const Arg& arg = task_.args[index];
    if (!values(index, "block", arg.block, 1, out.block) || !values(index, "extent", arg.extent, 1, out.extent)) {
      return false;
    }
    out.strides.assign(out.shape.size(), 1);
    for (std::size_t i = out.shape.size() - 1; i > 0; --i) out.strides[i - 1] = out.strides[i] * out.shape[i];
    for (std::size_t i = 0; i < out.shape.size(); ++i) {
      const Place place = task_.toml.place(fmt::format("/args/{}/extent/{}", index, i));
      if (out.extent[i] > out.shape[i]) {
        return misfit(
            kShapeSize,
            fmt::format("`{}` would be described over {} of {} elements", arg.name, out.extent[i], out.shape[i]),
            place);
      }
      const std::int64_t bytes = out.strides[i] * element_bytes(arg.type);
      if (i + 1 < out.shape.size() && bytes % kDescriptorAlignment != 0) {
        return misfit(kShapeSize,
                      fmt::format("a row of `{}` would be {} bytes; a descriptor's are multiples of {}", arg.name,
                                  bytes, kDescriptorAlignment),
                      place);
      }
    }
    return true;
  }

  // A list of expressions of an argument, each of them `least` or more.
  bool values(std::size_t index, const char* key, const std::vector<std::string>& expressions, std::int64_t least,
              std::vector<std::int64_t>& out) {
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      const Place place = task_.toml.place(fmt::format("/args/{}/{}/{}", index, key, i));
      const auto extent = value(expressions[i], place);
      if (!extent) return false;
      if (*extent < least) {
        return misfit(kShapeSize, fmt::format("an extent of `{}` would be {}", task_.args[index].name, *extent), place);
      }
      out.push_back(*extent);
    }
    return true;
  }

  bool grid() {
    for (std::size_t i = 0; i < task_.grid.size(); ++i) {
      const Place place = task_.toml.place(fmt::format("/grid/{}", i));
      const auto dimension = value(task_.grid[i], place);
      if (!dimension) return false;
      if (*dimension < 1 || *dimension > kMostGrid[i]) {
        return misfit(
            kShapeGrid,
            fmt::format("the shape {} does not fit the grid: its {} dimension `{}` would be {}, it must be 1 to {}",
                        shape_.label, "xyz"[i], task_.grid[i], *dimension, kMostGrid[i]),
            place);
      }
      bound_.grid[i] = static_cast<std::uint32_t>(*dimension);
    }
    return true;
  }

  const Task& task_;
  const Shape& shape_;
  const std::map<std::string, Constant>& overrides_;
  Findings& findings_;
  Bound bound_;
};

}  // namespace

std::optional<Bound> bind(const Task& task, const Shape& shape, const std::map<std::string, Constant>& overrides,
                          Findings& findings) {
  for (const auto& [name, constant] : overrides) {
    bool is_known = task.constexprs.contains(name);
    for (const Arg& arg : task.args) is_known = is_known || arg.name == name;
    if (!is_known) {
      findings.add(kLaunchValue,
                   fmt::format("the candidate fixes the constexpr `{}`, which the task does not have", name),
                   task.toml.place("/constexpr"));
      return std::nullopt;
    }
  }
  return Binder(task, shape, overrides, findings).run();
}

std::optional<Shape> parse_shape(std::string_view text, Findings& findings) {
  const auto source = std::make_shared<Source>("--shape", std::string(text));
  Shape shape;
  shape.place = {source, {0, static_cast<std::uint32_t>(text.size())}};
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view entry = text.substr(at, end - at);
    const std::size_t equals = entry.find('=');
    std::int64_t value = 0;
    bool is_good = equals != std::string_view::npos && equals > 0;
    if (is_good) {
      const auto [stop, error] = std::from_chars(entry.data() + equals + 1, entry.data() + entry.size(), value);
      is_good = error == std::errc() && stop == entry.data() + entry.size();
    }
    if (!is_good) {
      const auto begin = static_cast<std::uint32_t>(at);
      findings.add(kShapeText, fmt::format("`{}` is not a size; write name=integer", entry),
                   {source, {begin, static_cast<std::uint32_t>(end)}});
      return std::nullopt;
    }
    shape.sizes[std::string(entry.substr(0, equals))] = value;
    at = end + 1;
  }
  shape.label = label_of(shape.sizes);
  return shape;
}

}  // namespace plumb::task
