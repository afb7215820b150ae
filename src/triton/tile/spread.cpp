// SPDX-License-Identifier: Apache-2.0
#include "triton/tile/spread.h"

namespace plumb::triton {

Strides row_major(const Shape& shape) {
  Strides strides{};
  std::int64_t step = 1;
  for (unsigned axis = shape.rank; axis-- > 0;) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

Strides stretched(const Shape& from, const Shape& to) {
  const Strides own = row_major(from);
  Strides strides{};
  for (unsigned i = 1; i <= from.rank; ++i) {
    const unsigned axis = from.rank - i;
    strides[to.rank - i] = from[axis] == 1 ? 0 : own[axis];
  }
  return strides;
}

}  // namespace plumb::triton
