// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/float_arith.h"

#include "machine/exec/real_step.h"

namespace plumb::machine {
namespace {

using domain::FloatMode;
using domain::Format;
using ptx::Instr;
using ptx::Mod;
using ptx::Type;

// div.approx: where the reciprocal of b is subnormal it is taken for zero.
struct DivApproxFn {
  static constexpr unsigned kSources = 2;
  template <class D>
  static typename D::Real of(D& dom, Format format, typename D::Real a, typename D::Real b, FloatMode mode) {
    if constexpr (!D::kHasTags) {
      const std::uint64_t divisor = domain::ieee::magnitude(format, b);
      if (divisor > 0x7E800000 && divisor < 0x7F800000) {
        return dom.mul(format, a, (b & domain::ieee::sign_bit(format)), mode);  // inf * 0 is a NaN
      }
    }
    return dom.div(format, a, b, mode);
  }
};

template <class D, class Fn>
StepFn<D> single(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  return real_step<D, Fn, Format::F32, 1>(ctx, instr, op, float_mode(instr));
}
template <class D, class Fn>
StepFn<D> single_or_double(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  if (instr.type() == Type::f64) return real_step<D, Fn, Format::F64, 1>(ctx, instr, op, float_mode(instr));
  return single<D, Fn>(ctx, instr, op);
}

// add.f32.f16 and its like: all but the last source are 16 bits wide and are widened exactly.
template <class D, class Fn, Format Half>
void step_mixed(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  const FloatMode mode = unpack_mode(op.imm);
  D& dom = w.dom();
  Real results[kLanes]{};
  for_lanes(w.mask(), [&](unsigned lane) {
    const Real a = dom.convert(Format::F32, Half, w.real(Half, op.a, lane), {});
    if constexpr (Fn::kSources == 2) {
      results[lane] = Fn::of(dom, Format::F32, a, w.real(Format::F32, op.b, lane), mode);
    } else {
      const Real b = dom.convert(Format::F32, Half, w.real(Half, op.b, lane), {});
      results[lane] = Fn::of(dom, Format::F32, a, b, w.real(Format::F32, op.c, lane), mode);
    }
  });
  w.write_reals(Format::F32, op.d, 1, results);
}
template <class D, class Fn>
StepFn<D> mixed(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  op.d = ctx.dest(instr.operands[0]);
  op.a = ctx.source(instr.operands[1], instr.type(1));
  op.b = ctx.source(instr.operands[2], Fn::kSources == 3 ? instr.type(1) : Type::f32);
  if (Fn::kSources == 3) op.c = ctx.source(instr.operands[3], Type::f32);
  op.imm = pack_mode(float_mode(instr));
  return instr.type(1) == Type::f16 ? &step_mixed<D, Fn, Format::F16> : &step_mixed<D, Fn, Format::BF16>;
}

template <class D, class Fn>
StepFn<D> arithmetic(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  if (instr.type(1) != Type::none) return mixed<D, Fn>(ctx, instr, op);
  if (instr.type() == Type::f32x2) return real_step<D, Fn, Format::F32, 2>(ctx, instr, op, float_mode(instr));
  return single_or_double<D, Fn>(ctx, instr, op);
}

// -- min, max -----------------------------------------------------------------------------------------------------
template <class D, bool IsMax>
void step_xorsign(Warp<D>& w, const Op<D>& op) {
  const FloatMode mode = unpack_mode(op.imm);
  map2<std::uint32_t, std::uint32_t>(w, std::nullopt, op.d, op.a, op.b, [=](std::uint32_t a, std::uint32_t b) {
    return static_cast<std::uint32_t>(xorsign_min_max<Format::F32, IsMax>(a, b, mode));
  });
}

// The smallest or largest of three, of their magnitudes when asked.
template <class Fn, bool OfMagnitudes>
struct OfThree {
  static constexpr unsigned kSources = 3;
  template <class D>
  static typename D::Real of(D& dom, Format format, typename D::Real a, typename D::Real b, typename D::Real c,
                             FloatMode mode) {
    if (OfMagnitudes) {
      const FloatMode flushing{.ftz = mode.ftz};
      a = dom.abs(format, a, flushing), b = dom.abs(format, b, flushing), c = dom.abs(format, c, flushing);
    }
    return Fn::of(dom, format, Fn::of(dom, format, a, b, mode), c, mode);
  }
};

template <class D, class Fn, bool IsMax>
StepFn<D> min_or_max(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  if (instr.operands.size() == 4) {
    return instr.has(Mod::abs) ? single<D, OfThree<Fn, true>>(ctx, instr, op)
                               : single<D, OfThree<Fn, false>>(ctx, instr, op);
  }
  if (instr.has(Mod::xorsign)) {
    ctx.three(instr, op);
    op.imm = pack_mode(float_mode(instr));
    return &step_xorsign<D, IsMax>;
  }
  return single_or_double<D, Fn>(ctx, instr, op);
}

// -- testp, copysign ----------------------------------------------------------------------------------------------
enum class FloatClass : std::uint8_t { Finite, Infinite, Number, NotANumber, Normal, Subnormal };

constexpr std::pair<Mod, FloatClass> kClasses[] = {
    {Mod::finite, FloatClass::Finite}, {Mod::infinite, FloatClass::Infinite},
    {Mod::number, FloatClass::Number}, {Mod::notanumber, FloatClass::NotANumber},
    {Mod::normal, FloatClass::Normal}, {Mod::subnormal, FloatClass::Subnormal}};

template <Format F>
bool is_of_class(FloatClass wanted, std::uint64_t bits) {
  constexpr std::uint64_t kInfinity = domain::ieee::layout(F).infinity;
  constexpr std::uint64_t kSmallestNormal = 1ULL << domain::ieee::layout(F).fraction;
  const std::uint64_t size = domain::ieee::magnitude(F, bits);
  switch (wanted) {
    case FloatClass::Finite:
      return size < kInfinity;
    case FloatClass::Infinite:
      return size == kInfinity;
    case FloatClass::Number:
      return size <= kInfinity;
    case FloatClass::NotANumber:
      return size > kInfinity;
    case FloatClass::Normal:
      return size == 0 || (size >= kSmallestNormal && size < kInfinity);  // zero counts as normal
    case FloatClass::Subnormal:
      return size != 0 && size < kSmallestNormal;
  }
  return false;
}

template <class D, Format F>
void step_testp(Warp<D>& w, const Op<D>& op) {
  if (!w.is_plain(op.a)) return w.unmodelled("`testp` of a float that is abstract or was never written");
  const Lane<BitsOf<F>>* a = w.template lanes<BitsOf<F>>(op.a);
  std::uint32_t bits = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    bits |= (is_of_class<F>(static_cast<FloatClass>(op.imm), a[lane]) ? 1u : 0u) << lane;
  }
  w.write_pred(op.p, bits);
}

template <class D, Format F>
void step_copysign(Warp<D>& w, const Op<D>& op) {
  using Bits = BitsOf<F>;
  constexpr auto kSign = static_cast<Bits>(domain::ieee::sign_bit(F));
  map2<Bits, Bits>(w, std::nullopt, op.d, op.a, op.b,
                   [](Bits a, Bits b) { return static_cast<Bits>((a & kSign) | (b & ~kSign)); });
}

}  // namespace

