// SPDX-License-Identifier: Apache-2.0
// Functions of libdevice. Those that the domains have not are composed of those that they have, or, where only bits can
// say (`of_bits`), computed in double and rounded once.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <type_traits>

#include "triton/tile/arith.h"
#include "triton/tile/domains.h"
#include "triton/tile/evaluator.h"

namespace plumb::triton {

using domain::Compare;
using domain::FloatMode;
using domain::Format;
using domain::Round;

namespace {

template <class D>
BlockPtr<D> real_argument(Context<D>& context, const Value<D>& value, const char* called) {
  const BlockPtr<D> x = to_block(context, value);
  if (!x->is_real() || (x->type.element != DType::Fp32 && x->type.element != DType::Fp64)) {
    context.fail(kType, fmt::format("`libdevice.{}` takes float32 or float64, not {}", called, name(x->type)));
  }
  return x;
}

template <class D>
BlockPtr<D> integer_argument(Context<D>& context, const Value<D>& value, const char* called) {
  const BlockPtr<D> x = to_block(context, value);
  if (!x->is_integer() || bit_width(x->type.element) < 32) {
    context.fail(kType, fmt::format("`libdevice.{}` takes 32 or 64-bit integers, not {}", called, name(x->type)));
  }
  return x;
}

template <class D, class F>
Value<D> map_reals(Context<D>& context, const BlockPtr<D>& x, F f) {
  auto out = new_block<D>(x->type, x->shape);
  const Format of = format(x->type.element);
  for (std::size_t i = 0; i < out->size(); ++i) out->reals[i] = f(of, x->reals[i]);
  out->undefined = x->undefined;
  context.count(out->size());
  context.check();
  return BlockPtr<D>(std::move(out));
}

template <class D, class F>
Value<D> map_pair(Context<D>& context, Arguments<D>& arguments, const char* called, F f) {
  real_argument(context, arguments[0], called), real_argument(context, arguments[1], called);
  const Pair<D> pair = combine(context, arguments[0], arguments[1], false, false);
  auto out = new_block<D>(pair.type, pair.shape);
  const Format of = format(pair.type.element);
  map2(pair.shape, pair.a->shape, pair.a->reals.data(), pair.b->shape, pair.b->reals.data(), out->reals.data(),
       [&](const auto& x, const auto& y) { return f(of, x, y); });
  spread_undefined(*out, *pair.a, *pair.b);
  context.count(out->size());
  context.check();
  return BlockPtr<D>(std::move(out));
}

double value_of(Format f, std::uint64_t bits) {
  return f == Format::F64 ? std::bit_cast<double>(bits) : std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
std::uint64_t bits_of(Format f, double value) {
  return f == Format::F64 ? std::bit_cast<std::uint64_t>(value)
                          : std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(value))};
}

template <class D>
void need_bits(Context<D>& context, const char* called) {
  if (D::kHasTags) context.unmodelled(kData, fmt::format("`libdevice.{}` of abstract data", called));
}

// f on doubles, where floats are bits.
template <class D, class F>
Value<D> of_bits(Context<D>& context, Arguments<D>& arguments, const char* called, F f) {
  const BlockPtr<D> x = real_argument(context, arguments[0], called);
  need_bits(context, called);
  return map_reals(context, x, [&](Format of, const auto& v) {
    if constexpr (D::kHasTags) {
      return v;
    } else {
      return bits_of(of, f(value_of(of, v)));
    }
  });
}
template <class D, class F>
Value<D> of_two_bits(Context<D>& context, Arguments<D>& arguments, const char* called, F f) {
  need_bits(context, called);
  return map_pair(context, arguments, called, [&](Format of, const auto& x, const auto& y) {
    if constexpr (D::kHasTags) {
      return x;
    } else {
      return bits_of(of, f(value_of(of, x), value_of(of, y)));
    }
  });
}

template <class D>
typename D::Real number(Context<D>& context, Format f, double value) {
  return context.domain.constant(f, bits_of(f, value));
}

template <class D>
Value<D> to_integer(Context<D>& context, Arguments<D>& arguments, const char* called, DType type, Round round) {
  const BlockPtr<D> x = real_argument(context, arguments[0], called);
  auto out = new_block<D>({type, false}, x->shape);
  for (std::size_t i = 0; i < out->size(); ++i) {
    const auto integer =
        context.domain.to_int(format(x->type.element), x->reals[i], bit_width(type), is_signed(type), round);
    context.check();
    out->ints[i] = wrap(type, static_cast<std::int64_t>(integer.value_or(0)));
  }
  out->undefined = x->undefined;
  context.count(out->size());
  return BlockPtr<D>(std::move(out));
}

// A predicate, which Triton makes int1.
template <class D, class F>
Value<D> predicate(Context<D>& context, Arguments<D>& arguments, const char* called, F f) {
  const BlockPtr<D> x = real_argument(context, arguments[0], called);
  auto out = new_block<D>({DType::Int1, false}, x->shape);
  out->ints.clear();
  const Format of = format(x->type.element);
  for (const auto& each : x->reals) out->conditions.push_back({f(of, each)});
  context.check();
  settle(context, *out);
  out->undefined = x->undefined;
  context.count(out->size());
  return BlockPtr<D>(std::move(out));
}

template <class D, class F>
Value<D> map_integers(Context<D>& context, const BlockPtr<D>& x, DType type, F f) {
  auto out = new_block<D>({type, false}, x->shape);
  for (std::size_t i = 0; i < out->size(); ++i) out->ints[i] = wrap(type, f(static_cast<std::uint64_t>(x->ints[i])));
  out->undefined = x->undefined;
  context.count(out->size());
  return BlockPtr<D>(std::move(out));
}

template <class D>
Value<D> with_bits_of(Context<D>& context, const Value<D>& value, DType from, DType to, const char* called) {
  const BlockPtr<D> x = to_block(context, value);
  const bool is_same =
      x->type.element == from || (!is_float(from) && x->is_integer() && bit_width(x->type.element) == 32);
  if (!is_same || x->is_pointer()) {
    context.fail(kType, fmt::format("`libdevice.{}` takes {}, not {}", called, language_name(from), name(x->type)));
  }
  return bitcast(context, x, {to, false});
}

}  // namespace

