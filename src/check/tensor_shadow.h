// SPDX-License-Identifier: Apache-2.0
// Shadow of tensor memory: for each column the operations that a later one may still conflict with, and which pairs of
// operations PTX lets follow each other in a pipe, so that nobody need wait between them. Pairs that only some editions
// of the manual list (loads and stores among themselves) are not taken to be pipelined.
#pragma once

#include <cstdint>
#include <vector>

#include "check/clock.h"
#include "machine/observer.h"

namespace plumb::check {

// One asynchronous tcgen05 operation. A lineage is a row of operations of which the end of one implies the end of those
// before it: the mma, cp and shift of one thread and cta_group, the loads of a warp, its stores. Clocks hold how many
// of each lineage their thread knows to have ended, under `number`, and how many of these came before a
// fence::before_thread_sync, under `fenced`.
struct TensorOp {
  std::uint32_t number = 0, fenced = 0, sequence = 0;
  std::uint32_t instr = 0, warp = 0, lanes = 0;
  std::uint32_t epoch = 0;  // of the warp, when it was issued
  machine::TensorKind kind = machine::TensorKind::Load;
  std::uint32_t group = 1;
  std::uint64_t shape = 0;
  std::uint64_t accumulator = 0;  // Mma: where D begins
};

// What an operation does to some cells.
struct TensorTouch {
  machine::TensorRole role = machine::TensorRole::Data;
  bool reads = false, writes = false;
};

// x, which was issued before y as y's thread knows, and y conflict in some cells; their accesses there come in the
// order of issue all the same.
bool is_pipelined(const TensorOp& x, const TensorTouch& x_touch, const TensorOp& y, const TensorTouch& y_touch);

class TensorShadow {
 public:
  static constexpr std::uint32_t kColumns = 512;

  explicit TensorShadow(std::size_t ctas) : columns_(ctas * kColumns) {}

  std::uint32_t add(const TensorOp& op) {
    ops_.push_back(op);
    return static_cast<std::uint32_t>(ops_.size() - 1);
  }
  const TensorOp& op(std::uint32_t index) const { return ops_[index]; }

  // Calls `is_ordered(x, touch)` for each operation x, issued before, that conflicts with this use by `op`, once or
  // more. All uses of an operation are compared before the first is remembered.
  template <class F>
  void compare(const machine::TensorUse& use, F&& is_ordered) const;
  // The use is there from now on; what it covers and `is_ordered` is forgotten.
  template <class F>
  void remember(std::uint32_t op, const machine::TensorUse& use, F&& is_ordered);
  // Calls `f(x)` for each operation in these columns of a CTA.
  template <class F>
  void for_each(std::uint32_t rank, std::uint32_t column, std::uint32_t columns, F&& f) const {
    for (std::uint32_t at = column; at < column + columns && at < kColumns; ++at) {
      for (const Record& old : columns_[rank * kColumns + at]) f(ops_[old.op]);
    }
  }
  void clear(std::uint32_t rank, std::uint32_t column, std::uint32_t columns) {
    for (std::uint32_t at = column; at < column + columns && at < kColumns; ++at)
      columns_[rank * kColumns + at].clear();
  }

 private:
  struct Record {
    std::uint32_t op = 0;
    std::uint32_t first = 0, end = 0;  // lanes
    TensorTouch touch;
  };
  std::vector<TensorOp> ops_;
  std::vector<std::vector<Record>> columns_;  // by rank and column
};

template <class F>
void TensorShadow::compare(const machine::TensorUse& use, F&& is_ordered) const {
  const std::uint32_t end = use.lane + use.lanes;
  for (std::uint32_t column = use.column; column < use.column + use.columns && column < kColumns; ++column) {
    for (const Record& old : columns_[use.rank * kColumns + column]) {
      const bool meets = old.first < end && use.lane < old.end && (use.writes || old.touch.writes);
      if (meets) is_ordered(ops_[old.op], old.touch);
    }
  }
}

template <class F>
void TensorShadow::remember(std::uint32_t op, const machine::TensorUse& use, F&& is_ordered) {
  const Record mine{op, use.lane, use.lane + use.lanes, {use.role, use.reads, use.writes}};
  const TensorOp& y = ops_[op];
  for (std::uint32_t column = use.column; column < use.column + use.columns && column < kColumns; ++column) {
    std::vector<Record>& records = columns_[use.rank * kColumns + column];
    std::erase_if(records, [&](const Record& old) {
      if (old.op == op || old.first < mine.first || old.end > mine.end) return false;
      const TensorOp& x = ops_[old.op];
      if (mine.touch.writes) return is_ordered(x, old.touch);
      // A later read of the same lineage stands for this one.
      return !old.touch.writes && x.number == y.number && x.kind == y.kind && old.touch.role == mine.touch.role;
    });
    records.push_back(mine);
  }
}

}  // namespace plumb::check
