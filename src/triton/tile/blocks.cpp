// SPDX-License-Identifier: Apache-2.0
#include "triton/tile/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "triton/tile/domains.h"
#include "triton/tile/ieee_rows.h"

namespace plumb::triton {

using domain::FloatMode;
using domain::Format;

template <class D>
std::shared_ptr<Block<D>> new_block(Type type, const Shape& shape) {
  auto block = std::make_shared<Block<D>>();
  block->type = type;
  block->shape = shape;
  if (block->is_real()) {
    block->reals.resize(shape.size());
  } else {
    block->ints.resize(shape.size());
  }
  return block;
}

std::uint64_t literal_bits(DType type, double value) {
  if (type == DType::Fp64) return std::bit_cast<std::uint64_t>(value);
  const std::uint64_t single = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == DType::Fp32) return single;
  return domain::Ieee().convert(format(type), Format::F32, single, FloatMode{.satfinite = is_fp8(type)});
}

namespace {

std::uint64_t literal_bits(DType type, Int128 value) { return literal_bits(type, static_cast<double>(value)); }

}  // namespace

template <class D>
BlockPtr<D> constant(Context<D>& context, const Value<D>& number, DType type) {
  auto block = new_block<D>({type, false}, {});
  if (is_float(type)) {
    std::uint64_t bits = 0;
    if (const double* real = number.template get<double>()) {
      bits = plumb::triton::literal_bits(type, *real);
    } else if (const bool* boolean = number.template get<bool>()) {
      bits = literal_bits(type, Int128{*boolean});
    } else {
      bits = literal_bits(type, *number.template get<Int128>());
    }
    block->reals[0] = context.domain.constant(format(type), bits);
    return block;
  }
  Int128 value = 0;
  if (const double* real = number.template get<double>()) {
    if (*real != std::trunc(*real) || std::fabs(*real) > 0x1p63) {
      context.fail(kType, fmt::format("{} is no {}", *real, language_name(type)));
    }
    value = static_cast<Int128>(*real);
  } else if (const bool* boolean = number.template get<bool>()) {
    value = *boolean;
  } else {
    value = *number.template get<Int128>();
  }
  block->ints[0] = wrap(type, static_cast<std::int64_t>(static_cast<unsigned __int128>(value)));
  return block;
}

template <class D>
BlockPtr<D> to_block(Context<D>& context, const Value<D>& value) {
  if (const auto* block = value.template get<BlockPtr<D>>()) return *block;
  if (value.template get<bool>() != nullptr) return constant(context, value, DType::Int1);
  if (const double* real = value.template get<double>()) return constant(context, value, type_of_constant(*real));
  if (const Int128* integer = value.template get<Int128>()) {
    const std::optional<DType> type = type_of_constant(*integer);
    if (!type) context.fail(kType, "this integer fits no type of Triton");
    return constant(context, value, *type);
  }
  context.fail(kType, "a number or a block is needed here");
}

template <class D>
void spread_undefined(Block<D>& out, const Block<D>& a) {
  spread_undefined(out, a, a);
}

template <class D>
void spread_undefined(Block<D>& out, const Block<D>& a, const Block<D>& b) {
  if (a.undefined.empty() && b.undefined.empty()) return;
  std::vector<std::uint8_t> before = std::move(out.undefined);
  out.undefined.assign(out.size(), 0);
  const std::uint8_t none = 0;
  const Shape scalar;
  map2(out.shape, a.undefined.empty() ? scalar : a.shape, a.undefined.empty() ? &none : a.undefined.data(),
       b.undefined.empty() ? scalar : b.shape, b.undefined.empty() ? &none : b.undefined.data(), out.undefined.data(),
       [](std::uint8_t x, std::uint8_t y) { return static_cast<std::uint8_t>(x | y); });
  for (std::size_t i = 0; i < before.size(); ++i) out.undefined[i] |= before[i];
}

