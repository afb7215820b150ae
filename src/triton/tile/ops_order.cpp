// SPDX-License-Identifier: Apache-2.0
// Sorting, selecting, counting, gathering.
#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "triton/tile/domains.h"
#include "triton/tile/memory_args.h"

namespace plumb::triton {
namespace {

unsigned log2_of(std::size_t n) {
  unsigned out = 0;
  while (n > 1) n >>= 1, ++out;
  return out;
}

// One step of the bitonic network on a row: element i and its partner across bit `bit` change places where they are out
// of order; `flips(i)` says which order. Real data that is abstract goes through minima and maxima.
template <class D, class Flips>
void exchange(Context<D>& context, const Block<D>& type, const typename D::Real* reals, const std::int64_t* ints,
              typename D::Real* real_out, std::int64_t* int_out, std::size_t n, unsigned bit, Flips flips) {
  const DType element = type.type.element;
  const bool is_wide = element == DType::UInt64;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t j = i ^ (std::size_t{1} << bit);
    const bool takes_large = flips(i) != ((i >> bit & 1) != 0);
    if (!type.is_real()) {
      const bool is_above =
          is_wide ? static_cast<std::uint64_t>(ints[i]) > static_cast<std::uint64_t>(ints[j]) : ints[i] > ints[j];
      int_out[i] = is_above != takes_large ? ints[j] : ints[i];
    } else if constexpr (D::kHasTags) {
      const auto &x = reals[std::min(i, j)], &y = reals[std::max(i, j)];
      real_out[i] =
          takes_large ? context.domain.max(format(element), x, y, {}) : context.domain.min(format(element), x, y, {});
    } else {
      const bool is_above = context.domain.compare(format(element), domain::Compare::Gt, reals[i], reals[j], {});
      real_out[i] = is_above != takes_large ? reals[j] : reals[i];
    }
  }
}

enum class Network { Sort, Merge };

// Rows along the last axis through Triton's network. A row with a NaN, or with an undefined element, is undefined:
// where those end up is open.
template <class D>
std::shared_ptr<Block<D>> through_network(Context<D>& context, const BlockPtr<D>& block, bool descending,
                                          Network kind) {
  if (block->shape.rank == 0 || block->is_pointer()) context.fail(kType, "only blocks of numbers are sorted");
  if (block->is_abstract()) context.unmodelled(kData, "conditions on abstract data are sorted");
  auto out = std::make_shared<Block<D>>(*block);
  const std::size_t n = block->shape[block->shape.rank - 1u], rows = block->size() / n;
  const unsigned levels = log2_of(n);
  context.count(block->size() * levels * (levels + 1) / 2);
  Elements<typename D::Real> reals(block->is_real() ? n : 0);
  Elements<std::int64_t> ints(block->is_real() ? 0 : n);
  for (std::size_t row = 0; row < rows; ++row) {
    auto* real_row = out->is_real() ? out->reals.data() + row * n : nullptr;
    auto* int_row = out->is_real() ? nullptr : out->ints.data() + row * n;
    bool is_open = false;
    for (std::size_t i = 0; i < n; ++i) {
      if (!block->undefined.empty()) is_open = is_open || block->undefined[row * n + i] != 0;
      if constexpr (!D::kHasTags) {
        if (real_row != nullptr) {
          is_open = is_open || context.domain.compare(format(block->type.element), domain::Compare::Nan, real_row[i],
                                                      real_row[i], {});
        }
      }
    }
    for (unsigned stage = kind == Network::Merge ? levels : 1; stage <= levels; ++stage) {
      for (unsigned bit = stage; bit-- > 0;) {
        exchange(context, *block, real_row, int_row, reals.data(), ints.data(), n, bit,
                 [&](std::size_t i) { return stage < levels ? (i >> stage & 1) != 0 : descending; });
        if (real_row != nullptr) {
          std::copy(reals.begin(), reals.end(), real_row);
        } else {
          std::copy(ints.begin(), ints.end(), int_row);
        }
      }
    }
    context.check();
    if (!is_open) continue;
    if (out->undefined.empty()) out->undefined.assign(out->size(), 0);
    std::fill_n(out->undefined.begin() + static_cast<std::ptrdiff_t>(row * n), n, std::uint8_t{1});
  }
  return out;
}

template <class D>
void need_last_axis(Context<D>& context, const Value<D>& dim, const BlockPtr<D>& block) {
  if (dim.is_unset() || dim.is_none()) return;
  const Int128 axis = constexpr_integer(context, dim, "the axis");
  if (axis != static_cast<Int128>(block->shape.rank) - 1) context.fail(kType, "only the last axis is sorted");
}

}  // namespace

