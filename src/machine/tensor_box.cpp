// SPDX-License-Identifier: Apache-2.0
#include "machine/tensor_box.h"

#include <fmt/format.h>

#include <algorithm>

namespace plumb::machine {
namespace {

constexpr std::uint32_t kUnit = 16;  // bytes that move together: swizzle and the bounds of stores count in them

// Rows of a tile, laid down one after the other.
class Planner {
 public:
  Planner(const TensorMap& map, const TensorAccess& access, TensorError& error)
      : map_(map), access_(access), error_(error), size_(byte_size(map.type)) {}

  TensorPlan run() {
    if (!fits()) return {};
    switch (access_.mode) {
      case TensorMode::Tile:
        tile();
        break;
      case TensorMode::Im2col:
        pixels();
        break;
      case TensorMode::Gather4:
        rows();
        break;
    }
    if (error_.kind != TensorError::Kind::None) return {};
    return std::move(plan_);
  }

 private:
  bool is_interleaved() const { return map_.interleave != Interleave::None; }
  std::uint32_t unit() const { return kUnit << (map_.interleave == Interleave::Bytes32 ? 1 : 0); }
  unsigned slice_axis() const { return map_.rank - 2; }  // of interleaved maps: slices of channels
  std::int64_t at(unsigned axis) const { return access_.coordinates[axis]; }

  bool fail(TensorError::Kind kind, std::string text) {
    error_ = {kind, std::move(text)};
    return false;
  }

  bool fits() {
    const std::vector<TensorMapProblem> problems = problems_of(map_);
    if (!problems.empty()) return fail(TensorError::Kind::Map, problems.front().text);
    if (map_.rank != access_.dims) {
      return fail(TensorError::Kind::Map,
                  fmt::format("it has rank {}, and the instruction has {} dimensions", map_.rank, access_.dims));
    }
    if (map_.is_im2col != (access_.mode == TensorMode::Im2col)) {
      return fail(TensorError::Kind::Map, map_.is_im2col ? "it is an im2col map, and the instruction copies a tile"
                                                         : "it is a tiled map, and the instruction's mode is im2col");
    }
    if (access_.mode == TensorMode::Gather4) return true;
    if (!is_interleaved() && at(0) * size_ % kUnit != 0) {
      return fail(
          TensorError::Kind::Coordinate,
          fmt::format("the innermost coordinate {} is {} bytes, it must be a multiple of 16", at(0), at(0) * size_));
    }
    for (unsigned axis = 0; access_.is_store && axis < map_.rank; ++axis) {
      if (at(axis) >= 0) continue;
      return fail(TensorError::Kind::Coordinate,
                  fmt::format("coordinate {} is {}, a store must not start before the tensor", axis, at(axis)));
    }
    return true;
  }

  // -- Laying down bytes. --------------------------------------------------------------------------------------------
  std::uint32_t pitch(std::uint32_t row) const { return is_interleaved() ? row : std::max(row, span_of(map_.swizzle)); }

  void put(std::uint64_t global, std::uint32_t linear, std::uint32_t size, bool is_fill) {
    while (size > 0) {
      const std::uint32_t part = map_.swizzle == Swizzle::None ? size : std::min(size, kUnit - linear % kUnit);
      put_run({is_fill ? 0 : global, swizzled(map_.swizzle, linear), part, is_fill});
      global += part, linear += part, size -= part;
    }
  }
  void put_run(const TensorPiece& piece) {
    if (!plan_.pieces.empty()) {
      TensorPiece& last = plan_.pieces.back();
      const bool joins = last.is_fill == piece.is_fill && last.shared + last.size == piece.shared &&
                         (piece.is_fill || last.global + last.size == piece.global);
      if (joins) {
        last.size += piece.size;
        return;
      }
    }
    plan_.pieces.push_back(piece);
  }

