// SPDX-License-Identifier: Apache-2.0
// Elementwise functions and the matrix product.
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

#define PLUMB_TRITON_FUNCTION(id, call)                                                                 \
  template <class D>                                                                                    \
  Value<D> op_##id(Context<D>& context, Arguments<D>& arguments) {                                      \
    return function(context, arguments, #id, [&d = context.domain](Format f, auto x) { return call; }); \
  }
PLUMB_TRITON_FUNCTION(exp, d.exp(f, x))
PLUMB_TRITON_FUNCTION(exp2, d.ex2(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(log, d.log(f, x))
PLUMB_TRITON_FUNCTION(log2, d.lg2(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(sqrt, d.sqrt(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(sqrt_rn, d.sqrt(f, x, FloatMode{}))
PLUMB_TRITON_FUNCTION(rsqrt, d.rsqrt(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(sin, d.sin(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(cos, d.cos(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(erf, d.erf(f, x))
PLUMB_TRITON_FUNCTION(tanh, d.tanh(f, x, approximate<D>()))
PLUMB_TRITON_FUNCTION(floor, d.floor(f, x))
PLUMB_TRITON_FUNCTION(ceil, d.ceil(f, x))
PLUMB_TRITON_FUNCTION(rint, d.rint(f, x))
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

// --- the matrix product ----------------------------------------------------------------------------------------------

namespace {

struct Extents {
  std::uint32_t batch = 1, m = 0, n = 0, k = 0;
};

template <class D>
Extents dot_extents(Context<D>& context, const Shape& a, const Shape& b) {
  const bool is_good = a.rank == b.rank && (a.rank == 2 || a.rank == 3);
  if (!is_good) context.fail(kType, fmt::format("`tl.dot` of shapes {} and {}", text(a), text(b)));
  const unsigned last = a.rank - 1u;
  const bool fits = a[last] == b[last - 1] && (a.rank == 2 || a[0] == b[0]);
  if (!fits) context.fail(kType, fmt::format("`tl.dot` of shapes {} and {}: they do not match", text(a), text(b)));
  return {a.rank == 3 ? a[0] : 1, a[last - 1], b[last], a[last]};
}

template <class D>
DType dot_result(Context<D>& context, DType a, DType b, const Value<D>& out_dtype) {
  const bool is_fp8_pair = is_fp8(a) && is_fp8(b);
  if (a != b && !is_fp8_pair) {
    context.fail(kType, fmt::format("`tl.dot` of {} and {}: the types differ", language_name(a), language_name(b)));
  }
  const DType asked =
      out_dtype.is_unset() || out_dtype.is_none() ? DType::Fp32 : constexpr_type(context, out_dtype).element;
  switch (a) {
    case DType::Int8:
      return DType::Int32;
    case DType::Fp64:
      return DType::Fp64;
    case DType::Fp32:
    case DType::BF16:
      return DType::Fp32;
    case DType::Fp16:
    case DType::Fp8E4Nv:
    case DType::Fp8E5:
      if (asked == DType::Fp32 || asked == DType::Fp16) return asked;
      context.fail(kType, fmt::format("`tl.dot` with `out_dtype` {}", language_name(asked)));
    default:
      context.fail(kType, fmt::format("`tl.dot` of {}", language_name(a)));
  }
}

// How f32 operands are read: tf32 unless the source asks for ieee.
template <class D>
Format operand_format(Context<D>& context, DType type, Arguments<D>& arguments) {
  if (type != DType::Fp32) return format(type);
  const std::string precision = constexpr_text(context, arguments[3], "`input_precision`");
  if (precision.empty()) return constexpr_flag(context, arguments[4], true) ? Format::Tf32 : Format::F32;
  if (precision == "tf32") return Format::Tf32;
  if (precision == "ieee") return Format::F32;
  context.unmodelled(kUnsupported, fmt::format("the input precision `{}` is not supported", precision));
}

// Operands as a product reads them. Which way tf32 rounds is not the source's to say: cutting bits off is the coarsest
// that it allows. `cut` keeps the rounded ones.
template <class D>
const typename D::Real* operands(Context<D>& context, const Block<D>& block, Format format,
                                 std::vector<typename D::Real>& cut) {
  if (format != Format::Tf32) return block.reals.data();
  cut.reserve(block.reals.size());
  for (const typename D::Real& real : block.reals) {
    cut.push_back(context.domain.convert(Format::Tf32, Format::F32, real, {.round = domain::Round::Rz}));
  }
  return cut.data();
}

// An undefined element of a reaches its row of the product, one of b its column.
template <class D>
void spread_dot_undefined(Block<D>& out, const Block<D>& a, const Block<D>& b, const Block<D>* acc, const Extents& e) {
  if (acc != nullptr) out.undefined = acc->undefined;
  if (a.undefined.empty() && b.undefined.empty()) return;
  out.undefined.resize(out.size());
  for (std::size_t batch = 0; batch < e.batch; ++batch) {
    for (std::size_t i = 0; i < std::size_t{e.m} * e.n; ++i) {
      bool any = false;
      for (std::size_t k = 0; k < e.k && !any; ++k) {
        any = (!a.undefined.empty() && a.undefined[(batch * e.m + i / e.n) * e.k + k] != 0) ||
              (!b.undefined.empty() && b.undefined[(batch * e.k + k) * e.n + i % e.n] != 0);
      }
      out.undefined[batch * e.m * e.n + i] |= any;
    }
  }
}

}  // namespace

template <class D>
Value<D> op_dot(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> a = to_block(context, arguments[0]), b = to_block(context, arguments[1]);
  if (a->is_pointer() || b->is_pointer()) context.fail(kType, "`tl.dot` of pointers");
  const Extents extents = dot_extents(context, a->shape, b->shape);
  const Type type{dot_result(context, a->type.element, b->type.element, arguments[6]), false};
  auto out = new_block<D>(type, a->shape);
  out->shape.dims[a->shape.rank - 1u] = extents.n;
  BlockPtr<D> acc;
  if (arguments.has(2)) {
    acc = to_block(context, arguments[2]);
    if (!(acc->type == type) || !(acc->shape == out->shape)) {
      context.fail(kType, fmt::format("the accumulator is {}{}, the product {}{}", name(acc->type), text(acc->shape),
                                      name(type), text(out->shape)));
    }
    out->ints = acc->ints;
    out->reals = acc->reals;
  } else if (out->is_real()) {
    out->reals.assign(out->size(), context.domain.constant(format(type.element), 0));
  } else {
    out->ints.assign(out->size(), 0);
  }
  const std::size_t a_size = std::size_t{extents.m} * extents.k, b_size = std::size_t{extents.k} * extents.n;
  const std::size_t c_size = std::size_t{extents.m} * extents.n;
  context.count(extents.batch * c_size * extents.k);
  domain::DotShape shape{.m = extents.m, .n = extents.n, .k = extents.k, .kind = domain::DotKind::TritonDot};
  if (out->is_real()) {
    shape.a = operand_format(context, a->type.element, arguments);
    shape.b = operand_format(context, b->type.element, arguments);
    shape.acc = format(type.element);
  }
  std::vector<typename D::Real> cut_a, cut_b;
  const auto* a_reals = operands(context, *a, shape.a, cut_a);
  const auto* b_reals = operands(context, *b, shape.b, cut_b);
  for (std::size_t batch = 0; batch < extents.batch; ++batch) {
    if (out->is_real()) {
      auto* c = out->reals.data() + batch * c_size;
      context.domain.dot(shape, a_reals + batch * a_size, b_reals + batch * b_size, c, c);
    } else {
      int_dot(extents.m, extents.n, extents.k, a->ints.data() + batch * a_size, b->ints.data() + batch * b_size,
              out->ints.data() + batch * c_size);
    }
  }
  context.check();
  spread_dot_undefined(*out, *a, *b, acc.get(), extents);
  return BlockPtr<D>(std::move(out));
}

#define PLUMB_TRITON_CHAPTER 3
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