template <class D>
void settle(Context<D>& context, Block<D>& block) {
  if (block.conditions.empty()) return;
  Elements<std::int64_t> decided(block.conditions.size());
  for (std::size_t i = 0; i < decided.size(); ++i) {
    const std::optional<bool> known = context.domain.decide(block.conditions[i].value);
    if (!known) return;
    decided[i] = *known;
  }
  block.ints = std::move(decided);
  block.conditions.clear();
}

template <class D>
std::vector<typename Block<D>::Condition> conditions(Context<D>& context, const Block<D>& block) {
  if (block.is_abstract()) return block.conditions;
  std::vector<typename Block<D>::Condition> out;
  out.reserve(block.size());
  for (const std::int64_t each : block.ints) out.push_back({context.domain.boolean(each != 0)});
  return out;
}

template <class D>
std::vector<domain::Word> words(const Block<D>& block) {
  if (block.is_word()) return block.words;
  const std::uint64_t low = ~std::uint64_t{0} >> (64 - 8 * byte_size(block.type.element));
  std::vector<domain::Word> out(block.ints.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i].bits = static_cast<std::uint64_t>(block.ints[i]) & low;
  return out;
}

template <class D>
void settle_words(Block<D>& block) {
  if (!block.is_word()) return;
  const auto has_tags = [](const domain::Word& word) {
    return std::ranges::any_of(word.tags, [](domain::Tag tag) { return tag != 0; });
  };
  if (!block.ints.empty()) {
    Block<D> known;
    known.type = block.type;
    known.ints = std::move(block.ints);
    const std::vector<domain::Word> others = words(known);
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (!has_tags(block.words[i])) block.words[i] = others[i];
    }
    block.ints.clear();
  }
  if (std::ranges::any_of(block.words, has_tags)) return;
  block.ints.resize(block.words.size());
  for (std::size_t i = 0; i < block.ints.size(); ++i) {
    block.ints[i] = wrap(block.type.element, static_cast<std::int64_t>(block.words[i].bits));
  }
  block.words.clear();
}

template <class D>
std::int64_t known_integer(Context<D>& context, const Block<D>& block, const char* what) {
  if (!block.undefined.empty() && block.undefined[0] != 0) {
    context.fail(kUndefined, fmt::format("{} is an unspecified value", what));
  }
  if (block.is_abstract()) context.unmodelled(kData, fmt::format("{} depends on abstract data", what));
  if (block.is_real() || block.size() != 1) {
    context.fail(kType,
                 fmt::format("{} must be an integer scalar, not {}{}", what, name(block.type), text(block.shape)));
  }
  return block.ints[0];
}

// --- casts -----------------------------------------------------------------------------------------------------------