  // `count` elements of dimension 0 from element `first`, whose row begins at `global`; the row is outside of the
  // tensor altogether unless `is_inside`. Loads test each element; a store writes every unit that begins inside.
  void put_row(std::uint64_t global, std::uint32_t linear, std::int64_t first, std::uint32_t count, bool is_inside) {
    const auto dim = static_cast<std::int64_t>(map_.dims[0]);
    std::int64_t begin = std::clamp<std::int64_t>(-first, 0, count),
                 end = std::clamp<std::int64_t>(dim - first, 0, count);
    if (!is_inside || end < begin) begin = end = 0;
    std::uint32_t low = static_cast<std::uint32_t>(begin) * size_, high = static_cast<std::uint32_t>(end) * size_;
    const std::uint64_t start = global + static_cast<std::uint64_t>(first) * size_;
    if (access_.is_store) {
      high = (high + kUnit - 1) / kUnit * kUnit;
      if (high > low) put(start + low, linear + low, high - low, false);
      return;
    }
    if (low > 0) put(0, linear, low, true);
    if (high > low) put(start + low, linear + low, high - low, false);
    if (high < count * size_) put(0, linear + high, count * size_ - high, true);
  }

  // One interleaved unit.
  void put_unit(std::uint64_t global, std::uint32_t linear, bool is_inside) {
    if (is_inside) put(global, linear, unit(), false);
    else if (!access_.is_store) put(0, linear, unit(), true);
  }

  std::uint32_t linear_end(std::uint32_t rows, std::uint32_t row) const { return access_.shared + rows * pitch(row); }

  // -- Tiles. --------------------------------------------------------------------------------------------------------
  std::uint32_t steps(unsigned axis) const {
    return (map_.box[axis] + map_.element_strides[axis] - 1) / map_.element_strides[axis];
  }
  bool is_inside(std::int64_t x, unsigned axis) const {
    return x >= 0 && x < static_cast<std::int64_t>(map_.dims[axis]);
  }

  // Without interleave, rows of dimension 0. With it, dimension 0 counts units, and a copy takes one slice of channels,
  // whatever the box says.
  void tile() {
    const std::uint32_t count = is_interleaved() ? steps(0) : map_.box[0];
    const std::uint32_t row = count * (is_interleaved() ? unit() : size_);
    std::array<std::uint32_t, kMaxTensorRank> index{};
    std::uint32_t rows = 0;
    for (bool is_more = true; is_more; ++rows) {
      std::uint64_t global = map_.address;
      bool inside = true;
      for (unsigned axis = 1; axis < map_.rank; ++axis) {
        const std::int64_t x = at(axis) + std::int64_t{index[axis]} * map_.element_strides[axis];
        inside = inside && is_inside(x, axis);
        global += static_cast<std::uint64_t>(x) * map_.strides[axis - 1];
      }
      const std::uint32_t linear = linear_end(rows, row);
      if (is_interleaved()) {
        for (std::uint32_t i = 0; i < count; ++i) {
          const std::int64_t x = at(0) + std::int64_t{i} * map_.element_strides[0];
          put_unit(global + static_cast<std::uint64_t>(x) * unit(), linear + i * unit(), inside && is_inside(x, 0));
        }
      } else {
        put_row(global, linear, at(0), count, inside);
      }
      is_more = advance(index);
    }
    plan_.bytes = rows * row;
  }
  bool advance(std::array<std::uint32_t, kMaxTensorRank>& index) const {
    for (unsigned axis = 1; axis < map_.rank; ++axis) {
      const std::uint32_t count = is_interleaved() && axis == slice_axis() ? 1 : steps(axis);
      if (++index[axis] < count) return true;
      index[axis] = 0;
    }
    return false;
  }

  // -- Four rows of a matrix. ----------------------------------------------------------------------------------------
  void rows() {
    if (map_.rank != 2 || map_.box[1] != 1 || is_interleaved()) {
      fail(TensorError::Kind::Map,
           "four rows are gathered by a map of rank 2 without interleave whose box has one row");
      return;
    }
    if (at(0) * size_ % kUnit != 0) {
      fail(TensorError::Kind::Coordinate,
           fmt::format("the column {} is {} bytes, it must be a multiple of 16", at(0), at(0) * size_));
      return;
    }
    const std::uint32_t row = map_.box[0] * size_;
    for (unsigned i = 0; i < 4; ++i) {
      const std::int64_t y = at(1 + i);
      if (access_.is_store && (y < 0 || at(0) < 0)) {
        fail(TensorError::Kind::Coordinate, "a store must not start before the tensor");
        return;
      }
      put_row(map_.address + static_cast<std::uint64_t>(y) * map_.strides[0], linear_end(i, row), at(0), map_.box[0],
              is_inside(y, 1));
    }
    plan_.bytes = 4 * row;
  }

