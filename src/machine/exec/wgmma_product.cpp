// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/wgmma_product.h"

#include <algorithm>
#include <limits>

#include "domain/field/field.h"
#include "domain/ieee/ieee.h"
#include "machine/exec/fragment.h"
#include "machine/exec/operand_tile.h"
#include "machine/exec/sparse.h"
#include "machine/run.h"

namespace plumb::machine {

namespace {

using domain::Format;

constexpr unsigned kRows = 64, kWarpRows = 16;

Format format_of(WgmmaElement element) {
  switch (element) {
    case WgmmaElement::BF16:
      return Format::BF16;
    case WgmmaElement::Tf32:
      return Format::Tf32;
    case WgmmaElement::E4M3:
      return Format::E4M3;
    case WgmmaElement::E5M2:
      return Format::E5M2;
    default:
      return Format::F16;
  }
}

// The warps of a group, whole: the one that waits lets the product take effect for all of them.
template <class D, class Fn>
void for_warps(Cta<D>& cta, std::uint32_t first, Fn&& fn) {
  for (unsigned i = 0; i < kGroupWarps; ++i) {
    WarpRun<D>& warp = *cta.warp(first + i);
    const std::uint32_t mask = warp.exchange_mask(kFullMask);
    fn(warp, i);
    warp.exchange_mask(mask);
  }
}

// Where a result register's block lies: rows of `n` elements.
template <class D>
typename D::Real* result_block(typename D::Real* c, const WgmmaSpec& spec, unsigned warp, unsigned reg) {
  const bool is_packed = spec.sum == WgmmaSum::F16;
  const unsigned half = is_packed ? reg & 1 : reg >> 1 & 1,
                 column = is_packed ? 8 * (reg >> 1) : 8 * (reg >> 2) + (reg & 1);
  return c + std::size_t{kWarpRows * warp + 8 * half} * spec.n + column;
}

template <class D>
SparseIndex index_of(const WarpgroupProduct<D>& product, const WgmmaSpec& spec) {
  const SparseLayout layout = spec.element_bytes() == 1 ? SparseLayout::SixteenChunks : SparseLayout::EightWideChunks;
  return sparse_index(kRows, spec.k(), spec.a == WgmmaElement::Tf32, [&](unsigned row, unsigned chunk) {
    return sparse_nibble(layout, product.metadata[row / kWarpRows], spec.selector, row % kWarpRows, chunk);
  });
}

template <class D>
void multiply_reals(WarpRun<D>& waiting, const WarpgroupProduct<D>& product, const WgmmaSpec& spec, SumsAtHand sums,
                    typename Warpgroup<D>::Scratch& scratch) {
  using Real = typename D::Real;
  Cta<D>& cta = waiting.cta();
  const std::uint32_t first = waiting.index() / kGroupWarps * kGroupWarps;
  D& dom = cta.dom();
  const Op<D>& op = *product.op;
  const Format format_a = format_of(spec.a), format_b = format_of(spec.b);
  const Format acc = spec.sum == WgmmaSum::F16 ? Format::F16 : Format::F32;
  const unsigned n = spec.n, k = spec.k(), stored = spec.stored_k(), per = 4 / spec.element_bytes();
  scratch.a.resize(std::size_t{kRows} * stored), scratch.b.resize(std::size_t{k} * n);
  scratch.c.resize(std::size_t{kRows} * n);
  Real* const a = scratch.a.data();
  Real* const c = scratch.c.data();
  if (spec.has(WgmmaSpec::kRegisterA)) {
    for_warps(cta, first, [&](WarpRun<D>& w, unsigned warp) {
      for (unsigned reg = 0; reg < kWgmmaSources; ++reg) {
        Real* block = a + (kWarpRows * warp + 8 * (reg & 1)) * stored + 4 * per * (reg >> 1);
        load_block(w, format_a, w.listed(op, spec.results() + reg), block, stored, 1);
      }
    });
  } else {
    load_reals(cta.dom(), view_of(cta.shared()), format_a, product.a_pieces, spec.a_tile(), {stored, 1}, a);
  }
  if (spec.has(WgmmaSpec::kNegated)) {
    for (Real& x : scratch.a) x = dom.neg(format_a, x, {});
  }
  load_reals(cta.dom(), view_of(cta.shared()), format_b, product.b_pieces, spec.b_tile(), {1, n}, scratch.b.data());
  if (product.adds && !sums.before) {
    for_warps(cta, first, [&](WarpRun<D>& w, unsigned warp) {
      for (unsigned reg = 0; reg < spec.results(); ++reg) {
        Real* block = result_block<D>(c, spec, warp, reg);
        if (acc == Format::F16) {
          load_block<Format::F16, 2>(w, w.listed(op, reg), block, n, 1);
        } else {
          load_block<Format::F32, 1>(w, w.listed(op, reg), block, n, 2);
        }
      }
    });
  } else if (!product.adds) {
    std::fill(scratch.c.begin(), scratch.c.end(), dom.constant(acc, 0));
  }
  const domain::DotShape shape{kRows, n, k, format_a, format_b, acc, domain::DotKind::Wgmma};
  if (!spec.has(WgmmaSpec::kSparse)) {
    dom.dot(shape, a, scratch.b.data(), c, c);
  } else if (!sparse_dot(dom, shape, index_of(product, spec), a, scratch.b.data(), c, c)) {
    return waiting.unmodelled("sparse metadata that mixes halves of two abstract tf32 numbers");
  }
  if (sums.after) return;
  for_warps(cta, first, [&](WarpRun<D>& w, unsigned warp) {
    for (unsigned reg = 0; reg < spec.results(); ++reg) {
      const Real* block = result_block<D>(c, spec, warp, reg);
      if (acc == Format::F16) {
        store_block<Format::F16, 2>(w, w.listed(op, reg), block, n, 1);
      } else {
        store_block<Format::F32, 1>(w, w.listed(op, reg), block, n, 2);
      }
    }
  });
}

template <class D>
bool load_int_fragments(Cta<D>& cta, std::uint32_t first, const Op<D>& op, const WgmmaSpec& spec, std::int32_t* out) {
  bool is_plain = true;
  const unsigned stored = spec.stored_k();
  for_warps(cta, first, [&](WarpRun<D>& w, unsigned warp) {
    for (unsigned reg = 0; reg < kWgmmaSources; ++reg) {
      const Slot slot = w.listed(op, spec.results() + reg);
      is_plain = is_plain && w.is_plain(slot);
      const Lane<std::uint8_t>* in = w.template lanes<std::uint8_t>(slot);
      std::int32_t* block = out + (kWarpRows * warp + 8 * (reg & 1)) * stored + 16 * (reg >> 1);
      for (unsigned i = 0; i < 4 * kLanes; ++i)
        block[i / 16 * stored + i % 16] = widened(spec.a == WgmmaElement::S8, in[i]);
    }
  });
  return is_plain;
}

// Where a sum lies: its row and column in one.
std::size_t sum_index(const WgmmaSpec& spec, unsigned warp, unsigned reg, unsigned lane) {
  return (kWarpRows * warp + 8 * (reg >> 1 & 1) + lane / 4) * std::size_t{spec.n} + 8 * (reg >> 2) + 2 * (lane % 4) +
         (reg & 1);
}

// Dense products of bytes in a domain where they may be data: numbers in place of bits.
template <class D>
void multiply_numbers(WarpRun<D>& waiting, const WarpgroupProduct<D>& product, const WgmmaSpec& spec, SumsAtHand sums,
                      typename Warpgroup<D>::Scratch& scratch) {
  Cta<D>& cta = waiting.cta();
  D& dom = cta.dom();
  const std::uint32_t first = waiting.index() / kGroupWarps * kGroupWarps;
  const Op<D>& op = *product.op;
  const unsigned n = spec.n, k = spec.k();
  const bool is_saturating = spec.has(WgmmaSpec::kSaturating);
  scratch.a.resize(std::size_t{kRows} * k), scratch.b.resize(std::size_t{k} * n);
  if (!sums.before) scratch.c.assign(std::size_t{kRows} * n, typename D::Real{});
  const auto number = [&](WgmmaElement element, domain::Tag tag, std::byte byte) {
    domain::Word word;
    word.tags[0] = tag;
    word.bits = tag == 0 ? std::to_integer<std::uint64_t>(byte) : 0;
    return dom.integer(word, 8, element == WgmmaElement::S8);
  };
  const auto load = [&](WgmmaElement element, const Pieces& pieces, const OperandTile& tile, Strides strides,
                        typename D::Real* out) {
    for_elements<1>(pieces, tile, strides, [&](std::size_t position, std::uint32_t address) {
      out[position] = number(element, cta.shared().tags()[address], cta.shared().bytes()[address]);
    });
  };
  if (spec.has(WgmmaSpec::kRegisterA)) {
    for_warps(cta, first, [&](WarpRun<D>& w, unsigned warp) {
      for (unsigned reg = 0; reg < kWgmmaSources; ++reg) {
        for (unsigned i = 0; i < 4 * kLanes; ++i) {
          const domain::Word word = w.word(w.listed(op, spec.results() + reg), 4, i / 4);
          const unsigned row = kWarpRows * warp + 8 * (reg & 1) + i / 16, column = 16 * (reg >> 1) + i % 16;
          scratch.a[row * k + column] =
              number(spec.a, word.tags[i % 4], static_cast<std::byte>(word.bits >> 8 * (i % 4)));
        }
      }
    });
  } else {
    load(spec.a, product.a_pieces, spec.a_tile(), {k, 1}, scratch.a.data());
  }
  load(spec.b, product.b_pieces, spec.b_tile(), {1, n}, scratch.b.data());
  if (product.adds && !sums.before) {
    for_warps(cta, first, [&](WarpRun<D>& w, unsigned warp) {
      for (unsigned reg = 0; reg < spec.results(); ++reg) {
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          scratch.c[sum_index(spec, warp, reg, lane)] =
              dom.integer(w.word(w.listed(op, reg), 4, lane), 32, true, !is_saturating);
        }
      }
    });
  } else if (!product.adds) {
    std::fill(scratch.c.begin(), scratch.c.end(), typename D::Real{});
  }
  typename D::Real* const c = scratch.c.data();
  dom.int_dot(kRows, n, k, scratch.a.data(), scratch.b.data(), c, c, is_saturating);
  if (sums.after) return;
  for_warps(cta, first, [&](WarpRun<D>& w, unsigned warp) {
    for (unsigned reg = 0; reg < spec.results(); ++reg) {
      domain::Word words[kLanes];
      for (unsigned lane = 0; lane < kLanes; ++lane)
        words[lane] = dom.integer_word(c[sum_index(spec, warp, reg, lane)], 4);
      w.write_words(w.listed(op, reg), 4, words);
    }
  });
}

template <class D>
void multiply_ints(WarpRun<D>& waiting, const WarpgroupProduct<D>& product, const WgmmaSpec& spec, SumsAtHand sums,
                   typename Warpgroup<D>::Scratch& scratch) {
  if constexpr (D::kHasTags) {
    if (spec.a != WgmmaElement::B1 && !spec.has(WgmmaSpec::kSparse)) {
      return multiply_numbers(waiting, product, spec, sums, scratch);
    }
  }
  Cta<D>& cta = waiting.cta();
  const std::uint32_t first = waiting.index() / kGroupWarps * kGroupWarps;
  const Op<D>& op = *product.op;
  const unsigned n = spec.n, k = spec.k(), stored = spec.stored_k();
  scratch.int_a.resize(std::size_t{kRows} * stored), scratch.int_b.resize(std::size_t{k} * n);
  if (!sums.before) scratch.int_c.assign(std::size_t{kRows} * n, 0);
  std::int32_t* const c = scratch.int_c.data();
  bool is_plain = spec.has(WgmmaSpec::kRegisterA)
                      ? load_int_fragments(cta, first, op, spec, scratch.int_a.data())
                      : load_ints<D>(view_of(cta.shared()), spec.a == WgmmaElement::S8, product.a_pieces, spec.a_tile(),
                                     {stored, 1}, scratch.int_a.data());
  is_plain = load_ints<D>(view_of(cta.shared()), spec.b == WgmmaElement::S8, product.b_pieces, spec.b_tile(), {1, n},
                          scratch.int_b.data()) &&
             is_plain;
  const auto element = [&](unsigned warp, unsigned reg, unsigned lane) { return sum_index(spec, warp, reg, lane); };
  if (product.adds && !sums.before) {
    for_warps(cta, first, [&](WarpRun<D>& w, unsigned warp) {
      for (unsigned reg = 0; reg < spec.results(); ++reg) {
        const Slot slot = w.listed(op, reg);
        is_plain = is_plain && w.is_plain(slot);
        const Lane<std::int32_t>* in = w.template lanes<std::int32_t>(slot);
        for (unsigned lane = 0; lane < kLanes; ++lane) c[element(warp, reg, lane)] = in[lane];
      }
    });
  }
  if (!is_plain) {
    return waiting.unmodelled("an integer `wgmma` on bytes that are abstract or were never written");
  }
  const SparseIndex index = spec.has(WgmmaSpec::kSparse) ? index_of(product, spec) : SparseIndex{};
  for (unsigned row = 0; row < kRows; ++row) {
    int_row(
        {n, stored, spec.a == WgmmaElement::B1, spec.has(WgmmaSpec::kSaturating)}, scratch.int_a.data() + row * stored,
        scratch.int_b.data(), [&](unsigned s) { return index.unit.empty() ? s : index.unit[row * stored + s]; },
        c + row * n);
  }
  if (sums.after) return;
  for_warps(cta, first, [&](WarpRun<D>& w, unsigned warp) {
    for (unsigned reg = 0; reg < spec.results(); ++reg) {
      write_lanes<D, std::int32_t>(w, w.listed(op, reg), [&](unsigned lane) { return c[element(warp, reg, lane)]; });
    }
  });
}

}  // namespace

template <class D>
void multiply(WarpRun<D>& waiting, const WarpgroupProduct<D>& product, SumsAtHand sums,
              typename Warpgroup<D>::Scratch& scratch) {
  const WgmmaSpec spec = WgmmaSpec::of(product.op->imm);
  if (spec.is_integer()) {
    multiply_ints(waiting, product, spec, sums, scratch);
  } else {
    multiply_reals(waiting, product, spec, sums, scratch);
  }
}

template void multiply(WarpRun<domain::Ieee>&, const WarpgroupProduct<domain::Ieee>&, SumsAtHand,
                       Warpgroup<domain::Ieee>::Scratch&);
template void multiply(WarpRun<domain::Field>&, const WarpgroupProduct<domain::Field>&, SumsAtHand,
                       Warpgroup<domain::Field>::Scratch&);

}  // namespace plumb::machine
