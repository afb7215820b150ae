// SPDX-License-Identifier: Apache-2.0
// Loops over the elements of a block and of operands that are stretched to its shape, as rows that compilers vectorise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "triton/type.h"

namespace plumb::triton {

// Steps in elements along each axis of a shape.
using Strides = std::array<std::int64_t, kMaxRank>;
Strides row_major(const Shape& shape);
// Of a block stretched to `to`: 0 along stretched axes. The shapes must fit.
Strides stretched(const Shape& from, const Shape& to);

// Calls row(out, a, b, n, a_step, b_step) for each innermost row of `shape`: element i of the row is out + i, a + i *
// a_step, b + i * b_step. Shapes that agree are one row.
template <class Row>
void for_rows(const Shape& shape, const Shape& a, const Shape& b, Row row) {
  const std::size_t size = shape.size();
  if (size == 0) return;
  const auto whole = [&](const Shape& s) { return s.size() == size ? 1 : s.size() == 1 ? 0 : -1; };
  if (whole(a) >= 0 && whole(b) >= 0) {
    row(std::size_t{0}, std::size_t{0}, std::size_t{0}, size, static_cast<std::size_t>(whole(a)),
        static_cast<std::size_t>(whole(b)));
    return;
  }
  const Strides a_steps = stretched(a, shape), b_steps = stretched(b, shape);
  const unsigned last = shape.rank - 1u;
  const std::size_t n = shape[last];
  std::array<std::uint32_t, kMaxRank> at{};
  std::int64_t a_at = 0, b_at = 0;
  for (std::size_t out = 0; out < size; out += n) {
    row(out, static_cast<std::size_t>(a_at), static_cast<std::size_t>(b_at), n, static_cast<std::size_t>(a_steps[last]),
        static_cast<std::size_t>(b_steps[last]));
    for (unsigned axis = last; axis-- > 0;) {
      a_at += a_steps[axis], b_at += b_steps[axis];
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
      a_at -= a_steps[axis] * shape[axis], b_at -= b_steps[axis] * shape[axis];
    }
  }
}

// out[i] = f(a[i], b[i]) over a stretched pair; f is inlined into three loops.
template <class A, class B, class Out, class F>
void map2(const Shape& shape, const Shape& a_shape, const A* a, const Shape& b_shape, const B* b, Out* out, F f) {
  for_rows(shape, a_shape, b_shape,
           [&](std::size_t o, std::size_t i, std::size_t j, std::size_t n, std::size_t a_step, std::size_t b_step) {
             const A* x = a + i;
             const B* y = b + j;
             Out* to = out + o;
             if (a_step != 0 && b_step != 0) {
               for (std::size_t k = 0; k < n; ++k) to[k] = f(x[k], y[k]);
             } else if (a_step != 0) {
               const B constant = *y;
               for (std::size_t k = 0; k < n; ++k) to[k] = f(x[k], constant);
             } else {
               const A constant = *x;
               for (std::size_t k = 0; k < n; ++k) to[k] = f(constant, y[b_step * k]);
             }
           });
}

// Copies elements to a block of `shape`, row-major, from source element offset + sum of index * strides.
template <class T>
void gather(const Shape& shape, const Strides& strides, std::int64_t offset, const T* from, T* out) {
  const std::size_t size = shape.size();
  if (shape.rank == 0) {
    *out = from[offset];
    return;
  }
  const unsigned last = shape.rank - 1u;
  const std::size_t n = shape[last];
  const std::int64_t step = strides[last];
  std::array<std::uint32_t, kMaxRank> at{};
  for (std::size_t done = 0; done < size; done += n) {
    for (std::size_t k = 0; k < n; ++k) out[done + k] = from[offset + step * static_cast<std::int64_t>(k)];
    for (unsigned axis = last; axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
      offset -= strides[axis] * shape[axis];
    }
  }
}

}  // namespace plumb::triton
