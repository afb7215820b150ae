// SPDX-License-Identifier: Apache-2.0
// What the float chapters share: the mode of an instruction, the domain's functions as function objects, and the steps
// that apply one of them lane by lane. The plain modes are compile-time constants, so that the loops vectorise.
#pragma once

#include <cstdint>

#include "machine/meaning.h"

namespace plumb::machine {

using domain::FloatMode;
using domain::Format;

FloatMode mode_of(const ptx::Instr& instr);
std::uint64_t pack_mode(FloatMode mode);  // for Op::imm
FloatMode unpack_mode(std::uint64_t packed);

namespace real_ops {

#define PLUMB_REAL_OP2(Name, function)                                                         \
  struct Name {                                                                                \
    template <class D>                                                                         \
    static auto of(D& dom, Format f, typename D::Real a, typename D::Real b, FloatMode mode) { \
      return dom.function(f, a, b, mode);                                                      \
    }                                                                                          \
  };
#define PLUMB_REAL_OP1(Name, function)                                     \
  struct Name {                                                            \
    template <class D>                                                     \
    static auto of(D& dom, Format f, typename D::Real a, FloatMode mode) { \
      return dom.function(f, a, mode);                                     \
    }                                                                      \
  };
PLUMB_REAL_OP2(Add, add)
PLUMB_REAL_OP2(Sub, sub)
PLUMB_REAL_OP2(Mul, mul)
PLUMB_REAL_OP2(Div, div)
PLUMB_REAL_OP2(Min, min)
PLUMB_REAL_OP2(Max, max)
PLUMB_REAL_OP1(Neg, neg)
PLUMB_REAL_OP1(Abs, abs)
PLUMB_REAL_OP1(Rcp, rcp)
PLUMB_REAL_OP1(Sqrt, sqrt)
PLUMB_REAL_OP1(Rsqrt, rsqrt)
PLUMB_REAL_OP1(Sin, sin)
PLUMB_REAL_OP1(Cos, cos)
PLUMB_REAL_OP1(Lg2, lg2)
PLUMB_REAL_OP1(Ex2, ex2)
PLUMB_REAL_OP1(Tanh, tanh)
#undef PLUMB_REAL_OP1
#undef PLUMB_REAL_OP2
struct Fma {
  template <class D>
  static auto of(D& dom, Format f, typename D::Real a, typename D::Real b, typename D::Real c, FloatMode mode) {
    return dom.fma(f, a, b, c, mode);
  }
};

}  // namespace real_ops

enum class ModeKind : std::uint8_t { Plain, Ftz, Any };

template <ModeKind K>
FloatMode constant_mode(std::uint64_t packed) {
  if constexpr (K == ModeKind::Any) return unpack_mode(packed);
  FloatMode mode;
  mode.ftz = K == ModeKind::Ftz;
  return mode;
}

template <class D, Format F, unsigned Parts, class Fn, ModeKind K>
void step_real1(Warp<D>& w, const Op<D>& op) {
  const FloatMode mode = constant_mode<K>(op.imm);
  real_map<F, F, Parts>(
      w, op.d, [mode](D& dom, auto a) { return Fn::of(dom, F, a, mode); }, op.a);
}
template <class D, Format F, unsigned Parts, class Fn, ModeKind K>
void step_real2(Warp<D>& w, const Op<D>& op) {
  const FloatMode mode = constant_mode<K>(op.imm);
  real_map<F, F, Parts>(
      w, op.d, [mode](D& dom, auto a, auto b) { return Fn::of(dom, F, a, b, mode); }, op.a, op.b);
}
template <class D, Format F, unsigned Parts, class Fn, ModeKind K>
void step_real3(Warp<D>& w, const Op<D>& op) {
  const FloatMode mode = constant_mode<K>(op.imm);
  real_map<F, F, Parts>(
      w, op.d, [mode](D& dom, auto a, auto b, auto c) { return Fn::of(dom, F, a, b, c, mode); }, op.a, op.b, op.c);
}

// The step of an operation with `Sources` sources, by its mode.
template <class D, Format F, unsigned Parts, class Fn, unsigned Sources, ModeKind K>
constexpr StepFn<D> real_step_of() {
  if constexpr (Sources == 1) return &step_real1<D, F, Parts, Fn, K>;
  if constexpr (Sources == 2) return &step_real2<D, F, Parts, Fn, K>;
  if constexpr (Sources == 3) return &step_real3<D, F, Parts, Fn, K>;
}
template <class D, Format F, unsigned Parts, class Fn, unsigned Sources>
StepFn<D> real_step(FloatMode mode, Op<D>& op) {
  op.imm = pack_mode(mode);
  FloatMode ftz;
  ftz.ftz = true;
  if (op.imm == pack_mode(FloatMode{})) return real_step_of<D, F, Parts, Fn, Sources, ModeKind::Plain>();
  if (op.imm == pack_mode(ftz)) return real_step_of<D, F, Parts, Fn, Sources, ModeKind::Ftz>();
  return real_step_of<D, F, Parts, Fn, Sources, ModeKind::Any>();
}

// Sign of a XOR sign of b on the smaller or larger magnitude (min and max with .xorsign.abs), on plain lanes.
template <class D, Format F, unsigned Parts, class Fn>
void step_xorsign(Warp<D>& w, const Op<D>& op) {
  if (!w.is_plain(op.a) || !w.is_plain(op.b)) return w.unmodelled("`.xorsign.abs` on abstract floats");
  const FloatMode mode = unpack_mode(op.imm);
  constexpr unsigned kTop = 8 * domain::byte_size(F) - 1;
  constexpr std::uint64_t kSign = std::uint64_t{1} << kTop;
  real_map<F, F, Parts>(
      w, op.d,
      [mode](D& dom, auto a, auto b) {
        const std::uint64_t x = dom.to_word(F, a).bits, y = dom.to_word(F, b).bits;
        const auto chosen = Fn::of(dom, F, dom.constant(F, x & ~kSign), dom.constant(F, y & ~kSign), mode);
        return dom.constant(F, (dom.to_word(F, chosen).bits & ~kSign) | ((x ^ y) & kSign));
      },
      op.a, op.b);
}

}  // namespace plumb::machine