// --- composed of the domain's functions ------------------------------------------------------------------------------

#define PLUMB_COMPOSED(id, call)                                                                          \
  template <class D>                                                                                      \
  Value<D> op_##id(Context<D>& context, Arguments<D>& arguments) {                                        \
    const BlockPtr<D> block = real_argument(context, arguments[0], #id);                                  \
    return map_reals(context, block, [&, &d = context.domain](Format f, const auto& x) { return call; }); \
  }
PLUMB_COMPOSED(fast_expf, d.ex2(f, d.mul(f, x, number(context, f, 1.4426950408889634), {}), approximate<D>()))
PLUMB_COMPOSED(fast_log2f, d.lg2(f, x, approximate<D>()))
PLUMB_COMPOSED(fast_logf, d.mul(f, d.lg2(f, x, approximate<D>()), number(context, f, 0.6931471805599453), {}))
PLUMB_COMPOSED(rcp_rn, d.rcp(f, x, FloatMode{}))
#undef PLUMB_COMPOSED

#define PLUMB_PAIR(id, call)                                                                         \
  template <class D>                                                                                 \
  Value<D> op_##id(Context<D>& context, Arguments<D>& arguments) {                                   \
    return map_pair(context, arguments, #id,                                                         \
                    [&d = context.domain](Format f, const auto& x, const auto& y) { return call; }); \
  }
PLUMB_PAIR(fast_dividef, d.div(f, x, y, approximate<D>()))
PLUMB_PAIR(add_rn, d.add(f, x, y, FloatMode{}))
PLUMB_PAIR(sub_rn, d.sub(f, x, y, FloatMode{}))
PLUMB_PAIR(mul_rn, d.mul(f, x, y, FloatMode{}))
PLUMB_PAIR(add_rz, d.add(f, x, y, FloatMode{.round = Round::Rz}))
PLUMB_PAIR(mul_rz, d.mul(f, x, y, FloatMode{.round = Round::Rz}))
PLUMB_PAIR(div_rz, d.div(f, x, y, FloatMode{.round = Round::Rz}))
#undef PLUMB_PAIR

