// SPDX-License-Identifier: Apache-2.0
// Steps that apply one function of the domain to the floats of a warp. `Fn::of(dom, format, a, ..., mode)` takes
// Fn::kSources values. The mode is read from the instruction once; round to nearest without modifiers, flushing or not,
// is a constant in the step that is chosen for it, so that the IEEE loop vectorises.
#pragma once

#include <cstring>

#include "domain/ieee/lanes.h"
#include "machine/meaning.h"

namespace plumb::machine {

inline domain::FloatMode float_mode(const ptx::Instr& instr) {
  using ptx::Mod;
  domain::FloatMode mode;
  if (instr.has(Mod::rz)) mode.round = domain::Round::Rz;
  if (instr.has(Mod::rm)) mode.round = domain::Round::Rm;
  if (instr.has(Mod::rp)) mode.round = domain::Round::Rp;
  if (instr.has(Mod::rna)) mode.round = domain::Round::Rna;
  mode.ftz = instr.has(Mod::ftz);
  mode.sat = instr.has(Mod::sat);
  mode.relu = instr.has(Mod::relu);
  mode.satfinite = instr.has(Mod::satfinite);
  mode.nan = instr.has(Mod::NaN);
  mode.approximate = instr.has(Mod::approx) || instr.has(Mod::full);
  mode.narrow = instr.has(Mod::approx);
  return mode;
}

// A mode in Op::imm.
inline std::uint64_t pack_mode(domain::FloatMode mode) {
  static_assert(sizeof(domain::FloatMode) <= 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &mode, sizeof(mode));
  return bits;
}
inline domain::FloatMode unpack_mode(std::uint64_t bits) {
  domain::FloatMode mode;
  std::memcpy(static_cast<void*>(&mode), &bits, sizeof(mode));
  return mode;
}

enum class ModeKind : std::uint8_t { Plain, Flushing, AsGiven };

inline ModeKind mode_kind(domain::FloatMode mode) {
  const bool is_flushing = mode.ftz;
  mode.ftz = false;
  if (pack_mode(mode) != pack_mode({})) return ModeKind::AsGiven;
  return is_flushing ? ModeKind::Flushing : ModeKind::Plain;
}

template <class D, class Fn, domain::Format F, unsigned Parts, ModeKind Kind>
void step_real_fn(Warp<D>& w, const Op<D>& op) {
  using Real = typename D::Real;
  const domain::FloatMode mode =
      Kind == ModeKind::AsGiven ? unpack_mode(op.imm) : domain::FloatMode{.ftz = Kind == ModeKind::Flushing};
  if constexpr (Fn::kSources == 1) {
    real_map<F, F, Parts>(
        w, op.d, [=](D& dom, Real a) { return Fn::of(dom, F, a, mode); }, op.a);
  } else if constexpr (Fn::kSources == 2) {
    real_map<F, F, Parts>(
        w, op.d, [=](D& dom, Real a, Real b) { return Fn::of(dom, F, a, b, mode); }, op.a, op.b);
  } else {
    real_map<F, F, Parts>(
        w, op.d, [=](D& dom, Real a, Real b, Real c) { return Fn::of(dom, F, a, b, c, mode); }, op.a, op.b, op.c);
  }
}

// f32 operations that the IEEE domain has whole-register loops for: `Fn::lanes(a, ..., out, count, ftz)`.
template <class Fn>
concept HasLanes = requires {
  Fn::lanes;
};

template <class D, class Fn, ModeKind Kind>
void step_lanes(Warp<D>& w, const Op<D>& op) {
  if (w.mask() != kFullMask) return step_real_fn<D, Fn, domain::Format::F32, 1, Kind>(w, op);
  const auto at = [&](Slot slot) { return w.template lanes<std::uint32_t>(slot); };
  constexpr bool kFlush = Kind == ModeKind::Flushing;
  if constexpr (Fn::kSources == 1) Fn::lanes(at(op.a), at(op.d), kLanes, kFlush);
  if constexpr (Fn::kSources == 2) Fn::lanes(at(op.a), at(op.b), at(op.d), kLanes, kFlush);
  if constexpr (Fn::kSources == 3) Fn::lanes(at(op.a), at(op.b), at(op.c), at(op.d), kLanes, kFlush);
}

// Decodes d, a[, b[, c]] of the instruction's type and chooses the step.
template <class D, class Fn, domain::Format F, unsigned Parts>
StepFn<D> real_step(DecodeContext& ctx, const ptx::Instr& instr, Op<D>& op, domain::FloatMode mode) {
  if constexpr (Fn::kSources == 1) ctx.two(instr, op);
  if constexpr (Fn::kSources == 2) ctx.three(instr, op);
  if constexpr (Fn::kSources == 3) ctx.four(instr, op);
  op.imm = pack_mode(mode);
  if constexpr (!D::kHasTags && F == domain::Format::F32 && Parts == 1 && HasLanes<Fn>) {
    domain::FloatMode exact = mode;
    exact.approximate = false;  // the only kind that these have
    if (mode_kind(exact) == ModeKind::Plain) return &step_lanes<D, Fn, ModeKind::Plain>;
    if (mode_kind(exact) == ModeKind::Flushing) return &step_lanes<D, Fn, ModeKind::Flushing>;
  }
  if constexpr (!D::kHasTags) {
    if (mode_kind(mode) == ModeKind::Plain) return &step_real_fn<D, Fn, F, Parts, ModeKind::Plain>;
    if (mode_kind(mode) == ModeKind::Flushing) return &step_real_fn<D, Fn, F, Parts, ModeKind::Flushing>;
  }
  return &step_real_fn<D, Fn, F, Parts, ModeKind::AsGiven>;
}

// Functions of the domain as types. `PLUMB_REAL_FN(Name, function, sources)`; the LANES kind has whole-register loops.
#define PLUMB_REAL_FN(Name, function, sources)                                \
  struct Name {                                                               \
    static constexpr unsigned kSources = sources;                             \
    template <class D, class... Args>                                         \
    static typename D::Real of(D& dom, domain::Format format, Args... args) { \
      return dom.function(format, args...);                                   \
    }                                                                         \
  };
#define PLUMB_LANES_FN(Name, function, sources)                               \
  struct Name {                                                               \
    static constexpr unsigned kSources = sources;                             \
    static constexpr auto* lanes = &domain::ieee::function##_lanes;           \
    template <class D, class... Args>                                         \
    static typename D::Real of(D& dom, domain::Format format, Args... args) { \
      return dom.function(format, args...);                                   \
    }                                                                         \
  };
PLUMB_LANES_FN(AddFn, add, 2)
PLUMB_LANES_FN(SubFn, sub, 2)
PLUMB_LANES_FN(MulFn, mul, 2)
PLUMB_LANES_FN(FmaFn, fma, 3)
PLUMB_REAL_FN(DivFn, div, 2)
PLUMB_REAL_FN(NegFn, neg, 1)
PLUMB_REAL_FN(AbsFn, abs, 1)
PLUMB_LANES_FN(MinFn, min, 2)
PLUMB_LANES_FN(MaxFn, max, 2)
PLUMB_REAL_FN(RcpFn, rcp, 1)
PLUMB_REAL_FN(SqrtFn, sqrt, 1)
PLUMB_REAL_FN(RsqrtFn, rsqrt, 1)
PLUMB_REAL_FN(SinFn, sin, 1)
PLUMB_REAL_FN(CosFn, cos, 1)
PLUMB_REAL_FN(Lg2Fn, lg2, 1)
PLUMB_LANES_FN(Ex2Fn, ex2, 1)
PLUMB_REAL_FN(TanhFn, tanh, 1)
#undef PLUMB_LANES_FN
#undef PLUMB_REAL_FN

// min and max with `.xorsign.abs`: the magnitude of the smaller or larger, the sign a's xor b's, a NaN's too; a result
// that is a NaN has no sign. On bits, so that abstract operands have no meaning.
template <domain::Format F, bool IsMax>
std::uint64_t xorsign_min_max(std::uint64_t a, std::uint64_t b, domain::FloatMode mode) {
  const domain::Ieee dom;
  const std::uint64_t x = domain::ieee::magnitude(F, a), y = domain::ieee::magnitude(F, b);
  const std::uint64_t size = IsMax ? dom.max(F, x, y, mode) : dom.min(F, x, y, mode);
  if (domain::ieee::is_nan(F, size)) return size;
  return size | ((a ^ b) & domain::ieee::sign_bit(F));
}

}  // namespace plumb::machine
