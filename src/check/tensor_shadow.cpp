// SPDX-License-Identifier: Apache-2.0
#include "check/tensor_shadow.h"

namespace plumb::check {

using machine::TensorKind;
using machine::TensorRole;

namespace {

// A, sparsity metadata or scale factors of a product. The manual does not name scale factors among them; published
// kernels treat them so.
bool is_input(const TensorOp& op, const TensorTouch& touch) {
  return op.kind == TensorKind::Mma && touch.role != TensorRole::Accumulator;
}

bool is_accumulator(const TensorOp& op, const TensorTouch& touch) {
  return op.kind == TensorKind::Mma && touch.role == TensorRole::Accumulator;
}

}  // namespace

bool is_pipelined(const TensorOp& x, const TensorTouch& x_touch, const TensorOp& y, const TensorTouch& y_touch) {
  if (x.warp != y.warp || x.group != y.group) return false;
  // No text names a pipeline for what `.ashift` writes back to A.
  if (is_input(x, x_touch) && x_touch.writes) return false;
  if (is_input(x, x_touch)) {
    return is_accumulator(y, y_touch) || y.kind == TensorKind::Copy || y.kind == TensorKind::CopyRow ||
           (y.kind == TensorKind::Shift && y_touch.writes);
  }
  if (is_accumulator(x, x_touch)) {
    return is_accumulator(y, y_touch) && x.shape == y.shape && x.accumulator == y.accumulator;
  }
  switch (x.kind) {
    case TensorKind::Copy:
    case TensorKind::CopyRow:
      return is_input(y, y_touch);
    case TensorKind::Shift:
      return is_input(y, y_touch) || y.kind == TensorKind::CopyRow;
    case TensorKind::Mma:
    case TensorKind::Load:
    case TensorKind::Store:
      break;
  }
  return false;
}

}  // namespace plumb::check
