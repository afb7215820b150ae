// SPDX-License-Identifier: Apache-2.0
#include "machine/exec/half_arith.h"

#include "machine/exec/real_step.h"

namespace plumb::machine {
namespace {

using domain::FloatMode;
using domain::Format;
using ptx::Instr;
using ptx::Mod;
using ptx::Type;

template <class D, class Fn>
StepFn<D> half(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  const FloatMode mode = float_mode(instr);
  switch (instr.type()) {
    case Type::f16:
      return real_step<D, Fn, Format::F16, 1>(ctx, instr, op, mode);
    case Type::f16x2:
      return real_step<D, Fn, Format::F16, 2>(ctx, instr, op, mode);
    case Type::bf16:
      return real_step<D, Fn, Format::BF16, 1>(ctx, instr, op, mode);
    default:
      return real_step<D, Fn, Format::BF16, 2>(ctx, instr, op, mode);
  }
}

// fma.oob: a factor that is the NaN with which out-of-bounds loads fill makes the result +0.
struct FmaOobFn {
  static constexpr unsigned kSources = 3;
  template <class D>
  static bool is_fill(typename D::Real a) {
    if constexpr (D::kHasTags) {
      return a.is_concrete() && (a.bits & 0x7FFF) == 0x7FF7;
    } else {
      return (a & 0x7FFF) == 0x7FF7;
    }
  }
  template <class D>
  static typename D::Real of(D& dom, Format format, typename D::Real a, typename D::Real b, typename D::Real c,
                             FloatMode mode) {
    if (is_fill<D>(a) || is_fill<D>(b)) return dom.constant(format, 0);
    return dom.fma(format, a, b, c, mode);
  }
};

template <class D, Format F, unsigned Parts, bool IsMax>
void step_xorsign(Warp<D>& w, const Op<D>& op) {
  using Bits = std::conditional_t<Parts == 2, std::uint32_t, std::uint16_t>;
  const FloatMode mode = unpack_mode(op.imm);
  map2<Bits, Bits>(w, std::nullopt, op.d, op.a, op.b, [=](Bits a, Bits b) {
    Bits result = static_cast<Bits>(xorsign_min_max<F, IsMax>(a & 0xFFFF, b & 0xFFFF, mode));
    if constexpr (Parts == 2) result |= static_cast<Bits>(xorsign_min_max<F, IsMax>(a >> 16, b >> 16, mode) << 16);
    return result;
  });
}

template <class D, class Fn, bool IsMax>
StepFn<D> min_or_max(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  if (!instr.has(Mod::xorsign)) return half<D, Fn>(ctx, instr, op);
  ctx.three(instr, op);
  op.imm = pack_mode(float_mode(instr));
  switch (instr.type()) {
    case Type::f16:
      return &step_xorsign<D, Format::F16, 1, IsMax>;
    case Type::f16x2:
      return &step_xorsign<D, Format::F16, 2, IsMax>;
    case Type::bf16:
      return &step_xorsign<D, Format::BF16, 1, IsMax>;
    default:
      return &step_xorsign<D, Format::BF16, 2, IsMax>;
  }
}

}  // namespace

#define PLUMB_SELECT(form, chosen)                                                                \
  template <class D>                                                                              \
  StepFn<D> Meaning<ptx::Form::form>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) { \
    return chosen(ctx, instr, op);                                                                \
  }                                                                                               \
  PLUMB_INSTANTIATE_MEANING(form)

PLUMB_SELECT(AddHalf, (half<D, AddFn>))
PLUMB_SELECT(SubHalf, (half<D, SubFn>))
PLUMB_SELECT(MulHalf, (half<D, MulFn>))
PLUMB_SELECT(NegHalf, (half<D, NegFn>))
PLUMB_SELECT(AbsHalf, (half<D, AbsFn>))
PLUMB_SELECT(MinHalf, (min_or_max<D, MinFn, false>))
PLUMB_SELECT(MaxHalf, (min_or_max<D, MaxFn, true>))
PLUMB_SELECT(TanhHalf, (half<D, TanhFn>))
PLUMB_SELECT(Ex2Half, (half<D, Ex2Fn>))
#undef PLUMB_SELECT

template <class D>
StepFn<D> Meaning<ptx::Form::FmaHalf>::select(DecodeContext& ctx, const Instr& instr, Op<D>& op) {
  return instr.has(Mod::oob) ? half<D, FmaOobFn>(ctx, instr, op) : half<D, FmaFn>(ctx, instr, op);
}
PLUMB_INSTANTIATE_MEANING(FmaHalf)

}  // namespace plumb::machine
