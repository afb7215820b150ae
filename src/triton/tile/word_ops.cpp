// SPDX-License-Identifier: Apache-2.0
#include "triton/tile/word_ops.h"

#include <algorithm>

#include "triton/tile/domains.h"

namespace plumb::triton {
namespace {

// The domain's word for an operation, where it has one.
std::optional<domain::BitOp> bit_op(IntOp op, bool is_signed) {
  using domain::BitOp;
  switch (op) {
    case IntOp::Add:
      return BitOp::Add;
    case IntOp::Sub:
      return BitOp::Sub;
    case IntOp::Mul:
      return BitOp::Mul;
    case IntOp::And:
      return BitOp::And;
    case IntOp::Or:
      return BitOp::Or;
    case IntOp::Xor:
      return BitOp::Xor;
    case IntOp::Shl:
      return BitOp::Shl;
    case IntOp::Shr:
      return is_signed ? BitOp::ShrS : BitOp::ShrU;
    case IntOp::Min:
      return is_signed ? BitOp::MinS : BitOp::MinU;
    case IntOp::Max:
      return is_signed ? BitOp::MaxS : BitOp::MaxU;
    default:
      return std::nullopt;
  }
}

}  // namespace

template <class D>
BlockPtr<D> word_operation(Context<D>& context, IntOp op, const Pair<D>& pair) {
  auto out = new_block<D>(pair.type, pair.shape);
  if constexpr (D::kHasTags) {
    using domain::Word;
    const DType type = pair.type.element;
    const unsigned width = bit_width(type);
    const std::vector<Word> a = words(*pair.a), b = words(*pair.b);
    const std::optional<domain::BitOp> named = bit_op(op, is_signed(type));
    bool is_partial = false;
    const Shape scalar;
    const domain::IntFunction on_bits = [&](std::uint64_t x, std::uint64_t y, std::uint64_t) {
      const std::int64_t left = wrap(type, static_cast<std::int64_t>(x)),
                         right = wrap(type, static_cast<std::int64_t>(y));
      std::int64_t result = 0;
      std::uint8_t undefined = 0;
      is_partial |= int_binary(op, type, scalar, {&left, scalar}, {&right, scalar}, &result, &undefined);
      return static_cast<std::uint64_t>(result);
    };
    const auto has_tags = [](const Word& word) {
      return std::ranges::any_of(word.tags, [](domain::Tag tag) { return tag != 0; });
    };
    const bool is_shift = op == IntOp::Shl || op == IntOp::Shr;
    out->words.resize(pair.shape.size());
    map2(pair.shape, pair.a->shape, a.data(), pair.b->shape, b.data(), out->words.data(),
         [&](const Word& x, const Word& y) {
           Word result;
           if (!has_tags(x) && !has_tags(y)) {
             result.bits = on_bits(x.bits, y.bits, 0) & ~std::uint64_t{0} >> (64 - width);
             return result;
           }
           is_partial |= is_shift && !has_tags(y) && y.bits >= width;
           context.domain.int_op(named, width, width, x, y, {}, 0, on_bits, result);
           return result;
         });
    context.check();
    if (is_partial) context.unmodelled(kData, "an operation on integer data has no defined result for some of them");
    settle_words(*out);
  }
  context.count(pair.shape.size());
  spread_undefined(*out, *pair.a, *pair.b);
  return out;
}

template <class D>
BlockPtr<D> word_compare(Context<D>& context, CompareOp op, const Pair<D>& pair) {
  auto out = new_block<D>({DType::Int1, false}, pair.shape);
  if constexpr (D::kHasTags) {
    using domain::Compare;
    const Compare how = op == CompareOp::Lt   ? Compare::Lt
                        : op == CompareOp::Le ? Compare::Le
                        : op == CompareOp::Gt ? Compare::Gt
                        : op == CompareOp::Ge ? Compare::Ge
                        : op == CompareOp::Eq ? Compare::Eq
                                              : Compare::Ne;
    const DType type = pair.type.element;
    const std::vector<domain::Word> a = words(*pair.a), b = words(*pair.b);
    out->ints.clear();
    out->conditions.resize(pair.shape.size());
    map2(pair.shape, pair.a->shape, a.data(), pair.b->shape, b.data(), out->conditions.data(),
         [&](const domain::Word& x, const domain::Word& y) -> typename Block<D>::Condition {
           return {context.domain.compare(how, bit_width(type), is_signed(type), x, y)};
         });
    context.check();
    settle(context, *out);
  }
  return out;
}

#define PLUMB_INSTANTIATE(D)                                               \
  template BlockPtr<D> word_operation(Context<D>&, IntOp, const Pair<D>&); \
  template BlockPtr<D> word_compare(Context<D>&, CompareOp, const Pair<D>&);
PLUMB_FOR_EACH_DOMAIN(PLUMB_INSTANTIATE)

}  // namespace plumb::triton