#define PLUMB_SELECT(form, chosen)                                                                \
  template <class D>                                                                              \
  StepFn<D> Meaning<ptx::Form::form>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) { \
    return chosen(ctx, instr, op);                                                                \
  }                                                                                               \
  PLUMB_INSTANTIATE_MEANING(form)

PLUMB_SELECT(AddFloat, (arithmetic<D, AddFn>))
PLUMB_SELECT(SubFloat, (arithmetic<D, SubFn>))
PLUMB_SELECT(MulFloat, (arithmetic<D, MulFn>))
PLUMB_SELECT(FmaFloat, (arithmetic<D, FmaFn>))
PLUMB_SELECT(MadFloat, (arithmetic<D, FmaFn>))
PLUMB_SELECT(AbsFloat, (single_or_double<D, AbsFn>))
PLUMB_SELECT(NegFloat, (single_or_double<D, NegFn>))
PLUMB_SELECT(MinFloat, (min_or_max<D, MinFn, false>))
PLUMB_SELECT(MaxFloat, (min_or_max<D, MaxFn, true>))
PLUMB_SELECT(Rcp, (single_or_double<D, RcpFn>))
PLUMB_SELECT(Sqrt, (single_or_double<D, SqrtFn>))
PLUMB_SELECT(Rsqrt, (single_or_double<D, RsqrtFn>))
PLUMB_SELECT(Sin, (single<D, SinFn>))
PLUMB_SELECT(Cos, (single<D, CosFn>))
PLUMB_SELECT(Lg2, (single<D, Lg2Fn>))
PLUMB_SELECT(Ex2, (single<D, Ex2Fn>))
PLUMB_SELECT(Tanh, (single<D, TanhFn>))
#undef PLUMB_SELECT

template <class D>
StepFn<D> Meaning<ptx::Form::DivFloat>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  return instr.has(Mod::approx) ? single<D, DivApproxFn>(ctx, instr, op) : single_or_double<D, DivFn>(ctx, instr, op);
}
PLUMB_INSTANTIATE_MEANING(DivFloat)

template <class D>
StepFn<D> Meaning<ptx::Form::Testp>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  op.p = ctx.pred_dest(instr.operands[0]);
  op.a = ctx.source(instr.operands[1], instr.type());
  for (const auto& [mod, wanted] : kClasses) {
    if (instr.has(mod)) op.imm = static_cast<std::uint64_t>(wanted);
  }
  return instr.type() == Type::f64 ? &step_testp<D, Format::F64> : &step_testp<D, Format::F32>;
}
PLUMB_INSTANTIATE_MEANING(Testp)

template <class D>
StepFn<D> Meaning<ptx::Form::Copysign>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  ctx.three(instr, op);
  return instr.type() == Type::f64 ? &step_copysign<D, Format::F64> : &step_copysign<D, Format::F32>;
}
PLUMB_INSTANTIATE_MEANING(Copysign)

}  // namespace plumb::machine
