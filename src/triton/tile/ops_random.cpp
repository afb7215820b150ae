// SPDX-License-Identifier: Apache-2.0
// Random numbers: Philox 4x32-10 and 4x64-10, and the distributions made of it.
#include <fmt/format.h>

#include "triton/tile/arith.h"
#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"

namespace plumb::triton {
namespace {

template <class Word>
struct Philox;
template <>
struct Philox<std::uint32_t> {
  static constexpr std::uint32_t kKeyA = 0x9E3779B9, kKeyB = 0xBB67AE85, kRoundA = 0xD2511F53, kRoundB = 0xCD9E8D57;
  using Twice = std::uint64_t;
};
template <>
struct Philox<std::uint64_t> {
  static constexpr std::uint64_t kKeyA = 0x9E3779B97F4A7C15, kKeyB = 0xBB67AE8584CAA73B, kRoundA = 0xD2E7470EE14C6C93,
                                 kRoundB = 0xCA5A826395121157;
  using Twice = unsigned __int128;
};

template <class Word>
void rounds(std::array<Word, 4>& c, Word k0, Word k1, Int128 count) {
  using P = Philox<Word>;
  const auto high = [](Word x, Word y) {
    return static_cast<Word>((static_cast<typename P::Twice>(x) * y) >> (8 * sizeof(Word)));
  };
  for (Int128 i = 0; i < count; ++i) {
    const Word c0 = c[0], c2 = c[2];
    c[0] = high(P::kRoundB, c2) ^ c[1] ^ k0;
    c[2] = high(P::kRoundA, c0) ^ c[3] ^ k1;
    c[1] = P::kRoundB * c2;
    c[3] = P::kRoundA * c0;
    k0 += P::kKeyA;
    k1 += P::kKeyB;
  }
}

constexpr Int128 kRounds = 10;

template <class D>
Int128 round_count(Context<D>& context, const Value<D>& value) {
  return value.is_unset() ? kRounds : constexpr_integer(context, value, "the number of rounds");
}

// Four counters and a key of one width, stretched to one shape.
template <class D>
Value<D> generated(Context<D>& context, const std::array<BlockPtr<D>, 6>& in, Int128 count) {
  const DType type = in[0]->type.element;
  if (type != DType::UInt32 && type != DType::UInt64) context.fail(kType, "Philox counts in uint32 or uint64");
  Shape shape = in[0]->shape;
  for (const BlockPtr<D>& each : in) {
    if (!(each->type == Type{type, false})) context.fail(kType, "the counters and keys of Philox have one type");
    Block<D> so_far;
    so_far.shape = shape;
    shape = common_shape(context, so_far, *each);
  }
  std::array<BlockPtr<D>, 6> wide;
  for (std::size_t i = 0; i < in.size(); ++i) wide[i] = broadcast_to(context, in[i], shape);
  std::array<std::shared_ptr<Block<D>>, 4> out;
  for (std::shared_ptr<Block<D>>& each : out) {
    each = new_block<D>({type, false}, shape);
    for (const BlockPtr<D>& from : wide) spread_undefined(*each, *from);
  }
  context.count(shape.size() * static_cast<std::uint64_t>(count));
  const auto run = [&]<class Word>(Word) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::array<Word, 4> c;
      for (std::size_t k = 0; k < 4; ++k) c[k] = static_cast<Word>(wide[k]->ints[i]);
      rounds(c, static_cast<Word>(wide[4]->ints[i]), static_cast<Word>(wide[5]->ints[i]), count);
      for (std::size_t k = 0; k < 4; ++k) out[k]->ints[i] = wrap(type, static_cast<std::int64_t>(c[k]));
    }
  };
  if (type == DType::UInt32) {
    run(std::uint32_t{});
  } else {
    run(std::uint64_t{});
  }
  std::vector<Value<D>> all;
  for (std::shared_ptr<Block<D>>& each : out) all.push_back(BlockPtr<D>(std::move(each)));
  return tuple_of(std::move(all));
}

template <class D>
Value<D> shifted_right(Context<D>& context, const BlockPtr<D>& block, int bits) {
  return binary(context, BinaryOp::Shr, Value<D>(block), Value<D>(Int128{bits}));
}

template <class D>
Value<D> uniform(Context<D>& context, const Value<D>& value) {
  BlockPtr<D> x = to_block(context, value);
  const bool is_wide = bit_width(x->type.element) == 64;
  if (!x->is_integer() || bit_width(x->type.element) < 32) {
    context.fail(kType, fmt::format("`uint_to_uniform_float` of {}", name(x->type)));
  }
  x = bitcast(context, x, {is_wide ? DType::Int64 : DType::Int32, false});
  auto folded = std::make_shared<Block<D>>(*x);
  for (std::int64_t& each : folded->ints) each = each < 0 ? ~each : each;
  // A scale that was assigned to a name, so a scalar of type f32.
  const BlockPtr<D> scale =
      constant(context, Value<D>(is_wide ? 1.0842020432385337e-19 : 4.6566127342e-10), DType::Fp32);
  return binary(context, BinaryOp::Mul, Value<D>(BlockPtr<D>(std::move(folded))), Value<D>(scale));
}