  // -- im2col. -------------------------------------------------------------------------------------------------------
  // Spatial dimension `i`, W first: dimension 1 + i of the map, or i with interleave.
  unsigned spatial_axis(unsigned i) const { return is_interleaved() ? i : i + 1; }
  std::uint64_t stride_of(unsigned axis) const {
    if (axis > 0) return map_.strides[axis - 1];
    return is_interleaved() ? unit() : size_;
  }
  std::int64_t end_of(unsigned i) const {
    return static_cast<std::int64_t>(map_.dims[spatial_axis(i)]) + map_.upper[i];
  }

  bool may_walk() {
    if (access_.is_store && is_interleaved()) {
      return fail(TensorError::Kind::Unmodelled, "an im2col store by an interleaved map");
    }
    for (unsigned i = 0; i + 2 < map_.rank; ++i) {
      const std::int64_t x = at(spatial_axis(i));
      if (access_.is_store && map_.lower[i] < 0) {
        return fail(TensorError::Kind::Coordinate,
                    fmt::format("the map's box of pixels begins at {}, a store must not start before the tensor",
                                map_.lower[i]));
      }
      if (access_.is_store && map_.upper[i] > 0) {
        return fail(
            TensorError::Kind::Coordinate,
            fmt::format("the map's box of pixels ends {} after the tensor, that of a store must not", map_.upper[i]));
      }
      if (x < map_.lower[i] || x >= end_of(i)) {
        return fail(TensorError::Kind::Coordinate,
                    fmt::format("coordinate {} is {}, outside of the map's box of pixels, {} up to {}", spatial_axis(i),
                                x, map_.lower[i], end_of(i)));
      }
    }
    return true;
  }

  void pixels() {
    if (!may_walk()) return;
    const unsigned spatial = map_.rank - 2, image = map_.rank - 1;
    std::array<std::int64_t, 3> position{};
    for (unsigned i = 0; i < spatial; ++i) position[i] = at(spatial_axis(i));
    std::int64_t n = at(image);
    const std::uint32_t row = is_interleaved() ? unit() : map_.channels * size_;
    for (std::uint32_t pixel = 0; pixel < map_.pixels; ++pixel) {
      bool inside = is_inside(n, image);
      std::uint64_t global = map_.address + static_cast<std::uint64_t>(n) * stride_of(image);
      for (unsigned i = 0; i < spatial; ++i) {
        const std::int64_t x = position[i] + (access_.is_store ? 0 : access_.offsets[i]);
        inside = inside && is_inside(x, spatial_axis(i));
        global += static_cast<std::uint64_t>(x) * stride_of(spatial_axis(i));
      }
      const std::uint32_t linear = linear_end(pixel, row);
      if (is_interleaved()) {
        inside = inside && is_inside(at(slice_axis()), slice_axis());
        put_unit(global + static_cast<std::uint64_t>(at(slice_axis())) * stride_of(slice_axis()), linear, inside);
      } else {
        put_row(global, linear, at(0), map_.channels, inside);
      }
      unsigned i = 0;
      for (; i < spatial; ++i) {
        position[i] += map_.element_strides[spatial_axis(i)];
        if (position[i] < end_of(i)) break;
        position[i] = map_.lower[i];
      }
      if (i == spatial) ++n;
    }
    plan_.bytes = map_.pixels * row;
  }

  const TensorMap& map_;
  const TensorAccess& access_;
  TensorError& error_;
  std::uint32_t size_;
  TensorPlan plan_;
};

}  // namespace

TensorPlan plan_tensor_copy(const TensorMap& map, const TensorAccess& access, TensorError& error) {
  error = {};
  return Planner(map, access, error).run();
}

std::uint32_t fill_pattern(const TensorMap& map) { return map.fills_nan ? 0x7ff77ff7 : 0; }

}  // namespace plumb::machine