template <class D>
Value<D> op_sort(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  need_last_axis(context, arguments[1], block);
  return BlockPtr<D>(through_network(context, block, constexpr_flag(context, arguments[2], false), Network::Sort));
}

template <class D>
Value<D> op_bitonic_merge(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  need_last_axis(context, arguments[1], block);
  return BlockPtr<D>(through_network(context, block, constexpr_flag(context, arguments[2], false), Network::Merge));
}

template <class D>
Value<D> op_topk(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  need_last_axis(context, arguments[2], block);
  const Int128 k = constexpr_integer(context, arguments[1], "`k`");
  const auto sorted = through_network(context, block, constexpr_flag(context, arguments[3], true), Network::Sort);
  Shape shape = block->shape;
  const std::uint32_t n = shape[shape.rank - 1u];
  if (k <= 0 || k > n || (k & (k - 1)) != 0) context.fail(kType, "`k` is a power of two within the axis");
  shape.dims[shape.rank - 1u] = static_cast<std::uint32_t>(k);
  // Selecting goes by way of Triton's maxima, which widen.
  BlockPtr<D> out = restride(*sorted, shape, row_major(block->shape));
  if (k == n || bit_width(block->type.element) >= 32) return out;
  return cast(context, out, {block->is_real() ? DType::Fp32 : DType::Int32, false});
}

// How often each of the values 0 to num_bins - 1 occurs; what other values do is open.
template <class D>
Value<D> op_histogram(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> block = to_block(context, arguments[0]);
  if (!block->is_integer() || block->shape.rank != 1) context.fail(kType, "a histogram is of a vector of integers");
  if (block->is_abstract()) context.unmodelled(kData, "a histogram of conditions on abstract data");
  Shape shape = constexpr_shape(context, arguments[1]);
  if (shape.rank != 1) context.fail(kType, "the number of bins is an integer");
  const BlockPtr<D> mask = mask_of(context, arguments[2], block->shape);
  auto out = new_block<D>({DType::Int32, false}, shape);
  std::fill(out->ints.begin(), out->ints.end(), 0);
  context.count(block->size());
  bool is_open = false;
  for (std::size_t i = 0; i < block->size(); ++i) {
    if (mask && mask->ints[i] == 0) continue;
    const std::int64_t bin = block->ints[i];
    if ((!block->undefined.empty() && block->undefined[i] != 0) || bin < 0 || bin >= std::int64_t{shape[0]}) {
      is_open = true;
    } else {
      ++out->ints[static_cast<std::size_t>(bin)];
    }
  }
  if (is_open) out->undefined.assign(out->size(), 1);
  return BlockPtr<D>(std::move(out));
}