namespace {

// Where the evaluation asks for it, the roundings of a cast go the other way.
template <class D>
void flip(Context<D>& context, const Block<D>& from, Block<D>& out) {
  if constexpr (std::is_same_v<D, domain::Ieee>) {
    if (!context.run.options.flips_roundings) return;
    flip_row(format(out.type.element), format(from.type.element), from.size(), from.reals.data(), out.reals.data());
  }
}

template <class D>
void real_to_real(Context<D>& context, const Block<D>& from, Block<D>& out, domain::Round round) {
  const DType source = from.type.element, target = out.type.element;
  FloatMode mode{.round = round, .satfinite = is_fp8(target)};
  const bool is_half = source == DType::Fp16 || source == DType::BF16;
  // Triton takes halves to any other type but f32 through f32; to f16 from bf16 and back that is where rounding
  // happens.
  const bool through_single = is_half && target != DType::Fp32 && !is_fp8(target);
  const bool bf16_to_fp8 = source == DType::BF16 && is_fp8(target);
  const std::size_t size = from.size();
  if (through_single || bf16_to_fp8) {
    for (std::size_t i = 0; i < size; ++i) {
      const auto single = context.domain.convert(Format::F32, format(source), from.reals[i], FloatMode{});
      out.reals[i] = context.domain.convert(format(target), Format::F32, single, mode);
    }
    flip(context, from, out);
    return;
  }
  if constexpr (std::is_same_v<D, domain::Ieee>) {
    const bool is_plain = round == domain::Round::Rn && !is_fp8(target);
    if (is_plain && convert_row(format(target), format(source), size, from.reals.data(), out.reals.data())) {
      return flip(context, from, out);
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    out.reals[i] = context.domain.convert(format(target), format(source), from.reals[i], mode);
  }
  flip(context, from, out);
}

template <class D>
void real_to_integer(Context<D>& context, const Block<D>& from, Block<D>& out) {
  const Format source = format(from.type.element);
  const DType target = out.type.element;
  if (target == DType::Int1) {
    out.ints.clear();
    const auto zero = context.domain.constant(source, 0);
    for (const auto& each : from.reals) {
      out.conditions.push_back({context.domain.compare(source, domain::Compare::Neu, each, zero, FloatMode{})});
    }
    settle(context, out);
    return;
  }
  for (std::size_t i = 0, size = from.size(); i < size; ++i) {
    const auto integer =
        context.domain.to_int(source, from.reals[i], bit_width(target), is_signed(target), domain::Round::Rz);
    context.check();
    out.ints[i] = wrap(target, static_cast<std::int64_t>(integer.value_or(0)));
  }
}

template <class D>
void integer_to_real(Context<D>& context, const Block<D>& from, Block<D>& out) {
  const Format target = format(out.type.element);
  if (from.is_word()) {
    if constexpr (D::kHasTags) {
      for (std::size_t i = 0, size = from.size(); i < size; ++i) {
        const auto number =
            context.domain.integer(from.words[i], bit_width(from.type.element), is_signed(from.type.element));
        out.reals[i] = context.domain.from_integer(target, number, FloatMode{});
      }
    }
    return;
  }
  if (from.is_abstract()) {
    const auto one = context.domain.constant(target, literal_bits(out.type.element, 1.0));
    const auto zero = context.domain.constant(target, 0);
    for (std::size_t i = 0, size = from.size(); i < size; ++i) {
      out.reals[i] = context.domain.select(target, from.conditions[i].value, one, zero);
    }
    return;
  }
  const bool is_negative_possible = is_signed(from.type.element);
  if (is_negative_possible && target == Format::F32) {
    for (std::size_t i = 0, size = from.size(); i < size; ++i) {
      out.reals[i] = context.domain.from_int(Format::F32, from.ints[i], FloatMode{});
    }
    return;
  }
  for (std::size_t i = 0, size = from.size(); i < size; ++i) {
    out.reals[i] = is_negative_possible
                       ? context.domain.from_int(target, from.ints[i], FloatMode{})
                       : context.domain.from_uint(target, static_cast<std::uint64_t>(from.ints[i]), FloatMode{});
  }
}

// Integers of data: cut, extended, or compared with zero; conditions: one or zero.
template <class D>
void data_to_integer(Context<D>& context, const Block<D>& from, Block<D>& out) {
  if constexpr (D::kHasTags) {
    D& d = context.domain;
    const DType source = from.type.element, target = out.type.element;
    const unsigned width = bit_width(target);
    const std::size_t size = from.size();
    out.ints.clear();
    domain::Word zero, one, length;
    one.bits = 1;
    length.bits = bit_width(source);
    if (target == DType::Int1) {
      for (const domain::Word& word : from.words) {
        out.conditions.push_back({d.compare(domain::Compare::Ne, bit_width(source), false, word, zero)});
      }
      return settle(context, out);
    }
    out.words.resize(size);
    const auto extend = [&](std::uint64_t bits, std::uint64_t, std::uint64_t) {
      return static_cast<std::uint64_t>(wrap(source, static_cast<std::int64_t>(bits)));
    };
    for (std::size_t i = 0; i < size; ++i) {
      domain::Word& to = out.words[i];
      if (!from.is_word()) {
        to = d.select(width, from.conditions[i].value, one, zero);
      } else if (width > bit_width(source) && is_signed(source)) {
        const bool is_known = from.words[i].tags[bit_width(source) / 8 - 1] == 0;
        to = from.words[i];
        if (is_known) {
          to.bits = extend(to.bits, 0, 0);
        } else if (!d.int_op(domain::BitOp::BfeS, width, width, from.words[i], zero, length, 0, extend, to)) {
          return;
        }
      } else {
        to = from.words[i];
      }
      for (unsigned k = width / 8; k < 8; ++k) to.tags[k] = 0;
      if (width < 64) to.bits &= ~std::uint64_t{0} >> (64 - width);
    }
    settle_words(out);
  } else {
    (void)context, (void)from, (void)out;
  }
}

template <class D>
void integer_to_integer(Context<D>& context, const Block<D>& from, Block<D>& out) {
  if (from.is_abstract()) {
    if (out.type.is_pointer) context.unmodelled(kData, "an address depends on abstract data");
    return data_to_integer(context, from, out);
  }
  const DType target = out.type.element;
  const bool to_bool = target == DType::Int1 && !out.type.is_pointer;
  for (std::size_t i = 0, size = from.size(); i < size; ++i) {
    out.ints[i] = out.type.is_pointer ? from.ints[i] : to_bool ? from.ints[i] != 0 : wrap(target, from.ints[i]);
  }
}

}  // namespace

template <class D>
BlockPtr<D> cast(Context<D>& context, const BlockPtr<D>& block, Type to, domain::Round round) {
  if (block->type == to) return block;
  const Block<D>& from = *block;
  const bool is_bad_pointer = (from.is_pointer() && !to.is_pointer &&
                               (is_float(to.element) || (bit_width(to.element) != 64 && to.element != DType::Int1))) ||
                              (to.is_pointer && from.is_real());
  if (is_bad_pointer) context.fail(kType, fmt::format("cannot cast {} to {}", name(from.type), name(to)));
  context.count(from.size());
  if constexpr (D::kHasTags) {
    if (from.is_pointer() && !to.is_pointer && to.element != DType::Int1) context.domain.note_address();
  }
  auto out = new_block<D>(to, from.shape);
  out->undefined = from.undefined;
  if (from.is_real()) {
    out->is_real() ? real_to_real(context, from, *out, round) : real_to_integer(context, from, *out);
  } else {
    out->is_real() ? integer_to_real(context, from, *out) : integer_to_integer(context, from, *out);
  }
  context.check();
  return out;
}

template <class D>
BlockPtr<D> bitcast(Context<D>& context, const BlockPtr<D>& block, Type to) {
  const Block<D>& from = *block;
  if (from.type == to) return block;
  if (from.is_pointer() || to.is_pointer) return cast(context, block, to);
  if (bit_width(from.type.element) != bit_width(to.element)) {
    context.fail(kType, fmt::format("cannot bitcast {} to {}: the widths differ", name(from.type), name(to)));
  }
  if (!from.conditions.empty()) context.unmodelled(kData, "the bits of a condition on abstract data");
  auto out = new_block<D>(to, from.shape);
  out->undefined = from.undefined;
  context.count(from.size());
  for (std::size_t i = 0, size = from.size(); i < size; ++i) {
    domain::Word word;
    if (from.is_real()) {
      word = context.domain.to_word(format(from.type.element), from.reals[i]);
    } else if (from.is_word()) {
      word = from.words[i];
    } else {
      word.bits = static_cast<std::uint64_t>(from.ints[i]);
    }
    if (out->is_real()) {
      out->reals[i] = context.domain.from_word(format(to.element), word);
      continue;
    }
    if (std::ranges::any_of(word.tags, [](domain::Tag tag) { return tag != 0; })) {
      if (from.is_real()) context.unmodelled(kData, "the bits of abstract data are used as an integer");
      if (out->words.empty()) out->words.resize(size);
      out->words[i] = word;
    }
    out->ints[i] = wrap(to.element, static_cast<std::int64_t>(word.bits));
  }
  settle_words(*out);
  context.check();
  return out;
}

// --- shapes ----------------------------------------------------------------------------------------------------------

template <class D>
BlockPtr<D> restride(const Block<D>& block, const Shape& shape, const Strides& strides, std::int64_t offset) {
  auto out = std::make_shared<Block<D>>();
  out->type = block.type;
  out->shape = shape;
  const auto copy = [&](const auto& from, auto& to) {
    if (from.empty()) return;
    to.resize(shape.size());
    gather(shape, strides, offset, from.data(), to.data());
  };
  copy(block.ints, out->ints);
  copy(block.reals, out->reals);
  copy(block.conditions, out->conditions);
  copy(block.words, out->words);
  copy(block.undefined, out->undefined);
  return out;
}

template <class D>
BlockPtr<D> reshaped(const BlockPtr<D>& block, const Shape& shape) {
  if (block->shape == shape) return block;
  auto out = std::make_shared<Block<D>>(*block);
  out->shape = shape;
  return out;
}

template <class D>
BlockPtr<D> broadcast_to(Context<D>& context, const BlockPtr<D>& block, const Shape& shape) {
  if (block->shape == shape) return block;
  const std::optional<Shape> common = broadcast(block->shape, shape);
  if (!common || !(*common == shape)) {
    context.fail(kType, fmt::format("a block of shape {} does not stretch to {}", text(block->shape), text(shape)));
  }
  context.count(shape.size());
  return restride(*block, shape, stretched(block->shape, shape));
}

template <class D>
Shape common_shape(Context<D>& context, const Block<D>& a, const Block<D>& b) {
  const std::optional<Shape> shape = broadcast(a.shape, b.shape);
  if (!shape) context.fail(kType, fmt::format("shapes {} and {} do not fit together", text(a.shape), text(b.shape)));
  if (shape->size() > kLargestBlock) context.fail(kType, "a block has at most 2^20 elements");
  return *shape;
}

#define PLUMB_INSTANTIATE(D)                                                                  \
  template std::shared_ptr<Block<D>> new_block<D>(Type, const Shape&);                        \
  template BlockPtr<D> constant(Context<D>&, const Value<D>&, DType);                         \
  template BlockPtr<D> to_block(Context<D>&, const Value<D>&);                                \
  template BlockPtr<D> cast(Context<D>&, const BlockPtr<D>&, Type, domain::Round);            \
  template BlockPtr<D> bitcast(Context<D>&, const BlockPtr<D>&, Type);                        \
  template BlockPtr<D> restride(const Block<D>&, const Shape&, const Strides&, std::int64_t); \
  template BlockPtr<D> reshaped(const BlockPtr<D>&, const Shape&);                            \
  template BlockPtr<D> broadcast_to(Context<D>&, const BlockPtr<D>&, const Shape&);           \
  template Shape common_shape(Context<D>&, const Block<D>&, const Block<D>&);                 \
  template void spread_undefined(Block<D>&, const Block<D>&);                                 \
  template void spread_undefined(Block<D>&, const Block<D>&, const Block<D>&);                \
  template void settle(Context<D>&, Block<D>&);                                               \
  template std::vector<domain::Word> words(const Block<D>&);                                  \
  template void settle_words(Block<D>&);                                                      \
  template std::vector<Block<D>::Condition> conditions(Context<D>&, const Block<D>&);         \
  template std::int64_t known_integer(Context<D>&, const Block<D>&, const char*);
PLUMB_FOR_EACH_DOMAIN(PLUMB_INSTANTIATE)

}  // namespace plumb::triton