// log1p, expm1, log10, exp10 and tan have the meanings of their names over the reals; where results are bits they are
// the correctly rounded ones, which a composition is not.
#define PLUMB_REAL(id, call, on_doubles)                                                                    \
  template <class D>                                                                                        \
  Value<D> op_##id(Context<D>& context, Arguments<D>& arguments) {                                          \
    if constexpr (!D::kHasTags) {                                                                           \
      return of_bits(context, arguments, #id, [](double x) { return on_doubles; });                         \
    } else {                                                                                                \
      const BlockPtr<D> block = real_argument(context, arguments[0], #id);                                  \
      return map_reals(context, block, [&, &d = context.domain](Format f, const auto& x) { return call; }); \
    }                                                                                                       \
  }
PLUMB_REAL(log1p, d.log(f, d.add(f, number(context, f, 1.0), x, {})), std::log1p(x))
PLUMB_REAL(expm1,
           d.sub(f, d.ex2(f, d.mul(f, x, number(context, f, 1.4426950408889634), {}), {}), number(context, f, 1.0), {}),
           std::expm1(x))
PLUMB_REAL(log10, d.mul(f, d.lg2(f, x, approximate<D>()), number(context, f, 0.3010299956639812), {}), std::log10(x))
PLUMB_REAL(exp10, d.ex2(f, d.mul(f, x, number(context, f, 3.321928094887362), {}), approximate<D>()), std::pow(10.0, x))
PLUMB_REAL(tan, d.div(f, d.sin(f, x, approximate<D>()), d.cos(f, x, approximate<D>()), approximate<D>()), std::tan(x))
#undef PLUMB_REAL

template <class D>
Value<D> op_fma_rn(Context<D>& context, Arguments<D>& arguments) {
  for (std::size_t i = 0; i < 3; ++i) real_argument(context, arguments[i], "fma_rn");
  return op_fma(context, arguments);
}

// --- where only bits can say -----------------------------------------------------------------------------------------

#define PLUMB_OF_BITS(id, on_doubles)                                             \
  template <class D>                                                              \
  Value<D> op_##id(Context<D>& context, Arguments<D>& arguments) {                \
    return of_bits(context, arguments, #id, [](double x) { return on_doubles; }); \
  }
PLUMB_OF_BITS(asin, std::asin(x))
PLUMB_OF_BITS(acos, std::acos(x))
PLUMB_OF_BITS(atan, std::atan(x))
PLUMB_OF_BITS(sinh, std::sinh(x))
PLUMB_OF_BITS(cosh, std::cosh(x))
PLUMB_OF_BITS(asinh, std::asinh(x))
PLUMB_OF_BITS(acosh, std::acosh(x))
PLUMB_OF_BITS(atanh, std::atanh(x))
PLUMB_OF_BITS(cbrt, std::cbrt(x))
PLUMB_OF_BITS(erfc, std::erfc(x))
PLUMB_OF_BITS(round, std::round(x))
#undef PLUMB_OF_BITS

#define PLUMB_OF_TWO_BITS(id, on_doubles)                                                       \
  template <class D>                                                                            \
  Value<D> op_##id(Context<D>& context, Arguments<D>& arguments) {                              \
    return of_two_bits(context, arguments, #id, [](double x, double y) { return on_doubles; }); \
  }
PLUMB_OF_TWO_BITS(pow, std::pow(x, y))
PLUMB_OF_TWO_BITS(fmod, std::fmod(x, y))
PLUMB_OF_TWO_BITS(atan2, std::atan2(x, y))
PLUMB_OF_TWO_BITS(hypot, std::hypot(x, y))
PLUMB_OF_TWO_BITS(copysign, std::copysign(x, y))
#undef PLUMB_OF_TWO_BITS

// --- to integers, and of bits ----------------------------------------------------------------------------------------

template <class D>
Value<D> op_llrint(Context<D>& context, Arguments<D>& arguments) {
  return to_integer(context, arguments, "llrint", DType::Int64, Round::Rn);
}
template <class D>
Value<D> op_llround(Context<D>& context, Arguments<D>& arguments) {
  Arguments<D> rounded;
  rounded.values = {op_round(context, arguments)};
  return to_integer(context, rounded, "llround", DType::Int64, Round::Rz);
}
template <class D>
Value<D> op_float2int_rn(Context<D>& context, Arguments<D>& arguments) {
  return to_integer(context, arguments, "float2int_rn", DType::Int32, Round::Rn);
}
template <class D>
Value<D> op_float2int_rz(Context<D>& context, Arguments<D>& arguments) {
  return to_integer(context, arguments, "float2int_rz", DType::Int32, Round::Rz);
}

template <class D>
Value<D> op_isnan(Context<D>& context, Arguments<D>& arguments) {
  return predicate(context, arguments, "isnan",
                   [&](Format f, const auto& x) { return context.domain.compare(f, Compare::Nan, x, x, {}); });
}
template <class D>
Value<D> op_isinf(Context<D>& context, Arguments<D>& arguments) {
  return predicate(context, arguments, "isinf", [&](Format f, const auto& x) {
    return context.domain.compare(f, Compare::Eq, context.domain.abs(f, x, {}), number(context, f, HUGE_VAL), {});
  });
}
template <class D>
Value<D> op_isfinite(Context<D>& context, Arguments<D>& arguments) {
  return predicate(context, arguments, "finitef", [&](Format f, const auto& x) {
    return context.domain.compare(f, Compare::Lt, context.domain.abs(f, x, {}), number(context, f, HUGE_VAL), {});
  });
}
template <class D>
Value<D> op_signbit(Context<D>& context, Arguments<D>& arguments) {
  need_bits(context, "signbit");
  const BlockPtr<D> x = real_argument(context, arguments[0], "signbit");
  auto out = new_block<D>({DType::Int32, false}, x->shape);
  if constexpr (!D::kHasTags) {
    for (std::size_t i = 0; i < out->size(); ++i)
      out->ints[i] = std::signbit(value_of(format(x->type.element), x->reals[i]));
  }
  out->undefined = x->undefined;
  return BlockPtr<D>(std::move(out));
}

template <class D>
Value<D> op_clz(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> x = integer_argument(context, arguments[0], "clz");
  const bool is_wide = bit_width(x->type.element) == 64;
  return map_integers(context, x, DType::Int32, [&](std::uint64_t v) -> std::int64_t {
    return is_wide ? std::countl_zero(v) : std::countl_zero(static_cast<std::uint32_t>(v));
  });
}
template <class D>
Value<D> op_popc(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> x = integer_argument(context, arguments[0], "popc");
  const bool is_wide = bit_width(x->type.element) == 64;
  return map_integers(context, x, DType::Int32, [&](std::uint64_t v) -> std::int64_t {
    return is_wide ? std::popcount(v) : std::popcount(static_cast<std::uint32_t>(v));
  });
}
template <class D>
Value<D> op_ffs(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> x = integer_argument(context, arguments[0], "ffs");
  return map_integers(context, x, DType::Int32,
                      [](std::uint64_t v) -> std::int64_t { return v == 0 ? 0 : std::countr_zero(v) + 1; });
}
template <class D>
Value<D> op_brev(Context<D>& context, Arguments<D>& arguments) {
  const BlockPtr<D> x = integer_argument(context, arguments[0], "brev");
  const unsigned width = bit_width(x->type.element);
  return map_integers(context, x, x->type.element, [&](std::uint64_t v) {
    std::uint64_t out = 0;
    for (unsigned i = 0; i < width; ++i) out |= (v >> i & 1) << (width - 1 - i);
    return static_cast<std::int64_t>(out);
  });
}

// The high half of the product, signed when the operands are.
template <class D>
Value<D> op_mulhi(Context<D>& context, Arguments<D>& arguments) {
  integer_argument(context, arguments[0], "mulhi"), integer_argument(context, arguments[1], "mulhi");
  const Pair<D> pair = combine(context, arguments[0], arguments[1], false, false);
  const DType type = pair.type.element;
  if (!is_signed(type)) return int_operation(context, IntOp::MulHigh, pair);
  auto out = new_block<D>(pair.type, pair.shape);
  map2(pair.shape, pair.a->shape, pair.a->ints.data(), pair.b->shape, pair.b->ints.data(), out->ints.data(),
       [&](std::int64_t a, std::int64_t b) {
         return static_cast<std::int64_t>((static_cast<Int128>(a) * b) >> bit_width(type));
       });
  spread_undefined(*out, *pair.a, *pair.b);
  context.count(out->size());
  return BlockPtr<D>(std::move(out));
}

template <class D>
Value<D> op_float_as_int(Context<D>& context, Arguments<D>& arguments) {
  return with_bits_of(context, arguments[0], DType::Fp32, DType::Int32, "float_as_int");
}
template <class D>
Value<D> op_float_as_uint(Context<D>& context, Arguments<D>& arguments) {
  return with_bits_of(context, arguments[0], DType::Fp32, DType::Int32, "float_as_uint");
}
template <class D>
Value<D> op_int_as_float(Context<D>& context, Arguments<D>& arguments) {
  return with_bits_of(context, arguments[0], DType::Int32, DType::Fp32, "int_as_float");
}

#define PLUMB_TRITON_CHAPTER 9
#include "triton/tile/instantiate.h"

}  // namespace plumb::triton