// out[.., i, ..] = src[.., index[.., i, ..], ..] along an axis; `gather` of a descriptor takes rows of its tensor.
template <class D>
Value<D> op_gather(Context<D>& context, Arguments<D>& arguments) {
  if (const auto* descriptor = arguments[0].template get<std::shared_ptr<const Descriptor>>()) {
    return gather_rows(context, **descriptor, arguments[1], arguments[2]);
  }
  const BlockPtr<D> from = to_block(context, arguments[0]), index = to_block(context, arguments[1]);
  if (!arguments.has(2)) context.fail(kType, "`gather` needs an axis");
  if (!index->is_integer() || index->is_abstract() || from->shape.rank != index->shape.rank) {
    context.fail(kType, "`gather` takes integer indices of the source's rank");
  }
  const unsigned axis = constexpr_axis(context, arguments[2], from->shape.rank);
  for (unsigned i = 0; i < from->shape.rank; ++i) {
    if (i != axis && from->shape[i] != index->shape[i]) {
      context.fail(kType, fmt::format("indices of shape {} into {}", text(index->shape), text(from->shape)));
    }
  }
  auto out = std::make_shared<Block<D>>();
  out->type = from->type;
  out->shape = index->shape;
  const std::size_t size = out->size();
  context.count(size);
  std::vector<std::size_t> places(size);
  const Strides strides = row_major(from->shape);
  for (std::size_t i = 0; i < size; ++i) {
    std::size_t rest = i;
    std::int64_t place = 0;
    for (unsigned each = index->shape.rank; each-- > 0;) {
      const auto at = static_cast<std::int64_t>(rest % index->shape[each]);
      rest /= index->shape[each];
      const bool is_in = index->ints[i] >= 0 && index->ints[i] < std::int64_t{from->shape[axis]};
      place += strides[each] * (each != axis ? at : is_in ? index->ints[i] : 0);
    }
    places[i] = static_cast<std::size_t>(place);
    const bool is_open = index->ints[i] < 0 || index->ints[i] >= std::int64_t{from->shape[axis]} ||
                         (!index->undefined.empty() && index->undefined[i] != 0) ||
                         (!from->undefined.empty() && from->undefined[places[i]] != 0);
    if (!is_open) continue;
    if (out->undefined.empty()) out->undefined.assign(size, 0);
    out->undefined[i] = 1;
  }
  const auto pick = [&](const auto& source, auto& to) {
    if (source.empty()) return;
    to.resize(size);
    for (std::size_t i = 0; i < size; ++i) to[i] = source[places[i]];
  };
  pick(from->ints, out->ints);
  pick(from->reals, out->reals);
  pick(from->conditions, out->conditions);
  return BlockPtr<D>(std::move(out));
}

// The function on the scalars of each element.
template <class D>
Value<D> op_map_elementwise(Context<D>& context, Arguments<D>& arguments) {
  if (arguments.has(2) && constexpr_integer(context, arguments[2], "`pack`") != 1) {
    context.unmodelled(kUnsupported, "`map_elementwise` of several elements at once is not supported");
  }
  std::vector<BlockPtr<D>> in;
  Shape shape;
  for (const Value<D>& each : arguments.rest) {
    in.push_back(to_block(context, each));
    Block<D> so_far;
    so_far.shape = shape;
    shape = common_shape(context, so_far, *in.back());
  }
  if (in.empty()) context.fail(kType, "`map_elementwise` needs a block");
  for (BlockPtr<D>& each : in) each = broadcast_to(context, each, shape);
  std::vector<std::shared_ptr<Block<D>>> out;
  bool is_tuple = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::vector<Value<D>> scalars;
    for (const BlockPtr<D>& each : in)
      scalars.emplace_back(restride(*each, Shape{}, Strides{}, static_cast<std::int64_t>(i)));
    const Value<D> result = context.evaluator->call(arguments[0], std::move(scalars));
    is_tuple = result.tuple() != nullptr;
    const std::vector<Value<D>> all = is_tuple ? *result.tuple() : std::vector<Value<D>>{result};
    for (std::size_t r = 0; r < all.size(); ++r) {
      const BlockPtr<D> scalar = to_block(context, all[r]);
      if (scalar->shape.rank != 0) context.fail(kType, "the function of `map_elementwise` returns scalars");
      if (scalar->is_abstract()) context.unmodelled(kData, "`map_elementwise` gives a condition on abstract data");
      if (i == 0) out.push_back(new_block<D>(scalar->type, shape));
      if (r >= out.size() || !(out[r]->type == scalar->type)) {
        context.fail(kType, "the function of `map_elementwise` returns different types");
      }
      if (scalar->is_real()) {
        out[r]->reals[i] = scalar->reals[0];
      } else {
        out[r]->ints[i] = scalar->ints[0];
      }
      if (scalar->undefined.empty() || scalar->undefined[0] == 0) continue;
      if (out[r]->undefined.empty()) out[r]->undefined.assign(shape.size(), 0);
      out[r]->undefined[i] = 1;
    }
  }
  std::vector<Value<D>> values;
  for (std::shared_ptr<Block<D>>& each : out) values.push_back(BlockPtr<D>(std::move(each)));
  return is_tuple ? tuple_of(std::move(values)) : values[0];
}

#define PLUMB_TRITON_CHAPTER 10
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
