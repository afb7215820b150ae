// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "task/codes.h"
#include "task/launch.h"

namespace plumb::task {
namespace {

constexpr std::int64_t kMostGrid[3] = {2147483647, 65535, 65535};
constexpr std::int64_t kMostBlock[3] = {1024, 1024, 64};
constexpr std::int64_t kMostThreads = 1024;
constexpr std::int64_t kMostCluster = 16;
constexpr std::int64_t kMostShared = 232448;  // 227 KiB, what an sm_90 CTA may have
constexpr std::int64_t kMostWorkspace = 1LL << 40;

class LaunchBinder {
 public:
  LaunchBinder(const LaunchHeader& header, const Bound& bound, Findings& findings)
      : header_(header), bound_(bound), sizes_(bound.sizes), findings_(findings) {}

  std::optional<BoundLaunch> run() {
    out_.entry = header_.entry;
    std::copy(std::begin(bound_.grid), std::end(bound_.grid), std::begin(out_.grid));
    if (!header_.grid.empty() && !extents("/grid", header_.grid, kMostGrid, out_.grid)) return std::nullopt;
    for (int axis = 0; axis < 3; ++axis) sizes_[fmt::format("grid_{}", "xyz"[axis])] = out_.grid[axis];
    for (const BoundArg& arg : bound_.args) {
      for (std::size_t i = 0; i < arg.block.size(); ++i) {
        sizes_[descriptor_size(arg.name, "extent", i)] = arg.extent[i];
        sizes_[descriptor_size(arg.name, "stride", i)] = arg.strides[i];
      }
    }
    if (!extents("/block", header_.block, kMostBlock, out_.block)) return std::nullopt;
    constexpr std::int64_t kMostClusters[3] = {kMostCluster, kMostCluster, kMostCluster};
    if (!extents("/cluster", header_.cluster, kMostClusters, out_.cluster)) return std::nullopt;
    if (!threads() || !cluster()) return std::nullopt;
    const auto shared = bounded("/shared", header_.shared, kMostShared, "bytes of shared memory");
    const auto workspace = bounded("/workspace", header_.workspace, kMostWorkspace, "bytes of workspace");
    if (!shared || !workspace || !tensor_maps() || !params()) return std::nullopt;
    out_.shared = static_cast<std::uint32_t>(*shared);
    out_.workspace = static_cast<std::uint64_t>(*workspace);
    return std::move(out_);
  }

 private:
  bool fail(const Code& code, const std::string& pointer, std::string message) {
    findings_.add(code, fmt::format("{}, at the shape {}", message, bound_.label), header_.place_of(pointer));
    return false;
  }

  bool extents(const std::string& pointer, const std::vector<std::string>& list, const std::int64_t (&most)[3],
               std::uint32_t (&out)[3]) {
    std::fill(std::begin(out), std::end(out), 1u);
    for (std::size_t i = 0; i < list.size() && i < 3; ++i) {
      const std::string at = fmt::format("{}/{}", pointer, i);
      const auto value = evaluate(list[i], sizes_, header_.place_of(at), findings_);
      if (!value) return false;
      if (*value < 1 || *value > most[i]) {
        return fail(kLaunchLimit, at,
                    fmt::format("the {} dimension of `{}` would be {}, it must be 1 to {}", "xyz"[i], pointer.substr(1),
                                *value, most[i]));
      }
      out[i] = static_cast<std::uint32_t>(*value);
    }
    return true;
  }

  bool threads() {
    const std::int64_t count = std::int64_t{out_.block[0]} * out_.block[1] * out_.block[2];
    if (count <= kMostThreads) return true;
    return fail(kLaunchLimit, "/block",
                fmt::format("a block of {} threads, a block has at most {}", count, kMostThreads));
  }

  bool cluster() {
    const std::int64_t count = std::int64_t{out_.cluster[0]} * out_.cluster[1] * out_.cluster[2];
    if (count > kMostCluster) {
      return fail(kLaunchLimit, "/cluster",
                  fmt::format("a cluster of {} CTAs, a cluster has at most {}", count, kMostCluster));
    }
    for (int axis = 0; axis < 3; ++axis) {
      if (out_.grid[axis] % out_.cluster[axis] == 0) continue;
      return fail(kLaunchLimit, "/cluster",
                  fmt::format("a cluster of {} in {} does not divide the grid's {}", out_.cluster[axis], "xyz"[axis],
                              out_.grid[axis]));
    }
    return true;
  }

  std::optional<std::int64_t> bounded(const std::string& pointer, const std::string& expression, std::int64_t most,
                                      std::string_view what) {
    const auto value = evaluate(expression, sizes_, header_.place_of(pointer), findings_);
    if (!value) return std::nullopt;
    if (*value >= 0 && *value <= most) return value;
    fail(kLaunchLimit, pointer, fmt::format("{} {}, it must be 0 to {}", *value, what, most));
    return std::nullopt;
  }