// Box and Muller's transform.
template <class D>
Value<D> normal_pair(Context<D>& context, const Value<D>& u1, const Value<D>& u2) {
  Arguments<D> one, two;
  two.values = {Value<D>(1.0e-7), u1, {}};
  one.values = {op_maximum(context, two)};
  const Value<D> logarithm = op_log(context, one);
  one.values = {binary(context, BinaryOp::Mul, Value<D>(-2.0), logarithm)};
  const Value<D> radius = op_sqrt(context, one);
  one.values = {binary(context, BinaryOp::Mul, Value<D>(6.283185307179586), u2)};
  const Value<D> cosine = op_cos(context, one), sine = op_sin(context, one);
  return tuple_of(std::vector<Value<D>>{binary(context, BinaryOp::Mul, radius, cosine),
                                        binary(context, BinaryOp::Mul, radius, sine)});
}

}  // namespace

template <class D>
Value<D> op_philox_impl(Context<D>& context, Arguments<D>& arguments) {
  std::array<BlockPtr<D>, 6> in;
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = to_block(context, arguments[i]);
  return generated(context, in, round_count(context, arguments[6]));
}

template <class D>
Value<D> op_philox(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> seed_given = to_block(context, arguments[0]);
  if (!seed_given->is_integer()) context.fail(kType, "the seed is an integer");
  const BlockPtr<D> seed = cast(context, seed_given, {DType::UInt64, false});
  std::array<BlockPtr<D>, 6> in;
  for (std::size_t i = 0; i < 4; ++i) in[i] = to_block(context, arguments[i + 1]);
  const unsigned width = bit_width(in[0]->type.element);
  if (width < 32) context.fail(kType, "the counters of Philox are 32 or 64 bits wide");
  const Type word{width == 32 ? DType::UInt32 : DType::UInt64, false};
  for (std::size_t i = 0; i < 4; ++i) in[i] = bitcast(context, in[i], word);
  if (width == 32) {
    in[4] = cast(context, seed, word);
    in[5] = cast(context, to_block(context, shifted_right(context, seed, 32)), word);
  } else {
    in[4] = seed;
    in[5] = constant(context, Value<D>(Int128{0}), DType::UInt64);
  }
  return generated(context, in, round_count(context, arguments[5]));
}

template <class D>
Value<D> op_randint4x(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> offset = to_block(context, arguments[1]);
  if (!offset->is_integer()) context.fail(kType, "the offsets of a random stream are integers");
  const Type word{DType::UInt32, false};
  const BlockPtr<D> low = cast(context, offset, word);
  const BlockPtr<D> zero = to_block(context, binary(context, BinaryOp::Mul, Value<D>(low), Value<D>(Int128{0})));
  BlockPtr<D> high = zero;
  if (bit_width(offset->type.element) > 32) {
    high = cast(context, to_block(context, shifted_right(context, offset, 32)), word);
  }
  Arguments<D> philox;
  philox.values = {arguments[0], low, high, zero, zero, arguments[2]};
  return op_philox(context, philox);
}

template <class D>
Value<D> op_randint(Context<D>& context, Arguments<D>& arguments) {
  return op_randint4x(context, arguments).tuple()->front();
}
template <class D>
Value<D> op_uint_to_uniform_float(Context<D>& context, Arguments<D>& arguments) {
  return uniform(context, arguments[0]);
}
template <class D>
Value<D> op_rand(Context<D>& context, Arguments<D>& arguments) {
  return uniform(context, op_randint(context, arguments));
}

template <class D>
Value<D> op_rand4x(Context<D>& context, Arguments<D>& arguments) {
  const Value<D> integers = op_randint4x(context, arguments);
  std::vector<Value<D>> out;
  for (const Value<D>& each : *integers.tuple()) out.push_back(uniform(context, each));
  return tuple_of(std::move(out));
}

template <class D>
Value<D> op_pair_uniform_to_normal(Context<D>& context, Arguments<D>& arguments) {
  return normal_pair(context, arguments[0], arguments[1]);
}

template <class D>
Value<D> op_randn(Context<D>& context, Arguments<D>& arguments) {
  const Value<D> integers = op_randint4x(context, arguments);
  const std::vector<Value<D>>& all = *integers.tuple();
  return normal_pair(context, uniform(context, all[0]), uniform(context, all[1])).tuple()->front();
}

template <class D>
Value<D> op_randn4x(Context<D>& context, Arguments<D>& arguments) {
  const Value<D> uniforms = op_rand4x(context, arguments);
  const std::vector<Value<D>>& u = *uniforms.tuple();
  const Value<D> first = normal_pair(context, u[0], u[1]), second = normal_pair(context, u[2], u[3]);
  return tuple_of(
      std::vector<Value<D>>{(*first.tuple())[0], (*first.tuple())[1], (*second.tuple())[0], (*second.tuple())[1]});
}

#define PLUMB_TRITON_CHAPTER 8
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
