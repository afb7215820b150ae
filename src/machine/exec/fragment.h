// SPDX-License-Identifier: Apache-2.0
// Registers of a matrix fragment as blocks of a matrix. The tensor-core layouts of PTX are made of one piece: a
// register holds eight rows, lane 4g + t the elements Per * t and the next ones of row g.
#pragma once

#include "domain/domain.h"
#include "domain/ieee/bits.h"
#include "machine/lanes.h"
#include "machine/warp.h"

namespace plumb::machine {

// `row` and `column` are the distances between rows and columns of the matrix.
template <domain::Format F, unsigned Per, class D>
void load_block(Warp<D>& w, Slot slot, typename D::Real* matrix, unsigned row, unsigned column) {
  if constexpr (!D::kHasTags) {
    const Lane<BitsOf<F>>* in = w.template lanes<BitsOf<F>>(slot);
    for (unsigned g = 0; g < 8; ++g) {
      for (unsigned i = 0; i < 4 * Per; ++i) matrix[g * row + i * column] = in[g * 4 * Per + i];
    }
  } else {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned part = 0; part < Per; ++part) {
        matrix[lane / 4 * row + (lane % 4 * Per + part) * column] = w.real(F, slot, lane, part, Per);
      }
    }
  }
}
template <domain::Format F, unsigned Per, class D>
void store_block(Warp<D>& w, Slot slot, const typename D::Real* matrix, unsigned row, unsigned column) {
  if constexpr (!D::kHasTags) {
    Lane<BitsOf<F>>* out = w.template lanes<BitsOf<F>>(slot);
    for (unsigned g = 0; g < 8; ++g) {
      for (unsigned i = 0; i < 4 * Per; ++i)
        out[g * 4 * Per + i] = static_cast<BitsOf<F>>(matrix[g * row + i * column]);
    }
  } else {
    typename D::Real elements[kLanes * Per];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      for (unsigned part = 0; part < Per; ++part) {
        elements[lane * Per + part] = matrix[lane / 4 * row + (lane % 4 * Per + part) * column];
      }
    }
    w.write_reals(F, slot, Per, elements);
  }
}

// The same for a format that is known when it runs; narrow elements lie side by side in 32-bit registers.
template <class D>
void load_block(Warp<D>& w, domain::Format format, Slot slot, typename D::Real* matrix, unsigned row, unsigned column) {
  using domain::Format;
  switch (format) {
    case Format::F16:
      return load_block<Format::F16, 2>(w, slot, matrix, row, column);
    case Format::BF16:
      return load_block<Format::BF16, 2>(w, slot, matrix, row, column);
    case Format::E4M3:
      return load_block<Format::E4M3, 4>(w, slot, matrix, row, column);
    case Format::E5M2:
      return load_block<Format::E5M2, 4>(w, slot, matrix, row, column);
    case Format::F64:
      return load_block<Format::F64, 1>(w, slot, matrix, row, column);
    case Format::Tf32:
      return load_block<Format::Tf32, 1>(w, slot, matrix, row, column);
    default:
      return load_block<Format::F32, 1>(w, slot, matrix, row, column);
  }
}
template <class D>
void store_block(Warp<D>& w, domain::Format format, Slot slot, const typename D::Real* matrix, unsigned row,
                 unsigned column) {
  using domain::Format;
  switch (format) {
    case Format::F16:
      return store_block<Format::F16, 2>(w, slot, matrix, row, column);
    case Format::F64:
      return store_block<Format::F64, 1>(w, slot, matrix, row, column);
    default:
      return store_block<Format::F32, 1>(w, slot, matrix, row, column);
  }
}

// A product of f64 whose steps round as `round` says.
template <class D>
void dot_rounded(D& dom, const domain::DotShape& shape, domain::Round round, const typename D::Real* a,
                 const typename D::Real* b, typename D::Real* c) {
  if constexpr (D::kHasTags) {
    dom.dot(shape, a, b, c, c);  // over the reals there is nothing to round
  } else {
    for (unsigned i = 0; i < shape.m * shape.n; ++i) {
      for (unsigned k = 0; k < shape.k; ++k) {
        c[i] = domain::ieee::fma(domain::Format::F64, a[i / shape.n * shape.k + k], b[k * shape.n + i % shape.n], c[i],
                                 domain::FloatMode{.round = round});
      }
    }
  }
}

}  // namespace plumb::machine