  bool tensor_maps() {
    const auto place_of = [this](const std::string& pointer) { return header_.place_of(pointer); };
    for (const TensorMapRow& row : header_.tensor_maps) {
      if (find_arg(row.name) != nullptr) {
        return fail(kLaunchValue, row.pointer(), fmt::format("`{}` names an argument and a tensor map", row.name));
      }
      std::optional<BoundTensorMap> map = bind_tensor_map(row, bound_, sizes_, place_of, findings_);
      if (!map) return false;
      out_.tensor_maps.push_back(std::move(*map));
    }
    return true;
  }

  bool is_tensor_map(std::string_view name) const {
    return std::any_of(out_.tensor_maps.begin(), out_.tensor_maps.end(),
                       [&](const BoundTensorMap& map) { return map.name == name; });
  }

  const BoundArg* find_arg(std::string_view name) const {
    for (const BoundArg& arg : bound_.args) {
      if (arg.name == name) return &arg;
    }
    return nullptr;
  }

  void add_arg(const BoundArg& arg) {
    using Kind = BoundLaunch::Param::Kind;
    out_.params.push_back({arg.is_tensor ? Kind::Tensor : Kind::Scalar, arg.name, arg.integer});
  }

  bool params() {
    using Kind = BoundLaunch::Param::Kind;
    if (!header_.params) {
      for (const BoundArg& arg : bound_.args) add_arg(arg);
      return true;
    }
    for (std::size_t i = 0; i < header_.params->size(); ++i) {
      const std::string& text = (*header_.params)[i];
      if (text == "null") out_.params.push_back({Kind::Null, {}, 0});
      else if (text == "workspace") out_.params.push_back({Kind::Workspace, {}, 0});
      else if (const BoundArg* arg = find_arg(text)) add_arg(*arg);
      else if (is_tensor_map(text)) out_.params.push_back({Kind::TensorMap, text, 0});
      else if (const auto value = evaluate(text, sizes_, header_.place_of(fmt::format("/params/{}", i)), findings_)) {
        out_.params.push_back({Kind::Integer, {}, *value});
      } else {
        return false;
      }
    }
    return true;
  }

  const LaunchHeader& header_;
  const Bound& bound_;
  Sizes sizes_;
  Findings& findings_;
  BoundLaunch out_;
};

}  // namespace

std::string descriptor_size(std::string_view argument, std::string_view what, std::size_t axis) {
  return fmt::format("{}_{}_{}", argument, what, axis);
}

std::optional<Finding> broken_promise(const LaunchHeader& header, const Bound& bound, Findings& findings) {
  const auto breaks = [&](std::string message, const std::string& pointer) {
    return Finding{&kLaunchPromise, Severity::Note, std::move(message), header.place_of(pointer), {}, {}};
  };
  const bool has_all = header.divisible_by_16 && header.function.empty();  // of Triton's own code, conditions say which
  for (const BoundArg& arg : bound.args) {
    if (!has_all || arg.is_tensor || arg.is_float || arg.integer % 16 == 0) continue;
    return breaks(fmt::format("the candidate relies on integers divisible by 16, and `{}` is {} at the shape {}",
                              arg.name, arg.integer, bound.label),
                  "/divisible_by_16");
  }
  for (std::size_t i = 0; i < header.conditions.size(); ++i) {
    const std::string pointer = header.function.empty() ? fmt::format("/requires/{}", i) : "/divisible_by_16";
    const auto value = evaluate(header.conditions[i], bound.sizes, header.place_of(pointer), findings);
    if (value && *value == 0) {
      return breaks(fmt::format("the candidate relies on `{}`, which does not hold at the shape {}",
                                header.conditions[i], bound.label),
                    pointer);
    }
  }
  return std::nullopt;
}

std::optional<BoundLaunch> bind_launch(const LaunchHeader& header, const Task& task, const Bound& bound,
                                       Findings& findings) {
  Findings own;
  if (!header.function.empty() && header.function != task.function) {
    own.add(kLaunchValue,
            fmt::format("the candidate was compiled from `{}`, the task's function is `{}`", header.function,
                        task.function),
            header.place);
  }
  if (std::optional<Finding> broken = broken_promise(header, bound, own)) {
    broken->severity = Severity::Error;
    own.add(std::move(*broken));
  }
  std::optional<BoundLaunch> out;
  if (!own.has_error()) out = LaunchBinder(header, bound, own).run();
  findings.append(std::move(own));
  return out;
}

}  // namespace plumb::task
