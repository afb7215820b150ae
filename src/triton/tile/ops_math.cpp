// SPDX-License-Identifier: Apache-2.0
// Elementwise functions.
#include <fmt/format.h>

#include "triton/tile/arith.h"
#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"

namespace plumb::triton {

using domain::FloatMode;
using domain::Format;

namespace {

// f(format, x) over the elements of a float block.
template <class D, class F>
BlockPtr<D> map_real(Context<D>& context, const BlockPtr<D>& x, F f) {
  auto out = new_block<D>(x->type, x->shape);
  const std::size_t size = x->size();
  const Format of = format(x->type.element);
  if (of == Format::F32) {
    for (std::size_t i = 0; i < size; ++i) out->reals[i] = f(Format::F32, x->reals[i]);
  } else {
    for (std::size_t i = 0; i < size; ++i) out->reals[i] = f(of, x->reals[i]);
  }
  out->undefined = x->undefined;
  context.count(size);
  context.check();
  return out;
}

// Functions that Triton has for f32 and f64 only.
template <class D, class F>
Value<D> function(Context<D>& context, Arguments<D>& arguments, const char* called, F f) {
  const BlockPtr<D> x = to_block(context, arguments[0]);
  const bool is_good = x->is_real() && (x->type.element == DType::Fp32 || x->type.element == DType::Fp64);
  if (!is_good) context.fail(kType, fmt::format("`{}` takes float32 or float64, not {}", called, name(x->type)));
  return map_real(context, x, f);
}

template <class D>
bool propagates_nan(Context<D>& context, const Value<D>& value) {
  if (value.is_unset() || value.is_none()) return false;
  const auto* name = value.template get<node::EnumName>();
  if (name == nullptr) context.fail(kType, "`propagate_nan` is a `tl.PropagateNan`");
  return name->name == "PropagateNan.ALL";
}

template <class D>
Value<D> extreme(Context<D>& context, bool is_max, const Value<D>& x, const Value<D>& y, bool nan) {
  const Pair<D> pair = combine(context, x, y, false, false);
  if (!is_float(pair.type.element)) return int_operation(context, is_max ? IntOp::Max : IntOp::Min, pair);
  return real_operation(context, is_max ? RealOp::Max : RealOp::Min, pair, FloatMode{.nan = nan});
}

template <class D>
Pair<D> float_pair(Context<D>& context, const Value<D>& x, const Value<D>& y, const char* called) {
  const Pair<D> pair = combine(context, x, y, false, true);
  if (!is_float(pair.type.element)) context.fail(kType, fmt::format("`{}` takes floats", called));
  return pair;
}

}  // namespace

// The commonest of them as rows, where floats are bits.
template <class D, class F>
Value<D> function_row(Context<D>& context, Arguments<D>& arguments, const char* called, RealFunction which, F f) {
  if constexpr (!D::kHasTags) {
    const Block<D>* x = arguments[0].block();
    if (x != nullptr && x->type == Type{DType::Fp32, false}) {
      auto out = new_block<D>(x->type, x->shape);
      f32_function_row(which, x->size(), x->reals.data(), out->reals.data());
      out->undefined = x->undefined;
      context.count(x->size());
      return BlockPtr<D>(std::move(out));
    }
  }
  return function(context, arguments, called, f);
}

template <class D>
Value<D> op_exp(Context<D>& context, Arguments<D>& arguments) {
  return function_row(context, arguments, "exp", RealFunction::Exp,
                      [&d = context.domain](Format f, auto x) { return d.exp(f, x); });
}
template <class D>
Value<D> op_exp2(Context<D>& context, Arguments<D>& arguments) {
  return function_row(context, arguments, "exp2", RealFunction::Exp2,
                      [&d = context.domain](Format f, auto x) { return d.ex2(f, x, approximate<D>()); });
}

#define PLUMB_TRITON_FUNCTION(id, call)                                                                 \
  template <class D>                                                                                    \
  Value<D> op_##id(Context<D>& context, Arguments<D>& arguments) {                                      \
    return function(context, arguments, #id, [&d = context.domain](Format f, auto x) { return call; }); \
  }
PLUMB_TRITON_FUNCTION(log, d.log(f, x))
PLUMB_TRITON_FUNCTION(log2, d.lg2(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(sqrt, d.sqrt(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(sqrt_rn, d.sqrt(f, x, FloatMode{}))
PLUMB_TRITON_FUNCTION(rsqrt, d.rsqrt(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(sin, d.sin(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(cos, d.cos(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(erf, d.erf(f, x))
PLUMB_TRITON_FUNCTION(tanh, d.tanh(f, x, approximate<D>()))
// The hardware's own, good to few bits.
PLUMB_TRITON_FUNCTION(fast_sinf, d.sin(f, x, (FloatMode{.approximate = true, .narrow = true})))
PLUMB_TRITON_FUNCTION(fast_cosf, d.cos(f, x, (FloatMode{.approximate = true, .narrow = true})))
PLUMB_TRITON_FUNCTION(fast_tanhf, d.tanh(f, x, (FloatMode{.approximate = true, .narrow = true})))
PLUMB_TRITON_FUNCTION(floor, d.floor(f, x))
PLUMB_TRITON_FUNCTION(ceil, d.ceil(f, x))
PLUMB_TRITON_FUNCTION(rint, d.rint(f, x))
PLUMB_TRITON_FUNCTION(trunc, d.trunc(f, x))
#undef PLUMB_TRITON_FUNCTION

// 1 / (1 + exp(-x)), with Triton's `-x` = 0 - x.
template <class D>
Value<D> op_sigmoid(Context<D>& context, Arguments<D>& arguments) {
  const Value<D> one(Int128{1});
  Arguments<D> negated;
  negated.values.push_back(unary(context, UnaryOp::Neg, Value<D>(to_block(context, arguments[0]))));
  const Value<D> exponent = op_exp(context, negated);
  return binary(context, BinaryOp::Div, one, binary(context, BinaryOp::Add, one, exponent));
}

template <class D>
Value<D> op_softmax(Context<D>& context, Arguments<D>& arguments) {
  const Value<D> x(to_block(context, arguments[0]));
  const Value<D> axis = arguments.has(1) ? arguments[1] : Value<D>(Int128{0});
  const bool keeps = constexpr_flag(context, arguments[2], false);
  Arguments<D> reduce;
  reduce.values = {x, axis, {}, {}, Value<D>(keeps)};
  const Value<D> shifted = binary(context, BinaryOp::Sub, x, op_max(context, reduce));
  Arguments<D> exponent;
  exponent.values = {shifted};
  const Value<D> numerator = op_exp(context, exponent);
  reduce.values = {numerator, axis, Value<D>(keeps), {}};
  Arguments<D> division;
  division.values = {numerator, op_sum(context, reduce), arguments[3]};
  return op_fdiv(context, division);
}

template <class D>
Value<D> op_abs(Context<D>& context, Arguments<D>& arguments) {
  const Value<D>& value = arguments[0];
  if (value.is_number()) {
    const bool is_negative = truth(context, compare(context, CompareOp::Lt, value, Value<D>(Int128{0})));
    return is_negative ? unary(context, UnaryOp::Neg, value) : unary(context, UnaryOp::Plus, value);
  }
  const BlockPtr<D> x = to_block(context, value);
  if (x->is_real()) {
    return map_real(context, x, [&d = context.domain](Format f, auto v) { return d.abs(f, v, FloatMode{}); });
  }
  if (x->is_pointer() || x->is_abstract()) context.fail(kType, "`abs` takes a number");
  if (!is_signed(x->type.element)) return x;
  auto out = std::make_shared<Block<D>>(*x);
  for (std::int64_t& each : out->ints) {
    each = wrap(x->type.element, each < 0 ? static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(each)) : each);
  }
  context.count(out->size());
  return BlockPtr<D>(std::move(out));
}

template <class D>
Value<D> op_where(Context<D>& context, Arguments<D>& arguments) {
  return select(context, arguments[0], arguments[1], arguments[2]);
}
template <class D>
Value<D> op_maximum(Context<D>& context, Arguments<D>& arguments) {
  return extreme(context, true, arguments[0], arguments[1], propagates_nan(context, arguments[2]));
}
template <class D>
Value<D> op_minimum(Context<D>& context, Arguments<D>& arguments) {
  return extreme(context, false, arguments[0], arguments[1], propagates_nan(context, arguments[2]));
}

// min(max(x, low), high); a NaN x gives low unless NaN propagates.
template <class D>
Value<D> op_clamp(Context<D>& context, Arguments<D>& arguments) {
  const bool nan = propagates_nan(context, arguments[3]);
  const Value<D> raised = extreme(context, true, arguments[0], arguments[1], nan);
  const Value<D> out = extreme(context, false, raised, arguments[2], nan);
  if (!out.block()->is_real()) context.fail(kType, "`clamp` takes floats");
  return out;
}

#define PLUMB_TRITON_OPERATOR(id, op)                              \
  template <class D>                                               \
  Value<D> op_##id(Context<D>& context, Arguments<D>& arguments) { \
    return binary(context, op, arguments[0], arguments[1]);        \
  }
PLUMB_TRITON_OPERATOR(add, BinaryOp::Add)
PLUMB_TRITON_OPERATOR(sub, BinaryOp::Sub)
PLUMB_TRITON_OPERATOR(mul, BinaryOp::Mul)
PLUMB_TRITON_OPERATOR(bit_or, BinaryOp::Or)
PLUMB_TRITON_OPERATOR(bit_xor, BinaryOp::Xor)
#undef PLUMB_TRITON_OPERATOR

template <class D>
Value<D> op_fma(Context<D>& context, Arguments<D>& arguments) {
  Pair<D> pair = combine(context, arguments[0], arguments[1], false, false);
  const Value<D> x(pair.a);
  const Pair<D> with_z = combine(context, x, arguments[2], false, false);
  const Type type = with_z.type;
  if (!is_float(type.element)) {
    const Value<D> product = binary(context, BinaryOp::Mul, x, Value<D>(pair.b));
    return binary(context, BinaryOp::Add, product, Value<D>(with_z.b));
  }
  const std::optional<Shape> all = broadcast(pair.shape, with_z.b->shape);
  if (!all) context.fail(kType, "the shapes of `fma` do not fit together");
  const BlockPtr<D> a = broadcast_to(context, cast(context, pair.a, type), *all);
  const BlockPtr<D> b = broadcast_to(context, cast(context, pair.b, type), *all);
  const BlockPtr<D> c = broadcast_to(context, with_z.b, *all);
  auto out = new_block<D>(type, *all);
  context.count(out->size());
  for (std::size_t i = 0; i < out->size(); ++i) {
    out->reals[i] = context.domain.fma(format(type.element), a->reals[i], b->reals[i], c->reals[i], FloatMode{});
  }
  context.check();
  spread_undefined(*out, *a, *b);
  spread_undefined(*out, *c);
  return BlockPtr<D>(std::move(out));
}

template <class D>
Value<D> op_fdiv(Context<D>& context, Arguments<D>& arguments) {
  const Pair<D> pair = float_pair(context, arguments[0], arguments[1], "fdiv");
  const FloatMode mode = constexpr_flag(context, arguments[2], false) ? FloatMode{} : approximate<D>();
  return real_operation(context, RealOp::Div, pair, mode);
}
template <class D>
Value<D> op_div_rn(Context<D>& context, Arguments<D>& arguments) {
  const Pair<D> pair = float_pair(context, arguments[0], arguments[1], "div_rn");
  return real_operation(context, RealOp::Div, pair);
}

template <class D>
Value<D> op_umulhi(Context<D>& context, Arguments<D>& arguments) {
  const Pair<D> pair = combine(context, arguments[0], arguments[1], false, false);
  const bool is_good = !is_float(pair.type.element) && bit_width(pair.type.element) >= 32;
  if (!is_good) context.fail(kType, "`umulhi` takes 32 or 64-bit integers");
  return int_operation(context, IntOp::MulHigh, pair);
}

// (x + (div - 1)) // div, at compile time when both are.
template <class D>
Value<D> op_cdiv(Context<D>& context, Arguments<D>& arguments) {
  const Value<D>&x = arguments[0], &div = arguments[1];
  const Value<D> below = binary(context, BinaryOp::Sub, div, Value<D>(Int128{1}));
  return binary(context, BinaryOp::FloorDiv, binary(context, BinaryOp::Add, x, below), div);
}

#define PLUMB_TRITON_CHAPTER 3
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
